//! What is done to an object beside changing it: entries of its lists come and go, its maps have
//! keys of their own.

use serde_json::{Value, json};

use super::super::answer::{Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::bodies::view;
use super::deed::{Action, Answers, Deed, Part, Via, Word};
use super::definition::Collection;
use super::fill::{at, filled, found};
use super::objects::touch;
use super::references::is_there;
use super::rows::find;
use super::rules;
use super::{Place, name_of};
use crate::model::JsonMap;

/// Carries an action out; `None` if the path names none.
pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    (id, path): (&str, &[&str]),
) -> Option<Reply> {
    let collection = &place.collection;
    let body = || serde_json::from_slice::<Value>(&ask.body).unwrap_or_default();
    let (name, given) = match (ask.method.as_str(), path) {
        ("POST", ["action"]) => body().as_object()?.clone().into_iter().next()?,
        ("PUT", [name]) => ((*name).to_owned(), body()),
        ("GET" | "POST", [name]) => {
            let query = ask.query.iter().map(|(key, value)| (key.clone(), value.as_str().into()));
            ((*name).to_owned(), Value::Object(query.collect()))
        }
        _ => return None,
    };
    let via = match (ask.method.as_str(), path) {
        ("PUT", _) => Via::Put,
        ("GET", _) => Via::Get,
        ("POST", [name]) if *name != "action" => Via::Post,
        _ => Via::Action,
    };
    let action = collection.actions.get(&name).filter(|action| action.via == via)?;
    Some(act(cloud, ask, scope, place, (id, action, &given)))
}

fn act(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    (id, action, given): (&str, &Action, &Value),
) -> Reply {
    let collection = &place.collection;
    let (deed, field) = (action.deed.0, &action.deed.1);
    let mut row = find(cloud, scope, place, id)?.clone();
    let entries: Vec<Value> = match &action.each {
        Some(path) => {
            let list = given.as_object().and_then(|given| at(given, path));
            list.and_then(Value::as_array).cloned().unwrap_or_default()
        }
        None => vec![given.clone()],
    };
    let entry_of = |given: &Value, row: &JsonMap| {
        filled(&action.entry, &|name| match name.strip_prefix("given.") {
            Some(path) => {
                given.as_object().and_then(|it| at(it, path)).cloned().unwrap_or_default()
            }
            None if name == "given" => given.clone(),
            None => found(cloud, ask, scope, row, name),
        })
    };
    let entries: Vec<Value> = entries.iter().map(|given| entry_of(given, &row)).collect();
    if deed != Deed::Read {
        collection.may_change(scope, Some(&row), "update")?;
    }
    if let Some((field, target)) = &action.refers {
        for entry in &entries {
            let named = entry.get(field).unwrap_or(entry).as_str().unwrap_or_default();
            let (service, wrap) = target.split_once('.').unwrap_or((&collection.service, target));
            is_there(cloud, scope, service, wrap, named)?;
        }
    }
    for entry in &entries {
        change(collection, action, entry, &mut row)?;
    }
    if deed != Deed::Read {
        if let Some(rules) = rules::of(collection) {
            rules.acted(cloud, &mut row);
        }
        touch(cloud, ask, scope, place, &mut row);
        cloud.collections.rows_mut(place).insert(&name_of(collection, &row), row.clone());
    }
    Ok(match &action.answer {
        Answers::Word(Word::Object) => {
            collection.answer(action.status, view(cloud, ask, scope, place, &row))
        }
        Answers::Word(Word::Bare) => {
            Answer::json(action.status, &Value::Object(view(cloud, ask, scope, place, &row)))
        }
        Answers::Word(Word::Nothing) => Answer::empty(action.status),
        Answers::Part(Part::Entry, key) => {
            Answer::json(action.status, &json!({key: entries.first().cloned()}))
        }
        Answers::Part(Part::Field, key) => {
            let value = row.get(field).cloned().unwrap_or_else(|| json!([]));
            Answer::json(action.status, &json!({key: value}))
        }
    })
}

fn change(
    collection: &Collection,
    action: &Action,
    entry: &Value,
    row: &mut JsonMap,
) -> Result<(), Answer> {
    let mark = |entry: &Value| match &action.by {
        Some(by) => entry.get(by).cloned().unwrap_or_default(),
        None => entry.clone(),
    };
    let (deed, field) = (action.deed.0, action.deed.1.as_str());
    let mut list = row.list(field).to_vec();
    let known = list.iter().position(|other| mark(other) == mark(entry));
    match (deed, known) {
        (Deed::Add, Some(_)) | (Deed::Drop, None) if action.lenient => {}
        (Deed::Add, Some(_)) => return Err(collection.exists(field)),
        (Deed::Drop, None) => return Err(collection.not_found(&mark(entry).to_string())),
        (Deed::Add, None) => list.push(entry.clone()),
        (Deed::Drop, Some(position)) => {
            list.remove(position);
        }
        (Deed::Clear, _) => list.clear(),
        (Deed::Set, _) => {
            row.set(field, entry.clone());
            return Ok(());
        }
        (Deed::Merge, _) => {
            let mut map = row.object(field).cloned().unwrap_or_default();
            for (key, value) in entry.as_object().into_iter().flatten() {
                if value.is_null() {
                    map.remove(key);
                } else {
                    map.insert(key.clone(), value.clone());
                }
            }
            row.set(field, map);
            return Ok(());
        }
        (Deed::Unset, _) => {
            let keys: Vec<&str> =
                entry.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let mut map = row.object(field).cloned().unwrap_or_default();
            map.retain(|key, _| !keys.contains(&key.as_str()));
            row.set(field, map);
            return Ok(());
        }
        (Deed::Read, _) => return Ok(()),
    }
    row.set(field, list);
    Ok(())
}

/// What is asked of a map of an object's, or of a key of it.
pub(super) fn map(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    (id, name, key): (&str, &str, Option<&str>),
) -> Reply {
    let collection = &place.collection;
    let mut row = find(cloud, scope, place, id)?.clone();
    let mut map = row.object(name).cloned().unwrap_or_default();
    let missing = |key: &str| collection.fault(404, "NotFound", format!("There is no {key}."));
    let given = |under: &str| {
        let body = ask.object(|_, text| collection.bad_request(text))?;
        match body.get(under) {
            Some(Value::Object(given)) => Ok(given.clone()),
            _ => Ok(body),
        }
    };
    let answer = match (ask.method.as_str(), key) {
        ("GET", None) => return Ok(Answer::json(200, &json!({name: map}))),
        ("GET", Some(key)) => {
            let value = map.get(key).ok_or_else(|| missing(key))?;
            return Ok(Answer::json(200, &json!({key: value})));
        }
        (method @ ("POST" | "PUT"), None) => {
            let given = given(name)?;
            if method == "PUT" {
                map.clear();
            }
            map.extend(given.clone());
            Answer::json(200, &json!({name: given}))
        }
        ("PUT", Some(key)) => {
            let given = given(name)?;
            map.extend(given.clone());
            Answer::json(200, &json!({key: given.get(key)}))
        }
        ("DELETE", Some(key)) => {
            map.remove(key).ok_or_else(|| missing(key))?;
            Answer::empty(202)
        }
        _ => return Err(collection.fault(405, "", "The method is not allowed for this resource.")),
    };
    collection.may_change(scope, Some(&row), "update")?;
    row.set(name, map);
    cloud.collections.rows_mut(place).insert(&name_of(collection, &row), row);
    Ok(answer)
}
