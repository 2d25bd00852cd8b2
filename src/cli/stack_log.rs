//! One stack out of the log: found by name or id, its own stream and those of its resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::events::log::{EventLog, Filter};
use crate::events::{Position, RecordedEvent, StackEvent, StreamId, StreamRevision};
use crate::model::{ResourceId, ResourceName, StackId};

/// How many events are looked through at a time.
const PAGE_EVENTS: usize = 1_024;

/// Everything that the log says of a stack.
pub(super) struct StackLog {
    pub(super) id: StackId,
    /// The stack's own events, with what they say.
    pub(super) stack: Vec<(Arc<RecordedEvent>, StackEvent)>,
    /// The streams of its resources, every incarnation.
    pub(super) resources: BTreeMap<ResourceId, Vec<Arc<RecordedEvent>>>,
    /// What the incarnations are called in the template.
    pub(super) names: BTreeMap<ResourceId, ResourceName>,
}

impl StackLog {
    /// Reads the stack of that id or name; of several with one name, the newest.
    pub(super) async fn read(log: &dyn EventLog, name_or_id: &str) -> Result<StackLog, String> {
        let id = find(log, name_or_id).await?;
        let mut found =
            StackLog { id, stack: Vec::new(), resources: BTreeMap::new(), names: BTreeMap::new() };
        for event in stream(log, &StreamId::stack(id)).await? {
            let body: StackEvent = event.decode().map_err(|error| error.to_string())?;
            for (resource, name) in resources_of(&body) {
                found.names.insert(resource, name);
            }
            found.stack.push((event, body));
        }
        if found.stack.is_empty() {
            return Err(format!("the log knows no stack {name_or_id}"));
        }
        for resource in found.names.keys() {
            let events = stream(log, &StreamId::resource(*resource)).await?;
            found.resources.insert(*resource, events);
        }
        Ok(found)
    }

    /// All events of the stack and its resources, in the order of the log, each with the name of
    /// the resource that it is of.
    pub(super) fn in_order(&self) -> Vec<(Option<&ResourceName>, &Arc<RecordedEvent>)> {
        let own = self.stack.iter().map(|(event, _)| (None, event));
        let of_resources = self.resources.iter().flat_map(|(id, events)| {
            let name = self.names.get(id);
            events.iter().map(move |event| (name, event))
        });
        let mut all: Vec<_> = own.chain(of_resources).collect();
        all.sort_by_key(|(_, event)| event.position);
        all
    }
}

async fn stream(log: &dyn EventLog, stream: &StreamId) -> Result<Vec<Arc<RecordedEvent>>, String> {
    let slice = log.read(stream, StreamRevision(0)).await.map_err(|error| error.to_string())?;
    Ok(slice.events)
}

async fn find(log: &dyn EventLog, name_or_id: &str) -> Result<StackId, String> {
    if let Ok(id) = Uuid::try_parse(name_or_id) {
        return Ok(StackId(id));
    }
    let filter = Filter { kinds: vec!["stack"] };
    let mut found = BTreeSet::new();
    let mut newest = None;
    let mut after = Position(0);
    loop {
        let page =
            log.read_all(after, &filter, PAGE_EVENTS).await.map_err(|error| error.to_string())?;
        let Some(last) = page.last() else { break };
        after = last.position;
        for event in page.iter().filter(|event| event.revision.0 == 0) {
            let body = event.decode().map_err(|error| error.to_string())?;
            if let StackEvent::StackCreated(created) = body
                && created.name.as_str() == name_or_id
            {
                found.insert(created.stack_id);
                newest = Some(created.stack_id);
            }
        }
    }
    let newest = newest.ok_or_else(|| format!("the log knows no stack {name_or_id}"))?;
    found.remove(&newest);
    if !found.is_empty() {
        let older: Vec<String> = found.iter().map(StackId::to_string).collect();
        eprintln!("This is the newest stack of that name; also there: {}", older.join(", "));
    }
    Ok(newest)
}

/// The incarnations that an event names.
fn resources_of(event: &StackEvent) -> Vec<(ResourceId, ResourceName)> {
    match event {
        StackEvent::TraversalStarted(started) => {
            let nodes = started.nodes.iter().map(|node| (node.id, node.name.clone()));
            let rows = started.rows.iter().flatten().map(|row| (row.id, row.name.clone()));
            nodes.chain(rows).collect()
        }
        StackEvent::ReplacementStarted(replacement) => {
            vec![(replacement.new, replacement.name.clone())]
        }
        StackEvent::TraversalSettled(settled) => {
            settled.rows.iter().flatten().map(|row| (row.id, row.name.clone())).collect()
        }
        _ => Vec::new(),
    }
}
