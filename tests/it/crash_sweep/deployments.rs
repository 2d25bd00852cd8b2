//! Deployments that are given up, cut at every append: none is left waiting for a stack that does
//! not wait for it.

use std::sync::Arc;
use std::time::Duration;

use hearth::actors::EngineLimits;
use hearth::events::log::EventLog;
use hearth::model::StackId;
use hearth::projections::DeploymentRow;
use serde_json::{Value, json};

use super::{each_cut, reached};
use crate::support::cut_log::CutLog;
use crate::support::world::{Ground, World, hot};

fn template() -> Value {
    let deployment = json!({ "config": { "get_resource": "config" }, "server": "s1",
                             "signal_transport": "HEAT_SIGNAL" });
    let mut group = deployment.clone();
    group["servers"] = json!({ "a": "s2" });
    group.as_object_mut().unwrap().remove("server");
    hot(json!({
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "one" } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": deployment },
        "group": { "type": "OS::Heat::SoftwareDeploymentGroup", "properties": group },
    }))
}

async fn waiting(world: &World) -> usize {
    let rows = world.views.deployments(None, None).await.unwrap();
    let waits = |row: &&DeploymentRow| row.state.status.as_deref() == Some("IN_PROGRESS");
    rows.iter().filter(waits).count()
}

/// An engine whose stacks have little time.
async fn start(ground: &Ground, log: Arc<dyn EventLog>) -> World {
    let soon = Duration::from_millis(400);
    ground.start_with(log, EngineLimits { stack_action_timeout: soon, ..Ground::limits() }).await
}

async fn live(world: &World, log: &CutLog) -> Option<()> {
    let web = world.create("web", template()).await.ok()?;
    reached(world, log, &web, "CREATE_FAILED").await?;
    let deleted = world.delete(web.stack).await.ok()?;
    reached(world, log, &deleted, "DELETE_COMPLETE").await
}

async fn heal(ground: &Ground, appends: i64) {
    let world = start(ground, ground.log.clone()).await;
    let Some(stack) = world.stack_named("web").await else { return };
    let end = world.at_rest(stack.id).await;
    let child: Option<StackId> =
        world.physical_id(stack.id, "group").await.and_then(|id| id.parse().ok());
    if let Some(child) = child
        && world.views.stack(child).await.unwrap().is_some()
    {
        world.at_rest(child).await;
    }
    ground.views_catch_up(&world).await;
    assert_eq!(waiting(&world).await, 0, "cut after {appends}: {end}, and something waits");
    world.engine.shutdown();
    drop(world);
    // Its deletion has the usual time.
    let world = ground.start().await;
    if end != "DELETE_COMPLETE" {
        let deleted = world.delete(stack.id).await.unwrap();
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "cut after {appends}");
    }
    let left = world.views.deployments(None, None).await.unwrap();
    assert!(left.is_empty(), "cut after {appends}: {left:?} are left behind");
}

#[actix::test]
async fn every_cut_of_deployments_that_are_given_up_heals() {
    each_cut(1, 20, async |appends| {
        let ground = Ground::new().await;
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let world = start(&ground, log.clone()).await;
        let whole = live(&world, &log).await.is_some();
        log.cut();
        world.engine.shutdown();
        drop(world);
        heal(&ground, appends).await;
        whole
    })
    .await;
}
