//! Tags of any object of Neutron's.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::Place;
use super::rows::find;
use crate::model::JsonMap;

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    id: &str,
    path: &[&str],
) -> Reply {
    let row = find(cloud, scope, place, id)?;
    if ask.method != "GET" {
        place.collection.may_change(scope, Some(row), "update")?;
    }
    let mut tags = row.list("tags").to_vec();
    let answer = change(ask, &mut tags, path)?;
    if ask.method != "GET"
        && let Some(row) = cloud.collections.rows_mut(place).edit(id)
    {
        row.set("tags", tags);
        row.set("updated_at", ask.moment());
    }
    Ok(answer)
}

/// Does to an object's tags what the request wants.
fn change(ask: &Ask, tags: &mut Vec<Value>, path: &[&str]) -> Reply {
    Ok(match (ask.method.as_str(), path) {
        ("GET", []) => Answer::json(200, &json!({"tags": tags})),
        ("GET", [tag]) if tags.iter().any(|found| found == tag) => Answer::empty(204),
        ("PUT", []) => {
            let body = ask.object(|code, text| answer::neutron(code, "HTTPBadRequest", text))?;
            *tags = body.list("tags").to_vec();
            Answer::json(200, &json!({"tags": tags}))
        }
        ("PUT", [tag]) => {
            if !tags.iter().any(|found| found == tag) {
                tags.push(Value::from(*tag));
            }
            Answer::empty(201)
        }
        ("DELETE", []) => {
            tags.clear();
            Answer::empty(204)
        }
        ("DELETE", [tag]) if tags.iter().any(|found| found == tag) => {
            tags.retain(|found| found != tag);
            Answer::empty(204)
        }
        ("GET" | "DELETE", [tag]) => {
            let text = format!("Tag {tag} could not be found.");
            return Err(answer::neutron(404, "TagNotFound", text));
        }
        _ => return Err(answer::neutron(404, "HTTPNotFound", "The resource could not be found.")),
    })
}

/// Whether a row has the tags that the query asks for: `tags=a,b` all, `tags-any` one of them,
/// `not-tags` not all, `not-tags-any` none.
pub(super) fn fit(row: &JsonMap, ask: &Ask) -> bool {
    let has = |tag: &str| row.list("tags").iter().any(|found| found == tag);
    let asked = |key: &str| ask.query(key).map(|tags| tags.split(',').collect::<Vec<_>>());
    asked("tags").is_none_or(|tags| tags.iter().all(|tag| has(tag)))
        && asked("tags-any").is_none_or(|tags| tags.iter().any(|tag| has(tag)))
        && asked("not-tags").is_none_or(|tags| !tags.iter().all(|tag| has(tag)))
        && asked("not-tags-any").is_none_or(|tags| !tags.iter().any(|tag| has(tag)))
}
