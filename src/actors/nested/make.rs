//! The definition that a child should have, of its parent's and of what its type says. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::child_id;
use super::sight::Around;
use crate::actors::resource::Nesting;
use crate::actors::source::{self, Sealing};
use crate::actors::stack::{Known, Revise};
use crate::events::log::BlobId;
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

/// A definition that was checked, written down for the child; `put` keeps its source.
pub fn revise(
    sealing: &Sealing<'_>,
    put: impl FnOnce(&[u8]) -> BlobId,
    known: Known,
    timeout_mins: Option<u32>,
    trustor: &Trustor,
) -> Result<Revise, Refusal> {
    let definition = &known.definition;
    // A stack that stands beside sees nothing, but it was made by a resource all the same.
    let facade = definition.facade().map(serde_json::to_value);
    let facade = facade.and_then(Result::ok).unwrap_or_else(|| json!({}));
    let source = definition.source();
    // What fails is rolled back by the parent.
    let settings = StackSettings { timeout_mins, disable_rollback: true, tags: Vec::new() };
    let written = (source, Arc::new(known));
    let revise = source::revise(sealing, put, written, settings, trustor.clone())?;
    Ok(Revise { facade, ..revise })
}
