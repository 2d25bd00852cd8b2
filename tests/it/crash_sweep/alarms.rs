//! An alarm that lets a group grow, cut at every append: what it came to on record is told, once.

use hearth::events::alarm::AlarmState;
use hearth::model::StackId;
use serde_json::json;

use super::{Life, reached, sweep};
use crate::journeys::alarms::{alarm, output, put, restarting, say, template};
use crate::support::cut_log::CutLog;
use crate::support::wait::until;
use crate::support::world::{Ground, World};

/// Create, put data, go off, grow, change, delete.
struct Alarmed;

impl Life for Alarmed {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = world.create("web", template(json!({}))).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        put(world, &[("AlarmName", "web-hot")], 95.0).await.ok()?;
        let who = world.requester();
        let project = who.caller.project_id.clone();
        let drill = (AlarmState::Alarm, "a drill".to_owned());
        world.engine.alarms().set_state(&who, &project, "web-hot", drill).await.ok()?;
        log.until(world, "it grows", async || output(world, web.stack, "size").await == 2).await?;
        let updated = world.update(web.stack, template(json!({ "Threshold": "90" }))).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }

    async fn healed(&self, ground: &Ground, world: &World, stack: StackId) {
        let end = world.views.stack(stack).await.unwrap().unwrap();
        if end.is_deleted() {
            assert!(alarm(world).await.is_none(), "an alarm is left behind");
            return;
        }
        assert!(alarm(world).await.is_some());
        let gone_off = ground.count("AlarmStateSet").await;
        let size = 1 + u64::try_from(gone_off).unwrap();
        let is_told = async || {
            let now = size_now(world, stack).await;
            if now == size && ground.count("AlarmActionsTold").await == gone_off {
                return Ok(());
            }
            Err(format!("{now}: {:#?}", world.events(stack).await))
        };
        until(&[world, &ground.log], format!("{size} members"), is_told).await;
        ground.signals_over().await;
        assert_eq!(size_now(world, stack).await, size, "told more than once");
    }
}

/// The size of the group, whatever the views show yet.
pub(super) async fn size_now(world: &World, stack: StackId) -> u64 {
    let outputs = world.engine.outputs_now(&world.requester(), stack).await.unwrap();
    let size = outputs.iter().find(|output| output.key == "size");
    size.and_then(|size| size.value.as_u64()).unwrap_or_default()
}

#[actix::test]
async fn an_alarm_that_went_off_is_told_once_whenever_the_process_is_killed() {
    sweep(&Alarmed, 40).await;
}

/// Create, go off, have a resource made anew, delete.
struct Restarted;

impl Life for Restarted {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = world.create("web", restarting()).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        say(world, AlarmState::Alarm).await.ok()?;
        reached(world, log, &web, "UPDATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }

    async fn healed(&self, ground: &Ground, world: &World, stack: StackId) {
        let end = world.views.stack(stack).await.unwrap().unwrap();
        let signaled = async || (ground.count("AlarmStateSet").await, ground.signals_taken().await);
        let are_taken = async || {
            let (set, taken) = signaled().await;
            end.is_deleted() || set == taken
        };
        until(&[&ground.log], "every signal is taken", are_taken).await;
        ground.signals_over().await;
        let is_made = async || world.at_rest(stack).await.ends_with("_COMPLETE");
        until(&[world], "it is made anew", is_made).await;
        let restarts = ground.count("ReplacementStarted").await;
        assert_eq!(restarts, ground.signals_taken().await, "not made anew once");
    }
}

#[actix::test]
async fn what_a_signal_has_made_anew_is_made_anew_once_whenever_the_process_is_killed() {
    sweep(&Restarted, 15).await;
}
