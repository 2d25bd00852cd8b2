//! Backups of volumes, and volumes made or filled from them.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::{Ask, stamp_micros};
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::super::later::Turn;
use super::copy::{self, VolumeCopy};
use super::state::Backup;
use super::{bad, nowhere, volume, volumes};

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", [] | ["detail"]) => {
            let backups = cloud.cinder.backups.values().rev();
            let backups: Vec<Value> = backups
                .filter(|backup| backup.project_id == scope.project_id)
                .filter(|backup| ask.query("volume_id").is_none_or(|id| id == backup.volume_id))
                .filter(|backup| {
                    ask.query("name").is_none_or(|n| Some(n) == backup.name.as_deref())
                })
                .map(view)
                .collect();
            Ok(Answer::json(200, &json!({"backups": backups})))
        }
        ("GET", [id]) => {
            let backup = find(cloud, scope, id)?;
            Ok(Answer::json(200, &json!({"backup": view(backup)})))
        }
        ("POST", []) => create(cloud, ask, scope),
        ("POST", [id, "restore"]) => restore(cloud, ask, scope, id),
        ("DELETE", [id]) => {
            let status = find(cloud, scope, id)?.status.clone();
            if !matches!(status.as_str(), "available" | "error") {
                return Err(bad("Invalid backup: Backup status must be available or error"));
            }
            if let Some(backup) = cloud.cinder.backups.edit(id) {
                "deleting".clone_into(&mut backup.status);
            }
            copy::plan::<Backup>(cloud, id, None, ask.at);
            Ok(Answer::empty(202))
        }
        _ => Err(nowhere()),
    }
}

fn find<'a>(cloud: &'a Cloud, scope: &Scope, id: &str) -> Result<&'a Backup, Answer> {
    cloud
        .cinder
        .backups
        .get(id)
        .filter(|backup| scope.sees(&backup.project_id))
        .ok_or_else(|| answer::nova(404, format!("Backup {id} could not be found.")))
}

fn create(cloud: &mut Cloud, ask: &Ask, scope: &Scope) -> Reply {
    let given = ask.wrapped("backup", answer::nova)?;
    let volume = volume::find(cloud, scope, given.text("volume_id"))?.clone();
    let forced = given.is("force") || given.text("force") == "true";
    if volume.status != "available" && !(forced && volume.status == "in-use") {
        return Err(bad(format!(
            "Invalid volume: Volume to be backed up must be available or in-use, but the current \
             status is \"{}\".",
            volume.status
        )));
    }
    let text = |key: &str| given.get(key).and_then(Value::as_str).map(str::to_owned);
    let backup = Backup {
        id: cloud.fresh_id(),
        name: text("name"),
        description: text("description"),
        project_id: scope.project_id.clone(),
        volume_id: volume.id,
        size: volume.size,
        status: "creating".to_owned(),
        created_at: ask.at,
        updated_at: ask.at,
    };
    let body = json!({"backup": {"id": backup.id, "name": backup.name}});
    let id = backup.id.clone();
    cloud.cinder.backups.insert(&id, backup);
    copy::plan::<Backup>(cloud, &id, Some("available"), ask.at);
    Ok(Answer::json(202, &body))
}

/// Fills a volume from a backup: a new one, unless one is named.
fn restore(cloud: &mut Cloud, ask: &Ask, scope: &Scope, id: &str) -> Reply {
    let given = ask.wrapped("restore", answer::nova)?;
    let backup = find(cloud, scope, id)?.clone();
    let wanted = given.get("volume_id").and_then(Value::as_str);
    let name = given.get("name").and_then(Value::as_str);
    let volume = volumes::restored(cloud, scope, wanted, name, backup.size, ask.at)?;
    let restored = json!({"backup_id": id, "volume_id": volume.id, "volume_name": volume.name});
    Ok(Answer::json(202, &json!({"restore": restored})))
}

/// The backup has reached a status, or is gone.
pub(in crate::sandbox) fn ends(
    cloud: &mut Cloud,
    id: &str,
    status: Option<&str>,
    at: DateTime<Utc>,
) {
    copy::ends(&mut cloud.cinder.backups, id, status, at);
}

impl VolumeCopy for Backup {
    const TURN: fn(String, Option<String>) -> Turn = |id, status| Turn::Backup { id, status };

    fn reach(&mut self, status: &str, at: DateTime<Utc>) {
        status.clone_into(&mut self.status);
        self.updated_at = at;
    }
}

fn view(backup: &Backup) -> Value {
    json!({
        "id": backup.id,
        "name": backup.name,
        "description": backup.description,
        "volume_id": backup.volume_id,
        "size": backup.size,
        "status": backup.status,
        "fail_reason": null,
        "created_at": stamp_micros(backup.created_at),
        "updated_at": stamp_micros(backup.updated_at),
    })
}
