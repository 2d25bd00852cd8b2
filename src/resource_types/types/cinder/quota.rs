//! OS::Cinder::Quota: what is there already must fit into the limits, which Cinder itself does not
//! look at.

use serde_json::Value;

use crate::model::JsonMap;
use crate::openstack::{Request, Service};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Beat;
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::Stages;

pub(crate) struct Quota;

/// A limit, the collections whose objects count against it, and whether their sizes do.
const LIMITS: [(&str, &[&str], bool); 5] = [
    ("gigabytes", &["volumes", "snapshots"], true),
    ("volumes", &["volumes"], false),
    ("backups", &["backups"], false),
    ("backup_gigabytes", &["backups"], true),
    ("snapshots", &["snapshots"], false),
];

impl ResourceType for Quota {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let stage = PlainStage::of(beating.step);
        if matches!(stage, Some(PlainStage::Create | PlainStage::Update)) {
            let given = declared.properties(&beating.subject.properties);
            let limits = declared.declaration().resolved(beating.cloud, given)?;
            check(beating.cloud, &limits)?;
        }
        declared.plain_beat(beating)
    }
}

/// Refuses a limit below what the project has; -1 is none.
fn check(cloud: &Asks<'_>, limits: &JsonMap) -> Result<(), Failure> {
    let project = limits.get("project").and_then(Value::as_str).unwrap_or_default();
    let mut known: Vec<(&str, Vec<Value>)> = Vec::new();
    for (name, collections, by_size) in LIMITS {
        let limit = limits.get(name).and_then(Value::as_i64).filter(|limit| *limit != -1);
        let Some(limit) = limit else { continue };
        let mut used = 0;
        for collection in collections {
            if !known.iter().any(|(name, _)| name == collection) {
                known.push((collection, listed(cloud, collection, project)?));
            }
            let objects = known.iter().filter(|(name, _)| name == collection);
            used += objects.flat_map(|(_, objects)| objects).fold(0, |sum, object| {
                sum + if by_size { object["size"].as_i64().unwrap_or_default() } else { 1 }
            });
        }
        if limit < used {
            return Err(Failure::Invalid(format!(
                "Invalid quota {name} value(s): {limit}. Can not be less than the current usage \
                 value(s): {used}."
            )));
        }
    }
    Ok(())
}

/// A project's objects of one kind.
fn listed(cloud: &Asks<'_>, collection: &str, project: &str) -> Result<Vec<Value>, Failure> {
    let request = Request::get(Service::Volume, format!("/{collection}/detail"))
        .query("all_tenants", "True")
        .query("project_id", project);
    let objects = cloud.list(request, |mut body| match body[collection].take() {
        Value::Array(objects) => objects,
        _ => Vec::new(),
    });
    Ok(objects?)
}
