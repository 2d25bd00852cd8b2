//! A stack as a plan finds it, with the stacks within it.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::asks::See;
use crate::actors::engine::Engine;
use crate::actors::outside::is_lost;
use crate::actors::plan::{Found, FoundChild, FoundResource};
use crate::actors::resource::Resource;
use crate::actors::services::Services;
use crate::model::{IndexMap, Refusal, ResourceId, ResourceName, StackId};

/// The incarnations that a new definition goes on with, what is left over beside them, and, where
/// they are asked for, the stacks `within`.
pub(in crate::actors) fn found(
    services: &Arc<Services>,
    going_on: IndexMap<ResourceName, ResourceId>,
    left_over: Vec<(ResourceName, ResourceId)>,
    within: bool,
) -> BoxFuture<'_, Result<Found<Resource>, Refusal>> {
    async move {
        let mut found = Found { resources: IndexMap::default(), left_over: Vec::new() };
        for (name, id) in going_on {
            found.resources.insert(name, resource(services, id, within).await?);
        }
        for (name, id) in left_over {
            found.left_over.push((name, resource(services, id, within).await?));
        }
        Ok(found)
    }
    .boxed()
}

async fn resource(
    services: &Arc<Services>,
    id: ResourceId,
    within: bool,
) -> Result<FoundResource<Resource>, Refusal> {
    let resource = services.resource(id).await?;
    let is_lost = is_lost(services, &resource).await.map_err(|error| {
        let error = resource.without_secrets(&error.told());
        Refusal::unavailable(format!("Resource {} cannot be looked at: {error}", resource.name))
    })?;
    let child = match resource.child_stack() {
        Some(child) if within => self::child(services, child).await?,
        Some(_) | None => None,
    };
    Ok(FoundResource { resource, is_lost, child })
}

/// `None`: it is gone.
async fn child(
    services: &Arc<Services>,
    id: StackId,
) -> Result<Option<Box<FoundChild<Resource>>>, Refusal> {
    let seen = services.ask_of(id, || See).await.ok_or_else(Engine::silent)?;
    let Some(seen) = seen else { return Ok(None) };
    let found = found(services, seen.going_on.clone(), seen.left_over.clone(), true).await?;
    Ok(Some(Box::new(FoundChild { id, seen, found })))
}
