//! `deprecated`: types, properties and attributes that are on their way out, with what takes
//! their place.

use super::survey::Kind;
use super::{Finding, Path, Step, Written, keys};
use crate::template::node::{Form, Node, Place};
use crate::template::{Advice, Member};

/// Finds them.
pub(super) fn members(written: &Written<'_>, found: &mut Vec<Finding>) {
    let dialect = written.dialect;
    for (name, resource) in written.resources() {
        let Some(type_name) = written.type_of(resource) else { continue };
        let place = resource.get(dialect.resource.kind).map(|node| node.place).unwrap_or_default();
        let path = keys(&[dialect.sections.resources, name, dialect.resource.kind]);
        let advice = written.types.advice(type_name, Member::Type);
        found.extend(warning(written, "type", type_name, &advice, &path, place));
        let mut path = keys(&[dialect.sections.resources, name, dialect.resource.properties]);
        if let Some(properties) = resource.get(dialect.resource.properties) {
            walk(written, type_name, properties, &mut path, found);
        }
    }
    attributes(written, found);
}

fn walk(
    written: &Written<'_>,
    type_name: &str,
    node: &Node,
    path: &mut Path,
    found: &mut Vec<Finding>,
) {
    match &node.form {
        Form::Map(map) => {
            for (key, item) in map.iter() {
                path.push(Step::Key(key.to_string()));
                let names = within_properties(path);
                let advice = written.types.advice(type_name, Member::Property(&names));
                found.extend(warning(written, "property", key, &advice, path, item.key_place));
                walk(written, type_name, item, path, found);
                path.pop();
            }
        }
        Form::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                walk(written, type_name, item, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The names on a path below `resources.r.properties`.
pub(super) fn within_properties(path: &[Step]) -> Vec<&str> {
    let names = path.iter().skip(3).filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    names.collect()
}

fn attributes(written: &Written<'_>, found: &mut Vec<Finding>) {
    for used in written.survey.uses.iter().filter(|used| used.kind == Kind::Resource) {
        let call = super::tree::at(written.root, &used.path);
        let Some([_, attribute, ..]) = call.and_then(Node::as_list) else { continue };
        let resource = written.resources().find(|(name, _)| **name == used.name);
        let type_name = resource.and_then(|(_, node)| written.type_of(node));
        let (Some(type_name), Some(name)) = (type_name, attribute.as_text()) else { continue };
        let advice = written.types.advice(type_name, Member::Attribute(name));
        found.extend(warning(written, "attribute", name, &advice, &used.path, attribute.place));
    }
}

fn warning(
    written: &Written<'_>,
    what: &str,
    name: &str,
    advice: &Advice,
    path: &[Step],
    place: Place,
) -> Option<Finding> {
    let since = advice.deprecated_since.as_ref()?;
    let since = if since.is_empty() { String::new() } else { format!(" since {since}") };
    let end = if advice.does_nothing { " and does nothing any more" } else { "" };
    let newer = advice.successor.as_ref();
    let newer = newer.map(|newer| format!("; `{newer}` takes its place")).unwrap_or_default();
    let message = format!("the {what} `{name}` is deprecated{since}{end}{newer}");
    Some(written.warning("deprecated", path, place, message))
}
