//! What can be said of a resource's properties before any other resource has values: a reference
//! is a name, an attribute null.

use crate::model::{IndexMap, JsonMap};
use serde_json::Value;

use super::{AnyType, StackDefinition};
use crate::model::ResourceName;
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node, Scope};
use crate::template::{TypeLookup, walk};

/// A property as its template has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// Not final, where it depends on resources that do not exist yet.
    Value { value: Value, is_final: bool },
    /// It is written, but an `if` without a branch took it away.
    Vanished,
    /// It waits for the value of a parameter.
    Open,
    /// It cannot be resolved: why.
    Failed(String),
}

/// Properties in the order of the template.
pub type AllGiven = IndexMap<String, Given>;

impl StackDefinition {
    /// A resource's properties as they are given.
    pub(crate) fn properties_given(&self, name: &ResourceName) -> Outcome<AllGiven> {
        let definition = self.definitions.get(name.as_str());
        definition
            .map_or_else(|| Ok(AllGiven::default()), |it| self.all_given(name, &it.properties))
    }

    /// A property with null in the place of each part that has no value yet.
    pub(crate) fn property_in_part(&self, name: &ResourceName, property: &str) -> Option<Value> {
        let node = self.definitions.get(name.as_str())?.properties.get(property)?;
        Some(in_part(node, &self.scope(&AnyType)))
    }

    /// A resource's update policy as it is given.
    pub(crate) fn update_policy_given(&self, name: &ResourceName) -> Outcome<AllGiven> {
        let definition = self.definitions.get(name.as_str());
        definition
            .map_or_else(|| Ok(AllGiven::default()), |it| self.all_given(name, &it.update_policy))
    }

    /// A resource's metadata, as far as they have values by now.
    pub(crate) fn metadata_given(&self, name: &ResourceName) -> JsonMap {
        let node = self.definitions.get(name.as_str()).map(|it| &it.metadata);
        match node.map(|node| self.one(node, &self.scope(&AnyType))) {
            Some(Given::Value { value: Value::Object(metadata), .. }) => metadata,
            Some(_) | None => JsonMap::new(),
        }
    }

    fn all_given(&self, name: &ResourceName, node: &Node) -> Outcome<AllGiven> {
        if let Form::Call(call) = &node.form {
            // Heat cannot look into a call for names, and says so of the resource as a whole.
            let message = format!("'{}' object is not iterable", call.call().class);
            let resources = self.version.dialect.sections.resources;
            return Err(TemplateError::validation(message)
                .headed("TypeError")
                .in_path([resources, name.as_str()])
                .placed(node.place));
        }
        let scope = self.scope(&AnyType);
        let written = node.as_map().into_iter().flatten();
        Ok(written.map(|(key, node)| (key.to_string(), self.one(node, &scope))).collect())
    }

    fn one(&self, node: &Node, scope: &Scope<'_>) -> Given {
        let mut is_final = true;
        let _ = walk::reads(node, &mut String::new(), scope, &mut |_| is_final = false);
        match walk::resolve_nullable(node, scope) {
            Ok(Some(value)) => Given::Value { value: value.to_json(), is_final },
            Ok(None) => Given::Vanished,
            Err(error) if self.is_open(&error) => Given::Open,
            Err(error) => Given::Failed(error.text()),
        }
    }

    /// Checks the calls in a resource.
    pub(crate) fn check_calls(&self, name: &str, types: &dyn TypeLookup) -> Outcome<()> {
        let Some(definition) = self.definitions.get(name) else { return Ok(()) };
        definition.check(name, &self.scope(types)).map_err(|error| error.placed(definition.place))
    }
}

fn in_part(node: &Node, scope: &Scope<'_>) -> Value {
    match &node.form {
        Form::Map(map) => {
            map.iter().map(|(key, item)| (key.to_string(), in_part(item, scope))).collect()
        }
        Form::List(items) => items.iter().map(|item| in_part(item, scope)).collect(),
        _ => walk::resolve(node, scope).map_or(Value::Null, |value| value.to_json()),
    }
}
