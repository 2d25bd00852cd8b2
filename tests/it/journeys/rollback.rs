//! Rolling back a failed create or update.

use serde_json::json;

use crate::support::world::{Ground, hot, test_resource};

#[actix::test]
async fn a_failed_create_rolls_back_to_nothing_and_the_stack_stays() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "a": test_resource(json!({})),
        "b": { "type": "OS::Heat::TestResource", "depends_on": "a", "properties": { "fail": true } },
    }));
    let web = world.create_with("web", template, false).await.unwrap();
    assert_eq!(world.settled(&web).await, "ROLLBACK_COMPLETE");
    assert!(world.resources(web.stack).await.is_empty());
    let next = hot(json!({ "a": test_resource(json!({})) }));
    let updated = world.update(web.stack, next).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
}

#[actix::test]
async fn a_failed_update_takes_the_replaced_resource_back() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str, fail: bool| {
        hot(json!({
            "a": test_resource(json!({ "value": value, "update_replace": true })),
            "b": { "type": "OS::Heat::TestResource", "depends_on": "a",
                   "properties": { "value": value, "fail": fail } },
        }))
    };
    let web = world.create_with("web", with("one", false), false).await.unwrap();
    world.settled(&web).await;
    let before = world.physical_id(web.stack, "a").await;
    let failed = world.update(web.stack, with("two", true)).await.unwrap();
    assert_eq!(world.settled(&failed).await, "ROLLBACK_COMPLETE");
    assert_eq!(world.physical_id(web.stack, "a").await, before);
    assert_eq!(world.resources(web.stack).await, ["a UPDATE_COMPLETE", "b CREATE_COMPLETE"]);
    let events = world.events(web.stack).await;
    let own: Vec<&str> =
        events.iter().map(String::as_str).filter(|event| event.starts_with("web ")).collect();
    assert_eq!(
        own[2..],
        [
            "web UPDATE_IN_PROGRESS",
            "web UPDATE_FAILED",
            "web ROLLBACK_IN_PROGRESS",
            "web ROLLBACK_COMPLETE"
        ]
    );
}

#[actix::test]
async fn a_stack_out_of_time_fails_and_says_so() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let ask = hearth::actors::CreateStack {
        name: "web".into(),
        source: hearth::template::StackSource {
            template: hot(json!({ "a": test_resource(json!({ "wait_secs": 30 })) })),
            ..Default::default()
        },
        timeout_mins: Some(0),
        disable_rollback: true,
        tags: Vec::new(),
    };
    let web = world.engine.create_stack(&world.requester(), ask).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    assert_eq!(world.reason(web.stack).await, "Timed out");
    let listed = world.views.resources(web.stack).await.unwrap();
    let wanted = format!(
        "CREATE aborted (Task create from TestResource \"a\" Stack \"web\" [{}] Timed out)",
        web.stack
    );
    assert_eq!(listed[0].reason, wanted);
}
