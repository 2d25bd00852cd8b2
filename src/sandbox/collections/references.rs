//! What objects have to do with one another: which name which, and which are too much alike.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::super::answer::{self, Answer};
use super::super::cloud::Cloud;
use super::super::keystone::Scope;
use super::super::neutron;
use super::definition::{Collection, class};
use super::{Place, find};
use crate::model::JsonMap;

/// An object that others refer to goes: what goes with it goes too. An error if it must stay.
pub(in crate::sandbox) fn part(
    cloud: &mut Cloud,
    service: &str,
    wrap: &str,
    id: &str,
) -> Result<(), ()> {
    let count = cloud.collections.served.len();
    for index in 0..count {
        let collection = Arc::clone(&cloud.collections.served[index].collection);
        if collection.service != service {
            continue;
        }
        let place = Place { index, collection };
        if !naming(cloud, &place, &place.collection.refers, wrap, id).is_empty() {
            return Err(());
        }
        for follower in naming(cloud, &place, &place.collection.goes_with, wrap, id) {
            part(cloud, service, &place.collection.wrap, &follower)?;
            cloud.collections.rows_mut(&place).remove(&follower);
        }
    }
    Ok(())
}

/// The objects that name another one in one of the fields.
fn naming(
    cloud: &Cloud,
    place: &Place,
    fields: &BTreeMap<String, String>,
    wrap: &str,
    id: &str,
) -> Vec<String> {
    let mut fields: Vec<(&String, &String)> = fields.iter().collect();
    fields.retain(|(_, target)| *target == wrap);
    let names = |row: &JsonMap| fields.iter().any(|(field, _)| refers_to(row.get(*field), id));
    cloud.collections.rows(place).ids_where(names)
}

/// The same for an object of a collection in Rust.
pub(in crate::sandbox) fn part_with(cloud: &mut Cloud, kind: &str, id: &str) -> Result<(), Answer> {
    part(cloud, "network", kind, id).map_err(|()| {
        let class = class(kind);
        let text = format!("{class} {id} is in use.");
        answer::neutron(409, &format!("{class}InUse"), text)
    })
}

/// Refuses references to what the caller does not see.
pub(super) fn refer(
    cloud: &Cloud,
    scope: &Scope,
    collection: &Collection,
    row: &JsonMap,
) -> Result<(), Answer> {
    for (field, target) in collection.references() {
        let ids: Vec<&str> = match row.get(field) {
            Some(Value::String(id)) => vec![id],
            Some(Value::Array(ids)) => ids.iter().filter_map(Value::as_str).collect(),
            _ => continue,
        };
        for id in ids {
            is_there(cloud, scope, &collection.service, target, id)?;
        }
    }
    Ok(())
}

/// Refuses what the caller does not see.
pub(in crate::sandbox) fn is_there(
    cloud: &Cloud,
    scope: &Scope,
    service: &str,
    wrap: &str,
    id: &str,
) -> Result<(), Answer> {
    match cloud.collections.named(service, wrap) {
        Some(place) => find(cloud, scope, &place, id).map(|_| ()),
        None => neutron::refer(cloud, scope, wrap, id),
    }
}

fn refers_to(value: Option<&Value>, id: &str) -> bool {
    match value {
        Some(Value::String(text)) => text == id,
        Some(Value::Array(items)) => items.iter().any(|item| item == id),
        _ => false,
    }
}

/// Refuses an object that another one is too much like.
pub(super) fn is_unique(cloud: &Cloud, place: &Place, row: &JsonMap) -> Result<(), Answer> {
    let collection = &place.collection;
    for fields in &collection.unique {
        let is_like = |other: &JsonMap| {
            other.get(&collection.id) != row.get(&collection.id)
                && other.get("project_id") == row.get("project_id")
                && fields.iter().all(|field| other.get(field) == row.get(field))
        };
        if cloud.collections.rows(place).values().any(is_like) {
            let text = format!(
                "A {} with the same {} exists already.",
                collection.wrap,
                fields.join(", ")
            );
            return Err(collection.fault(409, &format!("{}Exists", collection.class), text));
        }
    }
    Ok(())
}
