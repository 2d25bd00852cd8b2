//! What objects are while something is done to them, and whose work that is.

use chrono::{DateTime, Utc};

use super::super::answer::Answer;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::later::{Later, Turn};
use super::definition::{Collection, Root, Takes};
use super::fill::{filled, ids, moment};
use super::{Place, name_of};
use crate::model::JsonMap;

/// Where an object's root is kept.
const ROOT: &str = "_root";

/// Notes in a new object whose work it is.
pub(super) fn find_root(cloud: &Cloud, place: &Place, row: &mut JsonMap) {
    let collection = &place.collection;
    let Some(root) = &collection.root else { return };
    let own = name_of(collection, row);
    let id = match root.of == collection.wrap {
        true => Some(own),
        false => named_root(cloud, place, root, row),
    };
    row.set(ROOT, id);
}

fn named_root(cloud: &Cloud, place: &Place, root: &Root, row: &JsonMap) -> Option<String> {
    let collection = &place.collection;
    let root_of = |target: &str, id: &str| -> Option<String> {
        let (service, wrap) = target.split_once('.')?;
        if wrap == root.of {
            return Some(id.to_owned());
        }
        let place = cloud.collections.named(service, wrap)?;
        Some(cloud.collections.rows(&place).get(id)?.text(ROOT).to_owned())
    };
    let by = root.by.iter().find_map(|name| {
        let target = collection.references().find(|(field, _)| *field == name)?.1;
        root_of(target, ids(row, name).first()?)
    });
    by.or_else(|| {
        let parent = format!("{}.{}", collection.service, collection.parent()?);
        root_of(&parent, place.parent.as_ref()?)
    })
}

/// Refuses to touch what is at work.
pub(super) fn at_rest(cloud: &Cloud, collection: &Collection, row: &JsonMap) -> Result<(), Answer> {
    let Some(root) = &collection.root else { return Ok(()) };
    let Some(place) = cloud.collections.named(&collection.service, &root.of) else {
        return Ok(());
    };
    let id = row.text(ROOT);
    let states = place.collection.states.as_ref();
    let found = cloud.collections.rows(&place).get(id).zip(states);
    match found {
        Some((root, states)) if states.is_busy(root.text(&states.field)) => {
            Err(collection.is_busy(id))
        }
        _ => Ok(()),
    }
}

/// An object is made: it and its root are at work for a while.
pub(super) fn made(cloud: &mut Cloud, now: DateTime<Utc>, place: &Place, row: &mut JsonMap) {
    let Some(states) = &place.collection.states else { return };
    let [first, then] = &states.made;
    row.set(&states.field, first.as_str());
    let id = name_of(&place.collection, row);
    settle_later(cloud, now, place, &id, Some(then));
    wake_root(cloud, now, place, row);
}

/// The same of one that is changed.
pub(super) fn changed(cloud: &mut Cloud, now: DateTime<Utc>, place: &Place, row: &mut JsonMap) {
    let Some(states) = &place.collection.states else { return };
    if let Some([first, then]) = &states.changed {
        row.set(&states.field, first.as_str());
        let id = name_of(&place.collection, row);
        settle_later(cloud, now, place, &id, Some(then));
    }
    wake_root(cloud, now, place, row);
}

/// The same of one that goes. False: it is gone at once.
pub(super) fn dropped(cloud: &mut Cloud, now: DateTime<Utc>, place: &Place, row: &JsonMap) -> bool {
    wake_root(cloud, now, place, row);
    let Some(states) = &place.collection.states else { return false };
    let Some(state) = &states.dropped else { return false };
    let id = name_of(&place.collection, row);
    if let Some(row) = cloud.collections.rows_mut(place).edit(&id) {
        row.set(&states.field, state.as_str());
    }
    settle_later(cloud, now, place, &id, None);
    true
}

fn wake_root(cloud: &mut Cloud, now: DateTime<Utc>, place: &Place, row: &JsonMap) {
    let collection = &place.collection;
    let Some(root) = collection.root.as_ref().filter(|root| root.of != collection.wrap) else {
        return;
    };
    let Some(place) = cloud.collections.named(&collection.service, &root.of) else { return };
    let id = row.text(ROOT);
    let Some([first, then]) = place.collection.states.as_ref().and_then(|it| it.changed.as_ref())
    else {
        return;
    };
    let field = place.collection.states.as_ref().map(|it| it.field.as_str()).unwrap_or_default();
    if let Some(row) = cloud.collections.rows_mut(&place).edit(id) {
        row.set(field, first.as_str());
        settle_later(cloud, now, &place, id, Some(then));
    }
}

fn settle_later(
    cloud: &mut Cloud,
    now: DateTime<Utc>,
    place: &Place,
    id: &str,
    to: Option<&String>,
) {
    cloud.unplan(|turn| matches!(turn, Turn::Object { id: of, .. } if of == id));
    let turn =
        Turn::Object { of: place.collection.full_name(), id: id.to_owned(), state: to.cloned() };
    let takes = match place.collection.states.as_ref().map(|states| states.takes) {
        Some(Takes::Volume) => cloud.config.latencies.volume,
        Some(Takes::Object) | None => cloud.config.latencies.object,
    };
    cloud.plan(Later { at: now + takes, turn });
}

/// An object has come to the end of what it was doing.
pub(in crate::sandbox) fn object_ends(
    cloud: &mut Cloud,
    of: &str,
    (id, state): (&str, Option<&str>),
    at: DateTime<Utc>,
) {
    let Some((service, wrap)) = of.split_once('.') else { return };
    let Some(place) = cloud.collections.named(service, wrap) else { return };
    let rows = cloud.collections.rows_mut(&place);
    match (state, &place.collection.states) {
        (Some(state), Some(states)) => {
            if let Some(row) = rows.edit(id) {
                row.set(&states.field, state);
                for (name, template) in &states.reached {
                    row.insert(name.clone(), filled(template, &|place| moment(at, place)));
                }
            }
        }
        _ => {
            rows.remove(id);
        }
    }
}
