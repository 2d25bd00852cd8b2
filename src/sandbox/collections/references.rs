//! What objects have to do with one another: which name which, and which are too much alike.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::answer::Answer;
use super::super::cloud::Cloud;
use super::super::keystone::refer;
use super::super::keystone::scope::Scope;
use super::definition::Collection;
use super::fill::ids;
use super::rows::{find, nowhere};
use super::{Place, name_of, rules};
use crate::model::JsonMap;

/// An object that others refer to goes: what goes with it goes too. The error names what must stay,
/// itself or one that goes with it.
pub(in crate::sandbox) fn part(
    cloud: &mut Cloud,
    service: &str,
    wrap: &str,
    id: &str,
) -> Result<(), Answer> {
    let name = format!("{service}.{wrap}");
    let count = cloud.collections.served.len();
    for index in 0..count {
        let place = cloud.collections.served[index].place(index, None);
        let collection = &place.collection;
        let is_part = collection.service == service && collection.parent() == Some(wrap);
        let fields = |fields: &BTreeMap<String, String>| -> Vec<String> {
            let fields = fields.iter().filter(|(_, target)| **target == name);
            fields.map(|(field, _)| field.clone()).collect()
        };
        if !naming(cloud, &place, &fields(&place.collection.refers), id).is_empty() {
            let whose = cloud.collections.named(service, wrap);
            return Err(whose.map_or_else(nowhere, |whose| whose.collection.stays(id)));
        }
        let forgetful = fields(&place.collection.forgets);
        for other in naming(cloud, &place, &forgetful, id) {
            if let Some(row) = cloud.collections.rows_mut(&place).edit(&other) {
                forgetful.iter().for_each(|field| {
                    row.insert(field.clone(), Value::Null);
                });
            }
        }
        let mut with = fields(&place.collection.goes_with);
        with.extend(is_part.then(|| "_parent".to_owned()));
        for follower in naming(cloud, &place, &with, id) {
            part(cloud, &place.collection.service, &place.collection.wrap, &follower)?;
            if let Some(row) = cloud.collections.rows_mut(&place).remove(&follower)
                && let Some(rules) = rules::of(&place.collection)
            {
                rules.dropped(cloud, &row);
            }
        }
    }
    Ok(())
}

/// The objects that name another one in one of the fields.
fn naming(cloud: &Cloud, place: &Place, fields: &[String], id: &str) -> Vec<String> {
    if fields.is_empty() {
        return Vec::new();
    }
    let names = |row: &JsonMap| fields.iter().any(|field| ids(row, field).contains(&id));
    cloud.collections.rows(place).ids_where(names)
}

/// Refuses references to what the caller does not see.
pub(super) fn refer(
    cloud: &Cloud,
    scope: &Scope,
    collection: &Collection,
    row: &JsonMap,
) -> Result<(), Answer> {
    for (field, target) in collection.references() {
        let (service, wrap) = target.split_once('.').unwrap_or((&collection.service, target));
        for id in ids(row, field) {
            is_there(cloud, scope, service, wrap, id)?;
        }
    }
    Ok(())
}

/// Refuses what the caller does not see.
pub(super) fn is_there(
    cloud: &Cloud,
    scope: &Scope,
    service: &str,
    wrap: &str,
    id: &str,
) -> Result<(), Answer> {
    match (cloud.collections.named(service, wrap), service) {
        // Beside what is kept there is what the sandbox itself comes with.
        (_, "identity") if refer::refer(cloud, wrap, id).is_ok() => Ok(()),
        (Some(place), _) => find(cloud, scope, &place, id).map(|_| ()),
        (None, "identity") => refer::refer(cloud, wrap, id),
        (None, _) => Err(nowhere()),
    }
}

/// Whether Rust has objects of this name.
pub(super) fn is_in_rust(target: &str) -> bool {
    match target.split_once('.') {
        Some(("identity", kind)) => refer::has_kind(kind),
        _ => false,
    }
}

/// Refuses an object that another one is too much like.
pub(super) fn is_unique(cloud: &Cloud, place: &Place, row: &JsonMap) -> Result<(), Answer> {
    let collection = &place.collection;
    let alike = ["project_id", "_parent"];
    for fields in &collection.unique {
        let is_like = |other: &JsonMap| {
            name_of(collection, other) != name_of(collection, row)
                && alike.iter().all(|field| other.get(*field) == row.get(*field))
                && fields.iter().all(|field| other.get(field) == row.get(field))
        };
        if cloud.collections.rows(place).values().any(is_like) {
            return Err(collection.exists(&fields.join(", ")));
        }
    }
    Ok(())
}
