//! Operations that meet: the newest revision wins, what is at work is taken over.

use hearth::actors::Accepted;
use hearth::model::StackId;
use serde_json::json;

use crate::support::world::{Ground, hot, test_resource};

#[actix::test]
async fn an_update_in_mid_create_takes_over() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str| {
        hot(json!({
            "a": test_resource(json!({ "value": value, "wait_secs": 3 })),
            "b": { "type": "OS::Heat::TestResource", "depends_on": "a",
                   "properties": { "value": value } },
        }))
    };
    let web = world.create("web", with("one")).await.unwrap();
    world.at_work(&web, "a").await;
    let updated = world.update(web.stack, with("two")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(
        world.events(web.stack).await,
        [
            "web CREATE_IN_PROGRESS",
            "a CREATE_IN_PROGRESS",
            "web UPDATE_IN_PROGRESS",
            "a CREATE_COMPLETE",
            "a UPDATE_IN_PROGRESS",
            "a UPDATE_COMPLETE",
            "b CREATE_IN_PROGRESS",
            "b CREATE_COMPLETE",
            "web UPDATE_COMPLETE",
        ]
    );
}

#[actix::test]
async fn a_delete_interrupts_what_is_at_work() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template =
        hot(json!({ "a": test_resource(json!({ "action_wait_secs": { "create": 60 } })) }));
    let web = world.create("web", template).await.unwrap();
    world.at_work(&web, "a").await;
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    let events = world.events(web.stack).await;
    assert_eq!(
        events[..4],
        [
            "web CREATE_IN_PROGRESS",
            "a CREATE_IN_PROGRESS",
            "web CREATE_FAILED",
            "web DELETE_IN_PROGRESS",
        ]
    );
    assert!(events.contains(&"a CREATE_FAILED".to_owned()), "{events:?}");
}

#[actix::test]
async fn a_cancelled_update_rolls_back() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str, wait: f64| {
        hot(json!({ "a": test_resource(json!({ "value": value, "wait_secs": wait })) }))
    };
    let web = world.create("web", with("one", 0.0)).await.unwrap();
    world.settled(&web).await;
    let refused = world.engine.cancel_update(&world.requester(), web.stack, true).await;
    assert_eq!(
        refused.unwrap_err().message,
        "Cancelling update when stack is CREATE_COMPLETE is not supported."
    );
    world.update(web.stack, with("two", 3.0)).await.unwrap();
    let cancelled = world.engine.cancel_update(&world.requester(), web.stack, true).await.unwrap();
    assert_eq!(world.settled(&cancelled).await, "ROLLBACK_COMPLETE");
}

#[actix::test]
async fn a_cancel_without_rollback_stops_where_the_stack_is() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "a": test_resource(json!({ "wait_secs": 3 })),
        "b": { "type": "OS::Heat::TestResource", "depends_on": "a" },
    }));
    let web = world.create("web", template).await.unwrap();
    world.at_work(&web, "a").await;
    let requester = world.requester();
    let cancelled = world.engine.cancel_update(&requester, web.stack, false).await.unwrap();
    assert_eq!(world.settled(&cancelled).await, "CREATE_FAILED");
    assert_eq!(world.reason(web.stack).await, "Stack CREATE cancelled");
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE", "b INIT_COMPLETE"]);
}

#[actix::test]
async fn what_an_operator_resets_has_failed_goes_back_nowhere_and_goes_on_with_the_next_command() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str, wait: f64| {
        hot(json!({
            "a": test_resource(json!({ "value": value, "wait_secs": wait })),
            "b": { "type": "OS::Heat::TestResource", "depends_on": "a" },
        }))
    };
    let web = world.create("web", with("one", 0.0)).await.unwrap();
    world.settled(&web).await;
    let untouched = world.engine.reset_stack(web.stack).await.unwrap();
    assert_eq!(
        world.settled(&Accepted { position: untouched, ..web.clone() }).await,
        "CREATE_COMPLETE"
    );

    world.update(web.stack, with("two", 1_000.0)).await.unwrap();
    world.at_work(&web, "a").await;
    let position = world.engine.reset_stack(web.stack).await.unwrap();
    let reset = Accepted { position, ..web.clone() };
    assert_eq!(world.settled(&reset).await, "UPDATE_FAILED");
    assert_eq!(world.reason(web.stack).await, "Stack status manually reset");
    let updated = world.update(web.stack, with("three", 0.0)).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");

    let deleted = world.engine.delete_stack(&world.requester(), web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    let refused = world.engine.reset_stack(web.stack).await.unwrap_err();
    assert_eq!(refused.class, "EntityNotFound", "{refused:?}");
    let unknown = world.engine.reset_stack(StackId::default()).await.unwrap_err();
    assert!(unknown.message.ends_with("not found"), "{unknown:?}");
}
