//! All resource types of a process: the built-in ones and those of the plugin directories.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::constraints::custom;
use super::declared::{Declaration, Declared};
use super::driver::Driver;
use super::python;
use super::schema::filled;
use super::types::{BUILT_IN, Runs};
use super::values::{Check, Problem, read};
use crate::clock::{Clock, SystemClock};
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::template::TypeLookup;

/// A type file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("could not read the resource type file {path}")]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the resource type file {file} is not understood")]
    Malformed {
        file: String,
        #[source]
        source: serde_yaml::Error,
    },
}

/// Types by name.
pub struct Registry {
    types: IndexMap<String, Entry>,
}

struct Entry {
    declared: Arc<Declared>,
    driver: Arc<dyn Driver>,
}

impl Registry {
    /// The types that come with Hearth.
    pub fn built_in() -> Result<Self, RegistryError> {
        let mut registry = Self { types: IndexMap::new() };
        for built_in in BUILT_IN {
            let declaration = parse(built_in.file, built_in.yaml)?;
            let (declared, driver) = match &built_in.driver {
                Runs::Declared(special) => {
                    let declared = Arc::new(Declared::with(declaration, special()));
                    (Arc::clone(&declared), declared as Arc<dyn Driver>)
                }
                Runs::Own(driver) => {
                    let declared = Arc::new(Declared::new(declaration));
                    (Arc::clone(&declared), driver(declared))
                }
            };
            registry.insert(declared, driver);
        }
        registry.types.sort_unstable_keys();
        Ok(registry)
    }

    /// Adds the types of a directory: each `*.yaml` in it declares one. A type that exists already
    /// is replaced.
    pub fn add_plugins(&mut self, directory: &Path) -> Result<(), RegistryError> {
        let unreadable = |source| RegistryError::Unreadable { path: directory.into(), source };
        for file in std::fs::read_dir(directory).map_err(unreadable)? {
            let path = file.map_err(unreadable)?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                let text = std::fs::read_to_string(&path)
                    .map_err(|source| RegistryError::Unreadable { path: path.clone(), source })?;
                let declared = Arc::new(Declared::new(parse(&path.display().to_string(), &text)?));
                let driver: Arc<dyn Driver> = Arc::clone(&declared) as Arc<dyn Driver>;
                self.insert(declared, driver);
            }
        }
        self.types.sort_unstable_keys();
        Ok(())
    }

    fn insert(&mut self, declared: Arc<Declared>, driver: Arc<dyn Driver>) {
        let name = declared.declaration().type_name.clone();
        self.types.insert(name, Entry { declared, driver });
    }

    /// What runs a type.
    pub fn driver(&self, type_name: &str) -> Option<Arc<dyn Driver>> {
        self.types.get(type_name).map(|entry| Arc::clone(&entry.driver))
    }

    /// What a type declares of itself.
    pub fn schema(&self, type_name: &str) -> Option<&Declaration> {
        self.types.get(type_name).map(|entry| entry.declared.declaration())
    }

    /// All types, sorted by name.
    pub fn declarations(&self) -> impl Iterator<Item = &Declaration> {
        self.types.values().map(|entry| entry.declared.declaration())
    }

    /// Resolved properties with each value read as its type and every constraint checked that a
    /// value alone decides. Defaults are not filled in.
    pub fn accept(
        &self,
        resource: &ResourceName,
        type_name: &str,
        properties: JsonMap,
    ) -> Result<JsonMap, Refusal> {
        let declaration = self.known(type_name)?;
        if declaration.accepts_anything {
            return Ok(properties);
        }
        let properties = declaration.translated(properties);
        let properties = read(&declaration.properties, &properties, &|_| Check::All)
            .map_err(|problem| problem.refusal_in_action(resource))?;
        for asked in custom::asked(&declaration.properties, &properties) {
            custom::check_local(&asked.constraint, &asked.value, SystemClock.now()).map_err(
                |reason| {
                    let message = asked.words(&reason);
                    Problem { path: asked.path.clone(), message }.refusal_in_action(resource)
                },
            )?;
        }
        Ok(properties)
    }

    /// The properties whose value differs; an unset one has its default.
    pub fn changed(&self, type_name: &str, before: &JsonMap, after: &JsonMap) -> BTreeSet<String> {
        let Some(declaration) = self.schema(type_name) else { return BTreeSet::new() };
        let before = declaration.translated(filled(&declaration.properties, before));
        let after = declaration.translated(filled(&declaration.properties, after));
        let differs = |name: &&String| match (before.get(*name), after.get(*name)) {
            (Some(before), Some(after)) => !python::equal(before, after),
            (before, after) => before != after,
        };
        declaration.properties.keys().filter(differs).cloned().collect()
    }

    pub(super) fn known(&self, type_name: &str) -> Result<&Declaration, Refusal> {
        self.schema(type_name).ok_or_else(|| {
            Refusal::validation(Refusal::not_found("Resource Type", type_name).message)
        })
    }
}

impl TypeLookup for Registry {
    fn exists(&self, type_name: &str) -> bool {
        self.types.contains_key(type_name)
    }

    fn takes_anything(&self, type_name: &str) -> bool {
        self.schema(type_name).is_some_and(|schema| schema.accepts_anything)
    }

    fn has_attribute(&self, type_name: &str, attribute: &str) -> bool {
        attribute == "show"
            || self
                .schema(type_name)
                .is_some_and(|schema| schema.attributes.contains_key(attribute))
    }

    fn type_names(&self) -> Vec<String> {
        self.types.keys().cloned().collect()
    }

    fn property_names(&self, type_name: &str) -> Vec<String> {
        self.schema(type_name).map_or_else(Vec::new, |it| it.properties.keys().cloned().collect())
    }

    fn attribute_names(&self, type_name: &str) -> Vec<String> {
        self.schema(type_name).map_or_else(Vec::new, |it| it.attributes.keys().cloned().collect())
    }
}

fn parse(file: &str, yaml: &str) -> Result<Declaration, RegistryError> {
    serde_yaml::from_str(yaml)
        .map_err(|source| RegistryError::Malformed { file: file.to_owned(), source })
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
        assert!(registry.exists("OS::Heat::TestResource"));
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
            .accept(&"a".into(), "OS::Heat::TestResource", map(json!({"fail": "maybe"})))
            .unwrap_err();
        assert_eq!(
            refusal.message,
            "Property error: a.Properties.fail: \"maybe\" is not a valid boolean"
        );
    }
}
