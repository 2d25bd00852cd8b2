//! What ends after its stack has: its outputs are known, and nothing follows it.

use hearth::actors::Accepted;
use serde_json::{Value, json};

use crate::support::wait::until;
use crate::support::world::{Ground, World, hot, test_resource};

fn with_output(resources: Value) -> Value {
    let mut template = hot(resources);
    template["outputs"] = json!({ "a": { "value": { "get_attr": ["a", "output"] } } });
    template
}

/// Waits until the output has this value: a stack at rest may owe it for a moment.
async fn until_output_is(ground: &Ground, world: &World, stack: &Accepted, wanted: &str) {
    let is_shown = async || {
        ground.views_catch_up(world).await;
        let shown = world.views.stack_shown(stack.stack).await.unwrap().unwrap();
        let value = world.opened(stack.stack, &shown.outputs[0].placed);
        if value == wanted { Ok(()) } else { Err(format!("the output is {value}")) }
    };
    until(&[world], format!("it is {wanted}"), is_shown).await;
}

async fn cancel(world: &World, stack: &Accepted) -> Accepted {
    world.engine.cancel_update(&world.requester(), stack.stack, false).await.unwrap()
}

fn slow(value: &str) -> Value {
    let pauses = json!({ "create": 3 });
    test_resource(json!({ "value": value, "action_wait_secs": pauses, "update_replace": true }))
}

#[actix::test]
async fn a_create_that_ends_after_its_stack_failed_gives_the_output_its_value() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template =
        with_output(json!({ "a": slow("one"), "b": test_resource(json!({ "fail": true })) }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE", "b CREATE_FAILED"]);
    until_output_is(&ground, &world, &web, "one").await;
}

#[actix::test]
async fn a_replacement_that_ends_after_its_update_was_cancelled_gives_the_output_its_value() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", with_output(json!({ "a": slow("one") }))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let updated = world.update(web.stack, with_output(json!({ "a": slow("two") }))).await.unwrap();
    world.views.after(updated.position).await.unwrap();
    let is_begun =
        async || world.events(web.stack).await.ends_with(&["a CREATE_IN_PROGRESS".to_owned()]);
    world.shows("its replacement is begun", is_begun).await;
    let cancelled = cancel(&world, &web).await;
    assert_eq!(world.settled(&cancelled).await, "UPDATE_FAILED");
    until_output_is(&ground, &world, &web, "two").await;
}

#[actix::test]
async fn after_a_cancel_without_rollback_what_the_update_dropped_stays() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", hot(json!({ "a": slow("one") }))).await.unwrap();
    world.at_work(&web, "a").await;
    let dropping = hot(json!({ "b": slow("one") }));
    world.update(web.stack, dropping.clone()).await.unwrap();
    world.at_work(&web, "b").await;
    let cancelled = cancel(&world, &web).await;
    assert_eq!(world.settled(&cancelled).await, "UPDATE_FAILED");
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE", "b CREATE_COMPLETE"]);
    assert_eq!(world.reason(web.stack).await, "Stack UPDATE cancelled");

    let updated = world.update(web.stack, dropping).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(web.stack).await, ["b CREATE_COMPLETE"]);
}

#[actix::test]
async fn after_a_cancel_without_rollback_nothing_is_said_of_a_replacement() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", hot(json!({ "a": slow("one") }))).await.unwrap();
    world.at_work(&web, "a").await;
    world.update(web.stack, hot(json!({ "a": slow("two") }))).await.unwrap();
    let cancelled = cancel(&world, &web).await;
    assert_eq!(world.settled(&cancelled).await, "UPDATE_FAILED");
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE"]);

    let updated = world.update(web.stack, hot(json!({ "a": slow("two") }))).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let told = world.events(web.stack).await;
    let replaced = told.iter().filter(|line| *line == "a CREATE_COMPLETE").count();
    assert_eq!(replaced, 2, "{told:#?}");
}

#[actix::test]
async fn what_is_about_to_go_is_no_user_of_what_stays() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let a = test_resource(json!({}));
    let mut b = test_resource(json!({}));
    b["depends_on"] = json!("a");
    let web = world.create("web", hot(json!({ "a": a, "b": b }))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let failing = hot(json!({ "a": a, "c": test_resource(json!({ "fail": true })) }));
    let updated = world.update(web.stack, failing).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_FAILED");
    let rows = world.views.resources(web.stack).await.unwrap();
    let names: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
    assert!(names.contains(&"b"), "{names:?}");
    let a = rows.iter().find(|row| row.name.as_str() == "a").unwrap();
    assert!(a.required_by.is_empty(), "{:?}", a.required_by);
}
