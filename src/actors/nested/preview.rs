//! What an update would do in the stacks within a stack.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::IndexMap;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::asks::See;
use super::own_child;
use crate::actors::preview::{self, Preview, PreviewWithin, PreviewedResource};
use crate::actors::provisioner::is_lost;
use crate::actors::services::Services;
use crate::actors::stack::Known;
use crate::model::{Refusal, ResourceId, ResourceName};

/// The plan of a stack, with those of the stacks within it where they are wanted.
pub(in crate::actors) fn preview<'a>(
    services: &'a Arc<Services>,
    known: &'a Known,
    incarnations: IndexMap<ResourceName, ResourceId>,
    nested: bool,
) -> BoxFuture<'a, Result<Preview, Refusal>> {
    async move {
        let mut resources = IndexMap::default();
        for (name, id) in incarnations {
            resources.insert(name, services.resource(id).await?);
        }
        let mut lost = BTreeSet::new();
        for (name, resource) in &resources {
            if is_lost(services, resource).await {
                lost.insert(name.clone());
            }
        }
        let mut plan = preview::of_update(services, known, &resources, &lost);
        if nested {
            plan.within = within(services, known, &plan).await?;
        }
        Ok(plan)
    }
    .boxed()
}

/// As in Heat, a resource that is replaced counts below for one that goes and one that comes.
async fn within(
    services: &Arc<Services>,
    known: &Known,
    plan: &Preview,
) -> Result<Vec<PreviewWithin>, Refusal> {
    let mut within = Vec::new();
    for gone in plan.deleted.iter().chain(&plan.replaced) {
        within.extend(deleted(services, gone).await);
    }
    for new in plan.added.iter().chain(&plan.replaced) {
        let child = preview::child_of(services, known, &new.name.as_str().into(), None);
        let Some(child) = child else { continue };
        let mut plan = preview::of_create(services, &child);
        plan.within = Box::pin(self::within(services, &child, &plan)).await?;
        let name = child.definition.stack_name().to_owned();
        let resource = new.name.clone();
        within.push(PreviewWithin { resource, name, stack: None, plan });
    }
    for updated in &plan.updated {
        let Some(id) = updated.child else { continue };
        let Some(Some(seen)) = services.ask_of(id, || See).await else { continue };
        let name = ResourceName::from(updated.name.as_str());
        let child = preview::child_of(services, known, &name, Some(&seen.child));
        let (Some(child), Some(present)) = (child, &seen.known) else { continue };
        let name = present.definition.stack_name().to_owned();
        let plan = preview(services, &child, seen.ids, true).await?;
        let resource = updated.name.clone();
        within.push(PreviewWithin { resource, name, stack: Some(id), plan });
    }
    Ok(within)
}

/// What goes with a resource.
fn deleted<'a>(
    services: &'a Arc<Services>,
    gone: &'a PreviewedResource,
) -> BoxFuture<'a, Option<PreviewWithin>> {
    async move {
        let id = gone.child?;
        let seen = services.ask_of(id, || See).await??;
        let name = seen.known.as_ref()?.definition.stack_name().to_owned();
        let members = seen.child.members.into_iter().map(|member| PreviewedResource {
            child: (seen.ids.get(&member.name))
                .and_then(|id| own_child(*id, member.physical_id.as_deref())),
            name: member.name.to_string(),
            physical_id: member.physical_id,
            why: "what it stands in goes".to_owned(),
            ..PreviewedResource::default()
        });
        let mut plan = Preview { deleted: members.collect(), ..Preview::default() };
        for member in &plan.deleted {
            plan.within.extend(deleted(services, member).await);
        }
        Some(PreviewWithin { resource: gone.name.clone(), name, stack: Some(id), plan })
    }
    .boxed()
}
