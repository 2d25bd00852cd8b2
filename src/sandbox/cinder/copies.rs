//! Snapshots and backups of volumes, which are collections of `services/volume.yaml`: when a volume
//! may be copied, and volumes that are filled from a backup.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::{Ask, stamp_micros};
use super::super::cloud::Cloud;
use super::super::collections::{self, Rules};
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::state::{BACKUPS, SNAPSHOTS};
use super::{bad, quotas, volume, volumes};
use crate::model::JsonMap;

pub(in crate::sandbox) struct Snapshots;

pub(in crate::sandbox) struct Backups;

impl Rules for Snapshots {
    fn made(
        &self,
        cloud: &mut Cloud,
        (_, scope): (&Ask, &Scope),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        copied(cloud, scope, row, |id, status| {
            format!(
                "Invalid volume: Volume {id} status must be available, but current status is: {status}."
            )
        })?;
        quotas::allow_snapshot(cloud, &scope.project_id)
    }
}

impl Rules for Backups {
    fn made(
        &self,
        cloud: &mut Cloud,
        (_, scope): (&Ask, &Scope),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        copied(cloud, scope, row, |_, status| {
            format!(
                "Invalid volume: Volume to be backed up must be available or in-use, but the current \
                 status is \"{status}\"."
            )
        })
    }
}

/// A copy is as large as its volume, which has to be at rest.
fn copied(
    cloud: &Cloud,
    scope: &Scope,
    row: &mut JsonMap,
    refusal: fn(&str, &str) -> String,
) -> Result<(), Answer> {
    let volume = volume::find(cloud, scope, row.text("volume_id"))?;
    let is_used = row.is("force") && volume.status == "in-use";
    if volume.status != "available" && !is_used {
        return Err(bad(refusal(&volume.id, &volume.status)));
    }
    row.set("size", volume.size);
    Ok(())
}

/// Fills a volume from a backup: a new one, unless one is named.
pub(super) fn restore(cloud: &mut Cloud, ask: &Ask, scope: &Scope, id: &str) -> Reply {
    let given = ask.wrapped("restore", answer::nova)?;
    let size = collections::seen(cloud, scope, BACKUPS, id)?.int("size").unwrap_or_default();
    let wanted = given.get("volume_id").and_then(Value::as_str);
    let name = given.get("name").and_then(Value::as_str);
    let volume = volumes::restored(cloud, scope, wanted, name, size, ask.at)?;
    let restored = json!({"backup_id": id, "volume_id": volume.id, "volume_name": volume.name});
    Ok(Answer::json(202, &json!({"restore": restored})))
}

/// Writes moments as they are shown: an older sandbox kept them otherwise.
pub(in crate::sandbox) fn modernize(cloud: &mut Cloud) {
    for kind in [SNAPSHOTS, BACKUPS] {
        let table = cloud.collections.table_mut(kind);
        for id in table.ids_where(|row| row.text("created_at").ends_with('Z')) {
            let Some(row) = table.edit(&id) else { continue };
            for key in ["created_at", "updated_at"] {
                if let Ok(at) = row.text(key).parse::<DateTime<Utc>>() {
                    row.set(key, stamp_micros(at));
                }
            }
        }
    }
}
