//! A definition as a traversal needs it: read once, with what is asked of it over and over.

use std::collections::HashMap;

use crate::graph::Dependencies;
use crate::model::ResourceName;
use crate::template::StackDefinition;

/// A revision's definition, its graph, and the attributes that it reads of each resource.
pub struct Known {
    pub definition: StackDefinition,
    pub dependencies: Dependencies,
    reads: HashMap<ResourceName, Vec<String>>,
}

impl Known {
    /// A definition that was read and whose graph was built.
    pub fn new(definition: StackDefinition, dependencies: Dependencies) -> Self {
        let mut reads: HashMap<ResourceName, Vec<String>> = HashMap::new();
        for (resource, attribute) in definition.attributes_read() {
            reads.entry(resource).or_default().push(attribute);
        }
        Self { definition, dependencies, reads }
    }

    /// The attributes of a resource that the template reads.
    pub fn reads(&self, name: &ResourceName) -> Vec<String> {
        self.reads.get(name).cloned().unwrap_or_default()
    }

    /// The type of a resource as the template says it.
    pub fn declared_type(&self, name: &ResourceName) -> String {
        let declared = self.definition.resources().get(name);
        declared.map(|declared| declared.declared_type.clone()).unwrap_or_default()
    }
}
