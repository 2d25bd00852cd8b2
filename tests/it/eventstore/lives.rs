//! Stacks on the log on EventStoreDB: a journey over a leader that dies, and the crash sweep.

use std::sync::Arc;

use hearth::events::log::{EventstoreLog, OwnedLog};
use serde_json::{Value, json};

use crate::log_contract::backends::open;
use crate::support::cut_log::CutLog;
use crate::support::eventstore::StandIn;
use crate::support::eventstore::place::Place;
use crate::support::world::{Ground, World, hot, test_resource};

/// More appends than the life makes; the sweep ends where the log was not cut any more.
const APPENDS_MAX: i64 = 100;
/// How many cuts the sweep has at least.
const CUTS_MIN: usize = 10;

fn template(value: &str) -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "value": test_resource(json!({ "value": value })),
    }))
}

#[actix::test]
async fn a_stack_goes_on_while_its_leader_dies_and_after_a_restart() {
    let server = StandIn::start(3);
    let ground = Ground::new().await;
    let empty = ground.counts();
    let first = Arc::new(open(&server.url()));
    let world = ground.start_on(first.clone()).await;
    let web = world.create("web", template("one")).await.unwrap();
    server.kill(server.leader().unwrap());
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let events = world.events(web.stack).await;
    world.engine.shutdown();
    drop(world);
    close(first).await;

    let second = Arc::new(open(&server.url()));
    let world = ground.start_on(second.clone()).await;
    assert_eq!(world.events(web.stack).await, events);
    let updated = world.update(web.stack, template("two")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), empty);
    world.engine.shutdown();
    close(second).await;
}

/// Create, update, delete; `None` when the log is cut.
async fn live(world: &World, log: &CutLog) -> Option<()> {
    let web = world.create("web", template("one")).await.ok()?;
    reached(world, log, web.stack, "CREATE_COMPLETE").await?;
    let updated = world.update(web.stack, template("two")).await.ok()?;
    reached(world, log, updated.stack, "UPDATE_COMPLETE").await?;
    let deleted = world.delete(web.stack).await.ok()?;
    reached(world, log, deleted.stack, "DELETE_COMPLETE").await
}

async fn reached(
    world: &World,
    log: &CutLog,
    stack: hearth::model::StackId,
    end: &str,
) -> Option<()> {
    let is_reached = async || {
        let stack = world.views.stack(stack).await.unwrap();
        stack.is_some_and(|stack| format!("{}_{}", stack.action, stack.status) == end)
    };
    log.until(world, end, is_reached).await
}

/// Closes a log, away from the runtime that its end would hold up.
async fn close(log: Arc<EventstoreLog>) {
    tokio::task::spawn_blocking(move || log.close()).await.unwrap();
}

#[actix::test]
async fn every_cut_of_a_life_heals() {
    for (healed, appends) in (1..APPENDS_MAX).enumerate() {
        let place = Place::fresh();
        let ground = Ground::new().await;
        let empty = ground.counts();
        let first = Arc::new(open(&place.url));
        let log = Arc::new(CutLog::new(first.clone(), appends));
        let world = ground.start_on(log.clone()).await;
        let whole = live(&world, &log).await.is_some();
        log.cut();
        world.engine.shutdown();
        drop((world, log));
        // Whoever still holds it must not go on with it.
        close(first).await;

        let second = Arc::new(open(&place.url));
        let world = ground.start_on(second.clone()).await;
        if let Some(stack) = world.stack_named("web").await {
            let end = world.at_rest(stack.id).await;
            assert!(end.ends_with("_COMPLETE"), "cut after {appends}: {end}");
            if end != "DELETE_COMPLETE" {
                let deleted = world.delete(stack.id).await.unwrap();
                assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
            }
        }
        assert_eq!(ground.counts(), empty, "cut after {appends}: something is left behind");
        world.engine.shutdown();
        close(second).await;
        if whole {
            assert!(healed > CUTS_MIN, "the life is shorter than it was: {healed}");
            return;
        }
    }
    panic!("the life makes more than {APPENDS_MAX} appends");
}
