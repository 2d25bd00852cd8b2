//! The admin routes: faults to order, the requests seen, and everything that the cloud holds.
//! They need no token, so they are served on loopback alone: whoever reaches them owns the sandbox.

use actix_web::HttpRequest;
use actix_web::web::Bytes;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::answer::{self, Answer};
use super::cloud::Cloud;
use super::doc::Doc;
use super::faults::FaultRule;
use super::shared::Shared;
use crate::model::JsonMap;

/// What is of no interest to whoever compares clouds, or secret.
const KINDS_NOT_SHOWN: [&str; 5] =
    ["tokens", "users", "laters", "secrets", "application_credentials"];

pub(super) fn answer(shared: &Shared, request: &HttpRequest, body: &Bytes) -> Answer {
    match (request.method().as_str(), request.path().trim_end_matches('/')) {
        ("GET", "/admin/faults") => faults(shared),
        ("PUT" | "POST", "/admin/faults") => match rules(body) {
            Ok(rules) => set_faults(shared, rules),
            Err(error) => answer::keystone(400, error),
        },
        ("DELETE", "/admin/faults") => set_faults(shared, Vec::new()),
        ("GET", "/admin/requests") => Answer::json(200, &json!({"requests": shared.seen()})),
        ("DELETE", "/admin/requests") => {
            shared.forget();
            Answer::empty(204)
        }
        ("GET", "/admin/state") => {
            let kind = url::form_urlencoded::parse(request.query_string().as_bytes())
                .find(|(key, _)| key == "kind")
                .map(|(_, kind)| kind.into_owned());
            let now = shared.now();
            Answer::json(200, &state(&mut shared.cloud(), now, kind.as_deref()))
        }
        (_, "/admin/faults" | "/admin/requests" | "/admin/state") => {
            answer::keystone(405, "The method is not allowed for this resource.")
        }
        _ => answer::keystone(404, "The resource could not be found."),
    }
}

/// `{kind: {count, projects: {id: count}, rows: […]}}` for every kind, or for one.
pub(super) fn state(cloud: &mut Cloud, now: DateTime<Utc>, kind: Option<&str>) -> Value {
    if let Err(error) = cloud.settle(now) {
        tracing::error!(%error, "the sandbox cannot write its journal");
    }
    let mut kinds = JsonMap::new();
    for table in cloud.tables() {
        let name = table.name();
        if KINDS_NOT_SHOWN.contains(&name) || kind.is_some_and(|kind| kind != name) {
            continue;
        }
        let rows = table.dump();
        let mut projects = JsonMap::new();
        for row in rows.iter().filter_map(Value::as_object) {
            let project = row.text("project_id");
            let count = projects.int(project).unwrap_or_default();
            projects.set(project, count + 1);
        }
        kinds.set(name, json!({"count": rows.len(), "projects": projects, "rows": rows}));
    }
    Value::Object(kinds)
}

fn faults(shared: &Shared) -> Answer {
    let rules: Vec<Value> = shared
        .faults()
        .list()
        .into_iter()
        .map(|(rule, met)| json!({"rule": rule, "met": met}))
        .collect();
    Answer::json(200, &json!({"faults": rules}))
}

fn set_faults(shared: &Shared, rules: Vec<FaultRule>) -> Answer {
    let outcome = shared.faults().set(rules);
    match outcome {
        Ok(()) => faults(shared),
        Err(error) => answer::keystone(400, error),
    }
}

/// A list of rules, or `{"faults": [rules]}`.
fn rules(body: &Bytes) -> Result<Vec<FaultRule>, String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let list = match body {
        Value::Object(mut object) => object.remove("faults").unwrap_or_default(),
        other => other,
    };
    serde_json::from_value(list).map_err(|error| error.to_string())
}
