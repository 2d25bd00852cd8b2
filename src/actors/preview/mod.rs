//! What a create or an update would do, without doing it. As in Heat, the preview of an update
//! compares properties unresolved: a resource that reads another's attribute counts as updated. The
//! plan of an update (`plan`) compares with what there is, as the update itself does.

mod heat;

use std::sync::Arc;

use crate::model::taint;
use serde_json::Value;

use super::accept::check_name;
use super::asks::{CreateStack, RequestContext, StackPlace, UpdateStack};
use super::engine::Engine;
use super::nested;
use super::plan::{Found, Planning};
use super::previewed::{Preview, PreviewNested, PreviewedResource, blank};
use super::resource::Resource;
use super::source;
use super::stack::Known;
use super::unmade;
use crate::model::{JsonMap, Refusal, ResourceName, StackId};
use crate::resource_types::child::{ChildAsk, ChildSeen};
use crate::resource_types::{Budget, Subject, Work, too_many_resources};
use crate::template::{
    Provider, ResourceResolved, ResourceValues, TemplateError, hold, json_map_size, json_size,
};
pub(super) use heat::made_anew;

impl Engine {
    /// What a create would make; nothing is written.
    pub async fn preview_create(
        &self,
        who: &RequestContext,
        ask: &CreateStack,
    ) -> Result<Preview, Refusal> {
        check_name(&ask.name)?;
        self.refuse_taken(who, &ask.name).await?;
        let place = StackPlace::new(&who.caller.project_id, &ask.name);
        let known = self.prepare(who, &mut ask.source.clone(), place).await?;
        let planning = Planning::of(&self.services);
        let plan = move || {
            let mut budget = Budget::of(planning.stack.bounds);
            of_create(&planning, &known, &mut budget)
        };
        Ok(self.work(&who.caller.project_id, plan).await??)
    }

    /// What an update would do as Heat's preview says it; nothing is written. `within` asks for the
    /// stacks within as well.
    pub async fn preview_update(
        &self,
        who: &RequestContext,
        stack: StackId,
        ask: &UpdateStack,
        within: bool,
    ) -> Result<Preview, Refusal> {
        let (known, found) = self.found(who, stack, ask, within).await?;
        let planning = Planning::of(&self.services);
        let plan = move || {
            let mut budget = Budget::of(planning.stack.bounds);
            heat::of_update(&planning, &known, (&found, within), &mut budget)
        };
        Ok(self.work(&who.caller.project_id, plan).await??)
    }

    async fn found(
        &self,
        who: &RequestContext,
        stack: StackId,
        ask: &UpdateStack,
        within: bool,
    ) -> Result<(Arc<Known>, Found<Resource>), Refusal> {
        let summary = self.summary(who, stack).await?;
        let former = self.source(&summary).await?;
        let mut source = source::updated(ask, &former);
        let known = self.prepare(who, &mut source, summary.place()).await?;
        let found = nested::found(&self.services, summary.going_on, Vec::new(), within).await?;
        Ok((Arc::new(known), found))
    }
}

/// What a create would make, with what is nested in it.
fn of_create(
    planning: &Planning,
    known: &Known,
    budget: &mut Budget,
) -> Result<Preview, TemplateError> {
    let mut outputs = known.definition.resolve_outputs(&Unresolved);
    outputs.iter_mut().for_each(|output| output.value = taint::plain(output.value.take()));
    hold(outputs.iter().map(|output| json_size(&output.value)).sum())?;
    Ok(Preview { added: all_added(planning, known, budget)?, outputs, ..blank(known) })
}

fn all_added(
    planning: &Planning,
    known: &Known,
    budget: &mut Budget,
) -> Result<Vec<PreviewedResource>, TemplateError> {
    budget.take_resources(&known.definition)?;
    let mut added = Vec::with_capacity(known.definition.resources().len());
    for name in known.definition.resources().keys() {
        let properties = unresolved(known, name).properties;
        let nested = match child_of(planning, known, name, properties, None, budget)? {
            None => None,
            Some(child) => Some(PreviewNested {
                name: child.definition.stack_name().to_owned(),
                resources: all_added(planning, &child, budget)?,
            }),
        };
        let planned = previewed(planning, known, name, unresolved(known, name))?;
        let registry = &planning.stack.registry;
        let (given, now) = (&planned.properties, planning.clock.now());
        let properties = unmade::properties(registry, known, name, given, now);
        added.push(PreviewedResource { nested, properties, ..planned });
    }
    Ok(added)
}

/// What a create of a nested stack would make, without what is nested in it.
pub(super) fn of_create_alone(
    planning: &Planning,
    known: &Known,
) -> Result<Preview, TemplateError> {
    let names = known.definition.resources().keys();
    let added = names.map(|name| previewed(planning, known, name, unresolved(known, name)));
    Ok(Preview { added: added.collect::<Result<_, TemplateError>>()?, ..blank(known) })
}

/// The definition of the stack that a resource stands for, as far as it is known beforehand; a
/// refusal where the tree has no room for it.
pub(super) fn child_of(
    planning: &Planning,
    known: &Known,
    name: &ResourceName,
    properties: JsonMap,
    child: Option<&ChildSeen>,
    budget: &mut Budget,
) -> Result<Option<Known>, TemplateError> {
    let (definition, registry) = (&known.definition, planning.stack.registry.as_ref());
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
        templates: planning.stack.registry.operator_templates(),
        room: budget.room(),
        timeout: planning.stack.stack_action_timeout,
        now: planning.clock.now(),
        chance: &|bytes| planning.clock.fill(bytes),
    };
    if nested.stands_beside() {
        return Ok(None);
    }
    // What cannot be told before other resources are there is left out.
    let wanted = match nested.wanted(&ask) {
        Ok(wanted) => wanted,
        Err(error) if error.class() == LIMIT => return Err(too_many_resources()),
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
    let dependencies = super::definition::dependencies(&planning.stack.registry, &definition).ok();
    Ok(dependencies.map(|dependencies| Known::new(definition, dependencies)))
}

/// The class of what is refused because it is too much, and is never left out.
const LIMIT: &str = "RequestLimitExceeded";

pub(super) fn previewed(
    planning: &Planning,
    known: &Known,
    name: &ResourceName,
    resolved: ResourceResolved,
) -> Result<PreviewedResource, TemplateError> {
    let registry = &planning.stack.registry;
    let attributes = unmade::attributes(registry, known, name, &resolved.properties);
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
        ..PreviewedResource::default()
    })
}

pub(super) fn unresolved(known: &Known, name: &ResourceName) -> ResourceResolved {
    let resolved = known.definition.resolve(name, &Unresolved).unwrap_or_default();
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
