//! A definition as a traversal needs it: read once, with what is asked of it over and over.

use std::collections::HashMap;
use std::sync::OnceLock;

use chrono::{DateTime, Utc};

use crate::events::resource::Definition;
use crate::graph::Dependencies;
use crate::model::taint::{mark_map_like, mask_repeated, plain_map, texts};
use crate::model::{JsonMap, Refusal, ResourceName, StackRevision};
use crate::resource_types::Registry;
use crate::template::{ResourceResolved, ResourceValues, StackDefinition, TypeLookup};

/// A revision's definition, its graph, and the attributes that it reads of each resource.
pub struct Known {
    pub definition: StackDefinition,
    pub dependencies: Dependencies,
    reads: HashMap<ResourceName, Vec<String>>,
    observers: OnceLock<Vec<ResourceName>>,
}

impl Known {
    /// A definition that was read and whose graph was built.
    pub fn new(definition: StackDefinition, dependencies: Dependencies) -> Self {
        let mut reads: HashMap<ResourceName, Vec<String>> = HashMap::new();
        for (resource, attribute) in definition.attributes_read() {
            reads.entry(resource).or_default().push(attribute);
        }
        Self { definition, dependencies, reads, observers: OnceLock::new() }
    }

    /// The attributes of a resource that the template reads.
    pub fn reads(&self, name: &ResourceName) -> Vec<String> {
        self.reads.get(name).cloned().unwrap_or_default()
    }

    /// The resources whose types wait for signals to others.
    pub(super) fn observers(&self, registry: &Registry) -> &[ResourceName] {
        self.observers.get_or_init(|| {
            let resources = self.definition.resources().iter();
            let observes = |type_name: &str| {
                registry.driver(type_name).is_some_and(|it| it.program().observes_signals())
            };
            let observers = resources.filter(|(_, declared)| observes(&declared.type_name));
            observers.map(|(name, _)| name.clone()).collect()
        })
    }

    /// The type of a resource as the template says it.
    pub fn declared_type(&self, name: &ResourceName) -> String {
        let declared = self.definition.resources().get(name);
        declared.map(|declared| declared.declared_type.clone()).unwrap_or_default()
    }

    /// Whether a resource is asked for each path within its attributes by itself.
    pub(in crate::actors) fn reads_paths(&self, name: &ResourceName, registry: &Registry) -> bool {
        let declared = self.definition.resources().get(name);
        declared.is_some_and(|declared| registry.reads_paths(&declared.type_name))
    }

    /// A resource's definition with every reference resolved and every secret marked. `revision` is
    /// the stack's that it is of.
    pub(in crate::actors) fn definition_of(
        &self,
        name: &ResourceName,
        values: &dyn ResourceValues,
        registry: &Registry,
        revision: StackRevision,
        now: DateTime<Utc>,
    ) -> Result<Definition, Refusal> {
        let missing = || Refusal::not_found("Resource", name);
        let definition = &self.definition;
        let declared = definition.resources().get(name).ok_or_else(missing)?;
        let resolved = definition.resolve(name, values)?;
        let given = resolved.properties.clone();
        let resolved = ResourceResolved { properties: plain_map(resolved.properties), ..resolved };
        let written = declared.written(&resolved);
        let accepted = registry.accept_in(definition, name, resolved.properties, now);
        let properties = accepted.map_err(|refusal| {
            let driver_type = registry.driver_type(definition, name).unwrap_or_default();
            let marked = registry.mark_secrets(driver_type, given.clone());
            let marked = definition.mark_written(name, marked, registry);
            without_secrets(refusal, &marked)
        })?;
        let driver_type = registry.driver_type(definition, name).ok_or_else(missing)?;
        let nests = registry.driver(driver_type).is_some_and(|driver| driver.nests().is_some());
        let properties = registry.mark_secrets(driver_type, mark_map_like(properties, &given));
        let properties = definition.mark_written(name, properties, registry);
        let update_policy = plain_map(resolved.update_policy.clone());
        let update_policy = registry
            .accept_policy(definition, name, update_policy, now)
            .map_err(|refusal| without_secrets(refusal, &resolved.update_policy))?;
        Ok(Definition {
            driver_type: driver_type.to_owned(),
            properties,
            metadata: resolved.metadata,
            deletion_policy: declared.deletion_policy.clone(),
            update_policy,
            attributes: self.reads(name),
            revision: if nests { revision } else { StackRevision(0) },
            external_id: declared.external_id.clone(),
            written,
        })
    }
}

/// A refusal of what has marks, which may quote it.
fn without_secrets(refusal: Refusal, given: &JsonMap) -> Refusal {
    let secrets: Vec<_> = given.values().flat_map(texts).collect();
    Refusal { message: mask_repeated(&refusal.message, &secrets), ..refusal }
}
