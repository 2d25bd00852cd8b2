//! Dependencies that no reference tells, by what the files of types say of them (`after`): a port
//! needs the subnets of its network, a floating IP the router that leads to its port.

use std::collections::BTreeMap;

use serde_json::Value;

use super::declared::After;
use super::registry::Registry;
use super::schema::filled;
use crate::model::{JsonMap, ResourceName};
use crate::template::StackDefinition;

/// What is known of a stack's resources before any of them exists.
struct Known<'a> {
    /// The properties of each, by its type.
    resources: BTreeMap<&'a str, Vec<(&'a ResourceName, JsonMap)>>,
    definition: &'a StackDefinition,
}

impl Registry {
    /// Pairs of a resource and one that must exist before it.
    pub fn implicit_dependencies(
        &self,
        definition: &StackDefinition,
    ) -> Vec<(ResourceName, ResourceName)> {
        let mut resources = BTreeMap::<_, Vec<_>>::new();
        for (name, declared) in definition.resources() {
            let Some(schema) = self.schema(&declared.type_name) else { continue };
            // Errors in properties are told by validation.
            let early = self.early(definition, name, schema);
            let properties = filled(&schema.properties, &early.properties);
            resources.entry(declared.type_name.as_str()).or_default().push((name, properties));
        }
        let known = Known { resources, definition };
        let mut pairs = Vec::new();
        for (type_name, resources) in &known.resources {
            let rules = self.schema(type_name).map_or(&[][..], |schema| &schema.after);
            for (name, properties) in resources {
                let required = rules.iter().flat_map(|rule| known.required(name, properties, rule));
                let others = required.filter(|required| required != name);
                pairs.extend(others.map(|required| ((*name).clone(), required.clone())));
            }
        }
        pairs.sort();
        pairs.dedup();
        pairs
    }
}

impl<'a> Known<'a> {
    fn of_type(&self, wanted: &str) -> impl Iterator<Item = (&'a ResourceName, &JsonMap)> {
        let of_type = self.resources.get(wanted).into_iter().flatten();
        of_type.map(|(name, properties)| (*name, properties))
    }

    /// The resources that come before one by a rule of its type.
    fn required(
        &self,
        name: &ResourceName,
        properties: &JsonMap,
        rule: &After,
    ) -> Vec<&'a ResourceName> {
        let whose = match &rule.through {
            None => vec![properties],
            Some(through) => self.referred(name, through),
        };
        let ours: Vec<Option<Value>> = whose.iter().flat_map(|it| self.ours(it, rule)).collect();
        let fits = |theirs: Option<&Value>| match theirs {
            None => rule.any && !ours.is_empty(),
            Some(theirs) => ours.iter().any(|value| match value {
                None => rule.any,
                Some(value) => value == theirs,
            }),
        };
        let others = self.of_type(&rule.type_name);
        let others = others.filter(|(_, theirs)| fits(set(at(theirs, &rule.theirs))));
        others.map(|(name, _)| name).collect()
    }

    /// The properties of the resources of a type that one refers to.
    fn referred(&self, name: &ResourceName, through: &str) -> Vec<&JsonMap> {
        let Some(declared) = self.definition.resources().get(name) else { return Vec::new() };
        let of_type = self.of_type(through);
        let referred = of_type.filter(|(other, _)| declared.requires.contains(*other));
        referred.map(|(_, properties)| properties).collect()
    }

    /// What stands at the path of a rule, each entry of a list by itself; `None` is unset.
    fn ours(&self, properties: &JsonMap, rule: &After) -> Vec<Option<Value>> {
        let found = all_at(properties, &rule.ours);
        match &rule.or {
            Some(named) if found.is_empty() => {
                let ours = set(at(properties, &named.ours));
                let others = self.of_type(&named.type_name);
                let alike = others.filter(|(_, other)| set(at(other, &named.theirs)) == ours);
                alike.map(|(name, _)| Some(name.as_str().into())).collect()
            }
            _ => found.into_iter().map(|value| set(value).cloned()).collect(),
        }
    }
}

/// The value at a dotted path.
fn at<'v>(properties: &'v JsonMap, path: &str) -> Option<&'v Value> {
    let mut steps = path.split('.');
    let first = properties.get(steps.next()?);
    steps.fold(first, |value, step| value?.get(step))
}

/// Null and the empty text are as good as nothing.
fn set(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null() && **value != "")
}

/// The values at a dotted path, on which the entries of a list are each gone to, or the one of a
/// number; none where there is no list, or an empty one.
fn all_at<'v>(properties: &'v JsonMap, path: &str) -> Vec<Option<&'v Value>> {
    let mut steps = path.split('.');
    let Some(first) = steps.next().and_then(|first| properties.get(first)) else {
        return Vec::new();
    };
    let mut values = vec![Some(first)];
    for step in steps {
        let below = |value: Option<&'v Value>| match (value, step.parse::<usize>()) {
            (Some(Value::Array(list)), Ok(index)) => {
                list.get(index).map(Some).into_iter().collect()
            }
            (Some(Value::Array(list)), Err(_)) => list.iter().map(|it| it.get(step)).collect(),
            (Some(Value::Null) | None, _) => Vec::new(),
            (Some(value), _) => vec![value.get(step)],
        };
        values = values.into_iter().flat_map(below).collect();
    }
    values
}
