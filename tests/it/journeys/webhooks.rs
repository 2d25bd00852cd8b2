//! Webhooks: each event once for whoever counts by its id, in order, whatever is lost on its way.

use std::collections::BTreeSet;
use std::sync::Arc;

use hearth::events::log::{EventLog, Filter};
use hearth::events::{Position, StreamId};
use hearth::model::Selection;
use serde_json::json;

use crate::support::bell::{Answer, Bell, Ring};
use crate::support::cut_log::CutLog;
use crate::support::wait::{WAIT_MAX, polled, until};
use crate::support::world::{Ground, World, hot, test_resource};

/// Everything of the project's.
pub(crate) fn all(world: &World) -> Selection {
    Selection { project: Some(world.requester().caller.project_id.clone()), ..Selection::default() }
}

/// Waits until a receiver has all that the log has after a position, and gives what it heard.
pub(crate) async fn all_heard(ground: &Ground, bell: &Bell, after: Position) -> Vec<Ring> {
    let filter = Filter { kinds: vec!["stack", "resource", "project"] };
    let all = async || {
        let due = ground.log.read_all(after, &filter, usize::MAX).await.unwrap();
        let due: Vec<u64> = due.iter().map(|event| event.position.0).collect();
        let rings = bell.rings();
        let mut heard: Vec<u64> = rings.iter().map(Ring::position).collect();
        heard.dedup();
        if heard.last() == due.last() {
            // What comes again after a crash aside, each comes after the one before it.
            let mut first = BTreeSet::new();
            let once: Vec<u64> = heard.into_iter().filter(|at| first.insert(*at)).collect();
            assert_eq!(once, due);
            return Ok(rings);
        }
        Err(format!("{heard:?}\nand not\n{due:?}"))
    };
    until(&[ground, bell], "all is heard", all).await
}

#[actix::test]
async fn events_are_posted_in_order_with_a_signature_until_they_are_taken() {
    let ground = Ground::new().await;
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    let answers = [Answer::Status(503), Answer::Status(302), Answer::Lost];
    let bell = Bell::new(&answers).await;
    // One that takes nothing holds nobody up.
    let deaf = Bell::new(&[Answer::Status(500); 1_000]).await;
    let who = world.requester();
    world.engine.make_webhook(&who, &deaf.url, all(&world)).await.unwrap();
    let (_, key, after) = world.engine.make_webhook(&who, &bell.url, all(&world)).await.unwrap();
    let template = hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let rings = all_heard(&ground, &bell, after).await;
    assert!(rings.iter().all(|ring| ring.is_signed_with(key.reveal())));
    let heard: Vec<u64> = rings.iter().map(Ring::position).collect();
    assert!(heard.is_sorted(), "{heard:?}");
    assert_eq!(heard.iter().filter(|position| **position == heard[0]).count(), 4);
    let told = rings.iter().map(Ring::event).find(|event| event["type"] == "StackCreated");
    assert_eq!(told.unwrap()["body"]["name"], "web");
    let first = deaf.rings().iter().map(Ring::position).collect::<Vec<_>>();
    assert!(first.len() > 1 && first.iter().all(|position| *position == first[0]), "{first:?}");
    outlets.stop().await;
    drop(world);

    // What was taken and noted is not told again, and the stop may have come before the last note;
    // what comes next is told.
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    let other = world.create("other", hot(json!({}))).await.unwrap();
    assert_eq!(world.settled(&other).await, "CREATE_COMPLETE");
    let rings_now = all_heard(&ground, &bell, after).await;
    let known = rings.last().unwrap().position();
    assert!(rings_now[rings.len()..].iter().all(|ring| ring.position() >= known));
    outlets.stop().await;
}

#[actix::test]
async fn only_what_fits_is_told_and_nothing_once_the_webhook_is_deleted() {
    let ground = Ground::new().await;
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    let (ends, all_of_it) = (Bell::new(&[]).await, Bell::new(&[]).await);
    let who = world.requester();
    let selection = Selection {
        types: vec!["TraversalSettled".to_owned()],
        statuses: vec!["CREATE_COMPLETE".to_owned()],
        ..all(&world)
    };
    let made = world.engine.make_webhook(&who, &ends.url, selection).await.unwrap();
    let (_, _, after) = world.engine.make_webhook(&who, &all_of_it.url, all(&world)).await.unwrap();
    let template = || hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    let web = world.create("web", template()).await.unwrap();
    world.settled(&web).await;
    all_heard(&ground, &all_of_it, after).await;
    until(&[&ends], "its end is told", async || !ends.rings().is_empty()).await;
    let project = world.requester().caller.project_id.clone();
    world.engine.delete_webhook(&who, &project, made.0).await.unwrap();
    ground.views_catch_up(&world).await;
    assert_eq!(world.views.webhooks(Some(&project)).await.unwrap().len(), 1);
    let other = world.create("other", template()).await.unwrap();
    world.settled(&other).await;
    all_heard(&ground, &all_of_it, after).await;
    let told: Vec<_> = ends.rings().iter().map(Ring::event).collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["type"], "TraversalSettled");
    outlets.stop().await;
}

#[actix::test]
async fn whatever_becomes_of_a_post_each_event_comes_in_its_order() {
    let template = hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    for answer in [Answer::Status(500), Answer::Status(404), Answer::Lost, Answer::Deaf] {
        for taken in [0, 2, 5] {
            let ground = Ground::new().await;
            let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
            let mut answers = vec![Answer::Status(204); taken];
            answers.push(answer);
            let bell = Bell::new(&answers).await;
            let who = world.requester();
            let made = world.engine.make_webhook(&who, &bell.url, all(&world)).await.unwrap();
            let web = world.create("web", template.clone()).await.unwrap();
            assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
            let rings = all_heard(&ground, &bell, made.2).await;
            let heard: Vec<u64> = rings.iter().map(Ring::position).collect();
            let again = usize::from(answer != Answer::Deaf);
            assert!(heard.is_sorted(), "{answer:?} after {taken}: {heard:?}");
            let distinct = heard.iter().collect::<BTreeSet<_>>().len();
            assert_eq!(distinct + again, heard.len(), "{answer:?} after {taken}: {heard:?}");
            outlets.stop().await;
        }
    }
}

/// The places of webhooks that are kept.
fn places(log: &dyn EventLog) -> Vec<StreamId> {
    let all = log.streams("outlet", "", 100).unwrap();
    all.into_iter().filter(|it| it.as_str().starts_with("outlet-webhook-")).collect()
}

/// Waits until there are so many; no event says when one goes.
async fn places_are(log: &dyn EventLog, count: usize) {
    let counted = async || match places(log) {
        places if places.len() == count => Ok(()),
        places => Err(format!("{places:?}")),
    };
    polled(WAIT_MAX, format!("{count} places"), counted).await;
}

#[actix::test]
async fn the_place_of_a_deleted_webhook_is_forgotten_whenever_the_process_dies() {
    for appends in 1..40 {
        let ground = Ground::new().await;
        let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
        let (bell, kept) = (Bell::new(&[]).await, Bell::new(&[]).await);
        let who = world.requester();
        let (id, ..) = world.engine.make_webhook(&who, &bell.url, all(&world)).await.unwrap();
        world.engine.make_webhook(&who, &kept.url, all(&world)).await.unwrap();
        let web = world.create("web", hot(json!({}))).await.unwrap();
        world.settled(&web).await;
        places_are(ground.log.as_ref(), 2).await;
        outlets.stop().await;
        drop(world);

        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let (world, outlets) = ground.start_telling(log.clone(), None).await;
        let project = who.caller.project_id.clone();
        let deleted = world.engine.delete_webhook(&who, &project, id).await;
        let is_over = async || log.is_cut() || places(ground.log.as_ref()).len() != 2;
        if deleted.is_ok() {
            polled(WAIT_MAX, "its place goes, or the log breaks off", is_over).await;
        }
        let whole = !log.is_cut();
        log.cut();
        world.engine.shutdown();
        outlets.stop().await;
        drop(world);

        let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
        ground.views_catch_up(&world).await;
        let left = world.views.webhooks(None).await.unwrap().len();
        assert!(left == 1 || deleted.is_err(), "cut after {appends}");
        places_are(ground.log.as_ref(), left).await;
        outlets.stop().await;
        if whole {
            assert!(appends > 1, "{appends}");
            return;
        }
    }
    panic!("the journey is longer than thought");
}

#[actix::test]
async fn a_receiver_hears_everything_whenever_the_process_dies() {
    let template = hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    for appends in 1..40 {
        let ground = Ground::new().await;
        let bell = Bell::new(&[Answer::Lost]).await;
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let (world, outlets) = ground.start_telling(log.clone(), None).await;
        let who = world.requester();
        let made = world.engine.make_webhook(&who, &bell.url, all(&world)).await;
        let web = world.create("web", template.clone()).await;
        if let (Ok(_), Ok(web)) = (&made, &web) {
            let is_heard =
                || bell.rings().iter().any(|it| it.event()["type"] == "TraversalSettled");
            let is_over = async || log.is_cut() || is_heard();
            until(&[&*log, &bell], "it is heard, or the log breaks off", is_over).await;
            if !log.is_cut() {
                assert_eq!(world.settled(web).await, "CREATE_COMPLETE");
            }
        }
        let whole = !log.is_cut();
        log.cut();
        world.engine.shutdown();
        // Nothing is noted any more, as in a process that was killed.
        outlets.stop().await;
        drop(world);
        let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
        ground.views_catch_up(&world).await;
        let kept = world.views.webhooks(None).await.unwrap();
        assert!(made.is_err() || kept.len() == 1 || !whole, "cut after {appends}: it is lost");
        if let Some(webhook) = kept.first() {
            // What was left to be done goes on, and is told, too.
            if let Some(stack) = world.stack_named("web").await {
                assert_eq!(world.at_rest(stack.id).await, "CREATE_COMPLETE");
                all_heard(&ground, &bell, webhook.position).await;
            }
        }
        outlets.stop().await;
        if whole {
            assert!(appends > 6, "{appends}");
            return;
        }
    }
    panic!("the journey is longer than thought");
}
