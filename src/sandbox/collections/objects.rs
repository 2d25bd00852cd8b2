//! Objects are listed, shown, made, changed and removed.

use serde_json::{Value, json};

use super::super::answer::{Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::{Doc, flag_text};
use super::super::keystone::Scope;
use super::super::listing;
use super::bodies::{asked_view, view};
use super::definition::Ids;
use super::fill::{filled, found};
use super::references::{is_there, is_unique, part, refer};
use super::rows::{find, is_found};
use super::{Place, name_of, rules, states, tags};
use crate::model::JsonMap;

pub(super) fn list(cloud: &Cloud, ask: &Ask, scope: &Scope, place: &Place) -> Reply {
    let collection = &place.collection;
    let mut asked = ask.clone();
    asked.query.retain(|(key, _)| !collection.no_filters.contains(key));
    let is_filter = |key: &str| !["limit", "marker", "sort_dir", "sort_key"].contains(&key);
    let mut filters = asked.query.iter().filter(|(key, _)| is_filter(key));
    if let Some((key, _)) = filters.next().filter(|_| collection.refuses_filters) {
        return Err(collection.bad_request(format!("Unknown argument: \"{key}\"")));
    }
    let rows = cloud.collections.rows(place).values();
    let rows =
        rows.filter(|row| is_found(cloud, scope, place, row) && is_listed(ask, scope, place, row));
    let mut of_rows = asked.clone();
    of_rows.query.retain(|(key, _)| collection.is_kept_as_shown(key));
    let rows = rows.filter(|row| listing::fits(row, &of_rows) && tags::fit(row, &asked));
    let mut rows: Vec<&JsonMap> = rows.collect();
    if collection.newest_first {
        rows.reverse();
    }
    let views = rows.into_iter().map(|row| view(cloud, ask, scope, place, row));
    let views = views.filter(|view| listing::fits(view, &asked));
    if collection.bare_list {
        let views = views.map(Value::Object).collect();
        return Ok(Answer::json(200, &Value::Array(views)));
    }
    listing::answer(views.collect(), &asked, &collection.list, collection.page_max)
        .ok_or_else(|| collection.not_found(ask.query("marker").unwrap_or_default()))
}

/// Whether a list has an object that is seen.
fn is_listed(ask: &Ask, scope: &Scope, place: &Place, row: &JsonMap) -> bool {
    let project = row.text("project_id");
    let everybody =
        scope.is_admin && ask.query("all_tenants").is_some_and(|all| flag_text(all) != Some(false));
    !place.collection.all_tenants
        || (everybody || project == scope.project_id)
            && ask.query("project_id").is_none_or(|asked| asked == project)
}

pub(super) fn show(cloud: &Cloud, ask: &Ask, scope: &Scope, place: &Place, id: &str) -> Reply {
    let row = find(cloud, scope, place, id)?;
    Ok(place.collection.answer(200, asked_view(cloud, ask, scope, place, row)))
}

pub(super) fn create(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    id: Option<&str>,
) -> Reply {
    let collection = &place.collection;
    if let Some(many) = collection.given_many(ask) {
        let mut views = Vec::new();
        for one in many {
            let Value::Object(given) = one else { return Err(collection.unwrapped()) };
            let row = make(cloud, ask, scope, place, given)?;
            views.push(Value::Object(view(cloud, ask, scope, place, &row)));
        }
        return Ok(Answer::json(collection.statuses.create, &json!({&collection.list: views})));
    }
    let mut given = collection.given(ask)?;
    if let Some(id) = id {
        given.set(&collection.id, id);
    }
    let row = make(cloud, ask, scope, place, given)?;
    let mut view = view(cloud, ask, scope, place, &row);
    if !collection.created.is_empty() {
        view.retain(|key, _| collection.created.contains(key));
    }
    Ok(collection.answer(collection.statuses.create, view))
}

/// Makes an object of what was given.
pub(super) fn make(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    given: JsonMap,
) -> Result<JsonMap, Answer> {
    let collection = &place.collection;
    collection.may_change(scope, None, "create")?;
    let mut row = collection.new_row(scope, given)?;
    if row.get(&collection.id).is_none_or(|id| id == "" || id.is_null()) {
        row.insert(collection.id.clone(), fresh_id(cloud, place));
    }
    let there = cloud.collections.rows(place).get(&name_of(collection, &row));
    if let Some(there) = there.filter(|_| collection.again) {
        return Ok(there.clone());
    }
    if let Some(parent) = &place.parent {
        row.set("_parent", parent.as_str());
    }
    if collection.standard {
        row.set("created_at", ask.moment());
        row.set("updated_at", ask.moment());
        row.set("revision_number", 1);
        row.set("tags", Vec::<Value>::new());
    }
    for (name, template) in &collection.made {
        let value = filled(template, &|place| found(cloud, ask, scope, &row, place));
        row.insert(name.clone(), value);
    }
    refer(cloud, scope, collection, &row)?;
    is_unique(cloud, place, &row)?;
    let id = name_of(collection, &row);
    if cloud.collections.rows(place).contains(&id) {
        return Err(collection.exists(&collection.id));
    }
    states::find_root(cloud, place, &mut row);
    if collection.root.as_ref().is_some_and(|root| root.of != collection.wrap) {
        states::at_rest(cloud, collection, &row)?;
    }
    if let Some(rules) = rules::of(collection) {
        rules.made(cloud, (ask, scope), &mut row)?;
    }
    states::made(cloud, ask.at, place, &mut row);
    cloud.collections.rows_mut(place).insert(&id, row.clone());
    for (field, theirs) in &collection.sets {
        let target = collection.references().find(|(name, _)| *name == field);
        let named = target.and_then(|(_, target)| target.split_once('.'));
        let other = named.and_then(|(service, wrap)| cloud.collections.named(service, wrap));
        if let Some(place) = other
            && let Some(other) = cloud.collections.rows_mut(&place).edit(row.text(field))
        {
            other.set(theirs, id.as_str());
        }
    }
    Ok(row)
}

fn fresh_id(cloud: &Cloud, place: &Place) -> Value {
    match place.collection.ids {
        Ids::Uuid => cloud.fresh_id().into(),
        Ids::Hex => cloud.fresh_hex().into(),
        Ids::Number => {
            let rows = cloud.collections.rows(place).values();
            let last = rows.filter_map(|row| row.int(&place.collection.id)).max();
            (last.unwrap_or_default() + 1).into()
        }
    }
}

pub(super) fn update(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    id: &str,
) -> Reply {
    let given = place.collection.given_change(ask)?;
    let row = change(cloud, ask, scope, place, (id, given))?;
    Ok(place
        .collection
        .answer(place.collection.statuses.update, view(cloud, ask, scope, place, &row)))
}

/// Changes an object by what was given.
pub(super) fn change(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    (id, given): (&str, JsonMap),
) -> Result<JsonMap, Answer> {
    let collection = &place.collection;
    let before = find(cloud, scope, place, id)?.clone();
    collection.may_change(scope, Some(&before), "update")?;
    states::at_rest(cloud, collection, &before)?;
    let change = collection.change(scope, given)?;
    refer(cloud, scope, collection, &change)?;
    let mut row = before.clone();
    for (key, value) in change.clone() {
        match (row.get_mut(&key), value) {
            // What was taken with the rest joins it.
            (Some(Value::Object(old)), Value::Object(new))
                if collection.rest.as_deref() == Some(&key) =>
            {
                old.extend(new);
            }
            (_, value) => {
                row.insert(key, value);
            }
        }
    }
    if let Some(rules) = rules::of(collection) {
        rules.changed(cloud, (ask, scope), (&before, &change), &mut row)?;
    }
    touch(cloud, ask, scope, place, &mut row);
    is_unique(cloud, place, &row)?;
    states::changed(cloud, ask.at, place, &mut row);
    cloud.collections.rows_mut(place).insert(&name_of(collection, &row), row.clone());
    Ok(row)
}

/// What a change of anything changes.
pub(super) fn touch(cloud: &Cloud, ask: &Ask, scope: &Scope, place: &Place, row: &mut JsonMap) {
    if place.collection.standard {
        let revision = row.int("revision_number").unwrap_or_default();
        row.set("revision_number", revision + 1);
        row.set("updated_at", ask.moment());
    }
    for (name, template) in &place.collection.changed {
        let value = filled(template, &|place| found(cloud, ask, scope, row, place));
        row.insert(name.clone(), value);
    }
}

pub(super) fn delete(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    id: &str,
) -> Reply {
    let collection = &place.collection;
    let row = find(cloud, scope, place, id)?.clone();
    let id = name_of(collection, &row);
    collection.may_change(scope, Some(&row), "delete")?;
    states::at_rest(cloud, collection, &row)?;
    let has_left = collection.kept_while.as_ref().is_some_and(|list| !row.list(list).is_empty());
    let is_forced = ask.query("force").is_some_and(|force| force.eq_ignore_ascii_case("true"));
    let is_at_work = collection.states.as_ref().is_some_and(|states| !states.may_go(&row));
    if has_left && !is_forced || is_at_work {
        return Err(collection.stays(&id));
    }
    part(cloud, &collection.service, &collection.wrap, &id)?;
    if let Some(rules) = rules::of(collection) {
        rules.dropping(cloud, ask.at, &row)?;
        rules.dropped(cloud, &row);
    }
    if !states::dropped(cloud, ask.at, place, &row) {
        cloud.collections.rows_mut(place).remove(&id);
    }
    Ok(Answer::empty(collection.statuses.delete))
}

/// The only object within its parent.
pub(super) fn single(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    path: &[&str],
) -> Option<Reply> {
    let rows = cloud.collections.rows(place).values();
    let row = rows.into_iter().find(|row| is_found(cloud, scope, place, row)).cloned();
    let id = row.as_ref().map(|row| name_of(&place.collection, row));
    Some(match (ask.method.as_str(), path, row, id) {
        ("GET", [], Some(row), _) => {
            Ok(Answer::json(200, &Value::Object(view(cloud, ask, scope, place, &row))))
        }
        ("GET", [], None, _) => Ok(Answer::json(200, &json!({}))),
        ("POST", [], None, _) => create(cloud, ask, scope, place, None),
        ("POST", [], Some(_), _) => Err(place.collection.exists("parent")),
        ("PUT", [_], _, Some(id)) => update(cloud, ask, scope, place, &id),
        ("DELETE", [_], _, Some(id)) => delete(cloud, ask, scope, place, &id),
        ("PUT" | "DELETE", [id], _, None) => Err(place.collection.not_found(id)),
        _ => return None,
    })
}

/// What there is one of for each key.
pub(super) fn lasting(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    (key, is_list): (&str, bool),
) -> Option<Reply> {
    let collection = &place.collection;
    if is_list {
        return (ask.method == "GET").then(|| list(cloud, ask, scope, place));
    }
    if !scope.sees(key) && !key.starts_with("default") {
        return Some(Err(collection.forbidden("get")));
    }
    let show = |cloud: &Cloud, status| {
        let mut row = standing(cloud, place, key);
        row.retain(|name, _| !collection.hidden.contains(name));
        Ok(collection.answer(status, row))
    };
    Some(match ask.method.as_str() {
        "GET" => show(cloud, 200),
        "PUT" | "DELETE" if !scope.is_admin => Err(collection.forbidden("update")),
        "PUT" => collection.given(ask).and_then(|mut given| {
            given.remove("tenant_id");
            let change = collection.change(scope, given)?;
            let mut row = cloud.collections.rows(place).get(key).cloned().unwrap_or_default();
            row.set(&collection.id, key);
            row.extend(change);
            cloud.collections.rows_mut(place).insert(key, row);
            show(cloud, collection.statuses.update)
        }),
        "DELETE" => {
            cloud.collections.rows_mut(place).remove(key);
            Ok(Answer::empty(collection.statuses.delete))
        }
        _ => return None,
    })
}

/// All values under a key: what is unset is what the configuration or the file says.
pub(super) fn standing(cloud: &Cloud, place: &Place, key: &str) -> JsonMap {
    let collection = &place.collection;
    let mut row = JsonMap::new();
    row.set(&collection.id, key);
    for (name, attribute) in &collection.attributes {
        let configured = cloud.config.quotas.of(&collection.service, name).map(Value::from);
        let unset = configured.or_else(|| attribute.unset.clone());
        row.insert(name.clone(), unset.unwrap_or_default());
    }
    let set = cloud.collections.rows(place).get(key).cloned().unwrap_or_default();
    row.extend(set);
    row
}

/// Whether a parent is there.
pub(super) fn parent_is_there(cloud: &Cloud, scope: &Scope, place: &Place) -> Result<(), Answer> {
    match (place.collection.parent(), &place.parent) {
        (Some(kind), Some(id)) => is_there(cloud, scope, &place.collection.service, kind, id),
        _ => Ok(()),
    }
}
