//! All resource types of a process: the built-in ones and those of the plugin directories.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::model::IndexMap;
use crate::model::taint::taint;
use chrono::{DateTime, Utc};
use serde_json::Value;
use tracing::error;

use super::advice;
use super::child::OperatorTemplates;
use super::constraints::custom;
use super::declared::reader;
use super::declared::{Declaration, Declared, Translation};
use super::finders::Finders;
use super::nested;
use super::plugins::{Plugins, Reread};
use super::python;
use super::reading::{Strictness, read};
use super::schema::{Properties, PropertySchema, filled};
use super::types::heat::{TEMPLATE_RESOURCE, TEMPLATE_RESOURCE_FILE};
use super::types::{BUILT_IN, BuiltIn};
use super::unusable::RegistryError;
use crate::clock::{Clock, SystemClock};
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::template::{
    Advice, AllGiven, AttributeRead, Given, Mappings, Member, StackDefinition, TypeLookup,
};

/// The attribute that every type has: the object as the cloud shows it.
const SHOW: &str = "show";

/// Types by name. The files of built-in types are read when they are first asked for, as a template
/// has a few types of two hundred.
pub struct Registry {
    built_in: IndexMap<String, Entry>,
    /// Those of the plugin directories, which stand above what is built in.
    pub(super) plugins: Plugins,
    /// What types stand for with everybody, where that is not what is built in.
    mappings: Option<Mappings>,
    /// What runs the resources that templates stand behind.
    templates: Arc<Declared>,
    pub(super) plugin_checks: PluginChecks,
    operator_templates: OperatorTemplates,
    /// Properties, their defaults in Heat, and what is in their place.
    defaults: Vec<(String, Value, Value)>,
    /// By which requests are checked; decisions bring their own moment.
    pub(super) clock: Arc<dyn Clock>,
}

/// Whose rules beyond the schemas a definition is held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PluginChecks {
    /// Those of every type.
    #[default]
    All,
    /// Those of Heat's own types alone, which know no cloud.
    Heat,
}

struct Entry {
    built_in: &'static BuiltIn,
    read: OnceLock<Option<Arc<Declared>>>,
}

impl Registry {
    /// The types that come with Hearth.
    pub fn built_in() -> Result<Self, RegistryError> {
        let mut types = IndexMap::default();
        for built_in in BUILT_IN {
            let name = built_in.yaml.lines().next().and_then(|line| line.strip_prefix("type: "));
            let nameless = || RegistryError::Nameless { file: built_in.file };
            let entry = Entry { built_in, read: OnceLock::new() };
            types.insert(name.ok_or_else(nameless)?.to_owned(), entry);
        }
        types.sort_unstable_keys();
        Ok(Self {
            built_in: types,
            plugins: Plugins::default(),
            mappings: None,
            templates: Arc::new(Declared::new(parse(TEMPLATE_RESOURCE, TEMPLATE_RESOURCE_FILE)?)),
            plugin_checks: PluginChecks::All,
            operator_templates: OperatorTemplates::new(),
            defaults: Vec::new(),
            clock: Arc::new(SystemClock),
        })
    }

    /// The same types, with these rules alone.
    pub fn with_plugin_checks(self, plugin_checks: PluginChecks) -> Self {
        Self { plugin_checks, ..self }
    }

    /// The same types, which check requests by this clock.
    pub fn on_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Takes a template that an operator has in the place of Hearth's own, by the option that names
    /// it.
    pub fn set_template(&mut self, option: &str, text: String) {
        self.operator_templates.insert(option.to_owned(), text);
    }

    /// Puts another default in the place of one of the built-in types' properties of that name; those
    /// with another default keep it. To be called before a type is asked for.
    pub fn set_default(&mut self, property: &str, from: &str, to: &str) {
        self.defaults.push((property.to_owned(), from.into(), to.into()));
    }

    /// The templates that an operator has in the place of Hearth's own.
    pub fn operator_templates(&self) -> &OperatorTemplates {
        &self.operator_templates
    }

    /// Takes what types stand for with everybody.
    pub(super) fn set_mappings(&mut self, mappings: Mappings) {
        self.mappings = Some(mappings);
    }

    /// What looks things up by name: Hearth's own finders and those of the plugin directories.
    pub(super) fn finders(&self) -> &Finders {
        self.plugins.finders()
    }

    /// Reads every type, each of which is else read when it is first asked for.
    pub fn read_all(&self) {
        self.declarations().for_each(drop);
    }

    fn read(&self, type_name: &str) -> Option<&Arc<Declared>> {
        if let Some(read) = self.plugins.get(type_name) {
            return Some(read);
        }
        let entry = self.built_in.get(type_name)?;
        entry.read.get_or_init(|| entry.built_in.read(&self.defaults)).as_ref()
    }

    /// What runs a type; [`Self::driver_type`] says under which name.
    pub fn driver(&self, type_name: &str) -> Option<Arc<Declared>> {
        if type_name == TEMPLATE_RESOURCE {
            return Some(Arc::clone(&self.templates));
        }
        self.read(type_name).cloned()
    }

    /// The name of what runs a resource: its type, or what stands for all templates.
    pub fn driver_type<'a>(
        &self,
        definition: &'a StackDefinition,
        name: &ResourceName,
    ) -> Option<&'a str> {
        let declared = definition.resources().get(name)?;
        Some(match definition.provider(name) {
            Some(_) => TEMPLATE_RESOURCE,
            None => &declared.type_name,
        })
    }

    /// Whether the cloud is asked for what an output reads whenever it is shown: what others may
    /// have changed since the resource's own action ended.
    pub fn reads_live(
        &self,
        definition: &StackDefinition,
        (name, attribute): &AttributeRead,
    ) -> bool {
        let driver = self.driver_type(definition, name).and_then(|driver| self.driver(driver));
        let Some(driver) = driver.filter(|driver| driver.nests().is_none()) else { return false };
        let declaration = driver.declaration();
        match declaration.attributes.get(attribute) {
            Some(attribute) => attribute.live,
            None => attribute == SHOW && declaration.local.is_none(),
        }
    }

    /// What a type declares of itself.
    pub fn schema(&self, type_name: &str) -> Option<&Declaration> {
        self.read(type_name).map(|declared| declared.declaration())
    }

    /// A resource as Heat names it in errors: `Server "a"`.
    pub fn shown(&self, definition: &StackDefinition, name: &ResourceName) -> String {
        let declared = definition.resources().get(name);
        let schema = declared.and_then(|declared| self.schema(&declared.type_name));
        format!("{} \"{name}\"", schema.map_or("TemplateResource", |schema| &schema.class))
    }

    /// All types, sorted by name.
    pub fn declarations(&self) -> impl Iterator<Item = &Declaration> {
        self.names().into_iter().filter_map(|name| self.schema(name))
    }

    /// The names of all types, sorted.
    fn names(&self) -> Vec<&String> {
        let mut names: Vec<&String> = self.built_in.keys().chain(self.plugins.names()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether Hearth itself brings the type.
    pub(super) fn is_built_in(&self, type_name: &str) -> bool {
        self.built_in.contains_key(type_name)
    }

    /// Whether a property of a type is a secret, or has one within.
    pub fn is_secret(&self, type_name: &str, property: &str) -> bool {
        let Some(schema) = self.schema(type_name) else { return false };
        let named = schema.secrets.iter().any(|name| name == property);
        named || schema.properties.get(property).is_some_and(PropertySchema::has_secret)
    }

    /// The properties with marks on those that are secrets by their type, whatever is in them.
    pub fn mark_secrets(&self, type_name: &str, mut properties: JsonMap) -> JsonMap {
        let Some(schema) = self.schema(type_name) else { return properties };
        for (name, value) in properties.iter_mut().filter(|(_, value)| !value.is_null()) {
            if schema.secrets.contains(name) {
                *value = taint(value.take());
            } else if let Some(property) = schema.properties.get(name) {
                property.mark_secrets(value);
            }
        }
        properties
    }

    /// Resolved properties with each value read as its type and every constraint checked that a
    /// value alone decides. Defaults are not filled in.
    pub fn accept(
        &self,
        resource: &ResourceName,
        type_name: &str,
        properties: JsonMap,
        now: DateTime<Utc>,
    ) -> Result<JsonMap, Refusal> {
        let declaration = self.known(type_name)?;
        if declaration.accepts_anything {
            return Ok(properties);
        }
        self.accepted(resource, &declaration.properties, &declaration.translation, properties, now)
    }

    /// The same for a resource of a definition, behind whose type a template may stand.
    pub fn accept_in(
        &self,
        definition: &StackDefinition,
        resource: &ResourceName,
        properties: JsonMap,
        now: DateTime<Utc>,
    ) -> Result<JsonMap, Refusal> {
        if let Some(provider) = definition.provider(resource) {
            return self.accepted(resource, &nested::properties(provider), &[], properties, now);
        }
        let type_name = definition.resources().get(resource).map(|it| it.type_name.as_str());
        self.accept(resource, type_name.unwrap_or_default(), properties, now)
    }

    /// Whether what is of one type may be of the other from now on, as it is.
    pub fn may_become(&self, type_name: &str, other: &str) -> bool {
        let declaration = self.schema(type_name);
        type_name == other || declaration.is_some_and(|it| it.substitute.as_deref() == Some(other))
    }

    /// An update policy in the types of its schema. Behind a template there is none.
    pub fn accept_policy(
        &self,
        definition: &StackDefinition,
        resource: &ResourceName,
        policy: JsonMap,
        now: DateTime<Utc>,
    ) -> Result<JsonMap, Refusal> {
        let type_name = definition.resources().get(resource).map(|it| it.type_name.as_str());
        match type_name.and_then(|name| self.schema(name)) {
            Some(declaration) if definition.provider(resource).is_none() => {
                self.accepted(resource, &declaration.update_policy, &[], policy, now)
            }
            _ => Ok(policy),
        }
    }

    /// The properties whose value differs; an unset one has its default.
    pub fn changed(&self, type_name: &str, before: &JsonMap, after: &JsonMap) -> BTreeSet<String> {
        if type_name == TEMPLATE_RESOURCE {
            let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            return names
                .into_iter()
                .filter(|name| differs(name, before, after))
                .cloned()
                .collect();
        }
        let Some(declaration) = self.schema(type_name) else { return BTreeSet::new() };
        let before = declaration.translated(filled(&declaration.properties, before));
        let after = declaration.translated(filled(&declaration.properties, after));
        let names = declaration.properties.keys();
        names.filter(|name| differs(name, &before, &after)).cloned().collect()
    }

    fn accepted(
        &self,
        resource: &ResourceName,
        schema: &Properties,
        translation: &[Translation],
        properties: JsonMap,
        now: DateTime<Utc>,
    ) -> Result<JsonMap, Refusal> {
        let given: AllGiven = properties
            .into_iter()
            .map(|(name, value)| (name, Given::Value { value, is_final: true }))
            .collect();
        let ask = |constraint: &str, value: &Value| {
            custom::check_local(self.finders(), constraint, value, now)
        };
        let read = read(schema, translation, &given, Strictness::Strict, &ask);
        match read.problems.into_iter().next() {
            None => Ok(read.properties),
            Some(problem) => {
                // In an action nothing is worded twice.
                let start = [resource.as_str(), "Properties"].into_iter();
                let path = python::path(start.chain(problem.path.iter().map(String::as_str)));
                let message = problem.message;
                Err(Refusal::validation(format!("Property error: {path}: {message}")))
            }
        }
    }

    pub(super) fn known(&self, type_name: &str) -> Result<&Declaration, Refusal> {
        self.schema(type_name).ok_or_else(|| {
            Refusal::validation(Refusal::not_found("Resource Type", type_name).message)
        })
    }
}

fn differs(name: &str, before: &JsonMap, after: &JsonMap) -> bool {
    match (before.get(name), after.get(name)) {
        (Some(before), Some(after)) => !python::equal(before, after),
        (before, after) => before != after,
    }
}

impl TypeLookup for Registry {
    fn exists(&self, type_name: &str) -> bool {
        self.plugins.get(type_name).is_some() || self.is_built_in(type_name)
    }

    fn mappings(&self) -> &Mappings {
        self.mappings.as_ref().unwrap_or_else(|| Mappings::built_in())
    }

    fn is_secret(&self, type_name: &str, property: &str) -> bool {
        self.is_secret(type_name, property)
    }

    fn check_custom(&self, constraint: &str, value: &Value) -> Result<(), String> {
        custom::check_local(self.finders(), constraint, value, self.clock.now())
    }

    fn takes_anything(&self, type_name: &str) -> bool {
        self.schema(type_name).is_some_and(|schema| schema.accepts_anything)
    }

    fn has_attribute(&self, type_name: &str, attribute: &str) -> bool {
        attribute == SHOW
            || self
                .schema(type_name)
                .is_some_and(|it| it.any_attribute || it.attributes.contains_key(attribute))
    }

    fn reads_paths(&self, type_name: &str) -> bool {
        self.schema(type_name).is_some_and(|schema| schema.attribute_paths)
    }

    fn type_names(&self) -> Vec<String> {
        self.names().into_iter().cloned().collect()
    }

    fn property_names(&self, type_name: &str, within: &[&str]) -> Vec<String> {
        let Some(schema) = self.schema(type_name) else { return Vec::new() };
        let keys =
            within.iter().try_fold(&schema.properties, |keys, step| keys.get(*step)?.inner_keys());
        keys.map_or_else(Vec::new, |keys| keys.keys().cloned().collect())
    }

    fn makes(&self, type_name: &str) -> Option<&str> {
        self.schema(type_name)?.makes.as_deref()
    }

    fn advice(&self, type_name: &str, member: Member<'_>) -> Advice {
        self.schema(type_name).map(|schema| advice::of(schema, member)).unwrap_or_default()
    }

    fn attribute_names(&self, type_name: &str) -> Vec<String> {
        self.schema(type_name).map_or_else(Vec::new, |it| it.attributes.keys().cloned().collect())
    }
}

impl BuiltIn {
    fn read(&self, defaults: &[(String, Value, Value)]) -> Option<Arc<Declared>> {
        match parse(self.file, self.yaml) {
            Ok(mut declaration) => {
                for (property, from, to) in defaults {
                    let default = declaration.properties.get_mut(property);
                    let default = default.and_then(|property| property.default.as_mut());
                    default.filter(|it| *it == from).into_iter().for_each(|it| *it = to.clone());
                }
                Some(Arc::new(Declared::new(declaration)))
            }
            Err(error) => {
                error!(file = self.file, %error, "built-in resource type left out");
                None
            }
        }
    }
}

fn parse(file: &str, yaml: &str) -> Result<Declaration, RegistryError> {
    reader::read(yaml)
        .map_err(|mistakes| RegistryError::Malformed { file: file.to_owned(), mistakes })
}

impl Registry {
    /// Adds the types of a directory: each `*.yaml` in it declares one. A type that exists already
    /// is replaced.
    pub fn add_plugins(&mut self, directory: &Path) -> Result<(), RegistryError> {
        self.plugins.directories.push(directory.into());
        let (read, mut reread) = self.plugins.read_again();
        if !reread.problems.is_empty() {
            return Err(reread.problems.remove(0));
        }
        self.plugins = read;
        Ok(())
    }

    /// Reads the plugin directories again. What they say holds for whatever is asked from then on;
    /// no type goes.
    pub fn reread_plugins(&self) -> Reread {
        let newest = self.plugins.newest();
        let (read, reread) = newest.read_again();
        if !reread.changed.is_empty() {
            // Were there another at the same time, it would have read the same files.
            let _ = newest.later.set(Box::new(read));
        }
        reread
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: serde_json::Value) -> JsonMap {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn every_built_in_type_can_be_read() {
        let registry = Registry::built_in().unwrap();
        for name in registry.type_names() {
            assert_eq!(registry.schema(&name).map(|schema| &schema.type_name), Some(&name));
        }
    }

    #[test]
    fn an_unset_property_equals_its_default() {
        let registry = Registry::built_in().unwrap();
        let changed =
            |before, after| registry.changed("OS::Heat::TestResource", &map(before), &map(after));
        assert!(changed(json!({}), json!({"value": "test_string", "wait_secs": 0.0})).is_empty());
        assert_eq!(changed(json!({}), json!({"value": "x"})), BTreeSet::from(["value".into()]));
    }

    #[test]
    fn a_resolved_value_of_the_wrong_type_is_refused() {
        let registry = Registry::built_in().unwrap();
        let refusal = registry
            .accept(
                &"a".into(),
                "OS::Heat::TestResource",
                map(json!({"fail": "maybe"})),
                DateTime::UNIX_EPOCH,
            )
            .unwrap_err();
        assert_eq!(
            refusal.message,
            "Property error: a.Properties.fail: \"maybe\" is not a valid boolean"
        );
    }
}
