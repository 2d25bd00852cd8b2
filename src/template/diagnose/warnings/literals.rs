//! `literal-reference`: text where a property takes another object, while the template itself has
//! what the text seems to mean. Three forms are told of, as they are hardly ever meant:
//!
//! - the name of a resource of the template that is such an object;
//! - the text that such a resource has for its `name`: nothing then waits for the resource;
//! - an id (a UUID), while the template makes such an object or has a parameter for one.

use super::old::within_properties;
use super::{Finding, Path, Step, Written, keys};
use crate::template::Member;
use crate::template::node::{Form, Node};

/// Finds them.
pub(super) fn for_references(written: &Written<'_>, found: &mut Vec<Finding>) {
    let dialect = written.dialect;
    for (name, resource) in written.resources() {
        let properties = resource.get(dialect.resource.properties);
        if let (Some(type_name), Some(properties)) = (written.type_of(resource), properties) {
            let mut path = keys(&[dialect.sections.resources, name, dialect.resource.properties]);
            walk(written, (name, type_name), properties, &mut path, found);
        }
    }
}

fn walk(
    written: &Written<'_>,
    of: (&str, &str),
    node: &Node,
    path: &mut Path,
    found: &mut Vec<Finding>,
) {
    match &node.form {
        Form::Map(map) => {
            for (key, item) in map.iter() {
                path.push(Step::Key(key.to_string()));
                walk(written, of, item, path, found);
                path.pop();
            }
        }
        Form::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                walk(written, of, item, path, found);
                path.pop();
            }
        }
        Form::Text(text) => {
            let advice = written.types.advice(of.1, Member::Property(&within_properties(path)));
            let told = advice.constraint.and_then(|wants| told(written, of.0, &wants, text));
            if let Some((message, note)) = told {
                let mut warning = written.warning("literal-reference", path, node.place, message);
                warning.note = Some(note);
                found.push(warning);
            }
        }
        _ => {}
    }
}

/// The message and what to write instead.
fn told(written: &Written<'_>, own: &str, wants: &str, text: &str) -> Option<(String, String)> {
    let dialect = written.dialect;
    let makes = |it: &str| written.types.makes(it).is_some_and(|made| made == wants);
    let makers = written
        .resources()
        .filter(|(name, resource)| *name != own && written.type_of(resource).is_some_and(makes));
    let makers: Vec<_> = makers.collect();
    let instead = |resource: &str| format!("write {{get_resource: {resource}}}");
    if makers.iter().any(|(name, _)| *name == text) {
        let message = format!("`{text}` is text here, not the resource of that name");
        return Some((message, instead(text)));
    }
    let named = makers.iter().find(|(_, resource)| {
        let name = resource.get(dialect.resource.properties).and_then(|it| it.get("name"));
        name.and_then(Node::as_text) == Some(text)
    });
    if let Some((resource, _)) = named {
        let message = format!("`{text}` is what the resource `{resource}` will be named");
        let note = format!("{}, or nothing waits until it is there", instead(resource));
        return Some((message, note));
    }
    if uuid::Uuid::try_parse(text).is_err() {
        return None;
    }
    let message = "this id is good for one cloud only".to_owned();
    if let Some((resource, _)) = makers.first() {
        return Some((message, format!("the template makes one itself: {}", instead(resource))));
    }
    let parameter = written.section(dialect.sections.parameters).find(|(_, parameter)| {
        let constraints = parameter.get("constraints").and_then(Node::as_list).unwrap_or_default();
        constraints.iter().any(|constraint| {
            constraint.get("custom_constraint").and_then(Node::as_text) == Some(wants)
        })
    });
    let (parameter, _) = parameter?;
    Some((message, format!("there is a parameter for it: write {{get_param: {parameter}}}")))
}
