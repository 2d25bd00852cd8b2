//! The event list of a life tells the same story as the state: the views read the life's log, and
//! what they tell is held against what the machines have become.

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth::actors::stack::Stack;
use hearth::events::log::{EventLog, Head, MemoryLog};
use hearth::events::{Meta, NewEvent, Position, StreamId};
use hearth::model::{Action, StackId, Status};
use hearth::projections::{EventQuery, EventRow, ResourceRow, Views};

use super::world::World;

impl World {
    /// Everything in which the event list and the state differ.
    pub(super) fn check_told(&mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let wrongs = runtime.block_on(self.wrong_told());
        self.wrongs.extend(wrongs);
    }

    async fn wrong_told(&self) -> Vec<String> {
        let views = self.read_by_views().await;
        let mut wrongs = Vec::new();
        for stack in self.folds.stacks.values() {
            let query = EventQuery { descending: Some(false), ..EventQuery::default() };
            let lines = views.events(stack.id, query).await.unwrap();
            let rows = views.resources(stack.id).await.unwrap();
            wrongs.extend(of_stack(stack, &lines));
            wrongs.extend(rows.iter().filter_map(|row| self.of_row(row, &lines)));
            wrongs.extend(self.of_names(stack.id, &lines));
        }
        wrongs
    }

    async fn read_by_views(&self) -> Views {
        let log = Arc::new(MemoryLog::new());
        let mut heads: BTreeMap<&str, Head> = BTreeMap::new();
        let mut end = Position(0);
        for event in &self.log.events {
            let head = heads.entry(&event.stream).or_default();
            let body = event.body.clone();
            let (event_type, version, at) = (event.event_type, event.version, event.at);
            let new = NewEvent { event_type, version, at, meta: Arc::new(Meta::default()), body };
            let stream = StreamId(event.stream.as_str().into());
            let appended = log.append(&stream, *head, vec![new]).await.unwrap();
            (*head, end) = (appended.head, appended.position);
        }
        log.durable(end).await.unwrap();
        let views = Views::in_memory(log).await.unwrap();
        views.after(end).await.unwrap();
        views
    }

    /// A listed resource stands as its machine does, and a line has told so.
    fn of_row(&self, row: &ResourceRow, lines: &[EventRow]) -> Option<String> {
        let Some(fold) = self.folds.resources.get(&row.id) else {
            let is_planned = (row.action, row.status) == (Action::Init, Status::Complete);
            return (!is_planned).then(|| format!("{} is told of and never was", row.name));
        };
        if (row.action, row.status, &row.reason) != (fold.action, fold.status, &fold.reason) {
            let (is, told) = ((fold.action, fold.status), (row.action, row.status));
            return Some(format!("{} is {is:?} and listed as {told:?}", row.name));
        }
        let tells = |line: &EventRow| {
            line.name == row.name.as_str()
                && (line.action.as_str(), line.status) == (row.action.as_str(), row.status)
                && line.reason == row.reason
        };
        let is_told = row.action == Action::Init || lines.iter().any(tells);
        (!is_told)
            .then(|| format!("{} is {}_{} and no line tells", row.name, row.action, row.status))
    }

    /// What ends has begun; and of a deleted stack every incarnation that began is told as deleted.
    fn of_names(&self, stack: StackId, lines: &[EventRow]) -> Vec<String> {
        let mut wrongs = Vec::new();
        let mut open: BTreeMap<(&str, &str), i64> = BTreeMap::new();
        let mut deleted: BTreeMap<&str, usize> = BTreeMap::new();
        // Remarks repeat a state with words of their own.
        let own = self.folds.stacks[&stack].name.as_str();
        let tells = |line: &&EventRow| line.name != own && line.reason == "state changed";
        for line in lines.iter().filter(tells) {
            let count = open.entry((&line.name, &line.action)).or_default();
            match (line.action.as_str(), line.status) {
                (_, Status::InProgress) => *count += 1,
                ("CREATE" | "DELETE", Status::Complete) => *count -= 1,
                _ => {}
            }
            if *count < 0 {
                wrongs.push(format!("{} ends {} without a beginning", line.name, line.action));
            }
            if (line.action.as_str(), line.status) == ("DELETE", Status::Complete) {
                *deleted.entry(&line.name).or_default() += 1;
            }
        }
        if self.folds.stacks[&stack].is_deleted() {
            let mut began: BTreeMap<&str, usize> = BTreeMap::new();
            let of_stack = |it: &&hearth::actors::resource::Resource| {
                it.stack.as_ref().is_some_and(|of| of.id == stack) && it.action != Action::Init
            };
            for resource in self.folds.resources.values().filter(of_stack) {
                *began.entry(resource.name.as_str()).or_default() += 1;
            }
            for (name, count) in began {
                let told = deleted.get(name).copied().unwrap_or_default();
                if told < count {
                    wrongs.push(format!("{name} was made {count} times and deleted {told} times"));
                }
            }
        }
        wrongs
    }
}

/// A stack's own lines: each action begins, and ends or gives way to the next; the last one is how
/// the stack stands.
fn of_stack(stack: &Stack, lines: &[EventRow]) -> Vec<String> {
    let own = lines.iter().filter(|line| line.name == stack.name.as_str());
    let (mut wrongs, mut running, mut last) = (Vec::new(), None, None);
    for line in own {
        match line.status {
            Status::InProgress => running = Some(line.action.as_str()),
            Status::Complete | Status::Failed => {
                if running.take() != Some(line.action.as_str()) {
                    wrongs.push(format!("the stack ends {} without a beginning", line.action));
                }
            }
        }
        last = Some((line.action.as_str(), line.status, line.reason.as_str()));
    }
    let is = (stack.action.as_str(), stack.status, stack.reason.as_str());
    if last.is_some_and(|told| told != is) {
        wrongs.push(format!("the stack is {is:?}, and told as {last:?}"));
    }
    wrongs
}
