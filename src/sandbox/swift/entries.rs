//! The objects of a container, as lists and headers say them.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::ask::stamp_micros;
use super::super::cloud::Cloud;
use super::state::Object;

/// The objects of a container.
pub(super) fn of<'a>(
    cloud: &'a Cloud,
    project: &'a str,
    container: &'a str,
) -> impl Iterator<Item = &'a Object> {
    cloud
        .swift
        .objects
        .values()
        .filter(move |object| object.project_id == project && object.container == container)
}

/// The object in its container's list.
pub(super) fn entry(object: &Object) -> Value {
    json!({
        "name": object.name,
        "bytes": object.bytes,
        "hash": object.etag,
        "content_type": object.content_type,
        "last_modified": stamp_micros(object.modified_at),
    })
}

/// `Thu, 01 Jan 2026 00:00:00 GMT`.
pub(super) fn http_date(at: DateTime<Utc>) -> String {
    at.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
