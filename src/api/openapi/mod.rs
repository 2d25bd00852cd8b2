//! `GET /v1/openapi.json`: the routes of version 1 in OpenAPI's words, put together from the table
//! that serves them.

mod answers;
mod bodies;
mod schema;

use std::collections::BTreeSet;

use actix_web::HttpResponse;
use serde_json::{Map, Value, json};

use self::schema::{any, named};
use super::conditions::headers;
use super::error::client_statuses;
use super::query::{AT, Param};
use super::routes::described;
use super::v1::stacks::bundle;

/// Serves the description, to everybody.
pub(super) async fn show() -> HttpResponse {
    HttpResponse::Ok().json(description())
}

fn description() -> Value {
    let mut paths = Map::new();
    for (verb, path, query) in described().into_iter().chain(of_no_stack()) {
        // A second pattern for what another path says already.
        if path.contains(':') {
            continue;
        }
        let operation = operation(verb, &path, &query);
        let of_path = paths.entry(path).or_insert_with(|| json!({}));
        of_path[verb.to_lowercase()] = operation;
    }
    let of_errors = [("Fault", fault()), ("Unknown", unknown()), ("Unauthorized", unauthorized())];
    let schemas = bodies::schemas().into_iter().chain(answers::schemas()).chain(of_errors);
    let schemas = schemas.map(|(name, schema)| (name.to_owned(), schema));
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Orchestration API",
            "description": env!("CARGO_PKG_DESCRIPTION"),
            "version": env!("CARGO_PKG_VERSION"),
        },
        "servers": [{ "url": "/v1" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "apiKey", "in": "header", "name": "X-Auth-Token" },
            },
            "schemas": schemas.collect::<Map<String, Value>>(),
        },
    })
}

/// What stands where else a stack's name does, and is none: one pattern serves both.
fn of_no_stack() -> [(&'static str, String, Vec<Param>); 3] {
    let below = |word: &str| format!("/{{project}}/stacks/{word}");
    [
        ("GET", below("detail"), vec![AT]),
        ("POST", below("preview"), Vec::new()),
        ("POST", below("plan"), Vec::new()),
    ]
}

fn operation(verb: &str, path: &str, query: &[Param]) -> Value {
    let in_path = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let text = || json!({ "type": "string" });
    let in_path = in_path
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": text() }));
    let headers = headers(verb, path)
        .into_iter()
        .map(|name| json!({ "name": name, "in": "header", "required": false, "schema": text() }));
    let query = query.iter().map(|param| param.described());
    let parameters: Vec<Value> = in_path.chain(query).chain(headers).collect();
    let mut operation = json!({
        "operationId": operation_id(verb, path),
        "parameters": parameters,
        "responses": responses(verb, path),
    });
    if let Some((body, required)) = bodies::body(verb, below(path)) {
        let content = json!({ "application/json": { "schema": body } });
        operation["requestBody"] = json!({ "required": required, "content": content });
    }
    operation
}

/// A path below its project.
fn below(path: &str) -> &str {
    path.trim_start_matches("/{project}")
}

/// `get_stacks_name_id_resources`.
fn operation_id(verb: &str, path: &str) -> String {
    let words = below(path).split('/').filter(|word| !word.is_empty());
    let words = words.map(|word| word.trim_matches(['{', '}']));
    std::iter::once(verb.to_lowercase().as_str()).chain(words).collect::<Vec<_>>().join("_")
}

fn responses(verb: &str, path: &str) -> Value {
    let of = |schema: &str| json!({ "schema": named(schema) });
    let mut responses = Map::new();
    for status in client_statuses().collect::<BTreeSet<u16>>() {
        let content = match status {
            404 => json!({
                "application/json": { "schema": { "anyOf": [named("Fault"), named("Unknown")] } },
                "text/plain": {},
            }),
            _ => json!({ "application/json": of("Fault") }),
        };
        let answer = json!({ "description": "What was asked is refused.", "content": content });
        responses.insert(status.to_string(), answer);
    }
    let answer = json!({ "application/json": of("Unauthorized") });
    let answer = json!({ "description": "No token, or none that holds.", "content": answer });
    responses.insert("401".to_owned(), answer);
    for (status, types) in successes(verb, path) {
        let content: Map<String, Value> = types
            .iter()
            .map(|kind| {
                let schema = match (*kind, types) {
                    ("application/json", PLAIN) => named("Unknown"),
                    ("application/json", _) => answers::answer(verb, below(path)),
                    _ => any(),
                };
                ((*kind).to_owned(), json!({ "schema": schema }))
            })
            .collect();
        let mut answer = json!({ "description": "What was asked is done, or taken on." });
        if !content.is_empty() {
            answer["content"] = content.into();
        }
        responses.insert(status.to_string(), answer);
    }
    responses.into()
}

const JSON: &[&str] = &["application/json"];
/// The lines of a history.
const LINES: &[&str] = &[bundle::LINES];
/// What Heat's HTTP library says, which depends on what the client accepts.
const PLAIN: &[&str] = &["text/plain", "application/json"];

/// A feed, as events or as lines.
const FEED: &[&str] = &["text/event-stream", "application/x-ndjson"];

/// The statuses of a request that is not refused, each with the types that its body may have.
fn successes(verb: &str, path: &str) -> Vec<(u16, &'static [&'static str])> {
    match (verb, below(path)) {
        ("GET", "/feed" | "/stacks/{name}/{id}/feed") => vec![(200, FEED)],
        ("GET", "/stacks/{name}/{id}/history/bundle") => vec![(200, LINES)],
        ("POST", "/stacks") => vec![(201, JSON)],
        (_, "/stacks/{name}") => vec![(302, PLAIN)],
        // What follows a name without an id leads on, too.
        ("GET", "/stacks/{name}/{id}") => vec![(200, JSON), (302, PLAIN)],
        ("POST", "/stacks/{name}/{id}") => vec![(302, PLAIN)],
        ("PUT" | "PATCH", "/stacks/{name}/{id}") => vec![(202, PLAIN)],
        ("POST", "/stacks/{name}/{id}/snapshots/{snapshot}/restore") => vec![(202, PLAIN)],
        ("DELETE", "/stacks/{name}/{id}/abandon") => vec![(200, JSON)],
        ("DELETE", _) => vec![(204, &[])],
        _ => vec![(200, JSON)],
    }
}

/// An error in Heat's shape.
fn fault() -> Value {
    json!({
        "type": "object",
        "required": ["code", "title", "explanation", "error"],
        "properties": {
            "code": { "type": "integer" },
            "title": { "type": "string" },
            "explanation": { "type": "string" },
            "error": {
                "type": "object",
                "required": ["type", "traceback"],
                "properties": {
                    "type": { "type": "string" },
                    "message": { "type": "string" },
                    "traceback": { "type": "string", "nullable": true },
                },
            },
        },
    })
}

/// What is said of a URL that no route knows.
fn unknown() -> Value {
    json!({
        "type": "object",
        "required": ["message", "code", "title"],
        "properties": {
            "message": { "type": "string" },
            "code": { "type": "string" },
            "title": { "type": "string" },
        },
    })
}

/// What Keystone's middleware says.
fn unauthorized() -> Value {
    json!({ "type": "object", "required": ["error"], "properties": { "error": {
        "type": "object",
        "required": ["code", "title", "message"],
        "properties": {
            "code": { "type": "integer" },
            "title": { "type": "string" },
            "message": { "type": "string" },
        },
    } } })
}
