//! What a create or an update would do, without doing it. As in Heat, properties are compared
//! unresolved: a resource that reads another's attribute counts as updated.

use indexmap::IndexMap;
use serde_json::Value;

use super::resource::Resource;
use super::services::Services;
use super::shell::Inhabit;
use super::stack::Known;
use crate::model::{Refusal, ResourceName};
use crate::resource_types::UpdateKind;
use crate::template::{ResourceResolved, ResourceValues};

/// A plan: the resources by what becomes of them, in the template's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    pub unchanged: Vec<PreviewedResource>,
    pub updated: Vec<PreviewedResource>,
    pub replaced: Vec<PreviewedResource>,
    pub added: Vec<PreviewedResource>,
    pub deleted: Vec<PreviewedResource>,
    /// The parameters as shown, hidden ones masked.
    pub parameters: crate::model::JsonMap,
    pub description: String,
}

/// A resource in a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreviewedResource {
    pub name: String,
    pub type_name: String,
    pub description: String,
    pub physical_id: Option<String>,
    pub properties: crate::model::JsonMap,
    pub metadata: crate::model::JsonMap,
    pub requires: Vec<String>,
    /// What leads to the change; empty where nothing changes.
    pub why: String,
}

/// What a create would make.
pub(super) fn of_create(known: &Known) -> Preview {
    let added = known.definition.resources().keys();
    Preview {
        added: added.map(|name| previewed(known, name, resolved(known, name))).collect(),
        ..blank(known)
    }
}

/// What an update would do to the resources there are.
pub(super) fn of_update(
    services: &std::sync::Arc<Services>,
    known: &Known,
    present: &IndexMap<ResourceName, Resource>,
) -> Preview {
    let knowledge = Resource::knowledge(services);
    let mut plan = blank(known);
    for (name, declared) in known.definition.resources() {
        let now = resolved(known, name);
        let mut entry = previewed(known, name, now.clone());
        let Some(resource) = present.get(name) else {
            entry.why = "it is new".to_owned();
            plan.added.push(entry);
            continue;
        };
        entry.physical_id = resource.physical_id.clone();
        let former = resource.definition.clone().unwrap_or_default();
        let registry = &services.registry;
        let driver_type =
            registry.driver_type(&known.definition, name).unwrap_or(&declared.type_name);
        if former.driver_type != driver_type {
            entry.why = format!("the type was {}", former.driver_type);
            plan.replaced.push(entry);
            continue;
        }
        let before = resource.open_map(&former.properties, &knowledge);
        let changed = registry.changed(driver_type, &before, &now.properties);
        if changed.is_empty() {
            plan.unchanged.push(entry);
            continue;
        }
        let names: Vec<&str> = changed.iter().map(String::as_str).collect();
        entry.why = format!("{} changes", names.join(", "));
        let kind = registry.driver(driver_type).map(|driver| {
            let mut subject = resource.subject(&former, &knowledge);
            subject.properties = now.properties;
            driver.on_change(&subject, &before, &changed)
        });
        match kind {
            Some(UpdateKind::Replace { .. }) => plan.replaced.push(entry),
            Some(UpdateKind::Nothing) => {
                plan.unchanged.push(PreviewedResource { why: String::new(), ..entry });
            }
            Some(UpdateKind::InPlace | UpdateKind::Refuse(_)) | None => plan.updated.push(entry),
        }
    }
    for (name, resource) in present {
        if !known.definition.resources().contains_key(name) {
            plan.deleted.push(PreviewedResource {
                name: name.to_string(),
                type_name: resource.type_name.clone(),
                physical_id: resource.physical_id.clone(),
                why: "the template does not have it".to_owned(),
                ..PreviewedResource::default()
            });
        }
    }
    plan
}

fn blank(known: &Known) -> Preview {
    Preview {
        parameters: known.definition.shown_parameters(),
        description: known.definition.description().to_owned(),
        ..Preview::default()
    }
}

fn previewed(known: &Known, name: &ResourceName, resolved: ResourceResolved) -> PreviewedResource {
    let declared = known.definition.resources().get(name);
    let requires = known.dependencies.requires(name).into_iter().flatten();
    PreviewedResource {
        name: name.to_string(),
        type_name: known.declared_type(name),
        description: declared.map(|declared| declared.description.clone()).unwrap_or_default(),
        physical_id: None,
        properties: resolved.properties,
        metadata: resolved.metadata,
        requires: requires.map(ToString::to_string).collect(),
        why: String::new(),
    }
}

fn resolved(known: &Known, name: &ResourceName) -> ResourceResolved {
    known.definition.resolve(name, &Unresolved).unwrap_or_default()
}

/// No resource has a value yet: references are names, attributes are null.
struct Unresolved;

impl ResourceValues for Unresolved {
    fn reference(&self, name: &ResourceName) -> Option<Value> {
        Some(name.as_str().into())
    }

    fn attribute(&self, _name: &ResourceName, _attribute: &str) -> Result<Option<Value>, Refusal> {
        Ok(None)
    }
}
