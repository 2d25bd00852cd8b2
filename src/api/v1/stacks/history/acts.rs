//! What an action did to each resource, and which of it had to be waited for.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{RESOURCES_MAX, Spell, event_at, seconds, time};
use crate::api::ApiState;
use crate::api::error::Fault;
use crate::events::stack::{Node, TraversalStarted};
use crate::events::{Position, StackEvent};
use crate::model::{Action, Status};
use crate::projections::{EventQuery, EventRow, STACK_TYPE, StackRow, event_id};

/// What the event list says where an action of a resource begins; else it is a remark.
const BEGAN: &str = "state changed";

/// How many actions back it is looked for one that names the stack's resources: deletions do not.
const FORMER_MAX: u64 = 10;

/// What one action did to a resource.
struct Act {
    name: String,
    type_name: String,
    action: String,
    /// What the event list had for it when it began.
    physical_id: Option<String>,
    started: DateTime<Utc>,
    settled: Option<EventRow>,
    is_on_longest_path: bool,
}

impl Act {
    fn begun(row: EventRow) -> Act {
        Act {
            name: row.name,
            type_name: row.type_name,
            action: row.action,
            physical_id: row.physical_id,
            started: row.at,
            settled: None,
            is_on_longest_path: false,
        }
    }

    /// What had its end at once, and no beginning of its own.
    fn at_once(row: EventRow) -> Act {
        Act { settled: Some(row.clone()), ..Act::begun(row) }
    }
}

/// The acts that have no end yet, by action and name. Two incarnations of one name may be deleted at
/// once.
#[derive(Default)]
struct Open(HashMap<(String, String), Vec<usize>>);

impl Open {
    fn add(&mut self, row: &EventRow, at: usize) {
        self.0.entry(key(row)).or_default().push(at);
    }

    /// The one that an event is of: that of the same id in the cloud, else the first that began.
    fn take(&mut self, row: &EventRow, acts: &[Act]) -> Option<usize> {
        let open = self.0.get_mut(&key(row)).filter(|open| !open.is_empty())?;
        let own = open.iter().position(|at| acts[*at].physical_id == row.physical_id);
        Some(open.remove(own.unwrap_or(0)))
    }

    fn indexes(&self) -> impl Iterator<Item = usize> {
        self.0.values().flatten().copied()
    }
}

fn key(row: &EventRow) -> (String, String) {
    (row.action.clone(), row.name.clone())
}

/// What an action did to each resource, in the order in which it began.
pub(super) async fn resources(
    state: &ApiState,
    stack: &StackRow,
    spell: &Spell,
    traversal: Option<&TraversalStarted>,
) -> Result<Vec<Value>, Fault> {
    let query = EventQuery {
        after: Some(spell.started.position),
        until: spell.until,
        descending: Some(false),
        limit: Some(2 * RESOURCES_MAX as u64),
        ..EventQuery::default()
    };
    let id = stack.id.to_string();
    let rows = state.views.events(stack.id, query).await?.into_iter();
    let own = |row: &EventRow| row.type_name == STACK_TYPE && row.physical_id.as_ref() == Some(&id);
    let ended = spell.settled.as_ref().map(|row| row.position);
    let (mut acts, open) = acts_of(rows.filter(|row| !own(row)), &spell.started.action, ended);
    if let Some(until) = spell.until {
        settle_later(state, stack, until, open, &mut acts).await?;
    }
    let nodes = traversal.map_or(&[][..], |traversal| &traversal.nodes);
    let named: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let former = match acts.iter().all(|act| named.contains(&*act.name)) {
        true => Vec::new(),
        false => former(state, stack, spell).await?,
    };
    mark_longest_path(&mut acts, nodes, &former);
    Ok(acts.iter().map(view).collect())
}

/// The acts that events tell of, and which have no end among them. The action that they are of is
/// over at a position.
fn acts_of(
    rows: impl Iterator<Item = EventRow>,
    action: &str,
    ended: Option<Position>,
) -> (Vec<Act>, Open) {
    let (mut acts, mut open) = (Vec::new(), Open::default());
    let mut known = HashSet::new();
    for row in rows {
        if row.status == Status::InProgress {
            if row.reason == BEGAN {
                known.insert(key(&row));
                open.add(&row, acts.len());
                acts.push(Act::begun(row));
            }
            continue;
        }
        if let Some(at) = open.take(&row, &acts) {
            acts[at].settled = Some(row);
            continue;
        }
        // A type may have nothing to check, and an action be refused before it begins.
        let is_end = row.action == Action::Check.as_str() || row.status == Status::Failed;
        let is_of_action = row.action == action && ended.is_none_or(|end| row.position < end);
        if is_end && is_of_action && known.insert(key(&row)) {
            acts.push(Act::at_once(row));
        }
    }
    (acts, open)
}

/// Work that went on when the next action began ends within that.
async fn settle_later(
    state: &ApiState,
    stack: &StackRow,
    from: Position,
    mut open: Open,
    acts: &mut [Act],
) -> Result<(), Fault> {
    let names: Vec<String> = open.indexes().map(|at| acts[at].name.clone()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let query = EventQuery {
        names,
        after: Some(from),
        descending: Some(false),
        limit: Some(2 * RESOURCES_MAX as u64),
        ..EventQuery::default()
    };
    for row in state.views.events(stack.id, query).await? {
        let is_remark = row.status == Status::InProgress && row.reason != BEGAN;
        // What begins anew is of that action.
        if !is_remark
            && let Some(at) = open.take(&row, acts)
            && row.status != Status::InProgress
        {
            acts[at].settled = Some(row);
        }
    }
    Ok(())
}

/// The resources of the last action before this one that names any.
async fn former(state: &ApiState, stack: &StackRow, spell: &Spell) -> Result<Vec<Node>, Fault> {
    let query = EventQuery {
        names: vec![stack.name.as_str().to_owned()],
        types: vec![STACK_TYPE.to_owned()],
        statuses: vec![Status::InProgress.as_str().to_owned()],
        marker: Some(event_id(spell.started.position, stack.id)),
        limit: Some(FORMER_MAX),
        ..EventQuery::default()
    };
    for row in state.views.events(stack.id, query).await? {
        let began = event_at(state, row.position).await?;
        if let Some((_, StackEvent::TraversalStarted(traversal))) = began
            && !traversal.nodes.is_empty()
        {
            return Ok(traversal.nodes);
        }
    }
    Ok(Vec::new())
}

/// From what ended last back to what each waited for longest: those that it requires, and those
/// that require it. A resource that the action leaves out hangs on others as it did before.
fn mark_longest_path(acts: &mut [Act], nodes: &[Node], former: &[Node]) {
    fn pairs(nodes: &[Node]) -> impl Iterator<Item = (&str, &str)> {
        nodes.iter().flat_map(|node| {
            node.requires.iter().map(|required| (node.name.as_str(), required.as_str()))
        })
    }
    let stays: HashSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let both_stay = |(one, other): &(&str, &str)| stays.contains(one) && stays.contains(other);
    let mut neighbors: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (one, other) in pairs(nodes).chain(pairs(former).filter(|pair| !both_stay(pair))) {
        neighbors.entry(one).or_default().insert(other);
        neighbors.entry(other).or_default().insert(one);
    }
    let end = |act: &Act| act.settled.as_ref().map(|row| row.at);
    let mut next =
        (0..acts.len()).filter(|at| end(&acts[*at]).is_some()).max_by_key(|at| end(&acts[*at]));
    while let Some(at) = next {
        acts[at].is_on_longest_path = true;
        let (name, began) = (acts[at].name.clone(), acts[at].started);
        let near = neighbors.get(&*name);
        let waited_for = |act: &Act| {
            // A former incarnation is deleted once the new one is there.
            let is_near = act.name == name || near.is_some_and(|near| near.contains(&*act.name));
            is_near && !act.is_on_longest_path && end(act).is_some_and(|end| end <= began)
        };
        next = (0..acts.len()).filter(|at| waited_for(&acts[*at])).max_by_key(|at| end(&acts[*at]));
    }
}

fn view(act: &Act) -> Value {
    let settled = act.settled.as_ref();
    json!({
        "resource_name": act.name,
        "resource_type": act.type_name,
        "action": act.action,
        "status": settled.map_or(Status::InProgress, |row| row.status),
        "status_reason": settled.map(|row| row.reason.as_str()),
        "physical_resource_id": settled.and_then(|row| row.physical_id.as_deref()),
        "started_at": time(act.started),
        "settled_at": settled.map(|row| time(row.at)),
        "seconds": settled.map(|row| seconds(act.started, row.at)),
        "longest_path": act.is_on_longest_path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(position: u64, action: &str, status: Status, reason: &str) -> EventRow {
        EventRow {
            id: Default::default(),
            stack: Default::default(),
            stack_name: "web".to_owned(),
            position: Position(position),
            name: "net".to_owned(),
            type_name: "OS::Neutron::Net".to_owned(),
            physical_id: None,
            action: action.to_owned(),
            status,
            reason: reason.to_owned(),
            at: DateTime::default(),
            definition: None,
        }
    }

    fn told(rows: &[EventRow], action: &str) -> Vec<(String, Option<String>)> {
        let (acts, _) = acts_of(rows.iter().cloned(), action, Some(Position(100)));
        let end = |act: &Act| act.settled.as_ref().map(|row| row.reason.clone());
        acts.iter().map(|act| (act.action.clone(), end(act))).collect()
    }

    #[test]
    fn a_remark_is_no_act_and_a_refusal_is_one() {
        let (at_work, failed) = (Status::InProgress, Status::Failed);
        let rows = [
            row(1, "CREATE", at_work, "state changed"),
            row(2, "CREATE", at_work, "CREATE paused until Hook post-create is cleared"),
            row(3, "SIGNAL", at_work, "Signal: a word"),
            row(4, "CREATE", Status::Complete, "done"),
            row(5, "CREATE", Status::Complete, "Hook post-create is cleared"),
        ];
        let act = |action: &str, end: &str| (action.to_owned(), Some(end.to_owned()));
        assert_eq!(told(&rows, "CREATE"), [act("CREATE", "done")]);
        let rows = [
            row(1, "UPDATE", failed, "refused"),
            row(2, "UPDATE", failed, "again"),
            row(3, "CHECK", failed, "somebody said so"),
        ];
        assert_eq!(told(&rows, "UPDATE"), [act("UPDATE", "refused")]);
        assert_eq!(told(&rows[2..], "CHECK"), [act("CHECK", "somebody said so")]);
        let late = [row(101, "CHECK", failed, "somebody said so")];
        assert_eq!(told(&late, "CHECK"), [], "it is no part of the check");
    }
}
