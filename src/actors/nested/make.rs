//! The definition that a child should have, of its parent's and of what its type says. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::child_id;
use super::sight::Around;
use crate::actors::resource::Nesting;
use crate::actors::source::{self, Sealing};
use crate::actors::stack::{Known, Revise};
use crate::model::taint::{is_tainted, marked, taint};
use crate::model::{JsonMap, Refusal, StackSettings, Trustor};
use crate::resource_types::child::{ChildWanted, Nested};
use crate::resource_types::{Registry, Subject, TreeBounds};
use crate::template::{ChildPlace, Facade, NestedTemplate, Reading, StackDefinition, Values};

/// Where the child stands.
fn place(subject: &Subject, nesting: &Nesting) -> ChildPlace {
    ChildPlace {
        name: subject.physical_name.clone(),
        id: child_id(subject, nesting).to_string(),
        facade: Facade {
            metadata: Value::Object(nesting.metadata.clone()),
            deletion_policy: subject.deletion_policy.clone(),
            update_policy: Value::Object(subject.update_policy.clone()),
        },
        files: BTreeMap::new(),
        hides_template: false,
    }
}

/// The child's definition, within its parent's or `beside` it.
pub(super) fn define(
    (registry, bounds): (&Registry, TreeBounds),
    (subject, nesting): (&Subject, &Nesting),
    nested: &dyn Nested,
    wanted: &ChildWanted,
    around: Around<'_>,
) -> Result<StackDefinition, Refusal> {
    let parent = &around.known.definition;
    let mut place = place(subject, nesting);
    let name = subject.name.clone().unwrap_or_default();
    // A file is marked for the secrets that are written in it, which are found in it again.
    place.hides_template = nesting.properties.get("template").is_some_and(is_tainted)
        && !parent.is_file(&name, "template");
    let known = around.seen.and_then(|seen| seen.known.as_ref());
    if let (true, Some(known)) = (wanted.keeps_files, known) {
        place.files = known.definition.files().texts.clone();
    }
    let reading = Reading { depth_max: bounds.depth, ..Reading::unbounded(Values::Required) };
    let parameters = parameters(nesting, nested, wanted);
    if let (true, NestedTemplate::Text(text)) = (nested.stands_beside(), &wanted.template) {
        return Ok(parent.beside(place, text, &parameters, registry, reading)?);
    }
    Ok(parent.child_at(place, &name, &wanted.template, parameters, registry, reading)?)
}

/// The child's parameters, with marks on those that were secret as properties.
fn parameters(nesting: &Nesting, nested: &dyn Nested, wanted: &ChildWanted) -> JsonMap {
    let given = match nested.parameters() {
        Some(property) => nesting.properties.get(property).cloned().unwrap_or_default(),
        None => Value::Object(nesting.properties.clone()),
    };
    let is_secret = |name: &str| match marked(&given) {
        Some(_) => true,
        None => given.get(name).is_some_and(is_tainted),
    };
    let mut parameters = wanted.parameters.clone();
    for (name, value) in &mut parameters {
        if is_secret(name) {
            *value = taint(value.take());
        }
    }
    parameters
}

/// A definition that was checked, written down for the child, and the blob of its source, which is to
/// be kept first.
pub fn revise(
    sealing: &Sealing<'_>,
    known: Known,
    timeout_mins: Option<u32>,
    trustor: &Trustor,
) -> Result<(Revise, Vec<u8>), Refusal> {
    let definition = &known.definition;
    // A stack that stands beside sees nothing, but it was made by a resource all the same.
    let facade = definition.facade().map(serde_json::to_value);
    let facade = facade.and_then(Result::ok).unwrap_or_else(|| json!({}));
    let source = definition.source();
    // What fails is rolled back by the parent.
    let settings = StackSettings { timeout_mins, disable_rollback: true, tags: Vec::new() };
    let written = (source, Arc::new(known));
    let (revise, blob) = source::revise(sealing, written, settings, trustor.clone())?;
    Ok((Revise { facade, ..revise }, blob))
}

#[cfg(test)]
mod tests {
    use super::super::story::{given, given_in, group};
    use super::*;
    use crate::clock::{Clock, SimulatedClock};
    use crate::events::log::{BlobId, MemoryLog};
    use crate::events::master_key::MasterKey;
    use crate::events::vault::Vault;

    /// A stack beside, with a parameter that its own template does not hide.
    fn beside(value: &Value) -> Value {
        let inner = json!({ "heat_template_version": "2021-04-16",
                            "parameters": { "p": { "type": "string" } } });
        let properties = json!({ "template": inner.to_string(), "parameters": { "p": value } });
        json!({ "parameters": { "hidden": { "type": "string", "hidden": true, "default": "x" } },
                "resources": { "a": { "type": "OS::Heat::Stack", "properties": properties } } })
    }

    fn shown(template: &Value) -> Value {
        let story = given_in(template);
        let wanted =
            story.beat().wanted(story.sight().around(Default::default()), &story.moment()).unwrap();
        wanted.shown_parameters()["p"].clone()
    }

    #[test]
    fn what_is_secret_as_a_property_is_secret_as_a_parameter_of_the_child() {
        assert_eq!(shown(&beside(&"x".into())), "x");
        assert_eq!(shown(&beside(&json!({ "get_param": "hidden" }))), "******");
    }

    #[test]
    fn a_child_sees_of_its_resource_what_its_template_may_ask_for() {
        let mut declared = group(1);
        declared["metadata"] = json!({ "key": "value" });
        declared["deletion_policy"] = "Retain".into();
        let story = given(&declared);
        let wanted =
            story.beat().wanted(story.sight().around(Default::default()), &story.moment()).unwrap();
        let facade = wanted.facade().unwrap();
        assert_eq!(facade.metadata, json!({ "key": "value" }));
        assert_eq!(facade.deletion_policy, "Retain");
        assert_eq!(wanted.depth(), 1);
    }

    #[test]
    fn a_child_goes_back_nowhere_by_itself_and_has_the_time_that_it_is_given() {
        let clock = Arc::new(SimulatedClock::new(7));
        let vault =
            Vault::new(Arc::new(MemoryLog::new()), MasterKey::fresh(&*clock), clock.clone());
        let story = given(&group(1));
        let registry = story.parent.knowledge.registry.as_ref();
        let clock: &dyn Clock = clock.as_ref();
        let sealing = Sealing { registry, vault: &vault, clock, scope: "stack-a" };
        let definition =
            story.beat().wanted(story.sight().around(Default::default()), &story.moment()).unwrap();
        let known = Arc::into_inner(crate::actors::stack::story::revise_to(definition).known);
        let trustor = Trustor::of("alice", Vec::new());
        let (revise, blob) = revise(&sealing, known.unwrap(), Some(5), &trustor).unwrap();
        assert_eq!(revise.source, BlobId::of(&blob));
        assert!(revise.settings.disable_rollback);
        assert_eq!((revise.settings.timeout_mins, &revise.trustor), (Some(5), &trustor));
    }
}
