//! Objects of collections, looked up and kept as they are.

use super::super::answer::Answer;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::scope::Scope;
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
    row.filter(|row| is_found(scope, place, row)).ok_or_else(|| place.collection.not_found(id))
}

/// Whether it is one of those that are meant, and seen.
pub(super) fn is_found(scope: &Scope, place: &Place, row: &JsonMap) -> bool {
    place.collection.is_seen(scope, row)
        && place.parent.as_ref().is_none_or(|parent| row.text("_parent") == parent)
}

/// An object of a collection, for Rust that knows it: `service.wrap`.
pub(in crate::sandbox) fn row_where<'a>(
    cloud: &'a Cloud,
    (service, wrap): (&str, &str),
    fits: impl Fn(&JsonMap) -> bool,
) -> Option<&'a JsonMap> {
    let place = cloud.collections.named(service, wrap)?;
    cloud.collections.rows(&place).values().find(|row| fits(row))
}

/// Removes the objects with a value in a field.
pub(in crate::sandbox) fn drop_where(
    cloud: &mut Cloud,
    (service, wrap): (&str, &str),
    field: &str,
    value: &str,
) {
    let Some(place) = cloud.collections.named(service, wrap) else { return };
    let rows = cloud.collections.rows_mut(&place);
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
