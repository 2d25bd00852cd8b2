//! Containers.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::{Ask, stamp_micros};
use super::super::cloud::Cloud;
use super::listing::Listing;
use super::state::{Container, Headers};
use super::{entries, keep_headers};

/// Longest name.
const NAME_MAX: usize = 256;

/// Headers that are kept beside the metadata.
const KEPT: [&str; 7] = [
    "x-container-read",
    "x-container-write",
    "x-versions-location",
    "x-history-location",
    "x-container-sync-to",
    "x-container-sync-key",
    "x-storage-policy",
];

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, project: &str, name: &str) -> Reply {
    let key = key(project, name);
    let known = cloud.swift.containers.get(&key).cloned();
    match (ask.method.as_str(), known) {
        ("PUT", known) => {
            if name.len() > NAME_MAX {
                return Err(answer::swift(400));
            }
            let status = if known.is_some() { 202 } else { 201 };
            let mut container = known.unwrap_or_else(|| Container {
                project_id: project.to_owned(),
                name: name.to_owned(),
                headers: Headers::new(),
                created_at: ask.at,
            });
            keep_headers(&mut container.headers, ask, &["x-container-meta-"], &KEPT);
            cloud.swift.containers.insert(&key, container);
            Ok(Answer::empty(status))
        }
        (_, None) => Err(answer::swift(404)),
        ("POST", Some(mut container)) => {
            keep_headers(&mut container.headers, ask, &["x-container-meta-"], &KEPT);
            cloud.swift.containers.insert(&key, container);
            Ok(Answer::empty(204))
        }
        ("DELETE", Some(_)) => {
            if entries::of(cloud, project, name).next().is_some() {
                return Err(answer::swift(409));
            }
            cloud.swift.containers.remove(&key);
            Ok(Answer::empty(204))
        }
        ("HEAD", Some(container)) => Ok(with_headers(cloud, &container, Answer::empty(204))),
        ("GET", Some(container)) => {
            let entries = entries::of(cloud, project, name).map(entries::entry).collect();
            Ok(with_headers(cloud, &container, Listing::of(ask).answer(entries)))
        }
        _ => Err(answer::swift(405)),
    }
}

/// A project's containers.
pub(super) fn of<'a>(cloud: &'a Cloud, project: &'a str) -> impl Iterator<Item = &'a Container> {
    cloud.swift.containers.values().filter(move |container| container.project_id == project)
}

/// Whether a container exists.
pub(super) fn exists(cloud: &Cloud, project: &str, name: &str) -> bool {
    cloud.swift.containers.contains(&key(project, name))
}

/// Whether anybody may read a container.
pub(super) fn is_public(cloud: &Cloud, project: &str, name: &str) -> bool {
    let container = cloud.swift.containers.get(&key(project, name));
    let rules = container.and_then(|container| container.headers.get("x-container-read"));
    rules.is_some_and(|rules| rules.split(',').any(|rule| rule.trim() == ".r:*"))
}

/// The headers that are kept of a container.
pub(super) fn headers<'a>(cloud: &'a Cloud, project: &str, name: &str) -> Option<&'a Headers> {
    cloud.swift.containers.get(&key(project, name)).map(|container| &container.headers)
}

/// The container in the account's list.
pub(super) fn entry(cloud: &Cloud, container: &Container) -> Value {
    let (count, bytes) = used(cloud, container);
    json!({
        "name": container.name,
        "count": count,
        "bytes": bytes,
        "last_modified": stamp_micros(container.created_at),
    })
}

fn with_headers(cloud: &Cloud, container: &Container, mut answer: Answer) -> Answer {
    let (count, bytes) = used(cloud, container);
    answer.headers.extend(container.headers.clone());
    let seconds = container.created_at.timestamp_micros();
    answer
        .header("x-container-object-count", count.to_string())
        .header("x-container-bytes-used", bytes.to_string())
        .header("x-timestamp", format!("{}.{:05}", seconds / 1_000_000, seconds % 1_000_000 / 10))
        .header("x-storage-policy", "Policy-0")
        .header("accept-ranges", "bytes")
        .header("last-modified", entries::http_date(container.created_at))
}

fn used(cloud: &Cloud, container: &Container) -> (u64, u64) {
    let objects = entries::of(cloud, &container.project_id, &container.name);
    objects.fold((0, 0), |(count, bytes), object| (count + 1, bytes + object.bytes))
}

fn key(project: &str, name: &str) -> String {
    format!("{project}/{name}")
}
