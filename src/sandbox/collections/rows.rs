//! Objects of collections, looked up and kept as they are.

use super::super::answer::{self, Answer};
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::scope::Scope;
use super::rules::{self, Rules};
use super::state::{Place, name_of};
use crate::model::JsonMap;

/// The object of an id, or of another name that finds it.
pub(super) fn find<'a>(
    cloud: &'a Cloud,
    scope: &Scope,
    place: &Place,
    id: &str,
) -> Result<&'a JsonMap, Answer> {
    let rows = cloud.collections.rows(place);
    let by = place.collection.also_by.as_ref();
    let named = || by.and_then(|by| rows.values().find(|row| row.text(by) == id));
    let row = rows.get(id).or_else(named);
    row.filter(|row| is_found(cloud, scope, place, row))
        .ok_or_else(|| place.collection.not_found(id))
}

/// Whether it is one of those that are meant, and seen.
pub(super) fn is_found(cloud: &Cloud, scope: &Scope, place: &Place, row: &JsonMap) -> bool {
    let is_shown_to = |rules: &dyn Rules| rules.is_seen(cloud, scope, row);
    (place.collection.is_seen(scope, row) || rules::of(&place.collection).is_some_and(is_shown_to))
        && place.parent.as_ref().is_none_or(|parent| row.text("_parent") == parent)
}

/// An object of a collection, for Rust that knows it: `service.wrap`.
pub(in crate::sandbox) fn row_where<'a>(
    cloud: &'a Cloud,
    (service, wrap): (&str, &str),
    fits: impl Fn(&JsonMap) -> bool,
) -> Option<&'a JsonMap> {
    cloud.collections.table((service, wrap)).values().find(|row| fits(row))
}

/// The object of an id, if the caller may see it: `service.wrap`.
pub(in crate::sandbox) fn seen<'a>(
    cloud: &'a Cloud,
    scope: &Scope,
    (service, wrap): (&str, &str),
    id: &str,
) -> Result<&'a JsonMap, Answer> {
    match cloud.collections.named(service, wrap) {
        Some(place) => find(cloud, scope, &place, id),
        None => Err(nowhere()),
    }
}

/// What is answered when there is no object of an id.
pub(in crate::sandbox) fn missing(cloud: &Cloud, of: (&str, &str), id: &str) -> Answer {
    let place = cloud.collections.named(of.0, of.1);
    place.map_or_else(nowhere, |place| place.collection.not_found(id))
}

/// An object of what is given and the rest unset, which is not kept yet.
pub(in crate::sandbox) fn new_row(
    cloud: &Cloud,
    scope: &Scope,
    (service, wrap): (&str, &str),
    given: JsonMap,
) -> Result<JsonMap, Answer> {
    let place = cloud.collections.named(service, wrap).ok_or_else(nowhere)?;
    place.collection.new_row(scope, given)
}

pub(super) fn nowhere() -> Answer {
    answer::keystone(404, "The resource could not be found.")
}

/// Removes the objects with a value in a field.
pub(in crate::sandbox) fn drop_where(
    cloud: &mut Cloud,
    (service, wrap): (&str, &str),
    field: &str,
    value: &str,
) {
    let rows = cloud.collections.table_mut((service, wrap));
    for id in rows.ids_where(|row| row.get(field).is_some_and(|found| found == value)) {
        rows.remove(&id);
    }
}

/// Adds an object as it is.
pub(in crate::sandbox) fn plant(cloud: &mut Cloud, (service, wrap): (&str, &str), row: JsonMap) {
    if let Some(place) = cloud.collections.named(service, wrap) {
        let id = name_of(&place.collection, &row);
        cloud.collections.rows_mut(&place).insert(&id, row);
    }
}
