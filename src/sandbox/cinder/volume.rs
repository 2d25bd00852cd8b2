//! A volume, its view, and what becomes of it.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer};
use super::super::ask::{Ask, stamp_micros};
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::super::later::{Later, Turn};
use super::state::{Attachment, Volume, VolumeEnd};
use crate::model::JsonMap;

/// The volume of this id, if the caller may see it.
pub(super) fn find<'a>(cloud: &'a Cloud, scope: &Scope, id: &str) -> Result<&'a Volume, Answer> {
    cloud
        .cinder
        .volumes
        .get(id)
        .filter(|volume| scope.sees(&volume.project_id))
        .ok_or_else(|| answer::nova(404, format!("Volume {id} could not be found.")))
}

/// Plans what becomes of a volume after the usual time.
pub(super) fn plan(cloud: &mut Cloud, id: &str, end: VolumeEnd, at: DateTime<Utc>) {
    let takes = TimeDelta::from_std(cloud.config.latencies.volume).unwrap_or_default();
    plan_after(cloud, id, end, at + takes);
}

/// Plans what becomes of a volume at a moment.
pub(super) fn plan_after(cloud: &mut Cloud, id: &str, end: VolumeEnd, at: DateTime<Utc>) {
    cloud.plan(Later { at, turn: Turn::Volume { id: id.to_owned(), end } });
}

/// Begins the end of a volume.
pub(in crate::sandbox) fn begin_delete(cloud: &mut Cloud, id: &str, at: DateTime<Utc>) {
    cloud.unplan(|turn| matches!(turn, Turn::Volume { id: about, .. } if about == id));
    set_status(cloud, id, "deleting", at);
    plan(cloud, id, VolumeEnd::Gone, at);
}

/// Lets the end happen.
pub(in crate::sandbox) fn ends(cloud: &mut Cloud, id: &str, end: &VolumeEnd, at: DateTime<Utc>) {
    match end {
        VolumeEnd::Gone => {
            cloud.cinder.volumes.remove(id);
        }
        VolumeEnd::Status(status) => {
            // One that was attached while it was being made goes on from there.
            let moved_on = cloud
                .cinder
                .volumes
                .get(id)
                .is_some_and(|volume| matches!(volume.status.as_str(), "attaching" | "in-use"));
            if !(moved_on && status == "available") {
                set_status(cloud, id, status, at);
            }
        }
    }
}

pub(in crate::sandbox) fn set_status(cloud: &mut Cloud, id: &str, status: &str, at: DateTime<Utc>) {
    if let Some(volume) = cloud.cinder.volumes.edit(id) {
        status.clone_into(&mut volume.status);
        volume.updated_at = Some(at);
    }
}

/// A server has the volume now.
pub(in crate::sandbox) fn attached(
    cloud: &mut Cloud,
    id: &str,
    attachment: Attachment,
    at: DateTime<Utc>,
) {
    if let Some(volume) = cloud.cinder.volumes.edit(id) {
        volume.attachments.push(attachment);
        "in-use".clone_into(&mut volume.status);
        volume.updated_at = Some(at);
    }
}

/// A server no longer has the volume.
pub(in crate::sandbox) fn detached(cloud: &mut Cloud, id: &str, server: &str, at: DateTime<Utc>) {
    if let Some(volume) = cloud.cinder.volumes.edit(id) {
        volume.attachments.retain(|attachment| attachment.server_id != server);
        let status = if volume.attachments.is_empty() { "available" } else { "in-use" };
        status.clone_into(&mut volume.status);
        volume.updated_at = Some(at);
    }
}

/// An entry of the short list.
pub(super) fn brief(ask: &Ask, volume: &Volume) -> JsonMap {
    let mut view = JsonMap::new();
    view.set("id", volume.id.as_str());
    view.set("name", volume.name.as_str());
    view.set("links", links(ask, volume));
    view
}

/// The whole volume.
pub(super) fn full(ask: &Ask, scope: &Scope, version: u32, volume: &Volume) -> JsonMap {
    let mut view = brief(ask, volume);
    view.set("status", volume.status.as_str());
    view.set("size", volume.size);
    view.set("availability_zone", volume.availability_zone.as_str());
    view.set("created_at", stamp_micros(volume.created_at));
    view.set("updated_at", volume.updated_at.map(stamp_micros));
    view.set("description", json!(volume.description));
    view.set("volume_type", volume.volume_type.as_str());
    view.set("snapshot_id", json!(volume.snapshot_id));
    view.set("source_volid", json!(volume.source_volid));
    view.set("metadata", volume.metadata.clone());
    view.set("user_id", volume.user_id.as_str());
    // These two are words, not booleans.
    view.set("bootable", if volume.bootable { "true" } else { "false" });
    view.set("encrypted", false);
    view.set("replication_status", Value::Null);
    view.set("consistencygroup_id", Value::Null);
    view.set("multiattach", volume.multiattach);
    view.set("attachments", attachments(volume));
    view.set("os-vol-tenant-attr:tenant_id", volume.project_id.as_str());
    if let Some(image) = &volume.image {
        view.set("volume_image_metadata", image.clone());
    }
    if scope.is_admin {
        view.set("migration_status", Value::Null);
        view.set("os-vol-host-attr:host", "sandbox-1@file#file");
        view.set("os-vol-mig-status-attr:migstat", Value::Null);
        view.set("os-vol-mig-status-attr:name_id", Value::Null);
    }
    if version >= 13 {
        view.set("group_id", Value::Null);
    }
    if version >= 21 && scope.is_admin {
        view.set("provider_id", Value::Null);
    }
    if version >= 48 {
        view.set("shared_targets", false);
        view.set("service_uuid", Value::Null);
    }
    if version >= 63 {
        view.set("volume_type_id", volume.volume_type.as_str());
    }
    view
}

fn attachments(volume: &Volume) -> Vec<Value> {
    volume
        .attachments
        .iter()
        .map(|attachment| {
            json!({
                "id": volume.id,
                "volume_id": volume.id,
                "attachment_id": attachment.attachment_id,
                "server_id": attachment.server_id,
                "host_name": null,
                "device": attachment.device,
                "attached_at": stamp_micros(attachment.attached_at),
            })
        })
        .collect()
}

fn links(ask: &Ask, volume: &Volume) -> Value {
    let (base, project, id) = (&ask.base, &volume.project_id, &volume.id);
    json!([
        {"rel": "self", "href": format!("{base}/volume/v3/{project}/volumes/{id}")},
        {"rel": "bookmark", "href": format!("{base}/volume/{project}/volumes/{id}")},
    ])
}
