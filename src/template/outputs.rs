//! The outputs of a template: parsed, checked, resolved one by one, so that one that cannot be
//! resolved spoils no other.

use std::borrow::Cow;

use crate::model::IndexMap;

use super::dialect::Language;
use super::error::{Outcome, TemplateError};
use super::functions::table::Position;
use super::node::{Node, Place, Scope};
use super::resources::no_attribute;
use super::value::Datum;
use super::version::Version;
use super::{parse, python, resources, walk};

/// An output as parsed. One whose condition does not hold stays, with null for its value.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) value: Node,
    pub(crate) description: String,
    pub(crate) place: Place,
}

/// Parses the section.
pub(crate) fn parse_all(
    section: Option<&Node>,
    scope: &Scope<'_>,
) -> Outcome<IndexMap<String, Definition>> {
    let mut definitions = IndexMap::default();
    let Some(section) = section.filter(|node| node.is_truthy()) else { return Ok(definitions) };
    let Some(outputs) = section.as_map() else {
        return Err(no_attribute(section, "items").placed(section.place));
    };
    for (name, node) in outputs {
        let definition = parse_one(name, node, scope);
        definitions
            .insert(name.to_string(), definition.map_err(|error| error.placed(node.key_place))?);
    }
    Ok(definitions)
}

/// The names of a template's outputs; the shape of each is checked as far as Heat does for the
/// attributes of a type that the template stands behind.
pub(crate) fn names(root: &Node, version: &Version) -> Outcome<Vec<String>> {
    let keys = &version.dialect.output;
    let name = version.dialect.sections.outputs;
    let Some(section) = root.get(name).filter(|node| node.is_truthy()) else {
        return Ok(Vec::new());
    };
    let is_key = |key: &str| {
        key == keys.value
            || key == keys.description
            || (key == keys.condition && version.has_conditions())
    };
    let entries = match version.dialect.language {
        Language::Hot => resources::check_entries(section, name, keys.value, is_key)?,
        Language::Cfn => section.as_map().ok_or_else(|| no_attribute(section, "items"))?,
    };
    if let Some(entry) = entries.values().find(|entry| entry.as_map().is_none()) {
        return Err(no_attribute(entry, "get"));
    }
    Ok(entries.keys().map(|name| name.to_string()).collect())
}

fn parse_one(name: &str, node: &Node, scope: &Scope<'_>) -> Outcome<Definition> {
    let section = scope.version.dialect.sections.outputs;
    let keys = &scope.version.dialect.output;
    let invalid = |message: String| {
        TemplateError::validation(message)
            .headed("Output validation error")
            .in_path([section, name])
    };
    let Some(map) = node.as_map() else {
        let kind = node.type_name();
        return Err(invalid(format!("Output definitions must be a map. Found a {kind} instead")));
    };
    let Some(value) = map.get(keys.value) else {
        let message = format!("Each output definition must contain a {} key.", keys.value);
        return Err(invalid(message));
    };
    let description = match map.get(keys.description).map(Node::to_datum) {
        None | Some(Datum::Null) => "No description given".to_owned(),
        Some(description) => python::text_of(&description),
    };
    let place = node.key_place;
    if scope.version.has_conditions() && !is_enabled(name, map.get(keys.condition), scope)? {
        return Ok(Definition { value: Node::default(), description, place });
    }
    let mut path = format!("{section}.{name}.{}", keys.value);
    let value = parse::parse(value, Position::Value, scope, &mut path)?;
    Ok(Definition { value, description, place })
}

fn is_enabled(name: &str, condition: Option<&Node>, scope: &Scope<'_>) -> Outcome<bool> {
    let Some(node) = condition else { return Ok(true) };
    let section = scope.version.dialect.sections.outputs;
    let key = scope.version.dialect.output.condition;
    let mut path = format!("{section}.{name}.{key}");
    let parsed = parse::parse(node, Position::Condition, scope, &mut path)?;
    let resolved = walk::resolve(&parsed, scope);
    let enabled = resolved.and_then(|value| scope.conditions.is_enabled(&value, scope));
    enabled.map_err(|error| {
        match error.class.as_ref() {
            "ValueError" => TemplateError::validation(error.text()).in_path([section, name, key]),
            _ => error,
        }
        .placed(node.place)
    })
}

impl Definition {
    /// Checks the calls in the value.
    pub(crate) fn check(&self, name: &str, scope: &Scope<'_>) -> Outcome<()> {
        let dialect = scope.version.dialect;
        let mut path =
            [dialect.sections.outputs, name, dialect.output.value].map(Cow::Borrowed).to_vec();
        walk::check(&self.value, &mut path, scope).map_err(|error| error.placed(self.place))
    }
}
