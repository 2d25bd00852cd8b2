//! What an update would do in the stacks within a stack.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::IndexMap;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::asks::See;
use super::own_child;
use crate::actors::preview::{
    self, Compared, LOOKED_AT, Preview, PreviewWithin, PreviewedResource,
};
use crate::actors::provisioner::is_lost;
use crate::actors::services::Services;
use crate::actors::stack::Known;
use crate::model::{ProjectId, Refusal, ResourceId, ResourceName};
use crate::resource_types::Budget;
use crate::template::TemplateError;

/// The tree of stacks that a plan goes through: its parts are put together where templates are
/// worked on, out of one budget.
pub(in crate::actors) struct Tree<'a> {
    services: &'a Arc<Services>,
    project: &'a ProjectId,
    compared: Compared,
    budget: Mutex<Budget>,
}

impl<'a> Tree<'a> {
    pub(in crate::actors) fn new(
        services: &'a Arc<Services>,
        project: &'a ProjectId,
        compared: Compared,
    ) -> Self {
        let budget = Mutex::new(Budget::of(services.limits.tree()));
        Self { services, project, compared, budget }
    }

    /// Puts a part together; what it takes of the budget is taken from what comes after it.
    async fn plan<T: Send + 'static>(
        &self,
        part: impl FnOnce(&Arc<Services>, &mut Budget) -> Result<T, TemplateError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let services = Arc::clone(self.services);
        let mut budget = *self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let job = move || (part(&services, &mut budget), budget);
        let (made, budget) = self.services.pool.run(self.project, job).await?;
        *self.budget.lock().unwrap_or_else(PoisonError::into_inner) = budget;
        Ok(made?)
    }
}

/// The plan of a stack, with those of the stacks within it where they are wanted.
pub(in crate::actors) fn preview<'a>(
    tree: &'a Tree<'a>,
    known: Arc<Known>,
    incarnations: IndexMap<ResourceName, ResourceId>,
    nested: bool,
) -> BoxFuture<'a, Result<Preview, Refusal>> {
    async move {
        let services = tree.services;
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
        let (of, compared) = (Arc::clone(&known), tree.compared);
        let plan = tree.plan(move |services, budget| {
            budget.take_resources(&of.definition)?;
            preview::of_update(services, &of, &resources, &lost, compared)
        });
        let mut plan = plan.await?;
        if nested {
            plan.within = within(tree, &known, &plan).await?;
        }
        if compared == Compared::AsTheyAre {
            rest_what_rests(&mut plan);
        }
        Ok(plan)
    }
    .boxed()
}

/// What was only to be looked at, and has nothing to be changed within it, stays as it is.
fn rest_what_rests(plan: &mut Preview) {
    let is_quiet = |within: &PreviewWithin| {
        let plan = &within.plan;
        [&plan.updated, &plan.replaced, &plan.added, &plan.deleted].iter().all(|it| it.is_empty())
    };
    let rests = |entry: &PreviewedResource| {
        let of = plan.within.iter().find(|within| within.resource == entry.name);
        entry.why == LOOKED_AT && of.is_some_and(is_quiet)
    };
    let (resting, updated) = std::mem::take(&mut plan.updated).into_iter().partition(rests);
    let resting: Vec<PreviewedResource> = resting;
    plan.updated = updated;
    let quiet = |entry| PreviewedResource { why: String::new(), ..entry };
    plan.unchanged.extend(resting.into_iter().map(quiet));
}

/// As in Heat, a resource that is replaced counts below for one that goes and one that comes.
async fn within(
    tree: &Tree<'_>,
    known: &Arc<Known>,
    plan: &Preview,
) -> Result<Vec<PreviewWithin>, Refusal> {
    let mut within = Vec::new();
    for gone in plan.deleted.iter().chain(&plan.replaced) {
        within.extend(deleted(tree.services, gone).await);
    }
    for new in plan.added.iter().chain(&plan.replaced) {
        let (of, name) = (Arc::clone(known), ResourceName::from(new.name.as_str()));
        let properties = new.properties.clone();
        let made = tree.plan(move |services, budget| {
            let child = preview::child_of(services, &of, &name, properties, None, budget)?;
            let Some(child) = child else {
                return Ok(None);
            };
            budget.take_resources(&child.definition)?;
            let plan = preview::of_create_alone(services, &child)?;
            Ok(Some((Arc::new(child), plan)))
        });
        let Some((child, mut plan)) = made.await? else { continue };
        plan.within = Box::pin(self::within(tree, &child, &plan)).await?;
        let name = child.definition.stack_name().to_owned();
        let resource = new.name.clone();
        within.push(PreviewWithin { resource, name, stack: None, plan });
    }
    for updated in &plan.updated {
        let Some(id) = updated.child else { continue };
        let Some(Some(seen)) = tree.services.ask_of(id, || See).await else { continue };
        let (of, name) = (Arc::clone(known), ResourceName::from(updated.name.as_str()));
        let (present, properties) = (seen.child, updated.properties.clone());
        let child = tree.plan(move |services, budget| {
            preview::child_of(services, &of, &name, properties, Some(&present), budget)
        });
        let (Some(child), Some(present)) = (child.await?, &seen.known) else { continue };
        let name = present.definition.stack_name().to_owned();
        let plan = preview(tree, Arc::new(child), seen.ids, true).await?;
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
