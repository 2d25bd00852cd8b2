//! The volumes' routes: list, show, make, change, delete, and their metadata.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections;
use super::super::doc::{Doc, flag_text, shown, uuid_like, whole};
use super::super::glance;
use super::super::keystone::Scope;
use super::super::listing;
use super::state::{SNAPSHOTS, Volume, VolumeEnd};
use super::volume::{begin_delete, brief, find, full, plan, plan_after};
use super::{actions, bad, nowhere, quotas, types};
use crate::model::JsonMap;

/// Longest page of a list.
const PAGE_MAX: usize = 1000;

/// Statuses in which a volume may be deleted.
const DELETABLE: [&str; 4] = ["available", "error", "error_restoring", "error_extending"];

/// What a volume is to be.
#[derive(Clone, Debug, Default)]
pub(in crate::sandbox) struct Wish {
    pub(in crate::sandbox) size: i64,
    pub(in crate::sandbox) image_id: Option<String>,
    pub(in crate::sandbox) snapshot_id: Option<String>,
}

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    version: u32,
    path: &[&str],
) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", []) => list(cloud, ask, scope, version, false),
        ("GET", ["detail"]) => list(cloud, ask, scope, version, true),
        ("GET", ["summary"]) => {
            let mine = cloud.cinder.volumes.values().filter(|v| v.project_id == scope.project_id);
            let (count, size) = mine.fold((0, 0), |(count, size), v| (count + 1, size + v.size));
            let summary = json!({"total_count": count, "total_size": size, "metadata": {}});
            Ok(Answer::json(200, &json!({"volume-summary": summary})))
        }
        ("POST", []) => {
            let given = ask.wrapped("volume", answer::nova)?;
            let volume = asked_for(cloud, scope, &given, ask.at)?;
            let volume = make(cloud, volume, ask.at)?;
            Ok(Answer::json(202, &json!({"volume": full(ask, scope, version, &volume)})))
        }
        ("GET", [id]) => {
            let volume = find(cloud, scope, id)?;
            Ok(Answer::json(200, &json!({"volume": full(ask, scope, version, volume)})))
        }
        ("PUT", [id]) => update(cloud, ask, scope, version, id),
        ("DELETE", [id]) => {
            let volume = find(cloud, scope, id)?.clone();
            let is_of_it = |snapshot: &JsonMap| snapshot.text("volume_id") == *id;
            let has_snapshots = collections::row_where(cloud, SNAPSHOTS, is_of_it).is_some();
            if !DELETABLE.contains(&volume.status.as_str()) || has_snapshots {
                return Err(bad(
                    "Invalid volume: Volume status must be available or error or error_restoring or error_extending or error_managing and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer.",
                ));
            }
            begin_delete(cloud, id, ask.at);
            Ok(Answer::empty(202))
        }
        ("POST", [id, "action"]) => actions::act(cloud, ask, scope, version, id),
        (_, [id, "metadata", rest @ ..]) => metadata(cloud, ask, scope, id, rest),
        _ => Err(nowhere()),
    }
}

/// Makes a volume that a server brings; its id.
pub(in crate::sandbox) fn create_for_server(
    cloud: &mut Cloud,
    scope: &Scope,
    wish: &Wish,
    at: DateTime<Utc>,
) -> Result<String, Answer> {
    let mut given = JsonMap::new();
    given.set("size", if wish.size > 0 { json!(wish.size) } else { Value::Null });
    given.set("imageRef", json!(wish.image_id));
    given.set("snapshot_id", json!(wish.snapshot_id));
    let volume = asked_for(cloud, scope, &given, at)?;
    Ok(make(cloud, volume, at)?.id)
}

/// A volume that is filled from a backup: the wanted one, or a new one.
pub(super) fn restored(
    cloud: &mut Cloud,
    scope: &Scope,
    wanted: Option<&str>,
    name: Option<&str>,
    size: i64,
    at: DateTime<Utc>,
) -> Result<Volume, Answer> {
    if let Some(id) = wanted {
        let volume = find(cloud, scope, id)?.clone();
        if volume.status != "available" {
            return Err(bad("Invalid volume: Volume to be restored to must be available"));
        }
        super::set_status(cloud, id, "restoring-backup", at);
        plan(cloud, id, VolumeEnd::Status("available".to_owned()), at);
        return Ok(volume);
    }
    let mut given = JsonMap::new();
    given.set("size", size);
    given.set("name", name.unwrap_or_default());
    let volume = asked_for(cloud, scope, &given, at)?;
    make(cloud, volume, at)
}

fn list(cloud: &Cloud, ask: &Ask, scope: &Scope, version: u32, detail: bool) -> Reply {
    let everybody =
        scope.is_admin && ask.query("all_tenants").is_some_and(|all| flag_text(all) != Some(false));
    let rows = cloud
        .cinder
        .volumes
        .values()
        .rev()
        .filter(|volume| everybody || volume.project_id == scope.project_id)
        .filter(|volume| {
            ask.query.iter().all(|(key, asked)| match key.as_str() {
                "name" => volume.name == *asked,
                "status" => volume.status == *asked,
                "id" => volume.id == *asked,
                "project_id" => volume.project_id == *asked,
                "user_id" => volume.user_id == *asked,
                "volume_type" => volume.volume_type == *asked,
                "availability_zone" => volume.availability_zone == *asked,
                "bootable" => flag_text(asked) == Some(volume.bootable),
                _ => true,
            })
        })
        .map(|volume| if detail { full(ask, scope, version, volume) } else { brief(ask, volume) })
        .collect();
    let page = listing::page(rows, ask, PAGE_MAX).ok_or_else(|| {
        let marker = ask.query("marker").unwrap_or_default();
        answer::nova(404, format!("Volume {marker} could not be found."))
    })?;
    let mut body = JsonMap::new();
    let next = page
        .rows
        .last()
        .filter(|_| page.more)
        .map(|last| listing::next_link(ask, &format!("/{}", ask.path.join("/")), last));
    body.set("volumes", page.rows.into_iter().map(Value::Object).collect::<Vec<_>>());
    if let Some(next) = next {
        body.set("volumes_links", json!([{"rel": "next", "href": next}]));
    }
    Ok(Answer::json(200, &Value::Object(body)))
}

/// The volume that a request describes, with all that it refers to checked.
fn asked_for(
    cloud: &Cloud,
    scope: &Scope,
    given: &JsonMap,
    at: DateTime<Utc>,
) -> Result<Volume, Answer> {
    let text = |key: &str| given.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
    let snapshot = match text("snapshot_id") {
        Some(id) => Some(collections::seen(cloud, scope, SNAPSHOTS, id)?),
        None => None,
    };
    let source = match text("source_volid") {
        Some(id) => Some(find(cloud, scope, id)?),
        None => None,
    };
    let least = snapshot.and_then(|s| s.int("size")).or(source.map(|s| s.size));
    let size = match given.get("size") {
        None | Some(Value::Null) => least.ok_or_else(|| {
            bad("The server could not comply with the request since it is either malformed or otherwise incorrect.")
        })?,
        Some(size) => whole(size).filter(|size| *size > 0).ok_or_else(|| {
            let size = shown(size);
            bad(match size.parse::<i64>() {
                Ok(_) => format!("Invalid input for field/attribute size. Value: {size}. {size} is less than the minimum of 1"),
                Err(_) => format!("Invalid input for field/attribute size. Value: {size}. '{size}' does not match '^[0-9]+$'"),
            })
        })?,
    };
    if let Some(least) = least.filter(|least| size < *least) {
        return Err(bad(format!(
            "Invalid input received: Volume size '{size}'GB cannot be smaller than original volume size {least}GB. They must be >= original volume size."
        )));
    }
    let image = match text("imageRef") {
        Some(id) => Some(image(cloud, scope, id, size)?),
        None => None,
    };
    let kind = types::chosen(cloud, text("volume_type"))?;
    match text("availability_zone") {
        None | Some("nova") => {}
        Some(zone) => {
            return Err(bad(format!("Availability zone '{zone}' is invalid.")));
        }
    }
    Ok(Volume {
        id: cloud.fresh_id(),
        name: given.text("name").to_owned(),
        description: text("description").map(str::to_owned),
        project_id: scope.project_id.clone(),
        user_id: scope.user_id.clone(),
        size,
        status: "creating".to_owned(),
        availability_zone: "nova".to_owned(),
        multiattach: given.is("multiattach") || types::multiattach(cloud, &kind),
        volume_type: kind,
        snapshot_id: text("snapshot_id").map(str::to_owned),
        source_volid: text("source_volid").map(str::to_owned),
        bootable: image.is_some() || source.is_some_and(|source| source.bootable),
        image,
        metadata: given.object("metadata").cloned().unwrap_or_default(),
        attachments: Vec::new(),
        created_at: at,
        updated_at: None,
    })
}

fn image(cloud: &Cloud, scope: &Scope, asked: &str, size: i64) -> Result<JsonMap, Answer> {
    let found = glance::find(cloud, scope, asked)
        .or_else(|| glance::find_by_name(cloud, scope, asked).filter(|_| !uuid_like(asked)));
    let Some(image) = found else {
        return Err(bad("Invalid image identifier or unable to access requested image."));
    };
    if image.text("status") != "active" {
        return Err(bad(format!("Invalid input received: Image {asked} is not active.")));
    }
    let least = image.int("min_disk").unwrap_or_default();
    if size < least {
        return Err(bad(format!(
            "Invalid input received: Volume size {size}GB cannot be smaller than the image minDisk size {least}GB."
        )));
    }
    let mut known = JsonMap::new();
    known.set("image_id", image.text("id"));
    known.set("image_name", image.text("name"));
    for key in ["checksum", "container_format", "disk_format", "min_disk", "min_ram", "size"] {
        known.set(key, image.get(key).map(shown).unwrap_or_default());
    }
    Ok(known)
}

fn make(cloud: &mut Cloud, volume: Volume, at: DateTime<Utc>) -> Result<Volume, Answer> {
    quotas::allow_volume(cloud, &volume.project_id, volume.size)?;
    let end = match volume.metadata.text("testcloud:fail") {
        "create" => "error",
        _ => "available",
    };
    let end = VolumeEnd::Status(end.to_owned());
    cloud.cinder.volumes.insert(&volume.id.clone(), volume.clone());
    let ordered = volume.metadata.get("testcloud:delay").map(shown);
    match ordered.and_then(|text| text.parse::<f64>().ok()).filter(|seconds| *seconds > 0.0) {
        #[expect(clippy::cast_possible_truncation, reason = "an hour is the most it can be")]
        Some(seconds) => {
            let takes = TimeDelta::milliseconds((seconds.min(3600.0) * 1000.0) as i64);
            plan_after(cloud, &volume.id, end, at + takes);
        }
        None => plan(cloud, &volume.id, end, at),
    }
    Ok(volume)
}

fn update(cloud: &mut Cloud, ask: &Ask, scope: &Scope, version: u32, id: &str) -> Reply {
    let given = ask.wrapped("volume", answer::nova)?;
    find(cloud, scope, id)?;
    if let Some(volume) = cloud.cinder.volumes.edit(id) {
        if let Some(name) = given.get("name").or(given.get("display_name")) {
            volume.name = name.as_str().unwrap_or_default().to_owned();
        }
        if let Some(text) = given.get("description").or(given.get("display_description")) {
            volume.description = text.as_str().map(str::to_owned);
        }
        if let Some(metadata) = given.object("metadata") {
            volume.metadata = metadata.clone();
        }
        volume.updated_at = Some(ask.at);
    }
    let volume = find(cloud, scope, id)?;
    Ok(Answer::json(200, &json!({"volume": full(ask, scope, version, volume)})))
}

fn metadata(cloud: &mut Cloud, ask: &Ask, scope: &Scope, id: &str, path: &[&str]) -> Reply {
    let mut metadata = find(cloud, scope, id)?.metadata.clone();
    let missing =
        |key: &str| answer::nova(404, format!("Volume {id} has no metadata with key {key}."));
    let answer = match (ask.method.as_str(), path) {
        ("GET", []) => return Ok(Answer::json(200, &json!({"metadata": metadata}))),
        ("GET", [key]) => {
            let value = metadata.get(*key).ok_or_else(|| missing(key))?;
            return Ok(Answer::json(200, &json!({"meta": {*key: value}})));
        }
        ("PUT", []) => {
            metadata = ask.wrapped("metadata", answer::nova)?;
            Answer::json(200, &json!({"metadata": metadata}))
        }
        ("POST", []) => {
            metadata.extend(ask.wrapped("metadata", answer::nova)?);
            Answer::json(200, &json!({"metadata": metadata}))
        }
        ("PUT", [key]) => {
            let given = ask.wrapped("meta", answer::nova)?;
            metadata.set(key, given.get(*key).cloned().unwrap_or_default());
            Answer::json(200, &json!({"meta": given}))
        }
        ("DELETE", [key]) => {
            metadata.remove(*key).ok_or_else(|| missing(key))?;
            Answer::empty(200)
        }
        _ => return Err(nowhere()),
    };
    if let Some(volume) = cloud.cinder.volumes.edit(id) {
        volume.metadata = metadata;
        volume.updated_at = Some(ask.at);
    }
    Ok(answer)
}
