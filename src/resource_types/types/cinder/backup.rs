//! Snapshots of a volume: a backup is made of it, waited for, and deleted with the snapshot.
//!
//! ```text
//! snapshot: backup ─▶ backed_up ─▶ done
//! delete, by the policy Snapshot: backup ─▶ backed_up ─▶ delete ─▶ …
//! ```

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::volume_stage::Stage;
use crate::events::resource::Step;
use crate::openstack::{CloudError, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::stage::Stages;

/// Where the id of a snapshot's backup is kept.
pub(super) const SNAPSHOT: &str = "backup_id";
/// Where the id of the backup is kept that a deletion makes first.
const DELETION: &str = "deletion_backup_id";

/// The first step towards the backup.
pub(super) fn first(work: &Work, subject: &Subject) -> Step {
    match work == &Work::Delete && subject.data.contains_key(DELETION) {
        true => Stage::BackedUp.step(),
        false => Stage::Backup.step(),
    }
}

/// One beat.
pub(super) fn beat(beating: &Beating<'_>) -> Result<Beat, Failure> {
    match Stage::of(beating.step) {
        Some(Stage::Backup) => make(beating),
        _ => await_backup(beating),
    }
}

fn make(beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, .. } = *beating;
    // The description says which snapshot it belongs to, should the answer be lost.
    let token = subject.traversal.map(|traversal| traversal.to_string()).unwrap_or_default();
    let found = if beating.is_unanswered() { find(cloud, subject, &token)? } else { None };
    let backup = match found {
        Some(backup) => backup,
        None => {
            let body = json!({ "backup": {
                "volume_id": subject.physical_id, "force": true, "description": token } });
            let request = Request::post(Service::Volume, "/backups").json(body);
            match cloud.send(request) {
                Ok(response) => {
                    response.json()?["backup"]["id"].as_str().unwrap_or_default().to_owned()
                }
                Err(error) if error.is_not_found() && *work == Work::Delete => {
                    return Ok(after(work));
                }
                Err(error) => return Err(error.into()),
            }
        }
    };
    let key = if *work == Work::Delete { DELETION } else { SNAPSHOT };
    let data = BTreeMap::from([(key.to_owned(), Value::String(backup))]);
    Ok(next(Learned { data, ..Learned::default() }, Stage::BackedUp.step()))
}

/// The backup that a lost call has made.
fn find(cloud: &Asks<'_>, subject: &Subject, token: &str) -> Result<Option<String>, CloudError> {
    let volume = subject.physical_id.as_deref().unwrap_or_default();
    let request = Request::get(Service::Volume, "/backups/detail").query("volume_id", volume);
    let backups = cloud.list(request, |mut body| match body["backups"].take() {
        Value::Array(backups) => backups,
        _ => Vec::new(),
    })?;
    let made = backups.iter().find(|backup| backup["description"] == token);
    Ok(made.and_then(|backup| backup["id"].as_str().map(str::to_owned)))
}

fn await_backup(beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, .. } = *beating;
    let key = if *work == Work::Delete { DELETION } else { SNAPSHOT };
    let shown = cloud.send(Request::get(Service::Volume, path(subject.data.get(key))))?;
    let backup = shown.json()?["backup"].take();
    match (backup["status"].as_str().unwrap_or_default(), work) {
        ("available", _) => Ok(after(work)),
        ("creating", _) => Ok(Beat::Wait { after: None }),
        (other, Work::Delete) => Err(Failure::unknown_status("Volume backup failed", other)),
        _ => {
            let reason = backup["fail_reason"].as_str().unwrap_or_default();
            Err(Failure::Failed(reason.to_owned()))
        }
    }
}

fn after(work: &Work) -> Beat {
    match work {
        Work::Delete => next(Learned::default(), Stage::Delete.step()),
        Work::Create | Work::Update { .. } | Work::Act(_) => done(),
    }
}

fn path(backup: Option<&Value>) -> String {
    let id = backup.and_then(Value::as_str).unwrap_or_default();
    format!("/backups/{}", path_segment(id))
}

/// Deletes the backup of a snapshot, until Cinder no longer knows it.
pub(super) fn delete(cloud: &Asks<'_>, data: &BTreeMap<String, Value>) -> Result<bool, Failure> {
    let Some(backup) = data.get(SNAPSHOT).filter(|backup| !backup.is_null()) else {
        return Ok(true);
    };
    let shown = match cloud.send(Request::get(Service::Volume, path(Some(backup)))) {
        Ok(shown) => shown.json()?["backup"].take(),
        Err(error) if error.is_not_found() => return Ok(true),
        Err(error) => return Err(error.into()),
    };
    // One that was given up is still being made, and cannot be deleted before it is there.
    if matches!(shown["status"].as_str(), Some("creating" | "deleting")) {
        return Ok(false);
    }
    match cloud.send(Request::delete(Service::Volume, path(Some(backup)))) {
        Ok(_) => Ok(false),
        Err(error) if error.is_not_found() => Ok(true),
        Err(error) => Err(error.into()),
    }
}
