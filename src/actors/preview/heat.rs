//! The preview of an update as Heat makes it: values of other resources stand unresolved, another
//! class is a replacement even where one may take the other's place, and what is in a nested stack
//! is not compared.

use crate::resource_types::Budget;

use super::{child_of, of_create_alone, previewed, unresolved};
use crate::actors::plan::{Change, Found, FoundResource, Planning, goes_with, gone};
use crate::actors::previewed::{Preview, PreviewWithin, PreviewedResource, blank};
use crate::actors::resource::{Resource, settings_changed};
use crate::actors::stack::Known;
use crate::events::resource::Definition;
use crate::model::taint::plain_map;
use crate::model::{Action, ResourceName, Status};
use crate::resource_types::UpdateKind;
use crate::template::TemplateError;

/// What an update would do to what was found, and, where that is asked for, to the stacks `within`.
pub(super) fn of_update(
    planning: &Planning,
    known: &Known,
    (found, within): (&Found<Resource>, bool),
    budget: &mut Budget,
) -> Result<Preview, TemplateError> {
    budget.take_resources(&known.definition)?;
    let mut plan = blank(known);
    for name in known.definition.resources().keys() {
        let entry = previewed(planning, known, name, unresolved(known, name))?;
        let (change, entry) = match found.resources.get(name) {
            None => (Change::Added, because("it is new", entry)),
            Some(present) => changed(planning, known, name, present, entry),
        };
        plan.of_change(change).push(entry);
    }
    plan.deleted = gone(known, found).into_iter().map(|(_, entry)| entry).collect();
    if within {
        plan.within = self::within(planning, known, (&plan, found), budget)?;
    }
    Ok(plan)
}

fn because(why: &str, entry: PreviewedResource) -> PreviewedResource {
    PreviewedResource { why: why.to_owned(), ..entry }
}

/// What becomes of a resource that there is, or may be.
fn changed(
    planning: &Planning,
    known: &Known,
    name: &ResourceName,
    present: &FoundResource<Resource>,
    mut entry: PreviewedResource,
) -> (Change, PreviewedResource) {
    let (registry, resource) = (&planning.stack.registry, &present.resource);
    let Some(declared) = known.definition.resources().get(name) else {
        return (Change::Unchanged, entry);
    };
    entry.physical_id = resource.physical_id.clone();
    entry.child = resource.child_stack();
    let Some(former) = resource.definition.as_ref().or(resource.target.as_deref()) else {
        return (Change::Added, because("it was never made", entry));
    };
    let driver_type = registry.driver_type(&known.definition, name).unwrap_or(&declared.type_name);
    if former.driver_type != driver_type {
        let why = format!("the type was {}", former.driver_type);
        return (Change::Replaced, because(&why, entry));
    }
    let driver = registry.driver(driver_type);
    let nests = driver.as_ref().is_some_and(|driver| driver.nests().is_some());
    let check_failed = (resource.action, resource.status) == (Action::Check, Status::Failed);
    if present.is_lost || (check_failed && !nests) {
        let why = format!("it is {}_FAILED", resource.action);
        return (Change::Replaced, because(&why, entry));
    }
    let resolved = unresolved(known, name);
    let definition = Definition {
        driver_type: driver_type.to_owned(),
        deletion_policy: declared.deletion_policy.clone(),
        written: declared.written(&resolved),
        properties: resolved.properties,
        metadata: resolved.metadata,
        update_policy: resolved.update_policy,
        ..Definition::default()
    };
    let before = plain_map(former.properties.clone());
    let changed = registry.changed(driver_type, &before, &definition.properties);
    let mut names: Vec<&str> = changed.iter().map(String::as_str).collect();
    names.extend(settings_changed(former, &definition));
    let why = format!("{} changes", names.join(", "));
    if changed.is_empty() {
        return match (names.is_empty(), nests) {
            (true, false) => (Change::Unchanged, entry),
            (true, true) => (Change::Updated, because("its nested stack is looked at", entry)),
            (false, _) => (Change::Updated, because(&why, entry)),
        };
    }
    let subject = resource.subject(&definition, &planning.resource);
    match driver.map(|driver| driver.on_change(&subject, &before, &changed)) {
        Some(UpdateKind::Replace { .. }) => (Change::Replaced, because(&why, entry)),
        Some(UpdateKind::Nothing) => (Change::Unchanged, entry),
        Some(UpdateKind::Refuse(text)) => {
            (Change::Updated, because(&format!("{why} ({text})"), entry))
        }
        Some(UpdateKind::InPlace) | None => (Change::Updated, because(&why, entry)),
    }
}

/// As in Heat, a resource that is replaced counts below for one that goes and one that comes.
fn within(
    planning: &Planning,
    known: &Known,
    (plan, found): (&Preview, &Found<Resource>),
    budget: &mut Budget,
) -> Result<Vec<PreviewWithin>, TemplateError> {
    let mut within = Vec::new();
    for entry in plan.deleted.iter().chain(&plan.replaced) {
        let found = found.resources.get(&ResourceName::from(entry.name.as_str()));
        within.extend(found.and_then(|it| goes_with(it, entry)));
    }
    for entry in plan.added.iter().chain(&plan.replaced) {
        let name = ResourceName::from(entry.name.as_str());
        within.extend(made_anew(planning, known, &name, entry, budget)?);
    }
    for entry in &plan.updated {
        let name = ResourceName::from(entry.name.as_str());
        let present = found.resources.get(&name).and_then(|it| it.child.as_ref());
        let Some(present) = present else { continue };
        let (properties, seen) = (entry.properties.clone(), &present.seen);
        let child = child_of(planning, known, &name, properties, Some(&seen.child), budget)?;
        let (Some(child), Some(former)) = (child, &seen.known) else { continue };
        let plan = of_update(planning, &child, (&present.found, true), budget)?;
        let stack_name = former.definition.stack_name().to_owned();
        let (resource, stack) = (entry.name.clone(), Some(present.id));
        within.push(PreviewWithin { resource, name: stack_name, stack, plan });
    }
    Ok(within)
}

/// The plan of a stack that is made with its resource, and of those within it.
pub(in crate::actors) fn made_anew(
    planning: &Planning,
    known: &Known,
    name: &ResourceName,
    entry: &PreviewedResource,
    budget: &mut Budget,
) -> Result<Option<PreviewWithin>, TemplateError> {
    let child = child_of(planning, known, name, entry.properties.clone(), None, budget)?;
    let Some(child) = child else { return Ok(None) };
    budget.take_resources(&child.definition)?;
    let mut plan = of_create_alone(planning, &child)?;
    for added in &plan.added {
        let name = ResourceName::from(added.name.as_str());
        plan.within.extend(made_anew(planning, &child, &name, added, budget)?);
    }
    let stack_name = child.definition.stack_name().to_owned();
    Ok(Some(PreviewWithin { resource: entry.name.clone(), name: stack_name, stack: None, plan }))
}
