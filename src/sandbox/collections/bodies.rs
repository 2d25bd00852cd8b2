//! How objects are written in requests and answers.

use serde_json::{Value, json};

use super::super::answer::Answer;
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::keystone::Scope;
use super::super::listing;
use super::definition::{Body, Collection, Errors, ShownAs, Shows, Update};
use super::fill::{filled, found, ids};
use super::{Place, name_of, rules};
use crate::model::JsonMap;

impl Collection {
    /// The object of a request's body.
    pub(super) fn given(&self, ask: &Ask) -> Result<JsonMap, Answer> {
        let mut body = ask.object(|_, text| self.bad_request(text))?;
        if self.body != Body::Wrapped {
            return Ok(body);
        }
        match body.remove(&self.wrap) {
            Some(Value::Object(given)) => Ok(given),
            _ => Err(self.unwrapped()),
        }
    }

    /// The objects of a body that has several, which only Neutron takes.
    pub(super) fn given_many(&self, ask: &Ask) -> Option<Vec<Value>> {
        if self.errors != Errors::Neutron {
            return None;
        }
        let mut body: JsonMap = serde_json::from_slice(&ask.body).ok()?;
        match body.remove(&self.list) {
            Some(Value::Array(many)) => Some(many),
            _ => None,
        }
    }

    /// Whether a field is shown as it is kept.
    pub(super) fn is_kept_as_shown(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
            && !self.hidden.iter().any(|hidden| hidden == name)
            && !self.shown.contains_key(name)
            && !self.shows.contains_key(name)
            && !self.others_see.contains_key(name)
    }

    /// What a request changes.
    pub(super) fn given_change(&self, ask: &Ask) -> Result<JsonMap, Answer> {
        if self.update != Update::JsonPatch {
            return self.given(ask);
        }
        let malformed = || self.bad_request("The body is no list of operations");
        let operations: Vec<JsonMap> =
            serde_json::from_slice(&ask.body).map_err(|_| malformed())?;
        let mut change = JsonMap::new();
        for mut operation in operations {
            let text = |key: &str| operation.get(key).and_then(Value::as_str).unwrap_or_default();
            let name = text("path").trim_start_matches('/').to_owned();
            let value = match text("op") {
                "add" | "replace" => operation.remove("value").unwrap_or_default(),
                "remove" => {
                    let unset = self.attributes.get(&name).and_then(|it| it.unset.clone());
                    unset.unwrap_or_default()
                }
                _ => return Err(malformed()),
            };
            change.insert(name, value);
        }
        Ok(change)
    }

    /// One object as an answer.
    pub(super) fn answer(&self, status: u16, view: JsonMap) -> Answer {
        let is_bare = matches!(self.body, Body::Bare | Body::Yaml);
        let body = if is_bare { Value::Object(view) } else { json!({&self.wrap: view}) };
        Answer::json(status, &body)
    }
}

/// An object as it is shown.
pub(super) fn view(
    cloud: &Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    row: &JsonMap,
) -> JsonMap {
    let collection = &place.collection;
    let mut view = row.clone();
    view.retain(|key, _| !key.starts_with('_') && !collection.hidden.contains(key));
    for (name, template) in &collection.shown {
        let value = filled(template, &|place| found(cloud, ask, scope, row, place));
        view.insert(name.clone(), value);
    }
    for (name, shows) in &collection.shows {
        view.insert(name.clone(), shown(cloud, ask, scope, collection, (shows, row)));
    }
    if let Some(rules) = rules::of(collection) {
        rules.shown(cloud, &mut view);
    }
    if !scope.is_admin {
        view.retain(|key, _| !collection.admin_sees.contains(key));
        for (name, seen) in &collection.others_see {
            if let Some(Value::Object(map)) = view.get_mut(name) {
                map.retain(|key, _| seen.contains(key));
            }
        }
    }
    view
}

/// The same, with no more than `fields` asks for.
pub(super) fn asked_view(
    cloud: &Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    row: &JsonMap,
) -> JsonMap {
    let mut view = view(cloud, ask, scope, place, row);
    listing::only_fields(&mut view, ask);
    view
}

fn shown(
    cloud: &Cloud,
    ask: &Ask,
    scope: &Scope,
    collection: &Collection,
    (shows, row): (&Shows, &JsonMap),
) -> Value {
    let id = name_of(collection, row);
    let by = shows.by.as_deref().unwrap_or("_parent");
    let mut all = Vec::new();
    for wrap in &shows.of {
        let Some(place) = cloud.collections.named(&collection.service, wrap) else { continue };
        for other in cloud.collections.rows(&place).values() {
            if !ids(other, by).contains(&id.as_str()) {
                continue;
            }
            let other_id = Value::from(name_of(&place.collection, other));
            all.push(match shows.form {
                ShownAs::Refs => json!({"id": other_id}),
                ShownAs::Ids | ShownAs::One => other_id,
                ShownAs::Whole => Value::Object(view(cloud, ask, scope, &place, other)),
            });
        }
    }
    match shows.form {
        ShownAs::One => all.into_iter().next().unwrap_or_default(),
        _ => Value::Array(all),
    }
}
