//! What servers come to: built, failed, resized, stopped, gone.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::cloud::Cloud;
use super::super::doc::{Doc, shown};
use super::super::later::{Later, Turn};
use super::super::neutron;
use super::state::{Server, ServerEnd};
use super::{attachments, groups};

/// Plans the end of a build.
pub(super) fn plan_build(
    cloud: &mut Cloud,
    server: &Server,
    failure: Option<String>,
    at: DateTime<Utc>,
) {
    let id = &server.id;
    let ordered = (server.metadata.text("testcloud:fail") == "spawn")
        .then(|| format!("Failed to provision instance {id}: asked to fail by server metadata"));
    let end = match failure.or(ordered) {
        Some(failure) => ServerEnd::Failed(format!("Build of instance {id} aborted: {failure}")),
        None => ServerEnd::Status("ACTIVE".to_owned()),
    };
    let takes = build_time(cloud, server);
    plan(cloud, &server.id, end, at + takes);
}

/// Begins an action that ends in a status.
pub(super) fn begin(
    cloud: &mut Cloud,
    id: &str,
    status: Option<&str>,
    task: Option<&str>,
    end: &str,
    at: DateTime<Utc>,
) {
    if let Some(server) = cloud.nova.servers.edit(id) {
        if let Some(status) = status {
            server.status = status.to_owned();
        }
        server.task = task.map(str::to_owned);
        server.updated_at = at;
    }
    let takes = TimeDelta::from_std(cloud.config.latencies.server_action).unwrap_or_default();
    plan(cloud, id, ServerEnd::Status(end.to_owned()), at + takes);
}

/// Begins the end of a server; whatever else it was doing is given up.
pub(super) fn begin_delete(cloud: &mut Cloud, id: &str, at: DateTime<Utc>) {
    cloud.unplan(|turn| matches!(turn, Turn::Server { id: about, .. } if about == id));
    if let Some(server) = cloud.nova.servers.edit(id) {
        server.task = Some("deleting".to_owned());
        server.updated_at = at;
    }
    let takes = TimeDelta::from_std(cloud.config.latencies.server_delete).unwrap_or_default();
    plan(cloud, id, ServerEnd::Gone, at + takes);
}

fn plan(cloud: &mut Cloud, id: &str, end: ServerEnd, at: DateTime<Utc>) {
    cloud.plan(Later { at, turn: Turn::Server { id: id.to_owned(), end } });
}

/// Lets the end happen.
pub(in crate::sandbox) fn ends(cloud: &mut Cloud, id: &str, end: &ServerEnd, at: DateTime<Utc>) {
    if *end == ServerEnd::Gone {
        return remove(cloud, id, at);
    }
    let Some(server) = cloud.nova.servers.edit(id) else { return };
    server.task = None;
    server.updated_at = at;
    match end {
        ServerEnd::Status(status) => {
            if let Some(flavor) = server.flavor_next.take() {
                server.flavor_before = Some(std::mem::replace(&mut server.flavor, flavor));
            }
            status.clone_into(&mut server.status);
            server.launched_at.get_or_insert(at);
        }
        ServerEnd::Failed(fault) => {
            "ERROR".clone_into(&mut server.status);
            server.fault = Some(fault.clone());
        }
        ServerEnd::Gone => {}
    }
}

/// Frees all that the server held.
fn remove(cloud: &mut Cloud, id: &str, at: DateTime<Utc>) {
    let Some(server) = cloud.nova.servers.remove(id) else { return };
    for nic in &server.ports {
        neutron::unbind(cloud, &nic.port_id, nic.ours, at);
    }
    for disk in &server.volumes {
        attachments::release(cloud, id, disk, at);
    }
    groups::leave(cloud, &server);
}

/// How long a server takes to build: what its metadata orders, or what the config says.
fn build_time(cloud: &Cloud, server: &Server) -> TimeDelta {
    let ordered = server.metadata.get("testcloud:delay").map(shown);
    let seconds = ordered.and_then(|text| text.parse::<f64>().ok()).filter(|s| *s > 0.0);
    match seconds {
        #[expect(clippy::cast_possible_truncation, reason = "an hour is the most it can be")]
        Some(seconds) => TimeDelta::milliseconds((seconds.min(3600.0) * 1000.0) as i64),
        None => TimeDelta::from_std(cloud.config.latencies.server).unwrap_or_default(),
    }
}
