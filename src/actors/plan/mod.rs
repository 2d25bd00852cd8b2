//! What an update would do to a stack as it stands, and to the stacks within it: pure, by the same
//! comparison that the update itself makes (`resource::verdict`).
//!
//! A plan promises that nothing happens which it does not announce. What it announces as sure does
//! happen; where it is not sure, a value is only known once another resource has changed, and what
//! happens is at least `least` of the entry and at most what the entry stands under. It cannot see
//! what a cloud answers: a driver that asks for a replacement in the midst of an update, a call
//! that fails. Nor does it look at what was changed in the cloud behind the stack's back.

mod bound;
mod children;
mod fates;
mod id;
mod listing;
mod losses;
mod outlook;
mod past;
mod values;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::nested::Seen;
use super::previewed::{Preview, PreviewWithin, PreviewedResource, blank};
use super::resource::{self, Resource};
use super::services::Services;
use super::shell::Inhabit;
use super::stack::{self, Known, Stack};
use crate::clock::Clock;
use crate::model::{IndexMap, Refusal, ResourceName, StackId};
use crate::resource_types::Budget;
use crate::template::TemplateError;
use values::Foreseen;

pub use super::previewed::Change;
pub use bound::Plan;
pub use listing::{Listed, UNCHANGED};

/// What a plan is made with.
pub struct Planning {
    pub resource: resource::Knowledge,
    pub stack: stack::Knowledge,
    pub clock: Arc<dyn Clock>,
}

impl Planning {
    pub(super) fn of(services: &Arc<Services>) -> Self {
        let (resource, stack) = (Resource::knowledge(services), Stack::knowledge(services));
        Self { resource, stack, clock: Arc::clone(&services.clock) }
    }
}

/// A stack as a plan finds it: the incarnation that a new definition goes on with, by its name.
/// `R` is a resource, or lends one.
pub struct Found<R> {
    pub resources: IndexMap<ResourceName, FoundResource<R>>,
    /// What earlier changes have left beside these, and the next one takes away.
    pub left_over: Vec<(ResourceName, FoundResource<R>)>,
}

impl<R: Borrow<Resource>> Found<R> {
    /// All that there is, by its names.
    fn all_there(&self) -> impl Iterator<Item = (&ResourceName, &FoundResource<R>)> {
        let left_over = self.left_over.iter().map(|(name, it)| (name, it));
        self.resources.iter().chain(left_over).filter(|(_, it)| it.resource.borrow().is_there())
    }
}

/// A resource as a plan finds it.
pub struct FoundResource<R> {
    pub resource: R,
    /// Whether its driver would have it replaced, where it failed.
    pub is_lost: bool,
    /// The stack that stands for it, where there is one.
    pub child: Option<Box<FoundChild<R>>>,
}

/// A stack within another as a plan finds it.
pub struct FoundChild<R> {
    pub id: StackId,
    pub seen: Seen,
    pub found: Found<R>,
}

impl<R: Borrow<Resource>> FoundChild<R> {
    /// Whether nothing in it is unhealthy or gone, nor in the stacks within it.
    fn is_healthy(&self) -> bool {
        let is_whole = |it: &FoundResource<R>| match &it.child {
            Some(child) => child.is_healthy(),
            None => it.resource.borrow().child_stack().is_none(),
        };
        self.seen.is_healthy && self.found.resources.values().all(is_whole)
    }
}

/// What an update to a definition would do.
pub fn foresee<R: Borrow<Resource>>(
    planning: &Planning,
    known: &Arc<Known>,
    found: &Found<R>,
) -> Result<Preview, Refusal> {
    let mut budget = Budget::of(planning.stack.bounds);
    Ok(of_stack(planning, known, found, &mut budget)?)
}

fn of_stack<R: Borrow<Resource>>(
    planning: &Planning,
    known: &Arc<Known>,
    found: &Found<R>,
    budget: &mut Budget,
) -> Result<Preview, TemplateError> {
    budget.take_resources(&known.definition)?;
    let mut values = Foreseen::new(planning, known, found);
    let mut within: BTreeMap<ResourceName, Vec<PreviewWithin>> = BTreeMap::new();
    // What a resource is compared with depends on what becomes of those that it uses.
    for name in known.dependencies.in_order() {
        let (outlook, child) = values.outlook(name, budget)?;
        values.outlooks.insert(name.clone(), outlook);
        within.insert(name.clone(), child);
    }
    let mut plan = blank(known);
    for name in known.definition.resources().keys() {
        let Some(outlook) = values.outlooks.remove(name) else { continue };
        plan.of_change(outlook.most).push(outlook.entry);
        plan.within.extend(within.remove(name).into_iter().flatten());
    }
    for (it, entry) in gone(known, found) {
        plan.within.extend(goes_with(it, &entry));
        plan.deleted.push(entry);
    }
    for (name, it) in &found.left_over {
        let resource = it.resource.borrow();
        if resource.is_there() {
            let entry = deleted(name, resource, "an earlier change has left it".to_owned());
            plan.within.extend(goes_with(it, &entry));
            plan.deleted.push(entry);
        }
    }
    Ok(plan)
}

/// What there is under names that the definition does not have.
pub(super) fn gone<'f, R: Borrow<Resource>>(
    known: &Known,
    found: &'f Found<R>,
) -> Vec<(&'f FoundResource<R>, PreviewedResource)> {
    let resources = found.resources.iter();
    let gone = resources.filter(|(name, _)| !known.definition.resources().contains_key(*name));
    let there = gone.filter(|(_, it)| it.resource.borrow().is_there());
    let entry = |(name, it): (&ResourceName, &'f FoundResource<R>)| {
        let why = "the template does not have it".to_owned();
        (it, deleted(name, it.resource.borrow(), why))
    };
    there.map(entry).collect()
}

fn deleted(name: &ResourceName, resource: &Resource, why: String) -> PreviewedResource {
    PreviewedResource {
        name: name.to_string(),
        type_name: resource.type_name.clone(),
        physical_id: resource.physical_id.clone(),
        child: resource.child_stack(),
        why,
        is_kept: resource.is_kept_when_deleted(),
        ..PreviewedResource::default()
    }
}

/// What goes with a resource that goes: the stack that stands for it, and all within.
pub(super) fn goes_with<R: Borrow<Resource>>(
    found: &FoundResource<R>,
    entry: &PreviewedResource,
) -> Option<PreviewWithin> {
    let child = found.child.as_ref().filter(|_| !entry.is_kept)?;
    let mut plan = Preview::default();
    for (name, member) in child.found.all_there() {
        let why = "what it stands in goes".to_owned();
        let entry = deleted(name, member.resource.borrow(), why);
        plan.within.extend(goes_with(member, &entry));
        plan.deleted.push(entry);
    }
    Some(PreviewWithin {
        resource: entry.name.clone(),
        name: child.seen.name.to_string(),
        stack: Some(child.id),
        plan,
    })
}
