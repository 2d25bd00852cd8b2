//! What the log recorded of a resource by a position: nothing is asked of a cloud, and no actor is
//! woken.

use super::engine::Engine;
use super::resource::Resource;
use super::shell::Aggregate;
use crate::events::vault::Vault;
use crate::events::{Position, StreamId, StreamRevision};
use crate::model::{JsonMap, Refusal, ResourceId};

impl Engine {
    /// The attributes of a resource as they were last observed by a position; secrets masked.
    pub async fn recorded_attributes(
        &self,
        id: ResourceId,
        at: Position,
    ) -> Result<JsonMap, Refusal> {
        let unreadable = |error: &dyn std::error::Error| {
            tracing::error!(resource.id = %id, %error, "a resource's history cannot be read");
            Refusal::unavailable("The resource's history cannot be read.")
        };
        let stream = StreamId::resource(id);
        let slice = self.services.log.read(&stream, StreamRevision(0)).await;
        let mut resource = Resource::new(id);
        for event in slice.map_err(|error| unreadable(&error))?.events {
            if event.position > at {
                break;
            }
            let body = event.decode().map_err(|error| unreadable(&error))?;
            resource.apply(&body, event.at);
        }
        let attributes = resource.attributes.iter();
        Ok(attributes.map(|(name, value)| (name.clone(), Vault::masked(value))).collect())
    }
}
