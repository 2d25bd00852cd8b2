//! A stack in another region or cloud, whose resource's log is cut at every append: there is never a second
//! one there, and none is left behind.

use std::sync::Arc;

use hearth::model::Action;

use super::{at_its_end, each_cut, reached};
use crate::support::cut_log::CutLog;
use crate::support::far::{Far, Place};
use crate::support::world::World;

async fn live(far: &Far, world: &World, log: &CutLog) -> Option<()> {
    let web = world.create("web", far.template("one")).await.ok()?;
    reached(world, log, &web, "CREATE_COMPLETE").await?;
    for (action, end) in
        [(Action::Suspend, "SUSPEND_COMPLETE"), (Action::Resume, "RESUME_COMPLETE")]
    {
        let acted = world.engine.act_on_stack(&world.requester(), web.stack, action).await;
        reached(world, log, &acted.ok()?, end).await?;
    }
    let updated = world.update(web.stack, far.template("two")).await.ok()?;
    reached(world, log, &updated, "UPDATE_COMPLETE").await?;
    let deleted = world.delete(web.stack).await.ok()?;
    reached(world, log, &deleted, "DELETE_COMPLETE").await
}

async fn heal(far: &Far, empty: u64, appends: i64) {
    let world = far.ground.start().await;
    let Some(stack) = world.stack_named("web").await else {
        assert!(far.stacks().await.is_empty(), "cut after {appends}");
        return;
    };
    far.ground.views_catch_up(&world).await;
    let end = at_its_end(&world, stack.id).await;
    let reason = world.reason(stack.id).await;
    assert!(end.ends_with("_COMPLETE"), "cut after {appends}: {end}: {reason}");
    let there = u64::from(end != "DELETE_COMPLETE");
    let found = (far.stacks().await.len() as u64, far.networks() - empty);
    assert_eq!(found, (there, there), "cut after {appends}: {end}");
    if end != "DELETE_COMPLETE" {
        let deleted = world.delete(stack.id).await.unwrap();
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "cut after {appends}");
    }
    let left = far.stacks().await;
    assert!(left.is_empty(), "cut after {appends}: {left:#?}");
    assert_eq!(far.networks(), empty, "cut after {appends}: something is left behind");
    world.engine.shutdown();
}

#[actix::test]
async fn every_cut_of_a_life_with_a_stack_in_another_region_heals() {
    every_cut_heals(Place::Region).await;
}

#[actix::test]
async fn every_cut_of_a_life_with_a_stack_in_another_cloud_heals() {
    every_cut_heals(Place::Cloud).await;
}

async fn every_cut_heals(place: Place) {
    each_cut(1, 15, async |appends| {
        let far = Far::new(place).await;
        let empty = far.networks();
        let log = Arc::new(CutLog::new(far.ground.log.clone(), appends));
        let world = far.ground.start_on(log.clone()).await;
        let whole = live(&far, &world, &log).await.is_some();
        log.cut();
        world.engine.shutdown();
        drop(world);
        heal(&far, empty, appends).await;
        far.stop().await;
        whole
    })
    .await;
}
