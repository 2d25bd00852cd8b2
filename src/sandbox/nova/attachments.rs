//! Volumes of servers.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cinder;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::super::later::{Later, Turn};
use super::server::{find, ready};
use super::state::{Disk, Server};
use super::version::Version;
use super::{bad, nowhere};

/// Where volumes may come and go: other than ports, also before a resize is confirmed.
const CHANGEABLE: [&str; 5] = ["ACTIVE", "PAUSED", "SHUTOFF", "VERIFY_RESIZE", "SHELVED_OFFLOADED"];

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    version: Version,
    id: &str,
    path: &[&str],
) -> Reply {
    let server = find(cloud, scope, id)?.clone();
    match (ask.method.as_str(), path) {
        ("GET", []) => {
            let views: Vec<Value> =
                server.volumes.iter().map(|disk| view(version, id, disk)).collect();
            Ok(Answer::json(200, &json!({"volumeAttachments": views})))
        }
        ("GET", [volume]) => {
            let disk = of_server(&server, volume)?;
            Ok(Answer::json(200, &json!({"volumeAttachment": view(version, id, disk)})))
        }
        ("POST", []) => {
            let given = ask.wrapped("volumeAttachment", answer::nova)?;
            ready(&server, "attach_volume", &CHANGEABLE)?;
            let disk = Disk {
                volume_id: given.text("volumeId").to_owned(),
                attachment_id: cloud.fresh_id(),
                device: given.text("device").to_owned(),
                delete_on_termination: given.is("delete_on_termination"),
                tag: given.get("tag").and_then(Value::as_str).map(str::to_owned),
                boot: false,
            };
            let disk = attach(cloud, scope, id, disk, false, ask.at)?;
            // The answer to the request has the older shape in every microversion.
            let shown = view(version.min(Version(88)), id, &disk);
            Ok(Answer::json(200, &json!({ "volumeAttachment": shown })))
        }
        ("DELETE", [volume]) => {
            let disk = of_server(&server, volume)?;
            if disk.boot {
                return Err(answer::nova(403, "Cannot detach a root device volume"));
            }
            ready(&server, "detach_volume", &CHANGEABLE)?;
            let ready =
                cloud.cinder.volumes.get(volume).is_some_and(|volume| volume.status == "in-use");
            if !ready {
                let status = cloud.cinder.volumes.get(volume).map(|volume| volume.status.clone());
                return Err(bad(format!(
                    "Invalid volume: Invalid input received: Invalid volume: Unable to detach volume. Volume status must be 'in-use' and attach_status must be 'attached' to detach. Currently: status: '{}'.",
                    status.unwrap_or_default()
                )));
            }
            cinder::set_status(cloud, volume, "detaching", ask.at);
            plan(cloud, id, volume, false, ask.at);
            Ok(Answer::empty(202))
        }
        _ => Err(nowhere()),
    }
}

fn of_server<'a>(server: &'a Server, volume: &str) -> Result<&'a Disk, Answer> {
    server.volumes.iter().find(|disk| disk.volume_id == volume).ok_or_else(|| {
        let id = &server.id;
        answer::nova(404, format!("Instance {id} is not attached to volume {volume}"))
    })
}

/// Begins to attach a volume. `fresh` was just made for the server and is still being created.
pub(super) fn attach(
    cloud: &mut Cloud,
    scope: &Scope,
    server: &str,
    mut disk: Disk,
    fresh: bool,
    at: DateTime<Utc>,
) -> Result<Disk, Answer> {
    let id = disk.volume_id.clone();
    let volume = cloud
        .cinder
        .volumes
        .get(&id)
        .filter(|volume| scope.sees(&volume.project_id))
        .ok_or_else(|| answer::nova(404, format!("Volume {id} could not be found.")))?;
    let held = cloud
        .nova
        .servers
        .get(server)
        .is_some_and(|server| server.volumes.iter().any(|disk| disk.volume_id == id));
    if held {
        return Err(bad(format!(
            "Invalid volume: volume {id} is already attached to instances: {server}"
        )));
    }
    let shared = volume.multiattach && volume.status == "in-use";
    if !fresh && volume.status != "available" && !shared {
        return Err(bad(format!(
            "Invalid input received: Invalid volume: Volume {id} status must be available or downloading to reserve, but the current status is {}.",
            volume.status
        )));
    }
    let Some(row) = cloud.nova.servers.edit(server) else { return Err(nowhere()) };
    if disk.device.is_empty() {
        disk.device = free_device(row);
    }
    row.volumes.push(disk.clone());
    cinder::set_status(cloud, &id, "attaching", at);
    plan(cloud, server, &id, true, at);
    Ok(disk)
}

/// `/dev/vda` is the server's own unless it starts from a volume.
fn free_device(server: &Server) -> String {
    let first = if server.image_id.is_some() { 'b' } else { 'a' };
    (first..='z')
        .map(|letter| format!("/dev/vd{letter}"))
        .find(|device| server.volumes.iter().all(|disk| disk.device != *device))
        .unwrap_or_default()
}

fn plan(cloud: &mut Cloud, server: &str, volume: &str, attached: bool, at: DateTime<Utc>) {
    let takes = TimeDelta::from_std(cloud.config.latencies.attachment).unwrap_or_default();
    let turn = Turn::Attachment { server: server.to_owned(), volume: volume.to_owned(), attached };
    cloud.plan(Later { at: at + takes, turn });
}

/// The volume is attached, or no longer.
pub(in crate::sandbox) fn ends(
    cloud: &mut Cloud,
    server: &str,
    volume: &str,
    attached: bool,
    at: DateTime<Utc>,
) {
    let disk =
        cloud.nova.servers.get(server).and_then(|server| {
            server.volumes.iter().find(|disk| disk.volume_id == volume).cloned()
        });
    // The server may have gone in the meantime, and has then released its volumes.
    let Some(disk) = disk else { return };
    if attached {
        let attachment = cinder::Attachment {
            attachment_id: disk.attachment_id,
            server_id: server.to_owned(),
            device: disk.device,
            attached_at: at,
        };
        cinder::attached(cloud, volume, attachment, at);
    } else {
        if let Some(row) = cloud.nova.servers.edit(server) {
            row.volumes.retain(|disk| disk.volume_id != volume);
        }
        cinder::detached(cloud, volume, server, at);
    }
}

/// The server is gone: its volume is free, or goes too.
pub(super) fn release(cloud: &mut Cloud, server: &str, disk: &Disk, at: DateTime<Utc>) {
    cinder::detached(cloud, &disk.volume_id, server, at);
    if disk.delete_on_termination {
        cinder::begin_delete(cloud, &disk.volume_id, at);
    }
}

fn view(version: Version, server: &str, disk: &Disk) -> Value {
    let mut view = json!({
        "id": disk.volume_id,
        "volumeId": disk.volume_id,
        "serverId": server,
        "device": disk.device,
    });
    if version >= Version(70) {
        view["tag"] = json!(disk.tag);
    }
    if version >= Version(79) {
        view["delete_on_termination"] = disk.delete_on_termination.into();
    }
    if version >= Version(89) {
        if let Some(view) = view.as_object_mut() {
            view.remove("id");
        }
        view["attachment_id"] = disk.attachment_id.as_str().into();
        view["bdm_uuid"] = disk.attachment_id.as_str().into();
    }
    view
}
