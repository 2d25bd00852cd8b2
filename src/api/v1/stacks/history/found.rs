//! What was found in the cloud that is not as it is on record: by looks of the stack's schedule
//! after an action, and by the looks of a check, or of an update that looks first, within it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{RESOURCES_MAX, Spell, event_at, time};
use crate::api::ApiState;
use crate::api::error::Fault;
use crate::events::resource::RealityObserved;
use crate::events::stack::{DriftLooked, FieldDrifted, Node, ResourceDrifted};
use crate::events::vault::Vault;
use crate::events::{Position, RecordedEvent, ResourceEvent, StackEvent, StreamId, StreamRevision};
use crate::model::{Action, ResourceId, TraversalId};
use crate::projections::{StackRow, ViewError};

/// How many looks that found something are told of after an action.
const FINDINGS_MAX: usize = 20;

/// How many resources are told of that one action found otherwise, as of a look.
const FOUND_MAX: usize = 100;

/// How many of the newest events of a stack's stream are read for looks.
const LOOKS_READ_MAX: u64 = 5_000;

/// The looks at the cloud that are on record since an action began, of the newest events.
pub(super) async fn looks(
    state: &ApiState,
    stack: &StackRow,
    since: Option<&Spell>,
) -> Result<Vec<(Arc<RecordedEvent>, DriftLooked)>, Fault> {
    let Some(spell) = since else { return Ok(Vec::new()) };
    let Some((began, _)) = event_at(state, spell.started.position).await? else {
        return Ok(Vec::new());
    };
    let stream = StreamId::stack(stack.id);
    let end = state.log.head(&stream).await?.next;
    let from = began.revision.max(StreamRevision(end.saturating_sub(LOOKS_READ_MAX)));
    let slice = state.log.read(&stream, from).await?;
    let mut looks = Vec::new();
    for event in slice.events {
        if let StackEvent::DriftLooked(looked) = event.decode().map_err(ViewError::from)? {
            looks.push((event, looked));
        }
    }
    Ok(looks)
}

/// What actions saw of a resource, in the order of the log.
type Observed = Vec<(Position, DateTime<Utc>, RealityObserved)>;

/// What is on record of how resources are in the cloud, of those that were asked for.
#[derive(Default)]
pub(super) struct Realities {
    known: HashMap<ResourceId, Observed>,
}

/// What an action found.
#[derive(Default)]
pub(super) struct Seen {
    newest: Option<(Position, DateTime<Utc>)>,
    action: Option<Action>,
    resources: Vec<ResourceDrifted>,
}

impl Realities {
    /// What the action found that began with an event: a check, or an update that looks first.
    pub(super) async fn seen(
        &mut self,
        state: &ApiState,
        began: Option<&StackEvent>,
    ) -> Result<Seen, Fault> {
        let Some(StackEvent::TraversalStarted(traversal)) = began else {
            return Ok(Seen::default());
        };
        let looks = traversal.action == Action::Check
            || traversal.options.observes
            || state.engine.observes_on_update();
        let mut seen = Seen { action: Some(traversal.action), ..Seen::default() };
        for node in traversal.nodes.iter().filter(|_| looks) {
            if self.known.len() >= RESOURCES_MAX {
                break;
            }
            seen.add(node, traversal.traversal, self.of(state, node.id).await?);
        }
        Ok(seen)
    }

    async fn of(&mut self, state: &ApiState, id: ResourceId) -> Result<&Observed, Fault> {
        let place = match self.known.entry(id) {
            Entry::Occupied(known) => return Ok(known.into_mut()),
            Entry::Vacant(place) => place,
        };
        let slice = state.log.read(&StreamId::resource(id), StreamRevision(0)).await?;
        let mut observed = Vec::new();
        for event in slice.events {
            let body = event.decode::<ResourceEvent>().map_err(ViewError::from)?;
            if let ResourceEvent::RealityObserved(body) = body {
                observed.push((event.position, event.at, body));
            }
        }
        Ok(place.insert(observed))
    }
}

impl Seen {
    fn add(&mut self, node: &Node, traversal: TraversalId, observed: &Observed) {
        for (position, at, body) in observed.iter().filter(|(.., it)| it.traversal == traversal) {
            self.newest = self.newest.max(Some((*position, *at)));
            let properties = body.properties.iter().map(|(name, value)| FieldDrifted {
                name: name.clone(),
                recorded: None,
                live: Some(Vault::masked(value)),
            });
            self.resources.push(ResourceDrifted {
                path: node.name.as_str().to_owned(),
                type_name: node.type_name.clone(),
                drift: if body.gone { "gone" } else { "differs" }.to_owned(),
                properties: properties.collect(),
            });
        }
    }

    fn told(&self, is_wanted: impl Fn(&&ResourceDrifted) -> bool) -> Option<Value> {
        let (position, at) = self.newest?;
        let all: Vec<&ResourceDrifted> = self.resources.iter().filter(is_wanted).collect();
        let told = &all[..all.len().min(FOUND_MAX)];
        (!all.is_empty()).then(|| {
            json!({
                "position": position,
                "at": time(at),
                "by": self.action,
                "same": null,
                "resources": told,
                "more": all.len() - told.len(),
            })
        })
    }
}

/// How often it was looked between an action and the next, and what was found, the newest first;
/// what the action itself found is the last.
pub(super) fn drift(
    looks: &[(Arc<RecordedEvent>, DriftLooked)],
    seen: &Seen,
    spell: &Spell,
    wanted: &[String],
) -> Value {
    let is_within =
        |at: Position| at >= spell.started.position && spell.until.is_none_or(|until| at <= until);
    let within: Vec<_> = looks.iter().filter(|(event, _)| is_within(event.position)).collect();
    let is_wanted = |drifted: &&ResourceDrifted| {
        let own = drifted.path.split('/').next().unwrap_or_default();
        wanted.is_empty() || wanted.iter().any(|name| name == own)
    };
    let found = within.iter().rev().filter_map(|(event, looked)| {
        let resources: Vec<&ResourceDrifted> = looked.resources.iter().filter(is_wanted).collect();
        (!resources.is_empty() || looked.more > 0).then(|| {
            json!({
                "position": event.position,
                "at": time(event.at),
                "by": "schedule",
                "same": looked.same,
                "resources": resources,
                "more": looked.more,
            })
        })
    });
    json!({
        "looks": within.len(),
        "looked_at": within.last().map(|(event, _)| time(event.at)),
        "findings": found.take(FINDINGS_MAX).chain(seen.told(is_wanted)).collect::<Vec<_>>(),
    })
}
