//! Signals: a condition and a deployment that wait for them, cut at every append. What was taken is
//! kept, and what waits goes on with whoever sends the rest.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use hearth::model::{StackId, Status};
use hearth::projections::ConfigQuery;
use serde_json::{Value, json};

use super::{each_cut, reached};
use crate::support::cut_log::CutLog;
use crate::support::guest::Told;
use crate::support::keystone::users_of;
use crate::support::queue::Queue;
use crate::support::wait::repeat;
use crate::support::world::{Ground, World, hot};

/// A script, and the transports of an agent that asks and of one at whose place things are put.
fn template(script: &str, [agent, place]: [&str; 2]) -> Value {
    hot(json!({
        "handle": { "type": "OS::Heat::WaitConditionHandle" },
        "wait": { "type": "OS::Heat::WaitCondition", "properties": {
            "handle": { "get_resource": "handle" }, "timeout": 600, "count": 2 } },
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": script } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "depends_on": "wait",
            "properties": { "config": { "get_resource": "config" }, "server": "s1",
                            "signal_transport": "HEAT_SIGNAL" } },
        "signed": { "type": "OS::Heat::SoftwareDeployment", "depends_on": "wait",
            "properties": { "config": { "get_resource": "config" }, "server": "s2" } },
        "put": { "type": "OS::Heat::SoftwareDeployment", "depends_on": "wait",
            "properties": { "config": { "get_resource": "config" }, "server": "s3",
                            "signal_transport": "TEMP_URL_SIGNAL" } },
        "object": { "type": "OS::Heat::WaitConditionHandle",
                    "properties": { "signal_transport": "TEMP_URL_SIGNAL" } },
        "posted": { "type": "OS::Heat::SoftwareDeployment", "depends_on": "wait",
            "properties": { "config": { "get_resource": "config" }, "server": "s4",
                            "signal_transport": "ZAQAR_SIGNAL" } },
        "queue": { "type": "OS::Heat::WaitConditionHandle",
                   "properties": { "signal_transport": "ZAQAR_SIGNAL" } },
        "heard": { "type": "OS::Heat::WaitCondition", "properties": {
            "handle": { "get_resource": "queue" }, "timeout": 600 } },
        "swift": { "type": "OS::Heat::SwiftSignalHandle" },
        "found": { "type": "OS::Heat::SwiftSignal", "properties": {
            "handle": { "get_resource": "swift" }, "timeout": 600 } },
        "address": { "type": "OS::Heat::UpdateWaitConditionHandle" },
        "policy": { "type": "OS::Heat::ScalingPolicy", "properties": {
            "auto_scaling_group_id": "none", "adjustment_type": "change_in_capacity",
            "scaling_adjustment": script.len() } },
        "guest": { "type": "OS::Heat::DeployedServer", "properties": {
            "software_config_transport": agent } },
        "placed": { "type": "OS::Heat::DeployedServer", "properties": {
            "software_config_transport": place } },
    }))
}

/// The signals that are sent, again and again until nobody waits any more: the names of resources,
/// with ids, or with the servers of deployments, which answer by the transport that they are told.
const SIGNALS: [(&str, &str); 8] = [
    ("handle", "a"),
    ("handle", "b"),
    ("deployment", "s1"),
    ("signed", "s2"),
    ("put", "s3"),
    ("posted", "s4"),
    ("queue", "c"),
    ("swift", "d"),
];

/// Sends a signal; whether it was taken, and so is never lost.
async fn send(world: &World, stack: StackId, (name, id): (&str, &str)) -> bool {
    let server = match name {
        "handle" => {
            let (who, details) = (world.requester(), json!({ "id": id }));
            return world.engine.signal_resource(&who, stack, &name.into(), &details).await.is_ok();
        }
        "queue" => return post(world, stack, id).await,
        "swift" => return put(world, stack, id).await,
        _ => id,
    };
    match Told::on(world, server).await {
        Some(told) => told.answer(world, (stack, name)).await,
        None => false,
    }
}

/// Posts a signal to the queue of a handle, where it has told of one.
async fn post(world: &World, stack: StackId, id: &str) -> bool {
    let who = world.requester();
    let shown = world.engine.inspect_resource(&who, stack, &"queue".into(), &[]).await;
    let signal = shown.ok().and_then(|shown| Some(shown.get("signal")?.as_str()?.to_owned()));
    let told = signal.and_then(|signal| serde_json::from_str::<Value>(&signal).ok());
    let Some(told) = told.filter(|told| told["queue_id"].is_string()) else { return false };
    let Some(queue) = Queue::open(&told).await else { return false };
    queue.takes(&json!({ "id": id })).await
}

/// Puts a signal to the object of a handle, while somebody looks for it.
async fn put(world: &World, stack: StackId, id: &str) -> bool {
    let waits = world.views.resource(stack, "found").await.unwrap();
    if waits.is_none_or(|row| row.status != Status::InProgress) {
        return false;
    }
    let who = world.requester();
    let shown = world.engine.inspect_resource(&who, stack, &"swift".into(), &[]).await;
    let address = shown.ok().and_then(|shown| Some(shown.get("endpoint")?.as_str()?.to_owned()));
    let Some(address) = address else { return false };
    let put = reqwest::Client::new().put(address).body(json!({ "id": id }).to_string()).send();
    put.await.is_ok_and(|put| put.status().is_success())
}

/// Signals what waits until the stack is in a state, or the log is cut.
async fn signaled(
    world: &World,
    log: &CutLog,
    accepted: &hearth::actors::Accepted,
    end: &str,
    taken: &Mutex<BTreeSet<String>>,
) -> Option<()> {
    let sending = async || {
        for signal in SIGNALS {
            let is_taken = send(world, accepted.stack, signal).await && !log.is_cut();
            if is_taken && signal.0 == "handle" {
                taken.lock().unwrap().insert(signal.1.to_owned());
            }
        }
    };
    tokio::select! {
        end = reached(world, log, accepted, end) => end,
        never = repeat(sending) => match never {},
    }
}

async fn live(world: &World, log: &CutLog, taken: &Mutex<BTreeSet<String>>) -> Option<()> {
    let web =
        world.create("web", template("one", ["POLL_SERVER_CFN", "POLL_TEMP_URL"])).await.ok()?;
    signaled(world, log, &web, "CREATE_COMPLETE", taken).await?;
    let updated = world
        .update(web.stack, template("three", ["POLL_SERVER_HEAT", "ZAQAR_MESSAGE"]))
        .await
        .ok()?;
    signaled(world, log, &updated, "UPDATE_COMPLETE", taken).await?;
    taken.lock().unwrap().clear();
    let deleted = world.delete(web.stack).await.ok()?;
    reached(world, log, &deleted, "DELETE_COMPLETE").await
}

/// A new engine on what is left: with the signals that are still missing, all ends well.
async fn heal(ground: &Ground, empty: &Value, taken: &BTreeSet<String>, appends: i64) {
    let world = ground.start().await;
    let Some(stack) = world.stack_named("web").await else { return };
    let id = stack.id;
    if !stack.is_deleted() {
        let who = world.requester();
        let kept = world.engine.resource_metadata(&who, id, &"handle".into()).await;
        let kept = kept.unwrap_or_default();
        let lost: Vec<&String> = taken.iter().filter(|id| !kept.contains_key(*id)).collect();
        assert!(lost.is_empty(), "cut after {appends}: {lost:?} were taken and are lost: {kept:?}");
    }
    let sending = async || {
        for signal in SIGNALS {
            send(&world, id, signal).await;
        }
    };
    let end = tokio::select! {
        end = world.at_rest(id) => end,
        never = repeat(sending) => match never {},
    };
    assert!(end.ends_with("_COMPLETE"), "cut after {appends}: {end}");
    if end != "DELETE_COMPLETE" {
        let deleted = world.delete(id).await.unwrap();
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "cut after {appends}");
    }
    let configs = world.views.configs(ConfigQuery::default()).await.unwrap();
    let deployments = world.views.deployments(None, None).await.unwrap();
    assert!(configs.is_empty(), "cut after {appends}: {configs:?} are left behind");
    assert!(deployments.is_empty(), "cut after {appends}: {deployments:?} are left behind");
    let users = users_of(ground, "web").await;
    assert!(users.is_empty(), "cut after {appends}: {users:?} are left behind");
    for kind in ["projects", "credentials", "containers", "objects"] {
        assert_eq!(ground.counts()[kind], empty[kind], "cut after {appends}: {kind}");
    }
}

/// A life of some hundred appends, of which a cut takes a second or two: every third is cut.
const CUT_EVERY: usize = 3;

#[actix::test]
async fn a_life_with_signals_heals_wherever_it_is_cut() {
    each_cut(CUT_EVERY, 30, async |appends| {
        let ground = Ground::new().await;
        let empty = ground.counts();
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let world = ground.start_on(log.clone()).await;
        let taken = Mutex::new(BTreeSet::new());
        let whole = live(&world, &log, &taken).await.is_some();
        log.cut();
        world.engine.shutdown();
        drop(world);
        heal(&ground, &empty, &taken.into_inner().unwrap(), appends).await;
        whole
    })
    .await;
}
