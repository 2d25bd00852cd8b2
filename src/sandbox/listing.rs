//! Filters, order and pages of lists, as the services share them.

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::answer::Answer;
use super::ask::Ask;
use super::doc::{Doc, flag_text, shown};
use crate::model::JsonMap;

/// Query keys that are not filters.
const CONTROLS: [&str; 12] = [
    "fields",
    "limit",
    "marker",
    "page_reverse",
    "sort_key",
    "sort_dir",
    "sort",
    "offset",
    "all_tenants",
    "all_projects",
    "detail",
    "with_count",
];

/// Whether a row has, for every filter of the query that names one of its fields, one of the
/// values asked for.
pub(super) fn fits(row: &JsonMap, ask: &Ask) -> bool {
    ask.query.iter().all(|(key, _)| {
        if CONTROLS.contains(&key.as_str()) {
            return true;
        }
        let Some(value) = row.get(key) else { return true };
        ask.query.iter().filter(|(name, _)| name == key).any(|(_, asked)| equals(value, asked))
    })
}

/// Whether a value is what a filter asks for.
fn equals(value: &Value, asked: &str) -> bool {
    match value {
        Value::String(text) => text == asked,
        Value::Bool(flag) => flag_text(asked) == Some(*flag),
        Value::Null => asked.is_empty() || asked == "None",
        Value::Array(items) => items.iter().any(|item| item_equals(item, asked)),
        other => shown(other) == asked,
    }
}

/// `fixed_ips=ip_address=10.0.0.5` asks for a field of one of the items.
fn item_equals(item: &Value, asked: &str) -> bool {
    match (item, asked.split_once('=')) {
        (Value::Object(item), Some((key, value))) => {
            item.get(key).is_some_and(|field| shown(field) == value)
        }
        _ => shown(item) == asked,
    }
}

/// One page of rows, and whether more follow it.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) rows: Vec<JsonMap>,
    pub(super) more: bool,
}

/// Sorts by `sort_key`/`sort_dir` (or `sort=key:dir`), and cuts by `marker` and `limit`.
/// `None` when the marker is not among the rows.
pub(super) fn page(mut rows: Vec<JsonMap>, ask: &Ask, limit_max: usize) -> Option<Page> {
    for (key, descending) in orders(ask).iter().rev() {
        rows.sort_by(|a, b| {
            let order = compare(a.get(key), b.get(key));
            if *descending { order.reverse() } else { order }
        });
    }
    if let Some(marker) = ask.query("marker").filter(|marker| !marker.is_empty()) {
        let at = rows.iter().position(|row| row.get("id").is_some_and(|id| shown(id) == marker))?;
        rows.drain(..=at);
    }
    if let Some(offset) = ask.query("offset").and_then(|offset| offset.parse::<usize>().ok()) {
        rows.drain(..offset.min(rows.len()));
    }
    let asked = ask.query("limit").and_then(|limit| limit.parse().ok()).filter(|limit| *limit > 0);
    let limit = asked.unwrap_or(limit_max).min(limit_max);
    let more = rows.len() > limit;
    rows.truncate(limit);
    Some(Page { rows, more })
}

/// A page under its key, with a link to the next one, as Neutron and Octavia answer it. `None` when
/// the marker is not among the rows.
pub(super) fn answer(
    rows: Vec<JsonMap>,
    ask: &Ask,
    plural: &str,
    limit_max: usize,
) -> Option<Answer> {
    let page = page(rows, ask, limit_max)?;
    let mut body = JsonMap::new();
    if let Some(last) = page.rows.last().filter(|_| page.more) {
        let next = next_link(ask, &format!("/{}", ask.path.join("/")), last);
        body.set(&format!("{plural}_links"), json!([{"rel": "next", "href": next}]));
    }
    let mut rows = page.rows;
    for row in &mut rows {
        only_fields(row, ask);
    }
    body.set(plural, rows.into_iter().map(Value::Object).collect::<Vec<_>>());
    Some(Answer::json(200, &Value::Object(body)))
}

/// The address of the page that follows, for the services that link it.
pub(super) fn next_link(ask: &Ask, path: &str, last: &JsonMap) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (key, value) in ask.query.iter().filter(|(key, _)| key != "marker") {
        query.append_pair(key, value);
    }
    query.append_pair("marker", &last.get("id").map(shown).unwrap_or_default());
    format!("{}{path}?{}", ask.base, query.finish())
}

/// Leaves only what `fields` asks for.
pub(super) fn only_fields(row: &mut JsonMap, ask: &Ask) {
    let wanted: Vec<&str> = ask
        .query
        .iter()
        .filter(|(key, _)| key == "fields")
        .flat_map(|(_, value)| value.split(','))
        .collect();
    if !wanted.is_empty() {
        row.retain(|key, _| wanted.contains(&key.as_str()));
    }
}

fn orders(ask: &Ask) -> Vec<(String, bool)> {
    if let Some(sort) = ask.query("sort") {
        return sort
            .split(',')
            .map(|part| match part.split_once(':') {
                Some((key, direction)) => (key.to_owned(), direction == "desc"),
                None => (part.to_owned(), false),
            })
            .collect();
    }
    let directions: Vec<bool> = ask
        .query
        .iter()
        .filter(|(key, _)| key == "sort_dir")
        .map(|(_, value)| value == "desc")
        .collect();
    ask.query
        .iter()
        .filter(|(key, _)| key == "sort_key")
        .enumerate()
        .map(|(at, (_, key))| (key.clone(), directions.get(at).copied().unwrap_or_default()))
        .collect()
}

fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => {
            a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Some(a), Some(b)) => shown(a).cmp(&shown(b)),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}
