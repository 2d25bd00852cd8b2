//! `GET …/services` and `GET …/build_info`: what runs here.

use chrono::{DateTime, Utc};
use serde_json::json;
use uuid::Uuid;

use super::{Answer, State, answer};
use crate::api::context::Context;
use crate::clock::Clock;

/// How often a Heat engine says that it is alive (`periodic_interval`).
const REPORT_INTERVAL_SECS: u64 = 60;

/// This process, as the list of services knows it.
pub(in crate::api) struct Node {
    id: Uuid,
    pub(in crate::api) engine_id: Uuid,
    started: DateTime<Utc>,
}

impl Node {
    /// A process that starts now.
    pub(in crate::api) fn start(clock: &dyn Clock) -> Self {
        Self { id: clock.fresh_id(), engine_id: clock.fresh_id(), started: clock.now() }
    }
}

pub(in crate::api) async fn list(state: State, context: Context) -> Answer {
    context.require("service:index").await?;
    let precise = |at: DateTime<Utc>| at.format("%Y-%m-%dT%H:%M:%S%.6f").to_string();
    answer(&json!({
        "services": [{
            "id": state.node.id,
            "binary": "heat-engine",
            "engine_id": state.node.engine_id,
            "host": state.settings.host,
            "hostname": state.settings.host,
            "topic": "engine",
            "report_interval": REPORT_INTERVAL_SECS,
            "created_at": precise(state.node.started),
            "updated_at": precise(state.clock.now()),
            "deleted_at": null,
            "status": "up",
        }]
    }))
}

pub(in crate::api) async fn build_info(state: State, context: Context) -> Answer {
    context.require("build_info:build_info").await?;
    let revision = &state.settings.build_revision;
    answer(&json!({ "api": { "revision": revision }, "engine": { "revision": revision } }))
}
