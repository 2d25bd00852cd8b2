//! A resource that is not made yet, as previews show it. As in Heat its properties are whole, and
//! of its attributes those are known that repeat properties.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::stack::Known;
use crate::model::{JsonMap, ResourceName};
use crate::resource_types::schema::spread;
use crate::resource_types::{Declared, ObservedSignals, Registry, Subject};

/// The properties with every key of their schemas, unset ones with their defaults or null, each in
/// its type where it can be read as that.
pub(super) fn properties(
    registry: &Registry,
    known: &Known,
    name: &ResourceName,
    given: &JsonMap,
    now: DateTime<Utc>,
) -> JsonMap {
    let definition = &known.definition;
    let accepted = registry.accept_in(definition, name, given.clone(), now);
    let given = accepted.unwrap_or_else(|_| given.clone());
    let declared = definition.resources().get(name);
    match declared.and_then(|it| registry.schema(&it.type_name)) {
        Some(schema) => spread(&schema.properties, given),
        None => given,
    }
}

/// The attributes that the resource will have; null where nothing is known.
pub(super) fn attributes(
    registry: &Registry,
    known: &Known,
    name: &ResourceName,
    properties: &JsonMap,
) -> JsonMap {
    let definition = &known.definition;
    if let Some(provider) = definition.provider(name) {
        return provider.outputs().iter().map(|name| (name.clone(), Value::Null)).collect();
    }
    let Some(declared) = definition.resources().get(name) else { return JsonMap::new() };
    let Some(schema) = registry.schema(&declared.type_name) else { return JsonMap::new() };
    let shown = schema.attributes.iter().filter(|(name, _)| *name != "show");
    let value = |repeated: &Option<String>| {
        let property = repeated.as_ref().and_then(|name| properties.get(name));
        property.cloned().unwrap_or_default()
    };
    let mut attributes: JsonMap =
        shown.map(|(name, attribute)| (name.clone(), value(&attribute.repeats))).collect();
    if let Some(driver) = registry.driver(&declared.type_name) {
        let observed_signals = match driver.program().observes_signals() {
            true => observed_signals(registry, known),
            false => Vec::new(),
        };
        let subject = subject(known, name, driver.as_ref(), properties);
        attributes.extend(driver.unmade(&Subject { observed_signals, ..subject }));
    }
    attributes
}

fn subject(
    known: &Known,
    name: &ResourceName,
    _driver: &Declared,
    properties: &JsonMap,
) -> Subject {
    Subject {
        name: Some(name.clone()),
        properties: properties.clone(),
        reads: known.reads(name),
        ..Subject::default()
    }
}

/// What there is to be observed of a stack that is not made yet: no signal has come.
fn observed_signals(registry: &Registry, known: &Known) -> Vec<ObservedSignals> {
    let definition = &known.definition;
    let names = definition.resources().keys();
    let observed_signals = names.filter_map(|name| {
        let driver = registry.driver(registry.driver_type(definition, name)?)?;
        let subject = subject(known, name, driver.as_ref(), &JsonMap::new());
        Some(ObservedSignals {
            name: name.clone(),
            reference: driver.reference(&subject),
            signals: driver.program().signals(&subject),
        })
    });
    observed_signals.collect()
}
