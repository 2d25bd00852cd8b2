//! What a create or an update would do, without doing it. As in Heat, properties are compared
//! unresolved: a resource that reads another's attribute counts as updated. A plan to go back to an
//! earlier revision compares with what there is, as the update itself does.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::model::IndexMap;
use crate::model::taint;
use serde_json::Value;

use super::accept::check_name;
use super::asks::{CreateStack, Requester, UpdateStack};
use super::engine::Engine;
use super::in_place::{Change, InPlace};
use super::resource::Resource;
use super::services::Services;
use super::shell::Inhabit;
use super::stack::Known;
use super::{nested, source, unmade};
use crate::model::{JsonMap, Refusal, ResourceName, StackId};
use crate::resource_types::child::{ChildAsk, ChildSeen};
use crate::resource_types::{Budget, Subject, UpdateKind, Work, too_many_resources};
use crate::template::{
    OutputValue, Provider, ResourceResolved, ResourceValues, TemplateError, hold, json_map_size,
    json_size,
};

/// What a plan puts for the values of other resources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Compared {
    /// Their names, as Heat does.
    Unresolved,
    /// What they are, where the plan leaves them in their place.
    AsTheyAre,
}

/// A plan: the resources by what becomes of them, in the template's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    pub unchanged: Vec<PreviewedResource>,
    pub updated: Vec<PreviewedResource>,
    pub replaced: Vec<PreviewedResource>,
    pub added: Vec<PreviewedResource>,
    pub deleted: Vec<PreviewedResource>,
    /// The parameters as shown, hidden ones masked.
    pub parameters: crate::model::JsonMap,
    pub description: String,
    /// What a create would put out, as far as it is known beforehand.
    pub outputs: Vec<OutputValue>,
    /// The plans of the stacks within it, where they were asked for.
    pub within: Vec<PreviewWithin>,
}

/// The plan of a stack within another.
#[derive(Clone, Debug, PartialEq)]
pub struct PreviewWithin {
    /// The resource that stands for the stack.
    pub resource: String,
    pub name: String,
    /// `None` where it is about to be made.
    pub stack: Option<StackId>,
    pub plan: Preview,
}

/// A resource in a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreviewedResource {
    pub name: String,
    pub type_name: String,
    pub description: String,
    pub physical_id: Option<String>,
    /// The stack that stands for it by now, where there is one.
    pub child: Option<StackId>,
    pub properties: crate::model::JsonMap,
    pub metadata: crate::model::JsonMap,
    /// The attributes that it will have; null where nothing is known before it is made.
    pub attributes: crate::model::JsonMap,
    pub requires: Vec<String>,
    /// What leads to the change; empty where nothing changes.
    pub why: String,
    /// The resources of the stack that it stands for, where there is one.
    pub nested: Option<PreviewNested>,
}

/// The stack that a planned resource stands for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreviewNested {
    pub name: String,
    pub resources: Vec<PreviewedResource>,
}

impl Engine {
    /// What a create would make; nothing is written.
    pub async fn preview_create(
        &self,
        who: &Requester,
        ask: &CreateStack,
    ) -> Result<Preview, Refusal> {
        check_name(&ask.name)?;
        self.refuse_taken(who, &ask.name).await?;
        let known = self.prepare(who, &mut ask.source.clone(), None, &ask.name).await?;
        let services = Arc::clone(&self.services);
        let plan = move || {
            let mut budget = Budget::of(services.limits.tree());
            of_create(&services, &known, &mut budget)
        };
        Ok(self.work(&who.caller.project_id, plan).await??)
    }

    /// What an update would do; nothing is written. `nested` asks for the stacks within as well.
    pub async fn preview_update(
        &self,
        who: &Requester,
        stack: StackId,
        ask: &UpdateStack,
        nested: bool,
    ) -> Result<Preview, Refusal> {
        self.plan_update(who, stack, ask, nested, Compared::Unresolved).await
    }

    pub(super) async fn plan_update(
        &self,
        who: &Requester,
        stack: StackId,
        ask: &UpdateStack,
        nested: bool,
        compared: Compared,
    ) -> Result<Preview, Refusal> {
        let standing = self.standing(who, stack).await?;
        let former = self.source(&standing).await?;
        let mut source = source::updated(ask, &former);
        let known = self.prepare(who, &mut source, Some(stack), &standing.name).await?;
        let project = &who.caller.project_id;
        let tree = nested::Tree::new(&self.services, project, compared);
        nested::preview(&tree, Arc::new(known), standing.incarnations, nested).await
    }
}

/// What a create would make, with what is nested in it.
fn of_create(
    services: &Services,
    known: &Known,
    budget: &mut Budget,
) -> Result<Preview, TemplateError> {
    let mut outputs = known.definition.resolve_outputs(&Unresolved);
    outputs.iter_mut().for_each(|output| output.value = taint::plain(output.value.take()));
    hold(outputs.iter().map(|output| json_size(&output.value)).sum())?;
    Ok(Preview { added: all_added(services, known, budget)?, outputs, ..blank(known) })
}

fn all_added(
    services: &Services,
    known: &Known,
    budget: &mut Budget,
) -> Result<Vec<PreviewedResource>, TemplateError> {
    budget.take_resources(&known.definition)?;
    let mut added = Vec::with_capacity(known.definition.resources().len());
    for name in known.definition.resources().keys() {
        let properties = resolved(known, name).properties;
        let nested = match child_of(services, known, name, properties, None, budget)? {
            None => None,
            Some(child) => Some(PreviewNested {
                name: child.definition.stack_name().to_owned(),
                resources: all_added(services, &child, budget)?,
            }),
        };
        let planned = previewed(services, known, name, resolved(known, name))?;
        let properties = unmade::properties(services, known, name, &planned.properties);
        added.push(PreviewedResource { nested, properties, ..planned });
    }
    Ok(added)
}

/// What a create of a nested stack would make, without what is nested in it.
pub(super) fn of_create_alone(
    services: &Services,
    known: &Known,
) -> Result<Preview, TemplateError> {
    let names = known.definition.resources().keys();
    let added = names.map(|name| previewed(services, known, name, resolved(known, name)));
    Ok(Preview { added: added.collect::<Result<_, TemplateError>>()?, ..blank(known) })
}

/// The definition of the stack that a resource stands for, as far as it is known beforehand; a
/// refusal where the tree has no room for it.
pub(super) fn child_of(
    services: &Services,
    known: &Known,
    name: &ResourceName,
    properties: JsonMap,
    child: Option<&ChildSeen>,
    budget: &mut Budget,
) -> Result<Option<Known>, TemplateError> {
    let (definition, registry) = (&known.definition, services.registry.as_ref());
    let driver = registry.driver_type(definition, name).and_then(|it| registry.driver(it));
    let Some(driver) = driver else { return Ok(None) };
    let Some(nested) = driver.nests() else { return Ok(None) };
    let subject = Subject {
        name: Some(name.clone()),
        properties: driver.properties(&properties),
        reads: known.reads(name),
        ..Subject::default()
    };
    let ask = ChildAsk {
        work: &Work::Create,
        subject: &subject,
        definition,
        child,
        used: None,
        room: budget.room(),
        timeout: services.limits.stack_action_timeout,
        now: services.clock.now(),
        chance: &|bytes| services.clock.fill(bytes),
    };
    if nested.stands_beside() {
        return Ok(None);
    }
    // What cannot be told before other resources are there is left out.
    let wanted = match nested.wanted(&ask) {
        Ok(wanted) => wanted,
        Err(error) if error.class == LIMIT => return Err(too_many_resources()),
        Err(_) => return Ok(None),
    };
    budget.take_stack(definition.provider(name).map_or(0, Provider::text_bytes))?;
    let (template, parameters) = (&wanted.template, wanted.parameters);
    let made = definition.child(name, template, parameters, registry, budget.reading());
    let definition = match made {
        Ok(definition) => definition,
        Err(error) if error.class == LIMIT => return Err(error),
        Err(_) => return Ok(None),
    };
    let dependencies = super::definition::dependencies(&services.registry, &definition).ok();
    Ok(dependencies.map(|dependencies| Known::new(definition, dependencies)))
}

/// The class of what is refused because it is too much, and is never left out.
const LIMIT: &str = "RequestLimitExceeded";

/// What an update would do to the resources there are, of which those that are lost are replaced
/// whatever changes.
pub(super) fn of_update(
    services: &Arc<Services>,
    known: &Known,
    present: &IndexMap<ResourceName, Resource>,
    lost: &BTreeSet<ResourceName>,
    compared: Compared,
) -> Result<Preview, TemplateError> {
    let knowledge = Resource::knowledge(services);
    let mut values = InPlace { present, knowledge: &knowledge, changes: HashMap::new() };
    let mut entries = HashMap::new();
    // What a resource is compared with depends on what becomes of those that it uses.
    for name in known.dependencies.in_order() {
        let now = match compared {
            Compared::Unresolved => resolved(known, name),
            Compared::AsTheyAre => resolved_with(known, name, &values),
        };
        let entry = previewed(services, known, name, now.clone())?;
        let (change, entry) = match present.get(name) {
            None => (Change::Added, PreviewedResource { why: "it is new".to_owned(), ..entry }),
            Some(resource) => {
                let is_lost = lost.contains(name);
                changed(services, known, name, (resource, is_lost), now, entry, compared)
            }
        };
        values.changes.insert(name.clone(), change);
        entries.insert(name, entry);
    }
    let mut plan = blank(known);
    for name in known.definition.resources().keys() {
        let Some(entry) = entries.remove(name) else { continue };
        match values.changes.get(name) {
            Some(Change::Unchanged) | None => plan.unchanged.push(entry),
            Some(Change::Updated) => plan.updated.push(entry),
            Some(Change::Replaced) => plan.replaced.push(entry),
            Some(Change::Added) => plan.added.push(entry),
        }
    }
    for (name, resource) in present {
        if !known.definition.resources().contains_key(name) {
            plan.deleted.push(PreviewedResource {
                name: name.to_string(),
                type_name: resource.type_name.clone(),
                physical_id: resource.physical_id.clone(),
                child: resource.child_stack(),
                why: "the template does not have it".to_owned(),
                ..PreviewedResource::default()
            });
        }
    }
    Ok(plan)
}

/// What becomes of a resource that there is, or may be.
fn changed(
    services: &Arc<Services>,
    known: &Known,
    name: &ResourceName,
    (resource, is_lost): (&Resource, bool),
    now: ResourceResolved,
    mut entry: PreviewedResource,
    compared: Compared,
) -> (Change, PreviewedResource) {
    let registry = &services.registry;
    let because = |why: String, entry: PreviewedResource| PreviewedResource { why, ..entry };
    let Some(declared) = known.definition.resources().get(name) else {
        return (Change::Unchanged, entry);
    };
    entry.physical_id = resource.physical_id.clone();
    entry.child = resource.child_stack();
    let made = resource.definition.as_ref().or(resource.target.as_ref());
    let Some(former) = made.cloned() else {
        return (Change::Added, because("it was never made".to_owned(), entry));
    };
    let driver_type = registry.driver_type(&known.definition, name).unwrap_or(&declared.type_name);
    if former.driver_type != driver_type {
        let why = format!("the type was {}", former.driver_type);
        return (Change::Replaced, because(why, entry));
    }
    if is_lost {
        let why = format!("it is {}_FAILED", resource.action);
        return (Change::Replaced, because(why, entry));
    }
    let before = taint::plain_map(former.properties.clone());
    let given = now.properties.clone();
    let after = match compared {
        Compared::Unresolved => given,
        Compared::AsTheyAre => {
            registry.accept_in(&known.definition, name, given.clone()).unwrap_or(given)
        }
    };
    let changed = registry.changed(driver_type, &before, &after);
    let driver = registry.driver(driver_type);
    let mut names: Vec<&str> = changed.iter().map(String::as_str).collect();
    let metadata = taint::plain_map(former.metadata.clone());
    let settings = [
        ("metadata", metadata != now.metadata),
        ("deletion_policy", former.deletion_policy != declared.deletion_policy),
        ("update_policy", former.update_policy != now.update_policy),
        ("definition", former.is_written_otherwise(&declared.written(&now))),
    ];
    names.extend(settings.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name));
    let mut why = format!("{} changes", names.join(", "));
    if changed.is_empty() {
        // As in Heat what is in a nested stack is not compared.
        let nests = driver.is_some_and(|driver| driver.nests().is_some());
        return match (names.is_empty(), nests) {
            (true, false) => (Change::Unchanged, entry),
            (true, true) => (Change::Updated, because(LOOKED_AT.to_owned(), entry)),
            (false, _) => (Change::Updated, because(why, entry)),
        };
    }
    let kind = driver.map(|driver| {
        if let Some(warning) = driver.warning(&before, &after) {
            why.push_str(&format!(" ({warning})"));
        }
        let knowledge = Resource::knowledge(services);
        let mut subject = resource.subject(&former, &knowledge);
        subject.properties = after;
        driver.on_change(&subject, &before, &changed)
    });
    match kind {
        Some(UpdateKind::Replace { .. }) => (Change::Replaced, because(why, entry)),
        Some(UpdateKind::Nothing) => (Change::Unchanged, entry),
        Some(UpdateKind::Refuse(text)) => {
            (Change::Updated, because(format!("{why} ({text})"), entry))
        }
        Some(UpdateKind::InPlace) | None => (Change::Updated, because(why, entry)),
    }
}

/// Why a resource counts as updated whose stack alone may be.
pub(super) const LOOKED_AT: &str = "its nested stack is looked at";

fn blank(known: &Known) -> Preview {
    Preview {
        parameters: known.definition.shown_parameters(),
        description: known.definition.description().to_owned(),
        ..Preview::default()
    }
}

fn previewed(
    services: &Services,
    known: &Known,
    name: &ResourceName,
    resolved: ResourceResolved,
) -> Result<PreviewedResource, TemplateError> {
    let attributes = unmade::attributes(services, known, name, &resolved.properties);
    let parts = [&resolved.properties, &resolved.metadata, &attributes];
    hold(parts.into_iter().map(json_map_size).sum())?;
    let declared = known.definition.resources().get(name);
    let requires = known.dependencies.requires(name).into_iter().flatten();
    Ok(PreviewedResource {
        name: name.to_string(),
        type_name: known.declared_type(name),
        description: declared.map(|declared| declared.description.clone()).unwrap_or_default(),
        physical_id: None,
        child: None,
        properties: resolved.properties,
        metadata: resolved.metadata,
        attributes,
        requires: requires.map(ToString::to_string).collect(),
        why: String::new(),
        nested: None,
    })
}

fn resolved(known: &Known, name: &ResourceName) -> ResourceResolved {
    resolved_with(known, name, &Unresolved)
}

fn resolved_with(
    known: &Known,
    name: &ResourceName,
    values: &dyn ResourceValues,
) -> ResourceResolved {
    let resolved = known.definition.resolve(name, values).unwrap_or_default();
    ResourceResolved {
        properties: taint::plain_map(resolved.properties),
        metadata: taint::plain_map(resolved.metadata),
        update_policy: taint::plain_map(resolved.update_policy),
    }
}

/// No resource has a value yet: references are names, attributes are null.
struct Unresolved;

impl ResourceValues for Unresolved {
    fn reference(&self, name: &ResourceName) -> Option<Value> {
        Some(name.as_str().into())
    }

    fn attribute(&self, _name: &ResourceName, _attribute: &str) -> Result<Option<Value>, Refusal> {
        Ok(None)
    }
}
