//! Quotas and limits, and the little that clients ask of zones, services and extensions.

use serde_json::{Value, json};

use super::super::answer::{Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections;
use super::super::doc::{Doc, flag_text};
use super::super::keystone::Scope;
use super::state::SNAPSHOTS;
use super::{nowhere, over, policy};
use crate::model::JsonMap;

/// Those that are there.
const EXTENSIONS: [&str; 4] = ["encryption", "os-quota-sets", "os-types-manage", "qos-specs"];

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", ["limits"]) => {
            let limits = json!({"rate": [], "absolute": absolute(cloud, &scope.project_id)});
            Ok(Answer::json(200, &json!({"limits": limits})))
        }
        ("GET", ["os-quota-sets", project, ..]) if !scope.sees(project) => {
            Err(policy("volume_extension:quotas:show"))
        }
        ("GET", ["os-quota-sets", project, ..]) => {
            let usage = ask.query("usage").and_then(flag_text).unwrap_or_default();
            let limits = collections::standing(cloud, "volumev3", "quota_set", project);
            let sets = if usage { usages(cloud, project, limits) } else { limits };
            Ok(Answer::json(200, &json!({"quota_set": sets})))
        }
        ("GET", ["os-availability-zone"]) => {
            let zone = json!({"zoneName": "nova", "zoneState": {"available": true}});
            Ok(Answer::json(200, &json!({"availabilityZoneInfo": [zone]})))
        }
        ("GET", ["extensions"]) => {
            let extensions = EXTENSIONS.map(|alias| json!({ "alias": alias, "name": alias }));
            Ok(Answer::json(200, &json!({ "extensions": extensions })))
        }
        ("GET", ["attachments"] | ["attachments", "detail"]) => {
            Ok(Answer::json(200, &json!({"attachments": []})))
        }
        ("GET", ["os-services"]) if scope.is_admin => {
            let service = |binary: &str| {
                json!({
                    "binary": binary, "host": "sandbox-1", "zone": "nova", "status": "enabled",
                    "state": "up", "updated_at": ask.moment(), "disabled_reason": null,
                })
            };
            let services = [service("cinder-scheduler"), service("cinder-volume")];
            Ok(Answer::json(200, &json!({"services": services})))
        }
        rest => collections::answer(cloud, ask, scope, "volumev3", rest.1)
            .unwrap_or_else(|| Err(nowhere())),
    }
}

/// How much of something a project may have.
fn limit(cloud: &Cloud, project: &str, name: &str) -> i64 {
    collections::standing(cloud, "volumev3", "quota_set", project).int(name).unwrap_or(-1)
}

/// How many volumes and gibibytes a project has.
fn used(cloud: &Cloud, project: &str) -> (i64, i64) {
    let mine = cloud.cinder.volumes.values().filter(|volume| volume.project_id == project);
    mine.fold((0, 0), |(count, size), volume| (count + 1, size + volume.size))
}

/// How many snapshots a project has.
fn snapshots(cloud: &Cloud, project: &str) -> i64 {
    let all = cloud.collections.table(SNAPSHOTS).values();
    let mine = all.filter(|snapshot| snapshot.text("project_id") == project);
    i64::try_from(mine.count()).unwrap_or(i64::MAX)
}

/// Refuses a volume that would be too many, or too big.
pub(super) fn allow_volume(cloud: &Cloud, project: &str, size: i64) -> Result<(), Answer> {
    let volumes = limit(cloud, project, "volumes");
    let largest = limit(cloud, project, "per_volume_gigabytes");
    let (count, _) = used(cloud, project);
    if volumes >= 0 && count >= volumes {
        return Err(over(format!(
            "VolumeLimitExceeded: Maximum number of volumes allowed ({volumes}) exceeded for quota 'volumes'."
        )));
    }
    if largest >= 0 && size > largest {
        return Err(over(format!(
            "VolumeSizeExceedsLimit: Requested volume size {size} is larger than maximum allowed limit {largest}."
        )));
    }
    allow_gigabytes(cloud, project, size)
}

pub(super) fn allow_gigabytes(cloud: &Cloud, project: &str, more: i64) -> Result<(), Answer> {
    let limit = limit(cloud, project, "gigabytes");
    let (_, size) = used(cloud, project);
    if limit >= 0 && size + more > limit {
        return Err(over(format!(
            "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. Requested {more}G, quota is {limit}G and {size}G has been consumed."
        )));
    }
    Ok(())
}

pub(super) fn allow_snapshot(cloud: &Cloud, project: &str) -> Result<(), Answer> {
    let limit = limit(cloud, project, "snapshots");
    if limit >= 0 && snapshots(cloud, project) >= limit {
        return Err(over(format!(
            "SnapshotLimitExceeded: Maximum number of snapshots allowed ({limit}) exceeded"
        )));
    }
    Ok(())
}

fn absolute(cloud: &Cloud, project: &str) -> Value {
    let limit = |name: &str| limit(cloud, project, name);
    let (count, size) = used(cloud, project);
    json!({
        "maxTotalVolumes": limit("volumes"),
        "maxTotalSnapshots": limit("snapshots"),
        "maxTotalVolumeGigabytes": limit("gigabytes"),
        "maxTotalBackups": 10,
        "maxTotalBackupGigabytes": 1000,
        "totalVolumesUsed": count,
        "totalGigabytesUsed": size,
        "totalSnapshotsUsed": snapshots(cloud, project),
        "totalBackupsUsed": 0,
        "totalBackupGigabytesUsed": 0,
    })
}

/// The limits, each with what is used of it.
fn usages(cloud: &Cloud, project: &str, limits: JsonMap) -> JsonMap {
    let (count, size) = used(cloud, project);
    let usage = |name: &str| match name {
        "volumes" => count,
        "gigabytes" => size,
        "snapshots" => snapshots(cloud, project),
        _ => 0,
    };
    let entry = |(name, limit): (String, Value)| match name.as_str() {
        "id" => (name, limit),
        _ => {
            let in_use = usage(&name);
            (name, json!({"limit": limit, "in_use": in_use, "reserved": 0, "allocated": 0}))
        }
    };
    limits.into_iter().map(entry).collect()
}
