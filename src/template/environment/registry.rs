//! The resource registry: which type stands behind a name, by exact keys, wildcards and entries
//! for single resources, in Heat's order.

use indexmap::IndexMap;

use crate::template::TypeLookup;
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::python;

/// What Heat's default installation maps for everybody.
const GLOBAL: [(&str, &str); 7] = [
    ("OS::Ceilometer::Alarm", "OS::Aodh::Alarm"),
    ("OS::Ceilometer::CombinationAlarm", "OS::Aodh::CombinationAlarm"),
    (
        "OS::Ceilometer::GnocchiAggregationByMetricsAlarm",
        "OS::Aodh::GnocchiAggregationByMetricsAlarm",
    ),
    (
        "OS::Ceilometer::GnocchiAggregationByResourcesAlarm",
        "OS::Aodh::GnocchiAggregationByResourcesAlarm",
    ),
    ("OS::Ceilometer::GnocchiResourcesAlarm", "OS::Aodh::GnocchiResourcesAlarm"),
    ("OS::Metering::Alarm", "OS::Aodh::Alarm"),
    ("OS::Quantum*", "OS::Neutron*"),
];

/// How many mappings may follow one another.
const MAPPINGS_MAX: usize = 50;

const HOOKS: [&str; 6] =
    ["pre-create", "pre-update", "pre-delete", "post-create", "post-update", "post-delete"];

const RESTRICTED_ACTIONS: [&str; 2] = ["update", "replace"];

/// The mappings of one environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    /// Type, or type with a wildcard at its end, to what it stands for.
    types: IndexMap<String, String>,
    /// The same for single resources, by their names.
    resources: IndexMap<String, IndexMap<String, String>>,
}

impl Registry {
    /// Reads the section.
    pub(crate) fn new(section: &Node) -> Outcome<Self> {
        let mut registry = Self::default();
        if section.is_null() {
            return Ok(registry);
        }
        let Some(map) = section.as_map() else {
            let message = "The environment section \"resource_registry\" must be a map.";
            return Err(TemplateError::value(message).placed(section.place));
        };
        for (key, node) in map {
            match &node.form {
                Form::Map(resources) if key == "resources" => {
                    for (name, entries) in resources {
                        let target = registry.resources.entry(name.clone()).or_default();
                        load(entries, target)?;
                    }
                }
                // A base URL and the like: text under another key is a mapping like any.
                _ => load_entry(key, node, &mut registry.types)?,
            }
        }
        Ok(registry)
    }

    /// The type behind a type's name, for this resource; `None` if there is none.
    pub(crate) fn resolve(
        &self,
        type_name: &str,
        resource: &str,
        types: &dyn TypeLookup,
    ) -> Option<String> {
        self.resolve_within(type_name, resource, types, MAPPINGS_MAX)
    }

    fn resolve_within(
        &self,
        type_name: &str,
        resource: &str,
        types: &dyn TypeLookup,
        left: usize,
    ) -> Option<String> {
        let left = left.checked_sub(1)?;
        let follow = |target: String| match is_template(&target) {
            true => types.exists(&target).then_some(target),
            false => self.resolve_within(&target, resource, types, left),
        };
        if is_template(type_name) {
            return types.exists(type_name).then(|| type_name.to_owned());
        }
        let own = self.resources.get(resource).and_then(|entries| entries.get(type_name));
        if let Some(found) = own.cloned().and_then(follow) {
            return Some(found);
        }
        if let Some(found) = candidates(&self.types, type_name).into_iter().find_map(follow) {
            return Some(found);
        }
        // Those of everybody come last, the type itself among them where its name sorts.
        let global: IndexMap<String, String> =
            GLOBAL.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        if types.exists(type_name) {
            return Some(type_name.to_owned());
        }
        candidates(&global, type_name).into_iter().find_map(follow)
    }
}

/// What a type may stand for, best first: sorted by key, so that `*` comes before letters.
fn candidates(types: &IndexMap<String, String>, type_name: &str) -> Vec<String> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for (key, value) in types {
        match key.strip_suffix('*') {
            Some(stem) if type_name.starts_with(stem) && type_name != value => {
                let target = match value.strip_suffix('*') {
                    Some(prefix) => format!("{prefix}{}", &type_name[stem.len()..]),
                    None => value.clone(),
                };
                found.push((key, target));
            }
            _ if key == type_name => found.push((key, value.clone())),
            _ => {}
        }
    }
    found.sort();
    found.into_iter().map(|(_, target)| target).collect()
}

fn is_template(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".template")
}

fn load(section: &Node, into: &mut IndexMap<String, String>) -> Outcome<()> {
    for (key, node) in section.as_map().into_iter().flatten() {
        load_entry(key, node, into)?;
    }
    Ok(())
}

fn load_entry(key: &str, node: &Node, into: &mut IndexMap<String, String>) -> Outcome<()> {
    match &node.form {
        // Null takes back what was mapped before.
        Form::Null => match key.strip_suffix('*') {
            Some(stem) => into.retain(|name, _| !name.starts_with(stem)),
            None => {
                into.shift_remove(key);
            }
        },
        _ if key == "hooks" => check_words(node, &HOOKS, || {
            ("InvalidBreakPointHook", "hook type", "breakpoint, acceptable hook types are")
        })?,
        _ if key == "restricted_actions" => check_words(node, &RESTRICTED_ACTIONS, || {
            (
                "InvalidRestrictedAction",
                "restricted_action type",
                ", acceptable restricted_action types are",
            )
        })?,
        Form::Text(target) => {
            into.insert(key.to_owned(), target.clone());
        }
        // A deeper map serves nested stacks only.
        Form::Map(_) => {}
        _ => {
            let kind = python::type_name(&node.to_datum());
            let message = format!("'{kind}' object has no attribute 'support_status'");
            return Err(TemplateError::new("AttributeError", message).placed(node.place));
        }
    }
    Ok(())
}

/// A word, or a list of words, of those that are known.
fn check_words(
    node: &Node,
    known: &[&str],
    words: impl Fn() -> (&'static str, &'static str, &'static str),
) -> Outcome<()> {
    let is_known = |node: &Node| node.as_text().is_some_and(|word| known.contains(&word));
    let valid = match &node.form {
        Form::List(items) => items.iter().all(is_known),
        _ => is_known(node),
    };
    if valid {
        return Ok(());
    }
    let (class, what, rest) = words();
    let shown = python::text_of(&node.to_datum());
    let quoted: Vec<String> = known.iter().map(|word| python::quoted(word)).collect();
    let separator = if rest.starts_with(',') { "" } else { " " };
    let message = format!(
        "Invalid {what} \"{shown}\" for resource{separator}{rest}: ({})",
        quoted.join(", ")
    );
    Err(TemplateError::new(class, message).placed(node.place))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    struct Known;

    impl TypeLookup for Known {
        fn exists(&self, type_name: &str) -> bool {
            ["OS::Neutron::Net", "OS::Neutron::Port", "OS::Heat::None"].contains(&type_name)
        }
    }

    fn check(registry: Value, type_name: &str, expected: Option<&str>) {
        let registry = Registry::new(&Node::from(&registry)).unwrap();
        assert_eq!(registry.resolve(type_name, "r", &Known).as_deref(), expected);
    }

    #[test]
    fn mappings_resolve_in_heats_order() {
        check(json!({}), "OS::Neutron::Net", Some("OS::Neutron::Net"));
        check(json!({}), "OS::Quantum::Net", Some("OS::Neutron::Net"));
        check(json!({}), "My::Net", None);
        check(json!({"My::Net": "OS::Neutron::Net"}), "My::Net", Some("OS::Neutron::Net"));
        check(json!({"My::*": "OS::Neutron::*"}), "My::Port", Some("OS::Neutron::Port"));
        check(json!({"My::*": "OS::Heat::None"}), "My::Port", Some("OS::Heat::None"));
        // A mapping to what does not exist is as if absent.
        check(
            json!({"OS::Neutron::Net": "No::Such"}),
            "OS::Neutron::Net",
            Some("OS::Neutron::Net"),
        );
        // A wildcard sorts before the exact key.
        let both = json!({"OS::*": "OS::Heat::None", "OS::Neutron::Net": "OS::Neutron::Port"});
        check(both, "OS::Neutron::Net", Some("OS::Heat::None"));
        let single = json!({"resources": {"r": {"OS::Neutron::Net": "OS::Heat::None"}}});
        check(single, "OS::Neutron::Net", Some("OS::Heat::None"));
        check(json!({"A": "B", "B": "A"}), "A", None);
    }

    #[test]
    fn unknown_hooks_are_refused() {
        let registry = json!({"resources": {"r": {"hooks": "pre-fly"}}});
        let error = Registry::new(&Node::from(&registry)).unwrap_err();
        assert_eq!(error.class, "InvalidBreakPointHook");
    }
}
