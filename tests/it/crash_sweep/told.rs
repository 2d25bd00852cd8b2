//! A life that others are told of, cut at every append: a webhook, notifications and a queue hear
//! of all that is on record, in its order; and what data let an alarm come to is told once.

use std::sync::Arc;

use chrono::TimeDelta;
use hearth::clock::SimulatedClock;
use hearth::events::Position;
use hearth::events::log::Filter;
use hearth::model::{JsonMap, StackId};
use hearth::template::StackSource;
use serde_json::json;

use super::alarms::size_now;
use super::{at_its_end, each_cut, reached};
use crate::journeys::alarms::{output, put, template};
use crate::journeys::outlets::{messages, told};
use crate::journeys::webhooks::{all, all_heard};
use crate::support::bell::Bell;
use crate::support::cut_log::CutLog;
use crate::support::heard::{Received, firsts, notified, position_of};
use crate::support::wait::until;
use crate::support::world::{Ground, World};

/// Whoever is told, beside the queue of the sandbox.
struct Ears {
    bell: Bell,
    notified: Received,
}

/// Create, put data, go off, grow, delete.
async fn live(world: &World, log: &CutLog, ears: &Ears, clock: &SimulatedClock) -> Option<()> {
    let who = world.requester();
    world.engine.make_webhook(&who, &ears.bell.url, all(world)).await.ok()?;
    let sinks = json!([{ "type": "zaqar-queue", "target": "bell" }]);
    let source = StackSource {
        template: template(json!({})),
        environment: JsonMap::from_iter([("event_sinks".to_owned(), sinks)]),
        ..StackSource::default()
    };
    let web = world.create_of("web", source).await.ok()?;
    reached(world, log, &web, "CREATE_COMPLETE").await?;
    put(world, &[("AlarmName", "web-hot")], 95.0).await.ok()?;
    clock.advance(TimeDelta::seconds(60));
    world.engine.alarms().look(&who.caller.project_id).await.ok()?;
    log.until(world, "it grows", async || output(world, web.stack, "size").await == 2).await?;
    let deleted = world.delete(web.stack).await.ok()?;
    reached(world, log, &deleted, "DELETE_COMPLETE").await
}

/// The next process: the alarm's action is carried out, the life is brought to its end, and all
/// of it was heard by then.
async fn heal(ground: &Ground, ears: &Ears, place: &str) {
    let hears = Some(&ears.notified);
    let (world, outlets) = ground.start_telling(ground.log.clone(), hears).await;
    ground.views_catch_up(&world).await;
    if let Some(stack) = world.stack_named("web").await {
        let end = at_its_end(&world, stack.id).await;
        assert!(end.ends_with("_COMPLETE"), "{place}: {end}");
        let gone_off = ground.count("AlarmStateSet").await;
        let is_told = async || ground.count("AlarmActionsTold").await >= gone_off;
        until(&[ground], format!("{place}: the action is told"), is_told).await;
        ground.signals_over().await;
        if end != "DELETE_COMPLETE" {
            assert_eq!(size_now(&world, stack.id).await, 1 + gone_off as u64, "{place}");
            let deleted = world.delete(stack.id).await.unwrap();
            assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{place}");
        }
        queue_has_all(ground, &world, stack.id, place).await;
    }
    if let Some(webhook) = world.views.webhooks(None).await.unwrap().first() {
        all_heard(ground, &ears.bell, webhook.position).await;
    }
    let all = async || {
        let events =
            ground.log.read_all(Position(0), &Filter::default(), usize::MAX).await.unwrap();
        let due = notified(&events);
        let ids: Vec<_> = ears.notified.borrow().iter().map(|it| it.id).collect();
        let heard = firsts(ids.into_iter().map(position_of));
        if heard == due { Ok(()) } else { Err(format!("{heard:?}, and not {due:?}")) }
    };
    until(&[ground, &*ears.notified], format!("{place}: all is notified"), all).await;
    outlets.stop().await;
}

/// Waits until the queue has what the stack's event list has.
async fn queue_has_all(ground: &Ground, world: &World, stack: StackId, place: &str) {
    let all = async || {
        let mut messages = messages(ground);
        messages.retain(|body| body["payload"]["stack_id"] == json!(stack));
        let (heard, due) = (told(&messages), world.events(stack).await);
        if heard == due { Ok(()) } else { Err(format!("{heard:#?}\nand not\n{due:#?}")) }
    };
    until(&[ground, world], format!("{place}: all is in its queue"), all).await;
}

#[actix::test]
async fn all_of_a_life_is_told_in_order_whenever_the_process_is_killed() {
    each_cut(1, 40, async |appends| {
        let clock = Arc::new(SimulatedClock::new(7));
        let ground = Ground::timed(clock.clone()).await;
        let ears = Ears { bell: Bell::new(&[]).await, notified: Received::default() };
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let (world, outlets) = ground.start_telling(log.clone(), Some(&ears.notified)).await;
        let whole = live(&world, &log, &ears, &clock).await.is_some();
        log.cut();
        world.engine.shutdown();
        // Nothing is noted any more, as in a process that was killed.
        outlets.stop().await;
        drop(world);
        heal(&ground, &ears, &format!("cut after {appends}")).await;
        whole
    })
    .await;
}
