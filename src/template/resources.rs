//! The resources of a template: their definitions parsed, those whose condition does not hold left
//! out, and what each requires.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ecow::EcoString;
use serde_json::json;

use crate::model::IndexMap;

use super::error::{Outcome, TemplateError};
use super::functions::table::Position;
use super::node::{Form, Node, NodeMap, Place, Scope};
use super::value::Datum;
use super::version::Version;
use super::{AttributeRead, parse, walk};

/// A resource as parsed.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) declared_type: String,
    pub(crate) properties: Node,
    pub(crate) metadata: Node,
    pub(crate) update_policy: Node,
    pub(crate) depends_on: Vec<String>,
    pub(crate) deletion_policy: String,
    /// The sections that are written, with what is in those that are never resolved.
    pub(crate) outline: EcoString,
    pub(crate) description: String,
    pub(crate) external_id: Node,
    pub(crate) place: Place,
    pub(crate) type_place: Place,
    depends_place: Place,
}

/// Checks the shape of the section, as Heat does first of all.
pub(crate) fn check_section(section: Option<&Node>, version: &Version) -> Outcome<()> {
    let Some(section) = section.filter(|node| node.is_truthy()) else { return Ok(()) };
    let keys = &version.dialect.resource;
    // Heat's table has a key of outputs as well; the resource is refused for it later.
    let is_key = |key: &str| keys.all().any(|known| known == key) || key == "value";
    let resources = match version.is_hot() {
        true => check_entries(section, version.dialect.sections.resources, keys.kind, is_key)?,
        false => {
            section.as_map().ok_or_else(|| no_attribute(section, "values").placed(section.place))?
        }
    };
    for resource in resources.values() {
        let is_map = resource.as_map().is_some();
        let has_type = resource.get(keys.kind).is_some_and(Node::is_truthy);
        if resource.is_truthy() && !is_map {
            let kind = resource.type_name();
            let message =
                format!("Resources must contain Resource. Found a [<class '{kind}'>] instead");
            return Err(TemplateError::validation(message).placed(resource.place));
        }
        if !has_type {
            let message = "Each Resource must contain a Type key.";
            return Err(TemplateError::validation(message).placed(resource.key_place));
        }
    }
    Ok(())
}

/// What Python says where a map was to be gone through and there is none.
pub(crate) fn no_attribute(node: &Node, attribute: &str) -> TemplateError {
    let kind = node.type_name();
    let message = format!("'{kind}' object has no attribute '{attribute}'");
    TemplateError::new("AttributeError", message)
}

/// Checks that a section is a map of maps with none but these keys, this one among them.
pub(crate) fn check_entries<'n>(
    section: &'n Node,
    section_name: &str,
    required: &str,
    is_key: impl Fn(&str) -> bool,
) -> Outcome<&'n NodeMap> {
    let object = section_name.trim_end_matches('s');
    let Some(entries) = section.as_map() else {
        return Err(no_attribute(section, "items").placed(section.place));
    };
    let missing =
        || TemplateError::validation(format!("Each {object} must contain a {required} key."));
    let mut sorted: Vec<_> = entries.values().zip(entries.keys()).collect();
    sorted.sort_by_key(|(_, name)| *name);
    for (entry, _) in sorted {
        if !entry.is_truthy() {
            return Err(missing().placed(entry.key_place));
        }
        let Some(map) = entry.as_map() else {
            let kind = entry.type_name();
            let message = format!(
                "\"{section_name}\" must contain a map of {object} maps. Found a [<class \
                 '{kind}'>] instead"
            );
            return Err(TemplateError::validation(message).placed(entry.place));
        };
        if let Some((key, node)) = map.iter().find(|(key, _)| !is_key(key)) {
            let message = format!("\"{key}\" is not a valid keyword inside a {object} definition");
            return Err(TemplateError::validation(message).placed(node.key_place));
        }
        if !map.contains_key(required) {
            return Err(missing().placed(entry.key_place));
        }
    }
    Ok(entries)
}

/// Parses the definitions and leaves out those whose condition does not hold.
pub(crate) fn parse_all(
    section: Option<&NodeMap>,
    scope: &Scope<'_>,
) -> Outcome<IndexMap<String, Definition>> {
    let dialect = scope.version.dialect;
    let condition_key = dialect.resource.condition;
    let all = section.map_or(0, NodeMap::len);
    let mut definitions = IndexMap::with_capacity_and_hasher(all, Default::default());
    for (name, node) in section.into_iter().flatten() {
        let parser = Parser { name, node, scope };
        let (definition, condition) = parser
            .definition()
            .map_err(|error| match error.is_pythons() {
                true => {
                    TemplateError { place: error.place, ..TemplateError::validation(error.text()) }
                }
                false => error,
            })
            .map_err(|error| error.placed(node.key_place))?;
        let condition = walk::resolve(&condition, scope)?;
        let holds = scope.conditions.is_enabled(&condition, scope).map_err(|error| {
            let place = node.get(condition_key).map(|node| node.place).unwrap_or_default();
            match error.class.as_ref() {
                "ValueError" => TemplateError::validation(error.text()).in_path([
                    dialect.sections.resources,
                    name,
                    condition_key,
                ]),
                _ => error,
            }
            .placed(place)
        })?;
        if holds {
            definitions.insert(name.to_string(), definition);
        }
    }
    Ok(definitions)
}

struct Parser<'a> {
    name: &'a str,
    node: &'a Node,
    scope: &'a Scope<'a>,
}

impl Parser<'_> {
    /// The definition and the condition, which is null where there is none.
    fn definition(&self) -> Outcome<(Definition, Node)> {
        let keys = &self.scope.version.dialect.resource;
        self.check_keys(self.scope.version)?;
        let is_text_or_call = |node: &Node| matches!(node.form, Form::Text(_) | Form::Call(_));
        let type_node = self.field(keys.kind, "string", Some(Position::Value), |node| {
            matches!(node.form, Form::Text(_))
        })?;
        let properties = self.map_field(keys.properties)?;
        let metadata = self.map_field(keys.metadata)?;
        let depends_on = self.depends_on()?;
        let policy =
            self.field(keys.deletion_policy, "string", Some(Position::Value), is_text_or_call)?;
        let deletion_policy = self.deletion_policy(&policy)?;
        let update_policy = self.map_field(keys.update_policy)?;
        let description =
            self.field(keys.description, "string", None, |node| node.as_text().is_some())?;
        let mut external_id = Node::default();
        let mut condition = Node::default();
        if self.scope.version.has_conditions() {
            if let Some(key) = keys.external_id {
                external_id = self.field(key, "string", Some(Position::Value), is_text_or_call)?;
            }
            let (key, kind) = (keys.condition, keys.condition_kind);
            condition = self.field(key, kind, Some(Position::Condition), |node| {
                matches!(node.form, Form::Text(_) | Form::Bool(_) | Form::Call(_))
            })?;
        }
        let written = |key: &str| self.node.get(key).filter(|node| !node.is_null());
        let is_written = |key: &str| written(key).is_some();
        // A few letters, because every resource has it.
        let mut outline = EcoString::new();
        for (letter, key) in [
            ('p', keys.properties),
            ('m', keys.metadata),
            ('u', keys.update_policy),
            ('k', keys.deletion_policy),
        ] {
            if is_written(key) {
                outline.push(letter);
            }
        }
        if is_written(keys.depends_on) {
            outline.push_str(&json!(depends_on).to_string());
        }
        if let Some(condition) = written(keys.condition) {
            outline.push('?');
            outline.push_str(&condition.to_json().to_string());
        }
        let definition = Definition {
            outline,
            declared_type: type_node.as_text().unwrap_or_default().to_owned(),
            properties,
            metadata,
            update_policy,
            depends_on,
            deletion_policy: match external_id.is_null() {
                // What Hearth did not make it does not delete.
                false => "Retain".to_owned(),
                true => deletion_policy.to_owned(),
            },
            description: description.as_text().unwrap_or_default().to_owned(),
            external_id,
            place: self.node.key_place,
            type_place: type_node.place,
            depends_place: self
                .node
                .get(keys.depends_on)
                .map(|node| node.place)
                .unwrap_or_default(),
        };
        Ok((definition, condition))
    }

    /// HOT refuses keys that it does not know; CloudFormation's language passes over them.
    fn check_keys(&self, version: &Version) -> Outcome<()> {
        if !version.is_hot() {
            return Ok(());
        }
        let keys = self.node.as_map().into_iter().flatten();
        let unknown: Vec<_> = keys.filter(|(key, _)| !version.has_resource_key(key)).collect();
        let Some((_, first)) = unknown.first() else { return Ok(()) };
        let place = first.key_place;
        let names: Vec<&str> = unknown.iter().map(|(key, _)| key.as_str()).collect();
        Err(TemplateError::value(format!(
            "Invalid keyword(s) inside a resource definition: {}",
            names.join(", ")
        ))
        .placed(place))
    }

    /// A field parsed (or as it is) and of the right kind; null where it is not there.
    fn field(
        &self,
        key: &str,
        kind: &str,
        position: Option<Position>,
        is_kind: impl Fn(&Node) -> bool,
    ) -> Outcome<Node> {
        let Some(node) = self.node.get(key) else { return Ok(Node::default()) };
        let parsed = match position {
            Some(position) => {
                let section = self.scope.version.dialect.sections.resources;
                let mut path = format!("{section}.{}.{key}", self.name);
                parse::parse(node, position, self.scope, &mut path)?
            }
            None => node.clone(),
        };
        if is_kind(&parsed) {
            return Ok(parsed);
        }
        let message = format!("Resource {} {key} type must be {kind}", self.name);
        Err(TemplateError::kind(message).placed(node.place))
    }

    fn map_field(&self, key: &str) -> Outcome<Node> {
        self.field(key, "object", Some(Position::Value), parse::is_map_or_call)
    }

    fn depends_on(&self) -> Outcome<Vec<String>> {
        let key = self.scope.version.dialect.resource.depends_on;
        let node = self.field(key, "list or string", None, |node| {
            matches!(node.form, Form::Text(_) | Form::List(_))
        })?;
        match &node.form {
            Form::Text(name) => Ok(vec![name.to_string()]),
            Form::List(items) => items
                .iter()
                .map(|item| {
                    item.as_text().map(str::to_owned).ok_or_else(|| {
                        let name = self.name;
                        let message = format!("Resource {name} {key} must be a list of strings");
                        TemplateError::validation(message).placed(item.place)
                    })
                })
                .collect(),
            _ => Ok(Vec::new()),
        }
    }

    fn deletion_policy(&self, node: &Node) -> Outcome<&'static str> {
        let policy = walk::resolve(node, self.scope)?;
        let known = match &policy {
            Datum::Null => return Ok("Delete"),
            Datum::Text(word) => self.scope.version.deletion_policy(word),
            _ => None,
        };
        known.ok_or_else(|| {
            let shown = super::python::text_of(&policy);
            TemplateError::validation(format!("Invalid deletion policy \"{shown}\""))
                .placed(node.place)
        })
    }
}

impl Definition {
    /// Checks the calls in the definition. Paths begin at the resource.
    pub(crate) fn check(&self, name: &str, scope: &Scope<'_>) -> Outcome<()> {
        let dialect = scope.version.dialect;
        let keys = &dialect.resource;
        for (section, node) in [
            (keys.properties, &self.properties),
            (keys.metadata, &self.metadata),
            (keys.update_policy, &self.update_policy),
            (keys.external_id.unwrap_or_default(), &self.external_id),
        ] {
            let mut path = [dialect.sections.resources, name, section].map(Cow::Borrowed).to_vec();
            walk::check(node, &mut path, scope)?;
        }
        Ok(())
    }

    /// The id of what exists already and is only taken into the stack.
    pub(crate) fn external_id(&self, scope: &Scope<'_>) -> Outcome<Option<String>> {
        Ok(match walk::resolve(&self.external_id, scope)? {
            Datum::Null => None,
            id => Some(super::python::text_of(&id)),
        })
    }

    /// The names of the resources that it requires, and what it reads of them into `reads`. `all`
    /// are those of the template, also of resources whose condition does not hold: to depend on
    /// such a one is allowed, and idle.
    pub(crate) fn requires(
        &self,
        name: &str,
        all: Option<&NodeMap>,
        scope: &Scope<'_>,
        reads: &mut BTreeSet<AttributeRead>,
    ) -> Outcome<BTreeSet<String>> {
        let mut required = BTreeSet::new();
        let mut found = |read: super::node::Read| {
            required.insert(read.resource.clone());
            reads.extend(read.of_attribute());
        };
        walk::reads(&self.properties, &mut format!("{name}.Properties"), scope, &mut found)?;
        walk::reads(&self.metadata, &mut format!("{name}.Metadata"), scope, &mut found)?;
        if let Some(id) = self.external_id(scope)?.filter(|id| !id.is_empty()) {
            if self.depends_on.is_empty() {
                return Ok(BTreeSet::new());
            }
            let kind = &self.declared_type;
            let message = format!("Invalid dependency with external {kind} resource: {id}");
            return Err(TemplateError::new("InvalidExternalResourceDependency", message));
        }
        for other in &self.depends_on {
            if scope.resources.contains_key(other) {
                required.insert(other.clone());
            } else if !all.is_some_and(|all| all.contains_key(other.as_str())) {
                return Err(TemplateError::reference(other, name).placed(self.depends_place));
            }
        }
        Ok(required)
    }
}
