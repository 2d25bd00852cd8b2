//! Quotas and limits, and the little that clients ask of zones, services and extensions.

use serde_json::{Value, json};

use super::super::answer::{Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::flag_text;
use super::super::keystone::Scope;
use super::{nowhere, over, policy, snapshots};

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
            Ok(Answer::json(200, &json!({"quota_set": quota_set(cloud, project, usage)})))
        }
        ("GET", ["os-availability-zone"]) => {
            let zone = json!({"zoneName": "nova", "zoneState": {"available": true}});
            Ok(Answer::json(200, &json!({"availabilityZoneInfo": [zone]})))
        }
        ("GET", ["extensions"]) => Ok(Answer::json(200, &json!({"extensions": []}))),
        ("GET", ["attachments"] | ["attachments", "detail"]) => {
            Ok(Answer::json(200, &json!({"attachments": []})))
        }
        ("GET", ["backups"] | ["backups", "detail"]) => {
            Ok(Answer::json(200, &json!({"backups": []})))
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
        _ => Err(nowhere()),
    }
}

/// How many volumes and gibibytes a project has.
fn used(cloud: &Cloud, project: &str) -> (i64, i64) {
    let mine = cloud.cinder.volumes.values().filter(|volume| volume.project_id == project);
    mine.fold((0, 0), |(count, size), volume| (count + 1, size + volume.size))
}

/// Refuses a volume that would be too many, or too big.
pub(super) fn allow_volume(cloud: &Cloud, project: &str, size: i64) -> Result<(), Answer> {
    let quotas = &cloud.config.quotas;
    let (count, _) = used(cloud, project);
    if quotas.volumes >= 0 && count >= quotas.volumes {
        return Err(over(format!(
            "VolumeLimitExceeded: Maximum number of volumes allowed ({}) exceeded for quota 'volumes'.",
            quotas.volumes
        )));
    }
    if quotas.per_volume_gigabytes >= 0 && size > quotas.per_volume_gigabytes {
        return Err(over(format!(
            "VolumeSizeExceedsLimit: Requested volume size {size} is larger than maximum allowed limit {}.",
            quotas.per_volume_gigabytes
        )));
    }
    allow_gigabytes(cloud, project, size)
}

pub(super) fn allow_gigabytes(cloud: &Cloud, project: &str, more: i64) -> Result<(), Answer> {
    let limit = cloud.config.quotas.gigabytes;
    let (_, size) = used(cloud, project);
    if limit >= 0 && size + more > limit {
        return Err(over(format!(
            "VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed gigabytes quota. Requested {more}G, quota is {limit}G and {size}G has been consumed."
        )));
    }
    Ok(())
}

pub(super) fn allow_snapshot(cloud: &Cloud, project: &str) -> Result<(), Answer> {
    let limit = cloud.config.quotas.snapshots;
    if limit >= 0 && snapshots::count(cloud, project) >= limit {
        return Err(over(format!(
            "SnapshotLimitExceeded: Maximum number of snapshots allowed ({limit}) exceeded"
        )));
    }
    Ok(())
}

fn absolute(cloud: &Cloud, project: &str) -> Value {
    let quotas = &cloud.config.quotas;
    let (count, size) = used(cloud, project);
    json!({
        "maxTotalVolumes": quotas.volumes,
        "maxTotalSnapshots": quotas.snapshots,
        "maxTotalVolumeGigabytes": quotas.gigabytes,
        "maxTotalBackups": 10,
        "maxTotalBackupGigabytes": 1000,
        "totalVolumesUsed": count,
        "totalGigabytesUsed": size,
        "totalSnapshotsUsed": snapshots::count(cloud, project),
        "totalBackupsUsed": 0,
        "totalBackupGigabytesUsed": 0,
    })
}

fn quota_set(cloud: &Cloud, project: &str, usage: bool) -> Value {
    let quotas = &cloud.config.quotas;
    let (count, size) = used(cloud, project);
    let entry = |limit: i64, used: i64| match usage {
        true => json!({"limit": limit, "in_use": used, "reserved": 0, "allocated": 0}),
        false => json!(limit),
    };
    json!({
        "id": project,
        "volumes": entry(quotas.volumes, count),
        "snapshots": entry(quotas.snapshots, snapshots::count(cloud, project)),
        "gigabytes": entry(quotas.gigabytes, size),
        "per_volume_gigabytes": entry(quotas.per_volume_gigabytes, 0),
        "backups": entry(10, 0),
        "backup_gigabytes": entry(1000, 0),
        "groups": entry(10, 0),
    })
}
