//! What becomes of floating IPs whose association changes.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::super::ask::stamp;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::later::{Later, Turn};
use super::FLOATING_IPS;

/// The agent finds out a little later.
pub(super) fn plan_status(cloud: &mut Cloud, id: &str, at: DateTime<Utc>) {
    let takes = TimeDelta::from_std(cloud.config.latencies.floating_ip).unwrap_or_default();
    cloud.plan(Later { at: at + takes, turn: Turn::FloatingIp { id: id.to_owned() } });
}

/// The status follows the association.
pub(in crate::sandbox) fn ends(cloud: &mut Cloud, id: &str, at: DateTime<Utc>) {
    if let Some(row) = cloud.collections.table_mut(FLOATING_IPS).edit(id) {
        let status = if row.text("port_id").is_empty() { "DOWN" } else { "ACTIVE" };
        row.set("status", status);
        row.set("updated_at", stamp(at));
    }
}

/// The port goes away; its floating IPs stay, and lead nowhere.
pub(super) fn leave_port(cloud: &mut Cloud, port: &str, at: DateTime<Utc>) {
    for id in cloud.collections.table(FLOATING_IPS).ids_where(|row| row.text("port_id") == port) {
        if let Some(row) = cloud.collections.table_mut(FLOATING_IPS).edit(&id) {
            row.set("port_id", Value::Null);
            row.set("fixed_ip_address", Value::Null);
            row.set("router_id", Value::Null);
        }
        plan_status(cloud, &id, at);
    }
}
