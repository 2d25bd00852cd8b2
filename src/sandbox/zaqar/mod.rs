//! Messaging v2, as far as events and queues need it: queues that come with their first message,
//! their metadata, messages, subscriptions that nobody is told of, and signed addresses.

pub(super) mod state;

use serde_json::{Value, json};

use super::answer::{Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::doc::Doc;
use super::keystone;
use crate::model::JsonMap;
use state::{Message, Subscription};

/// How many messages one request posts or lists at most.
const PAGE_MAX: usize = 20;
/// How many a list has that names no limit.
const PAGE_DEFAULT: usize = 10;
/// How long a message lives that names no time, and how long any may.
const TTL_SECS: (i64, i64) = (3_600, 1_209_600);
/// Longest name of a queue.
const QUEUE_NAME_MAX: usize = 64;
/// What the metadata of a queue says of how long a request may be that posts messages.
const POST_MAX: &str = "_max_messages_post_size";
/// How long that is in a queue that says nothing else, in bytes.
const POST_MAX_BYTES: u64 = 262_144;

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    let ["v2", "queues", queue, path @ ..] = path else { return Err(fault(404, "Not found")) };
    let scope = keystone::scope(cloud, ask)?;
    if queue.is_empty() || queue.chars().count() > QUEUE_NAME_MAX {
        return Err(fault(400, "Queue names may not be more than 64 characters long."));
    }
    let Some(client) = ask.header("client-id").map(str::to_owned) else {
        return Err(fault(400, "The header Client-ID is required"));
    };
    match (ask.method.as_str(), path) {
        ("PUT", []) => Ok(Answer::empty(201)),
        ("GET", []) => {
            Ok(Answer::json(200, &Value::Object(metadata(cloud, &scope.project_id, queue))))
        }
        ("PATCH", []) => patch(cloud, ask, &key(&scope.project_id, queue)),
        ("POST", ["share"]) => share(ask, &scope.project_id, queue),
        (_, ["subscriptions", id @ ..]) => {
            subscriptions(cloud, ask, &scope.project_id, queue, id.first().copied())
        }
        ("DELETE", []) => {
            let project = &scope.project_id;
            let of_queue = |it: &Message| it.project_id == *project && it.queue == *queue;
            for id in cloud.zaqar.messages.ids_where(of_queue) {
                cloud.zaqar.messages.remove(&id);
            }
            cloud.zaqar.metadata.remove(&key(project, queue));
            Ok(Answer::empty(204))
        }
        ("POST", ["messages"]) => post(cloud, ask, &scope.project_id, queue, &client),
        ("GET", ["messages"]) => list(cloud, ask, &scope.project_id, queue, &client),
        ("DELETE", ["messages"]) => pop(cloud, ask, &scope.project_id, queue),
        ("DELETE", ["messages", id]) => {
            let message = cloud.zaqar.messages.get(id);
            if message.is_some_and(|it| it.project_id == scope.project_id && it.queue == *queue) {
                cloud.zaqar.messages.remove(id);
            }
            Ok(Answer::empty(204))
        }
        _ => Err(fault(404, "Not found")),
    }
}

fn key(project: &str, queue: &str) -> String {
    format!("{project}/{queue}")
}

/// The metadata of a queue, with what every queue has.
fn metadata(cloud: &Cloud, project: &str, queue: &str) -> JsonMap {
    let mut metadata = JsonMap::from_iter([(POST_MAX.to_owned(), POST_MAX_BYTES.into())]);
    let own = cloud.zaqar.metadata.get(&key(project, queue)).cloned();
    metadata.extend(own.unwrap_or_default());
    metadata
}

/// A JSON patch of the metadata.
fn patch(cloud: &mut Cloud, ask: &Ask, key: &str) -> Reply {
    let malformed = || fault(400, "The request body is no list of operations");
    let operations: Vec<Value> = serde_json::from_slice(&ask.body).map_err(|_| malformed())?;
    let mut metadata = cloud.zaqar.metadata.get(key).cloned().unwrap_or_default();
    for operation in operations {
        let path = operation["path"].as_str().and_then(|path| path.strip_prefix("/metadata/"));
        let name = path.ok_or_else(malformed)?;
        match operation["op"].as_str() {
            Some("add" | "replace") => metadata.set(name, operation["value"].clone()),
            Some("remove") => drop(metadata.shift_remove(name)),
            _ => return Err(malformed()),
        }
    }
    cloud.zaqar.metadata.insert(key, metadata.clone());
    Ok(Answer::json(200, &Value::Object(metadata)))
}

/// An address that needs no token; nothing is kept of it.
fn share(ask: &Ask, project: &str, queue: &str) -> Reply {
    let body = ask.object(fault)?;
    let list = |name: &str, otherwise: &str| match body.get(name).and_then(Value::as_array) {
        Some(items) => items.clone(),
        None => vec![otherwise.into()],
    };
    let paths = list("paths", "messages");
    let paths = paths.iter().filter_map(Value::as_str);
    let paths: Vec<String> = paths.map(|path| format!("/v2/queues/{queue}/{path}")).collect();
    let expires = body.get("expires").cloned();
    Ok(Answer::json(
        200,
        &json!({
            "signature": "0123456789abcdef",
            "expires": expires.unwrap_or_else(|| ask.moment().into()),
            "paths": paths,
            "methods": list("methods", "GET"),
            "project": project,
        }),
    ))
}

fn subscriptions(
    cloud: &mut Cloud,
    ask: &Ask,
    project: &str,
    queue: &str,
    id: Option<&str>,
) -> Reply {
    let is_of_queue = |it: &Subscription| it.project_id == project && it.queue == queue;
    let shown = |id: &str, it: &Subscription| {
        let mut shown = it.fields.clone();
        shown.set("id", id);
        shown.set("source", queue);
        shown.set("age", 0);
        Value::Object(shown)
    };
    let missing = || fault(404, "Subscription could not be found.");
    match (ask.method.as_str(), id) {
        ("GET", None) => {
            let (limit, marker) = (limit(ask), ask.query("marker").unwrap_or_default());
            let own = cloud.zaqar.subscriptions.iter().filter(|(_, it)| is_of_queue(it));
            let own: Vec<_> = own.collect();
            let seen = own.iter().position(|(id, _)| **id == *marker).map_or(0, |at| at + 1);
            let page: Vec<_> = own.into_iter().skip(seen).take(limit).collect();
            let next = page.last().map(|(last, _)| {
                let list = format!("/v2/queues/{queue}/subscriptions");
                json!({ "rel": "next", "href": format!("{list}?marker={last}&limit={limit}") })
            });
            let page: Vec<Value> = page.into_iter().map(|(id, it)| shown(id, it)).collect();
            let links: Vec<_> = next.into_iter().collect();
            Ok(Answer::json(200, &json!({ "subscriptions": page, "links": links })))
        }
        ("POST", None) => {
            let fields = ask.object(fault)?;
            let subscriber = fields.get("subscriber").cloned();
            let is_known =
                cloud.zaqar.subscriptions.values().any(|it| {
                    is_of_queue(it) && it.fields.get("subscriber") == subscriber.as_ref()
                });
            if is_known {
                return Err(fault(409, "Such subscription already exists."));
            }
            let (project_id, queue) = (project.to_owned(), queue.to_owned());
            let id = cloud.fresh_id();
            let subscription = Subscription { project_id, queue, fields };
            cloud.zaqar.subscriptions.insert(&id, subscription);
            Ok(Answer::json(201, &json!({ "subscription_id": id })))
        }
        (method, Some(id)) => {
            let known = cloud.zaqar.subscriptions.get(id).filter(|it| is_of_queue(it)).cloned();
            match (method, known) {
                ("DELETE", known) => {
                    known.map(|_| cloud.zaqar.subscriptions.remove(id));
                    Ok(Answer::empty(204))
                }
                ("GET", Some(known)) => Ok(Answer::json(200, &shown(id, &known))),
                ("PATCH", Some(mut known)) => {
                    known.fields.extend(ask.object(fault)?);
                    cloud.zaqar.subscriptions.insert(id, known);
                    Ok(Answer::empty(204))
                }
                _ => Err(missing()),
            }
        }
        _ => Err(missing()),
    }
}

fn post(cloud: &mut Cloud, ask: &Ask, project: &str, queue: &str, client: &str) -> Reply {
    let bytes_max = metadata(cloud, project, queue).get(POST_MAX).and_then(Value::as_u64);
    if bytes_max.is_some_and(|max| ask.body.len() as u64 > max) {
        return Err(fault(400, "Message collection size is too large."));
    }
    let body = ask.object(fault)?;
    let sent = body.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    if sent.is_empty() || sent.len() > PAGE_MAX {
        return Err(fault(400, "Please submit at least 1 and at most 20 messages in a request."));
    }
    let mut resources = Vec::new();
    for message in sent {
        let Some(message) = message.as_object() else {
            return Err(fault(400, "Messages must be objects."));
        };
        let ttl_secs = message.int("ttl").unwrap_or(TTL_SECS.0);
        if !(60..=TTL_SECS.1).contains(&ttl_secs) {
            return Err(fault(400, "The TTL for a message may not exceed 1209600 seconds."));
        }
        let mut number = 0;
        let id = loop {
            let id = format!("{:016x}{number:08x}", ask.at.timestamp_micros());
            if !cloud.zaqar.messages.contains(&id) {
                break id;
            }
            number += 1;
        };
        resources.push(format!("/v2/queues/{queue}/messages/{id}"));
        let message = Message {
            project_id: project.to_owned(),
            queue: queue.to_owned(),
            body: message.get("body").cloned().unwrap_or_default(),
            ttl_secs,
            client: client.to_owned(),
            posted_at: ask.at,
        };
        cloud.zaqar.messages.insert(&id, message);
    }
    Ok(Answer::json(201, &json!({ "resources": resources })))
}

/// Takes the oldest messages out of a queue.
fn pop(cloud: &mut Cloud, ask: &Ask, project: &str, queue: &str) -> Reply {
    let count: Option<usize> = ask.query("pop").and_then(|count| count.parse().ok());
    let Some(count) = count.filter(|count| (1..=PAGE_MAX).contains(count)) else {
        return Err(fault(400, "Pop value must be at least 1 and may not be greater than 20."));
    };
    let found = cloud
        .zaqar
        .messages
        .iter()
        .filter(|(_, it)| it.project_id == project && it.queue == queue && it.lives(ask.at));
    let popped: Vec<(String, Value)> =
        found.take(count).map(|(id, it)| (id.to_owned(), it.shown(id, ask.at))).collect();
    for (id, _) in &popped {
        cloud.zaqar.messages.remove(id);
    }
    let messages: Vec<Value> = popped.into_iter().map(|(_, shown)| shown).collect();
    Ok(Answer::json(200, &json!({ "messages": messages })))
}

fn list(cloud: &Cloud, ask: &Ask, project: &str, queue: &str, client: &str) -> Reply {
    let limit = limit(ask);
    let hears_itself = ask.query("echo").is_some_and(|echo| echo.eq_ignore_ascii_case("true"));
    let marker = ask.query("marker").unwrap_or_default().to_owned();
    let mut last = marker.clone();
    let mut shown = Vec::new();
    let found = cloud.zaqar.messages.iter().filter(|(id, it)| {
        it.project_id == project
            && it.queue == queue
            && it.lives(ask.at)
            && **id > *marker
            && (hears_itself || it.client != client)
    });
    for (id, message) in found.take(limit) {
        last = id.to_owned();
        shown.push(message.shown(id, ask.at));
    }
    let next =
        format!("/v2/queues/{queue}/messages?marker={last}&echo={hears_itself}&limit={limit}");
    let links = json!([{ "rel": "next", "href": next }]);
    Ok(Answer::json(200, &json!({ "messages": shown, "links": links })))
}

/// How many the page of a list has.
fn limit(ask: &Ask) -> usize {
    let asked = ask.query("limit").and_then(|limit| limit.parse().ok());
    asked.unwrap_or(PAGE_DEFAULT).min(PAGE_MAX)
}

/// Zaqar's `{title, description}`.
fn fault(status: u16, description: impl Into<String>) -> Answer {
    let description: String = description.into();
    Answer::json(status, &json!({ "title": "Invalid API request", "description": description }))
}
