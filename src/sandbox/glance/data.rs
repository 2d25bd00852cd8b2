//! An image's bytes: uploaded, staged, imported; and whether they may be fetched.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use md5::Md5;
use sha2::{Digest, Sha512};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::{Ask, stamp};
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::super::later::{Later, Turn};
use super::{find, missing, nowhere, own, set_status};
use crate::model::hex;

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    id: &str,
    part: &str,
    path: &[&str],
) -> Reply {
    match (ask.method.as_str(), part, path) {
        ("PUT", "file", []) => {
            transition(cloud, scope, id, "saving")?;
            store(cloud, id, &ask.body, ask.at);
            Ok(Answer::empty(204))
        }
        ("GET", "file", []) => {
            let image = find(cloud, scope, id).ok_or_else(|| missing(id))?;
            if image.text("status") == "deactivated" && !scope.is_admin {
                return Err(answer::glance(
                    403,
                    "The requested image has been deactivated. Image data download is forbidden.",
                ));
            }
            let bytes = cloud.glance.data.get(id).and_then(|data| STANDARD.decode(data).ok());
            match bytes {
                Some(bytes) => Ok(Answer::text(200, "application/octet-stream", bytes)
                    .header("content-md5", image.text("checksum"))),
                None => Ok(Answer::empty(204)),
            }
        }
        ("PUT", "stage", []) => {
            transition(cloud, scope, id, "uploading")?;
            keep(cloud, id, &ask.body);
            set_status(cloud, id, "uploading", ask.at);
            Ok(Answer::empty(204))
        }
        ("POST", "import", []) => import(cloud, ask, scope, id),
        ("POST", "actions", [action @ ("deactivate" | "reactivate")]) => {
            let status = own(cloud, scope, id)?.text("status").to_owned();
            let (from, to) = match *action {
                "deactivate" => ("active", "deactivated"),
                _ => ("deactivated", "active"),
            };
            if status != from && status != to {
                let text = format!("Not allowed to {action} image in status '{status}'");
                return Err(answer::glance(403, text));
            }
            set_status(cloud, id, to, ask.at);
            Ok(Answer::empty(204))
        }
        _ => Err(nowhere()),
    }
}

/// Refuses data for an image that is not waiting for any.
fn transition(cloud: &Cloud, scope: &Scope, id: &str, to: &str) -> Result<(), Answer> {
    let image = own(cloud, scope, id)?;
    let status = image.text("status");
    if status != "queued" {
        return Err(answer::glance(
            409,
            format!("Image status transition from {status} to {to} is not allowed"),
        ));
    }
    if image.text("disk_format").is_empty() || image.text("container_format").is_empty() {
        return Err(answer::glance(
            400,
            "Properties disk_format, container_format must be set prior to saving data.",
        ));
    }
    Ok(())
}

fn import(cloud: &mut Cloud, ask: &Ask, scope: &Scope, id: &str) -> Reply {
    let given = ask.object(answer::glance)?;
    let method = given.object("method").cloned().unwrap_or_default();
    let image = own(cloud, scope, id)?;
    let status = image.text("status");
    let from = match method.text("name") {
        "web-download" => "queued",
        "glance-direct" => "uploading",
        other => {
            let text = format!("Unknown import method name '{other}'.");
            return Err(answer::glance(400, text));
        }
    };
    if from == "queued" && method.text("uri").is_empty() {
        return Err(answer::glance(400, "URI for web-download does not pass filtering: None"));
    }
    if status != from {
        return Err(answer::glance(
            409,
            format!("Image needs to be in '{from}' state to use '{}' method", method.text("name")),
        ));
    }
    for field in ["disk_format", "container_format"] {
        if image.text(field).is_empty() {
            return Err(answer::glance(400, format!("'{field}' needs to be set before import")));
        }
    }
    if from == "queued" {
        // Nothing is fetched: the address itself is the data.
        keep(cloud, id, method.text("uri").as_bytes());
    }
    set_status(cloud, id, "importing", ask.at);
    let takes = TimeDelta::from_std(cloud.config.latencies.image).unwrap_or_default();
    cloud.plan(Later { at: ask.at + takes, turn: Turn::Image { id: id.to_owned() } });
    Ok(Answer::empty(202))
}

/// The import is done. A host that by its name cannot exist leaves the image as it was.
pub(in crate::sandbox) fn ends(cloud: &mut Cloud, id: &str, at: DateTime<Utc>) {
    let Some(data) = cloud.glance.data.get(id) else { return };
    let bytes = STANDARD.decode(data).unwrap_or_default();
    let host = std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| url::Url::parse(text).ok())
        .and_then(|url| url.host_str().map(str::to_owned));
    if host.is_some_and(|host| host.ends_with(".invalid")) {
        cloud.glance.data.remove(id);
        set_status(cloud, id, "queued", at);
    } else {
        store(cloud, id, &bytes, at);
    }
}

fn keep(cloud: &mut Cloud, id: &str, bytes: &[u8]) {
    cloud.glance.data.insert(id, STANDARD.encode(bytes));
}

/// Keeps the bytes and makes the image active.
pub(super) fn store(cloud: &mut Cloud, id: &str, bytes: &[u8], at: DateTime<Utc>) {
    keep(cloud, id, bytes);
    if let Some(image) = cloud.glance.images.edit(id) {
        image.set("size", bytes.len());
        image.set("virtual_size", bytes.len());
        image.set("checksum", hex(&Md5::digest(bytes)));
        image.set("os_hash_algo", "sha512");
        image.set("os_hash_value", hex(&Sha512::digest(bytes)));
        image.set("status", "active");
        image.set("updated_at", stamp(at));
    }
}
