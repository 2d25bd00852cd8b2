//! Other resources' values while a definition is resolved.

use std::collections::HashMap;

use serde_json::Value;

use super::state::Knowledge;
use super::view::StackView;
use crate::events::stack::OutputResolved;
use crate::model::taint::{masked, plain, plain_map};
use crate::model::{Action, JsonMap, Refusal, ResourceName, Status};
use crate::template::{ALL_ATTRIBUTES, FAILED_ATTRIBUTES, ResourceValues, attribute_key, select};

/// Attributes as the cloud has them now, by the names of their resources.
pub(in crate::actors) type SeenNow = HashMap<ResourceName, JsonMap>;

/// Looks values up in the reports of a stack's incarnations; what is secret among them is marked.
pub(super) struct Values<'a> {
    stack: StackView<'a>,
    knowledge: &'a Knowledge,
    /// What counts before the reports.
    seen_now: Option<&'a SeenNow>,
}

impl<'a> Values<'a> {
    pub(super) fn of(stack: StackView<'a>, knowledge: &'a Knowledge) -> Self {
        Self { stack, knowledge, seen_now: None }
    }
}

impl ResourceValues for Values<'_> {
    fn reference(&self, name: &ResourceName) -> Option<Value> {
        let id = self.stack.traversal.as_ref()?.nodes.get(name)?;
        let reference = self.stack.reports().get(id)?.reference.as_ref()?;
        Some(reference.clone())
    }

    fn attribute(&self, name: &ResourceName, attribute: &str) -> Result<Option<Value>, Refusal> {
        let Some(id) =
            self.stack.traversal.as_ref().and_then(|traversal| traversal.nodes.get(name))
        else {
            return Ok(None);
        };
        let Some(report) = self.stack.reports().get(id) else { return Ok(None) };
        if let Some(seen) = self.seen_now.and_then(|seen| seen.get(name)?.get(attribute)) {
            return Ok(Some(seen.clone()).filter(|seen| !seen.is_null()));
        }
        attribute_of(&report.attributes, attribute)
    }

    fn attribute_at(
        &self,
        name: &ResourceName,
        attribute: &str,
        path: &[Value],
    ) -> Result<Option<Value>, Refusal> {
        let known = self.stack.known();
        let reads_paths = known.is_some_and(|it| it.reads_paths(name, &self.knowledge.registry));
        if reads_paths {
            return self.attribute(name, &attribute_key(attribute, path));
        }
        let value = self.attribute(name, attribute)?;
        Ok(value.and_then(|value| select(&value, path)))
    }
}

/// What `get_attr` gives, of the attributes that a resource has.
pub(in crate::actors) fn attribute_of(
    attributes: &JsonMap,
    attribute: &str,
) -> Result<Option<Value>, Refusal> {
    if attribute == ALL_ATTRIBUTES {
        let named = attributes.iter();
        let named = named.filter(|(name, _)| *name != ALL_ATTRIBUTES && *name != FAILED_ATTRIBUTES);
        return Ok(Some(named.map(|(name, value)| (name.clone(), value.clone())).collect()));
    }
    let value = attributes.get(attribute);
    let value = value.filter(|value| !plain((*value).clone()).is_null()).cloned();
    let failed = attributes.get(FAILED_ATTRIBUTES).and_then(|it| it.get(attribute));
    match (value, failed.map(masked)) {
        (None, Some(Value::String(why))) => Err(Refusal::new("TemplateOutputError", why)),
        (value, _) => Ok(value),
    }
}

impl StackView<'_> {
    /// The outputs as they resolve by what is on record, secrets marked; none for a stack that goes
    /// or has gone.
    pub(in crate::actors) fn outputs(self, knowledge: &Knowledge) -> Vec<OutputResolved> {
        self.outputs_beside(&SeenNow::new(), knowledge)
    }

    /// The same where some attributes were looked up in the cloud.
    pub(in crate::actors) fn outputs_beside(
        self,
        seen_now: &SeenNow,
        knowledge: &Knowledge,
    ) -> Vec<OutputResolved> {
        if self.action == Action::Delete {
            return Vec::new();
        }
        let Some(known) = self.known() else { return Vec::new() };
        let definition = &known.definition;
        let values = Values { seen_now: Some(seen_now), ..Values::of(self, knowledge) };
        let outputs = definition.resolve_outputs(&values).into_iter();
        outputs
            .map(|output| OutputResolved {
                value: output.value,
                key: output.key,
                description: output.description,
                error: output.error,
            })
            .collect()
    }

    /// What outputs read that the cloud is to be asked for, by resource; nothing of resources that
    /// are not there yet.
    pub(in crate::actors) fn read_live(
        self,
        knowledge: &Knowledge,
    ) -> HashMap<ResourceName, Vec<String>> {
        let mut live: HashMap<ResourceName, Vec<String>> = HashMap::new();
        let Some(known) = self.known() else { return live };
        let definition = &known.definition;
        for read in definition.outputs().into_iter().flat_map(|output| output.reads) {
            if knowledge.registry.reads_live(definition, &read) {
                live.entry(read.0).or_default().push(read.1);
            }
        }
        live
    }

    /// A resource's metadata, nothing in it marked, with what other resources have for it by now:
    /// as in Heat it follows signals to them. `None` where an action runs or has failed, which has
    /// its own time for each resource.
    pub fn metadata_now(self, name: &ResourceName, knowledge: &Knowledge) -> Option<JsonMap> {
        let known = self.known().filter(|_| self.status == Status::Complete)?;
        let values = Values::of(self, knowledge);
        known.definition.resolve_metadata(name, &values).map(plain_map)
    }
}
