//! Snapshots of volumes.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::{Ask, stamp_micros};
use super::super::cloud::Cloud;
use super::super::doc::{Doc, flag_text};
use super::super::keystone::Scope;
use super::super::later::Turn;
use super::copy::{self, VolumeCopy};
use super::state::Snapshot;
use super::{bad, nowhere, quotas, volume};

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", [] | ["detail"]) => {
            let everybody = scope.is_admin
                && ask.query("all_tenants").is_some_and(|all| flag_text(all) != Some(false));
            let snapshots: Vec<Value> = cloud
                .cinder
                .snapshots
                .values()
                .rev()
                .filter(|snapshot| everybody || snapshot.project_id == scope.project_id)
                .filter(|it| ask.query("project_id").is_none_or(|id| id == it.project_id))
                .filter(|snapshot| ask.query("name").is_none_or(|name| name == snapshot.name))
                .filter(|snapshot| ask.query("volume_id").is_none_or(|id| id == snapshot.volume_id))
                .map(view)
                .collect();
            Ok(Answer::json(200, &json!({"snapshots": snapshots})))
        }
        ("GET", [id]) => {
            let snapshot = find(cloud, scope, id)?;
            Ok(Answer::json(200, &json!({"snapshot": view(snapshot)})))
        }
        ("POST", []) => create(cloud, ask, scope),
        ("PUT", [id]) => {
            let given = ask.wrapped("snapshot", answer::nova)?;
            find(cloud, scope, id)?;
            if let Some(snapshot) = cloud.cinder.snapshots.edit(id) {
                if let Some(name) = given.get("name").and_then(Value::as_str) {
                    snapshot.name = name.to_owned();
                }
                if let Some(text) = given.get("description") {
                    snapshot.description = text.as_str().map(str::to_owned);
                }
                snapshot.updated_at = ask.at;
            }
            let snapshot = find(cloud, scope, id)?;
            Ok(Answer::json(200, &json!({"snapshot": view(snapshot)})))
        }
        ("DELETE", [id]) => {
            let status = find(cloud, scope, id)?.status.clone();
            if !matches!(status.as_str(), "available" | "error") {
                return Err(bad(
                    "Invalid snapshot: Snapshot status must be available or error and must not be part of a group.",
                ));
            }
            if let Some(snapshot) = cloud.cinder.snapshots.edit(id) {
                "deleting".clone_into(&mut snapshot.status);
            }
            copy::plan::<Snapshot>(cloud, id, None, ask.at);
            Ok(Answer::empty(202))
        }
        _ => Err(nowhere()),
    }
}

/// The snapshot of this id, if the caller may see it.
pub(super) fn find<'a>(cloud: &'a Cloud, scope: &Scope, id: &str) -> Result<&'a Snapshot, Answer> {
    cloud
        .cinder
        .snapshots
        .get(id)
        .filter(|snapshot| scope.sees(&snapshot.project_id))
        .ok_or_else(|| answer::nova(404, format!("Snapshot {id} could not be found.")))
}

/// Whether a volume has snapshots.
pub(super) fn any_of(cloud: &Cloud, volume: &str) -> bool {
    cloud.cinder.snapshots.values().any(|snapshot| snapshot.volume_id == volume)
}

fn create(cloud: &mut Cloud, ask: &Ask, scope: &Scope) -> Reply {
    let given = ask.wrapped("snapshot", answer::nova)?;
    let volume = volume::find(cloud, scope, given.text("volume_id"))?.clone();
    let forced = given.is("force") || given.text("force") == "true";
    if volume.status != "available" && !(forced && volume.status == "in-use") {
        return Err(bad(format!(
            "Invalid volume: Volume {} status must be available, but current status is: {}.",
            volume.id, volume.status
        )));
    }
    quotas::allow_snapshot(cloud, &scope.project_id)?;
    let snapshot = Snapshot {
        id: cloud.fresh_id(),
        name: given.text("name").to_owned(),
        description: given.get("description").and_then(Value::as_str).map(str::to_owned),
        project_id: scope.project_id.clone(),
        volume_id: volume.id.clone(),
        size: volume.size,
        status: "creating".to_owned(),
        metadata: given.object("metadata").cloned().unwrap_or_default(),
        created_at: ask.at,
        updated_at: ask.at,
    };
    let body = json!({"snapshot": view(&snapshot)});
    let id = snapshot.id.clone();
    cloud.cinder.snapshots.insert(&id, snapshot);
    copy::plan::<Snapshot>(cloud, &id, Some("available"), ask.at);
    Ok(Answer::json(202, &body))
}

/// The snapshot has reached a status, or is gone.
pub(in crate::sandbox) fn ends(
    cloud: &mut Cloud,
    id: &str,
    status: Option<&str>,
    at: DateTime<Utc>,
) {
    copy::ends(&mut cloud.cinder.snapshots, id, status, at);
}

impl VolumeCopy for Snapshot {
    const TURN: fn(String, Option<String>) -> Turn = |id, status| Turn::Snapshot { id, status };

    fn reach(&mut self, status: &str, at: DateTime<Utc>) {
        status.clone_into(&mut self.status);
        self.updated_at = at;
    }
}

fn view(snapshot: &Snapshot) -> Value {
    json!({
        "id": snapshot.id,
        "name": snapshot.name,
        "description": snapshot.description,
        "volume_id": snapshot.volume_id,
        "size": snapshot.size,
        "status": snapshot.status,
        "metadata": snapshot.metadata,
        "created_at": stamp_micros(snapshot.created_at),
        "updated_at": stamp_micros(snapshot.updated_at),
        "os-extended-snapshot-attributes:progress": "100%",
        "os-extended-snapshot-attributes:project_id": snapshot.project_id,
    })
}
