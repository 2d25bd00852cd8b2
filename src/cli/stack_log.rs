//! One stack out of the log, or out of what was exported of one: found by name or id, its own
//! stream and those of its resources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::client::{Client, ClientError};
use super::data::with_causes;
use super::place::{Errand, Place, PlaceArguments};
use super::stack_path::StackPath;
use crate::events::bundle::Bundle;
use crate::events::log::{BlobId, EventLog, Filter};
use crate::events::{Position, RecordedEvent, StackEvent, StreamId, StreamRevision, Then, When};
use crate::model::{Action, ResourceId, ResourceName, StackId, Status};

/// How many events are looked through at a time.
const PAGE_EVENTS: usize = 1_024;

/// Where the histories of stacks are read.
pub(super) enum Histories {
    Log(Arc<dyn EventLog>),
    /// Of one stack and those within it, without secrets.
    Bundle(Box<Bundle>),
}

impl Histories {
    /// Opens the file that is named, the log of the data directory, or asks a server for all that
    /// it has of a stack. The error is a whole sentence.
    pub(super) async fn open(
        place: &PlaceArguments,
        file: Option<&Path>,
        stack: Option<&str>,
    ) -> Result<Histories, String> {
        if let Some(path) = file {
            let no_bundle = |error: &dyn std::error::Error| {
                format!("{} cannot be read: {}", path.display(), with_causes(error))
            };
            let file = File::open(path).map_err(|error| no_bundle(&error))?;
            let bundle = Bundle::read(BufReader::new(file)).map_err(|error| no_bundle(&error))?;
            return Ok(Histories::Bundle(Box::new(bundle)));
        }
        match place.data() {
            Some(data) => Ok(Histories::Log(data.open_log()?)),
            None => {
                let text = exported(place, stack.unwrap_or_default()).await?;
                let bundle = Bundle::read(&text[..]).map_err(|error| with_causes(&error))?;
                Ok(Histories::Bundle(Box::new(bundle)))
            }
        }
    }

    /// A log that was opened.
    pub(super) fn log(&self) -> Option<&Arc<dyn EventLog>> {
        match self {
            Histories::Log(log) => Some(log),
            Histories::Bundle(_) => None,
        }
    }

    /// The source of a revision, what is secret in it sealed.
    pub(super) async fn source(&self, id: &BlobId) -> Result<Option<Value>, String> {
        match self {
            Histories::Bundle(bundle) => Ok(bundle.source(id).cloned()),
            Histories::Log(log) => {
                let blob = log.blob(id).await.map_err(|error| error.to_string())?;
                let read = blob.map(|blob| serde_json::from_slice(&blob)).transpose();
                read.map_err(|error| error.to_string())
            }
        }
    }

    /// The events of a stream; none where it is not there.
    pub(super) async fn stream(
        &self,
        stream: &StreamId,
    ) -> Result<Vec<Arc<RecordedEvent>>, String> {
        match self {
            Histories::Bundle(bundle) => Ok(bundle.stream(stream).to_vec()),
            Histories::Log(log) => {
                let slice = log.read(stream, StreamRevision(0)).await;
                Ok(slice.map_err(|error| error.to_string())?.events)
            }
        }
    }

    /// The stack of that id or name; in a bundle, that which it is of where none is named.
    async fn find(&self, name_or_id: Option<&str>) -> Result<StackId, String> {
        let name_or_id = match (self, name_or_id) {
            (Histories::Bundle(bundle), None) => return Ok(bundle.heading.stack_id),
            (_, name_or_id) => name_or_id.unwrap_or_default(),
        };
        if let Ok(id) = Uuid::try_parse(name_or_id) {
            return Ok(StackId(id));
        }
        let named = match self {
            Histories::Log(log) => named(log.as_ref(), name_or_id).await?,
            Histories::Bundle(bundle) => {
                let mut named = Vec::new();
                for event in bundle.events().filter(|event| event.stream.kind() == "stack") {
                    named.extend(of_name(event, name_or_id)?);
                }
                named.sort_unstable();
                named
            }
        };
        let Some(((_, newest), older)) = named.split_last() else {
            return Err(format!("the log knows no stack {name_or_id}"));
        };
        let older: BTreeSet<StackId> = older.iter().map(|(_, id)| *id).collect();
        if !older.is_empty() {
            let older: Vec<String> = older.iter().map(StackId::to_string).collect();
            eprintln!("This is the newest stack of that name; also there: {}", older.join(", "));
        }
        Ok(*newest)
    }
}

/// The bundle of a stack, from a server.
pub(super) async fn exported(place: &PlaceArguments, stack: &str) -> Result<Vec<u8>, String> {
    let place = Place::open(place, Errand::Look).await.map_err(|error| with_causes(&error))?;
    let text = async {
        let stack = found_at(&place.client, stack).await?;
        let text = place.client.download(&format!("{}/history/bundle", stack.path())).await;
        text.map_err(|error| with_causes(&error))
    };
    let text = text.await;
    place.close().await;
    text
}

/// A stack of a server, by its name or id; deleted ones are found, too. That there is none is said as it
/// is of a log.
pub(super) async fn found_at(client: &Client, stack: &str) -> Result<StackPath, String> {
    StackPath::find_even_deleted(client, stack).await.map_err(|error| match error {
        ClientError::Refused { status: 404, .. } => format!("the log knows no stack {stack}"),
        error => with_causes(&error),
    })
}

/// Every stack that ever had the name, oldest first.
async fn named(log: &dyn EventLog, name: &str) -> Result<Vec<(Position, StackId)>, String> {
    let filter = Filter { kinds: vec!["stack"] };
    let mut named = Vec::new();
    let mut after = Position(0);
    loop {
        let page =
            log.read_all(after, &filter, PAGE_EVENTS).await.map_err(|error| error.to_string())?;
        let Some(last) = page.last() else { return Ok(named) };
        after = last.position;
        for event in &page {
            named.extend(of_name(event, name)?);
        }
    }
}

/// The stack that an event makes, if it has the name.
fn of_name(event: &RecordedEvent, name: &str) -> Result<Option<(Position, StackId)>, String> {
    if event.revision != StreamRevision(0) {
        return Ok(None);
    }
    let body = event.decode().map_err(|error| error.to_string())?;
    Ok(match body {
        StackEvent::StackCreated(created) if created.name.as_str() == name => {
            Some((event.position, created.stack_id))
        }
        _ => None,
    })
}

/// Everything that is on record of a stack.
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
    pub(super) async fn read(
        from: &Histories,
        name_or_id: Option<&str>,
    ) -> Result<StackLog, String> {
        let id = from.find(name_or_id).await?;
        let mut found =
            StackLog { id, stack: Vec::new(), resources: BTreeMap::new(), names: BTreeMap::new() };
        for event in from.stream(&StreamId::stack(id)).await? {
            let body: StackEvent = event.decode().map_err(|error| error.to_string())?;
            found.names.extend(body.incarnations());
            found.stack.push((event, body));
        }
        if found.stack.is_empty() {
            return Err(format!("the log knows no stack {}", name_or_id.unwrap_or_default()));
        }
        for resource in found.names.keys() {
            let events = from.stream(&StreamId::resource(*resource)).await?;
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

    /// Whether it was deleted for good.
    pub(super) fn is_deleted(&self) -> bool {
        let settled = self.stack.iter().rev().find_map(|(_, body)| match body {
            StackEvent::TraversalSettled(settled) => Some((settled.action, settled.status)),
            _ => None,
        });
        settled == Some((Action::Delete, Status::Complete))
    }

    /// When that was: a revision of the stack has its end.
    pub(super) fn when(&self, then: Then) -> Result<When, String> {
        let wanted = match then {
            Then::When(when) => return Ok(when),
            Then::Revision(wanted) => wanted,
        };
        let accepted = self.stack.iter().filter_map(|(event, body)| match body {
            StackEvent::RevisionAccepted(accepted) => Some((event.position, accepted.revision)),
            _ => None,
        });
        let mut from = accepted.skip_while(|(_, revision)| *revision != wanted);
        from.next().ok_or_else(|| format!("the stack has no revision {wanted}"))?;
        let end = from.next().map_or(u64::MAX, |(position, _)| position.0.saturating_sub(1));
        Ok(When::Position(Position(end)))
    }
}
