//! A journey's log is cut after every single append; the next engine reaches the same end, and
//! the cloud holds exactly what the last template says.

mod alarms;
mod amazons;
mod cancels;
mod deployments;
mod groups;
mod keeping;
mod nested;
mod once;
mod reality;
mod remote;
mod servers;
mod signals;
mod snapshots;
mod told;
mod waiting;

use std::sync::Arc;

use futures::StreamExt;
use hearth::model::{Action, StackId, Status};
use hearth::projections::{ResourceRow, StackQuery};
use serde_json::{Value, json};

use crate::support::cut_log::CutLog;
use crate::support::wait::{repeat, until};
use crate::support::world::{Ground, World, hot, test_resource};

/// More appends than the journey makes; the sweep ends where the log was not cut any more.
const APPENDS_MAX: i64 = 400;
/// How many cuts are played side by side: most of their time they wait.
const SIDE_BY_SIDE: usize = 4;

fn first_template() -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net", "properties": { "name": "own-name" } },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
        "port": { "type": "OS::Neutron::Port",
                  "properties": { "network": { "get_resource": "net" } } },
        "value": test_resource(json!({ "value": "one", "update_replace": true })),
    }))
}

fn second_template() -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net", "properties": { "name": "other-name" } },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.8.0.0/24" } },
        "router": { "type": "OS::Neutron::Router" },
        "value": test_resource(json!({ "value": "two", "update_replace": true })),
    }))
}

/// A journey that is cut at every append.
trait Life {
    /// Lives until the end, or until the log is cut (`None`).
    async fn live(&self, world: &World, log: &CutLog) -> Option<()>;

    /// What must hold of a stack that has come to rest again.
    async fn healed(&self, _ground: &Ground, _world: &World, _stack: StackId) {}

    /// Whether ports are resources alone: Nova makes others for servers.
    fn has_ports_of_its_own(&self) -> bool {
        true
    }

    /// What somebody outside does for a stack that is to come to rest.
    async fn help(&self, _world: &World, _stack: StackId) {}
}

/// Plays a life for each cut, or for every so many, until one is not cut any more; whether it was not
/// is what a play says.
async fn each_cut(every: usize, cuts_min: usize, play: impl AsyncFn(i64) -> bool) {
    let all = futures::stream::iter((1..APPENDS_MAX).step_by(every));
    let played = all.map(|appends| play(appends)).buffered(SIDE_BY_SIDE).enumerate();
    let mut played = std::pin::pin!(played);
    while let Some((healed, is_whole)) = played.next().await {
        if is_whole {
            println!("{healed} cuts healed");
            assert!(healed > cuts_min, "the journey is shorter than it was: {healed}");
            return;
        }
    }
    panic!("the journey makes more than {APPENDS_MAX} appends");
}

/// Cuts a journey's log after every single append, and lets the next engine heal what is left.
async fn sweep(life: &impl Life, cuts_min: usize) {
    each_cut(1, cuts_min, async |appends| {
        let ground = Ground::new().await;
        let empty = ground.counts();
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let world = ground.start_on(log.clone()).await;
        let whole = life.live(&world, &log).await.is_some();
        log.cut();
        world.engine.shutdown();
        drop(world);
        heal(life, &ground, &empty, appends).await;
        whole
    })
    .await;
}

/// Create, suspend, resume, check, update, delete.
struct Plain;

impl Life for Plain {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = world.create("web", first_template()).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        for (action, end) in [
            (Action::Suspend, "SUSPEND_COMPLETE"),
            (Action::Resume, "RESUME_COMPLETE"),
            (Action::Check, "CHECK_COMPLETE"),
        ] {
            let acted = world.engine.act_on_stack(&world.requester(), web.stack, action).await;
            reached(world, log, &acted.ok()?, end).await?;
        }
        let updated = world.update(web.stack, second_template()).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }
}

#[actix::test]
async fn every_cut_of_a_journey_heals() {
    sweep(&Plain, 40).await;
}

/// Waits for a state, or for the log to be cut, or the action to have failed (`None`).
async fn reached(
    world: &World,
    log: &CutLog,
    accepted: &hearth::actors::Accepted,
    end: &str,
) -> Option<()> {
    // A life that has little time may have had too little.
    let failed = end.strip_suffix("_COMPLETE").map(|action| format!("{action}_FAILED"));
    let is_reached = async || {
        let stack = world.views.stack(accepted.stack).await.unwrap();
        let state = stack.map(|stack| format!("{}_{}", stack.action, stack.status));
        if state.as_deref() == Some(end) {
            return Ok(Some(()));
        }
        if log.is_cut() || (failed.is_some() && state == failed) {
            return Ok(None);
        }
        Err(format!("{state:?}: {:#?}", world.events(accepted.stack).await))
    };
    until(&[world, log], end, is_reached).await
}

/// The resources of a stack and of those within it.
async fn listed(world: &World, root: StackId) -> Vec<ResourceRow> {
    let query = StackQuery { nested: true, ..StackQuery::default() };
    let mut listed = world.views.resources(root).await.unwrap();
    for stack in world.views.stacks(query).await.unwrap() {
        if stack.within.is_some_and(|within| within.root == root) {
            assert_ne!(stack.status, Status::InProgress, "{} is left at work", stack.name);
            listed.extend(world.views.resources(stack.id).await.unwrap());
        }
    }
    listed
}

/// Waits for the end of what a stack is at. Between a failure and its rollback the views may show
/// the failure.
async fn at_its_end(world: &World, id: StackId) -> String {
    let completed = async || match world.at_rest(id).await {
        end if end.ends_with("_COMPLETE") => Ok(end),
        end => Err(format!("{end}: {}", world.reason(id).await)),
    };
    until(&[world], "it comes to a good end", completed).await
}

/// A new engine on what is left: the stack settles by itself, and the cloud is as it says.
async fn heal(life: &impl Life, ground: &Ground, empty: &Value, appends: i64) {
    let world = ground.start().await;
    let Some(stack) = world.stack_named("web").await else {
        assert_eq!(&ground.counts(), empty, "cut after {appends}: no stack, and yet something");
        return;
    };
    ground.signals_over().await;
    ground.views_catch_up(&world).await;
    let end = at_rest(life, &world, stack.id).await;
    let reason = world.reason(stack.id).await;
    assert!(end.ends_with("_COMPLETE"), "cut after {appends}: {end}: {reason}");
    let listed = listed(&world, stack.id).await;
    let made = |kind: &str| {
        listed.iter().filter(|row| row.type_name == format!("OS::Neutron::{kind}")).count() as u64
    };
    let count = |counts: &Value, kind: &str| counts[kind].as_u64().unwrap_or_default();
    let now = ground.counts();
    for (kind, type_name) in
        [("networks", "Net"), ("subnets", "Subnet"), ("ports", "Port"), ("routers", "Router")]
    {
        if kind == "ports" && !life.has_ports_of_its_own() {
            continue;
        }
        assert_eq!(
            count(&now, kind) - count(empty, kind),
            made(type_name),
            "cut after {appends}: {kind}, {listed:#?}",
        );
    }
    life.healed(ground, &world, stack.id).await;
    if end != "DELETE_COMPLETE" {
        let deleted = world.delete(stack.id).await.unwrap();
        world.views.after(deleted.position).await.unwrap();
        assert_eq!(at_rest(life, &world, stack.id).await, "DELETE_COMPLETE", "cut after {appends}");
    }
    let stacks = StackQuery { nested: true, ..StackQuery::default() };
    let left = world.views.stacks(stacks).await.unwrap();
    assert!(left.is_empty(), "cut after {appends}: {left:#?}");
    assert_eq!(&ground.counts(), empty, "cut after {appends}: something is left behind");
}

/// Waits until nothing is at work, with help from outside.
async fn at_rest(life: &impl Life, world: &World, stack: StackId) -> String {
    tokio::select! {
        end = at_its_end(world, stack) => end,
        never = repeat(async || life.help(world, stack).await) => match never {},
    }
}
