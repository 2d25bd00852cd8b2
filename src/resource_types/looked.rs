//! What a check of a resource beyond its type's schema may look at.

use indexmap::IndexMap;

use super::declared::Declaration;
use super::registry::Registry;
use crate::model::{JsonMap, ResourceName};
use crate::template::{Outcome, StackDefinition, TemplateError};

/// What a check beyond the schema may look at.
pub(crate) struct Looked<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) definition: &'a StackDefinition,
    pub(crate) name: &'a ResourceName,
    /// With defaults.
    pub(crate) properties: &'a JsonMap,
    pub(crate) update_policy: &'a JsonMap,
    /// What is wrong with values where none is held against anybody, by property.
    pub(super) forgiven: &'a IndexMap<String, String>,
}

impl Looked<'_> {
    /// Heat's wording where a check raised one of Python's exceptions.
    pub(crate) fn fallen(&self, class: &str, message: String) -> TemplateError {
        let [resources, name, _] = self.definition.path_of(self.name, "");
        TemplateError::validation(message).headed(class).in_path([resources, name])
    }

    /// What the type's rules read must be readable, whatever else is not held against a value.
    pub(super) fn check_rules_read(&self, declaration: &Declaration) -> Outcome<()> {
        let mut read = declaration.rules_read.iter();
        match read.find_map(|name| self.forgiven.get(name)) {
            Some(message) => Err(self.fallen("ValueError", message.clone())),
            None => Ok(()),
        }
    }
}
