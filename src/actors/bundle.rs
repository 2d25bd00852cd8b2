//! The history of a stack and of the stacks within it, as lines of a bundle: read from the log
//! alone, stream by stream, so that no more than one is in memory.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use futures::Stream;

use super::resource::Resource;
use super::shell::Aggregate;
use crate::events::bundle::Writer;
use crate::events::log::{BlobId, EventLog, LogError};
use crate::events::{Position, RecordedEvent, ResourceEvent, StackEvent, StreamId, StreamRevision};
use crate::model::{ResourceId, ResourceName, StackId, StackName};

/// Something whose lines are still to come.
enum Next {
    Heading(StackId),
    Stack(StackId),
    Resource(ResourceId, ResourceName),
    Source(BlobId),
    End,
}

struct Gathering {
    log: Arc<dyn EventLog>,
    /// What comes later is left out, so that all of it is of one moment.
    end: Position,
    next: VecDeque<Next>,
    stacks: HashSet<StackId>,
    sources: HashSet<BlobId>,
    writer: Writer,
}

/// The lines, some at a time. A stack that the log does not know has none.
pub fn bundle(
    log: Arc<dyn EventLog>,
    stack: StackId,
) -> impl Stream<Item = Result<String, LogError>> + Unpin {
    let gathering = Gathering {
        end: log.durable_position(),
        log,
        next: VecDeque::from([Next::Heading(stack)]),
        stacks: HashSet::from([stack]),
        sources: HashSet::new(),
        writer: Writer::default(),
    };
    Box::pin(futures::stream::try_unfold(gathering, |mut gathering| async move {
        let Some(next) = gathering.next.pop_front() else { return Ok(None) };
        let lines = gathering.lines(next).await?;
        Ok(Some((lines, gathering)))
    }))
}

impl Gathering {
    async fn lines(&mut self, next: Next) -> Result<String, LogError> {
        match next {
            Next::Heading(id) => {
                let events = self.read(&StreamId::stack(id)).await?;
                let name = events.first().and_then(|event| name_of(event)).unwrap_or_default();
                if !events.is_empty() {
                    self.next.extend([Next::Stack(id), Next::End]);
                }
                Ok(self.writer.heading(id, name, self.end))
            }
            Next::Stack(id) => self.stack(id).await,
            Next::Resource(id, name) => self.resource(id, name).await,
            Next::Source(id) => {
                let blob = self.log.blob(&id).await?;
                Ok(blob.map(|blob| self.writer.source(id, &blob)).unwrap_or_default())
            }
            Next::End => Ok(std::mem::take(&mut self.writer).end()),
        }
    }

    async fn stack(&mut self, id: StackId) -> Result<String, LogError> {
        let mut resources = HashSet::new();
        let mut lines = String::new();
        for event in self.read(&StreamId::stack(id)).await? {
            lines.push_str(&self.writer.event(&event));
            // What cannot be read here is handed on: whoever looks for the reason needs it.
            let Ok(body) = event.decode::<StackEvent>() else { continue };
            for (resource, name) in body.incarnations() {
                if resources.insert(resource) {
                    self.before_end(Next::Resource(resource, name));
                }
            }
            if let StackEvent::RevisionAccepted(accepted) = body
                && let Some(source) = accepted.source
                && self.sources.insert(source.clone())
            {
                self.before_end(Next::Source(source));
            }
        }
        Ok(lines)
    }

    async fn resource(&mut self, id: ResourceId, name: ResourceName) -> Result<String, LogError> {
        let mut resource = Resource::named(id, name);
        let (mut lines, mut physical_id) = (String::new(), None);
        for event in self.read(&StreamId::resource(id)).await? {
            lines.push_str(&self.writer.event(&event));
            let Ok(body) = event.decode::<ResourceEvent>() else { continue };
            resource.apply(&body, event.at);
            if resource.physical_id != physical_id {
                physical_id.clone_from(&resource.physical_id);
                if let Some(child) = resource.child_stack()
                    && self.stacks.insert(child)
                {
                    self.before_end(Next::Stack(child));
                }
            }
        }
        Ok(lines)
    }

    fn before_end(&mut self, next: Next) {
        let end = self.next.len().saturating_sub(1);
        self.next.insert(end, next);
    }

    async fn read(&self, stream: &StreamId) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        let mut events = self.log.read(stream, StreamRevision(0)).await?.events;
        events.retain(|event| event.position <= self.end);
        Ok(events)
    }
}

fn name_of(event: &RecordedEvent) -> Option<StackName> {
    match event.decode() {
        Ok(StackEvent::StackCreated(created)) => Some(created.name),
        Ok(_) | Err(_) => None,
    }
}
