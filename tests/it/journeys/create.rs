//! Creating stacks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth::actors::EngineLimits;
use hearth::events::log::Filter;
use hearth::events::{Position, RecordedEvent};
use hearth::model::StackId;
use serde_json::json;

use crate::support::cut_log::CutLog;
use crate::support::wait::until;
use crate::support::world::{Ground, World, hot, test_resource};

#[actix::test]
async fn a_stack_is_created_in_the_order_of_its_references() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "b": test_resource(json!({ "value": { "get_attr": ["a", "output"] } })),
        "a": test_resource(json!({ "value": "one" })),
    }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    assert_eq!(
        world.events(web.stack).await,
        [
            "web CREATE_IN_PROGRESS",
            "a CREATE_IN_PROGRESS",
            "a CREATE_COMPLETE",
            "b CREATE_IN_PROGRESS",
            "b CREATE_COMPLETE",
            "web CREATE_COMPLETE",
        ]
    );
}

#[actix::test]
async fn a_failed_create_leaves_what_is_behind_it_untouched() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "a": test_resource(json!({ "fail": true })),
        "b": { "type": "OS::Heat::TestResource", "depends_on": "a" },
    }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    assert_eq!(
        world.reason(web.stack).await,
        "Resource CREATE failed: ValueError: resources.a: Test Resource failed a"
    );
    assert_eq!(world.resources(web.stack).await, ["a CREATE_FAILED", "b INIT_COMPLETE"]);
}

#[actix::test]
async fn of_two_that_make_a_stack_of_a_name_at_once_one_is_refused() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({ "a": test_resource(json!({})) }));
    for round in 0..5 {
        let name = format!("web{round}");
        let create = || world.create(&name, template.clone());
        let (one, other) = futures::join!(create(), create());
        let (made, refused) = if one.is_ok() { (one, other) } else { (other, one) };
        assert_eq!(refused.unwrap_err().class, "StackExists");
        let made = made.unwrap();
        assert_eq!(world.settled(&made).await, "CREATE_COMPLETE");
        delete(&world, made.stack).await;
    }
}

#[actix::test]
async fn what_has_a_secret_is_done_once_the_key_for_it_can_be_had() {
    let ground = Ground::new().await;
    let log = Arc::new(CutLog::new(ground.log.clone(), i64::MAX));
    let world = ground.start_on(log.clone()).await;
    let template = hot(json!({ "password": { "type": "OS::Heat::RandomString" } }));
    log.hide_keys(1);
    let refused = world.create("web", template.clone()).await.unwrap_err();
    assert_eq!((refused.class.as_ref(), log.keyless()), ("HTTPServiceUnavailable", 0));
    // The project's key is known from here on, and each stack has its own.
    for name in ["web", "other"] {
        let web = world.create(name, template.clone()).await.unwrap();
        assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{name}");
        assert_eq!(log.keyless(), 0, "no key was wanted so often");
        log.hide_keys(3);
    }
}

#[actix::test]
async fn whoever_leaves_in_the_middle_of_a_creation_leaves_a_stack_or_nothing() {
    let longer = (8..15).map(|power| 1 << power);
    for millis in (0..200).chain(longer) {
        let ground = Ground::new().await;
        let limits = EngineLimits { max_stacks_per_tenant: Some(1), ..Ground::limits() };
        let world = ground.start_within(limits).await;
        let template = hot(json!({ "a": test_resource(json!({})) }));
        // A process before this one left nothing.
        let first = world.create("first", template.clone()).await.unwrap();
        assert_eq!(
            world.create("second", template.clone()).await.unwrap_err().class,
            "RequestLimitExceeded"
        );
        delete(&world, first.stack).await;
        let patience = Duration::from_millis(millis);
        let made = tokio::time::timeout(patience, world.create("web", template.clone())).await;
        let started = Instant::now();
        let other = loop {
            match world.create("other", template.clone()).await {
                Ok(other) => break other,
                Err(refusal) => assert_eq!(refusal.class, "RequestLimitExceeded"),
            }
            match world.stack_named("web").await {
                Some(web) => delete(&world, web.id).await,
                None => assert!(started.elapsed() < Duration::from_secs(10), "after {millis} ms"),
            }
        };
        assert_eq!(world.settled(&other).await, "CREATE_COMPLETE");
        // One that nobody uses any more may be on its way out.
        let is_one = async || ground.sandbox.state()["trusts"]["count"].as_u64() <= Some(1);
        until(&[&ground], format!("after {millis} ms one trust is left"), is_one).await;
        if made.is_ok() {
            return;
        }
    }
    panic!("a creation takes longer than thought");
}

async fn delete(world: &World, stack: StackId) {
    let deleted = world.engine.delete_stack(&world.requester(), stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_name_in_use_is_refused_and_free_again_after_deletion() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({ "a": test_resource(json!({})) }));
    let web = world.create("web", template.clone()).await.unwrap();
    let refusal = world.create("web", template.clone()).await.unwrap_err();
    assert_eq!(refusal.class, "StackExists");
    assert_eq!(refusal.message, "The Stack (web) already exists.");
    world.settled(&web).await;
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    let again = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&again).await, "CREATE_COMPLETE");
}

#[actix::test]
async fn a_command_sent_again_gets_the_first_receipt() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    let web = world.create("web", template.clone()).await.unwrap();
    world.settled(&web).await;
    let requester = world.requester();
    let ask = hearth::actors::UpdateStack { template: Some(template), ..Default::default() };
    let first = world.engine.update_stack(&requester, web.stack, ask.clone()).await.unwrap();
    world.settled(&first).await;
    let second = world.engine.update_stack(&requester, web.stack, ask).await.unwrap();
    assert_eq!(first, second);
}

#[actix::test]
async fn a_network_and_its_subnet_come_to_be_in_the_cloud() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let before = ground.counts();
    let template = hot(json!({
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
        "net": { "type": "OS::Neutron::Net" },
    }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let events = ground.log.read_all(Position(0), &Filter::default(), 99).await.unwrap();
    assert_eq!(walked_through(&events), 12, "rows of the walk-through in ARCHITECTURE.md");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), before);
}

/// Holds events to the walk-through of this create, and says how many of them that names.
fn walked_through(events: &[Arc<RecordedEvent>]) -> usize {
    let page = include_str!("../../../ARCHITECTURE.md");
    let (_, rows) = page.split_once("## Walk-through: a create").unwrap();
    let (rows, _) = rows.split_once("Heat's event list").unwrap();
    let rows = rows.lines().filter_map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        Some((cells.get(1)?.parse::<usize>().ok()?, cells[2].to_owned(), cells[3].to_owned()))
    });
    let named = rows.map(|(position, stream, event_type)| {
        let event = &events[position - 1];
        assert_eq!(*event.event_type, *event_type, "{position}");
        assert!(stream.starts_with(event.stream.kind()), "{position}: {stream}");
    });
    named.count()
}
