//! Suspend, resume, check, and a word from outside on a resource's health.

use hearth::actors::Accepted;
use hearth::model::Action;
use serde_json::{Value, json};

use crate::support::wait::until;
use crate::support::world::{Ground, World, hot, test_resource};

/// `b` requires `a`.
fn pair() -> Value {
    hot(json!({
        "a": test_resource(json!({ "value": "one" })),
        "b": { "type": "OS::Heat::RandomString", "depends_on": "a" },
    }))
}

async fn act(world: &World, stack: &Accepted, action: Action) -> Accepted {
    world.engine.act_on_stack(&world.requester(), stack.stack, action).await.unwrap()
}

async fn mark(world: &World, stack: &Accepted, name: &str, healthy: bool) {
    let marked = world
        .engine
        .mark_resource(&world.requester(), stack.stack, &name.into(), healthy, "seen")
        .await
        .unwrap();
    world.views.after(marked.position).await.unwrap();
}

/// What the event list has beyond the first so many.
async fn news(world: &World, stack: &Accepted, known: usize) -> Vec<String> {
    world.events(stack.stack).await.split_off(known)
}

#[actix::test]
async fn a_stack_is_suspended_against_its_dependencies_and_resumed_along_them() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", pair()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let known = world.events(web.stack).await.len();
    let suspended = act(&world, &web, Action::Suspend).await;
    assert_eq!(world.settled(&suspended).await, "SUSPEND_COMPLETE");
    let expected = [
        "web SUSPEND_IN_PROGRESS",
        "b SUSPEND_IN_PROGRESS",
        "b SUSPEND_COMPLETE",
        "a SUSPEND_IN_PROGRESS",
        "a SUSPEND_COMPLETE",
        "web SUSPEND_COMPLETE",
    ];
    assert_eq!(news(&world, &web, known).await, expected);
    assert_eq!(world.reason(web.stack).await, "Stack SUSPEND completed successfully");

    act(&world, &web, Action::Suspend).await;
    assert_eq!(news(&world, &web, known).await.len(), 6, "suspended is suspended");
    let refused = world.update(web.stack, pair()).await.unwrap_err();
    let text = "Updating a stack when it is suspended is not supported.";
    assert_eq!((&*refused.class, &*refused.message), ("NotSupported", text));

    let resumed = act(&world, &web, Action::Resume).await;
    assert_eq!(world.settled(&resumed).await, "RESUME_COMPLETE");
    let expected = [
        "web RESUME_IN_PROGRESS",
        "a RESUME_IN_PROGRESS",
        "a RESUME_COMPLETE",
        "b RESUME_IN_PROGRESS",
        "b RESUME_COMPLETE",
        "web RESUME_COMPLETE",
    ];
    assert_eq!(news(&world, &web, known + 6).await, expected);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn what_is_not_suspended_cannot_be_resumed() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", pair()).await.unwrap();
    world.settled(&web).await;
    let known = world.events(web.stack).await.len();
    let resumed = act(&world, &web, Action::Resume).await;
    assert_eq!(world.settled(&resumed).await, "RESUME_FAILED");
    assert_eq!(
        news(&world, &web, known).await,
        ["web RESUME_IN_PROGRESS", "web RESUME_FAILED"],
        "the resource says nothing"
    );
    let reason = world.reason(web.stack).await;
    assert_eq!(
        reason,
        "Resource RESUME failed: Error: resources.a: State ('CREATE', 'COMPLETE') invalid for resume"
    );
}

#[actix::test]
async fn a_check_looks_at_everything_and_says_where_it_could_not() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", pair()).await.unwrap();
    world.settled(&web).await;
    let known = world.events(web.stack).await.len();
    let checked = act(&world, &web, Action::Check).await;
    assert_eq!(world.settled(&checked).await, "CHECK_COMPLETE");
    let expected = [
        "web CHECK_IN_PROGRESS",
        "a CHECK_IN_PROGRESS",
        "a CHECK_COMPLETE",
        "b CHECK_COMPLETE",
        "web CHECK_COMPLETE",
    ];
    assert_eq!(news(&world, &web, known).await, expected);
    assert_eq!(
        world.reason(web.stack).await,
        "Stack CHECK completed successfully. 'CHECK' not fully supported (see resources)"
    );
    act(&world, &web, Action::Check).await;
    let checked = act(&world, &web, Action::Check).await;
    world.settled(&checked).await;
    assert!(!news(&world, &web, known + 5).await.contains(&"b CHECK_COMPLETE".to_owned()));
}

#[actix::test]
async fn a_check_that_fails_goes_on_to_the_end() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "a": test_resource(json!({ "fail": true })),
        "b": test_resource(json!({ "fail": true })),
        "c": test_resource(json!({ "value": "well" })),
    }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let checked = act(&world, &web, Action::Check).await;
    assert_eq!(world.settled(&checked).await, "CHECK_FAILED");
    assert_eq!(
        world.reason(web.stack).await,
        "Resource CHECK failed: \
         a: Resource CHECK failed: Exception: resources.a: Resource not created; \
         b: Resource CHECK failed: Exception: resources.b: Resource not created"
    );
    let expected = ["a CHECK_FAILED", "b CHECK_FAILED", "c CHECK_COMPLETE"];
    assert_eq!(world.resources(web.stack).await, expected);
}

#[actix::test]
async fn an_unhealthy_resource_is_replaced_by_any_update_and_healed_by_a_word() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", pair()).await.unwrap();
    world.settled(&web).await;
    let first = world.physical_id(web.stack, "b").await;
    mark(&world, &web, "b", false).await;
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE", "b CHECK_FAILED"]);
    mark(&world, &web, "b", true).await;
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE", "b CHECK_COMPLETE"]);
    mark(&world, &web, "b", false).await;
    let known = world.events(web.stack).await.len();
    let updated = world.update(web.stack, pair()).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let expected = [
        "web UPDATE_IN_PROGRESS",
        "b CREATE_IN_PROGRESS",
        "b CREATE_COMPLETE",
        "b DELETE_IN_PROGRESS",
        "b DELETE_COMPLETE",
        "web UPDATE_COMPLETE",
    ];
    assert_eq!(news(&world, &web, known).await, expected);
    assert_ne!(world.physical_id(web.stack, "b").await, first);
}

#[actix::test]
async fn an_action_in_the_middle_of_another_waits_for_its_end() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({ "a": test_resource(json!({ "wait_secs": 3 })) }));
    let web = world.create("web", template).await.unwrap();
    world.at_work(&web, "a").await;
    act(&world, &web, Action::Suspend).await;
    act(&world, &web, Action::Resume).await;
    let is_resumed = async || world.at_rest(web.stack).await == "RESUME_COMPLETE";
    until(&[&world], "it is resumed", is_resumed).await;
    let expected = [
        "web CREATE_IN_PROGRESS",
        "a CREATE_IN_PROGRESS",
        "a CREATE_COMPLETE",
        "web CREATE_COMPLETE",
        "web SUSPEND_IN_PROGRESS",
        "a SUSPEND_IN_PROGRESS",
        "a SUSPEND_COMPLETE",
        "web SUSPEND_COMPLETE",
        "web RESUME_IN_PROGRESS",
        "a RESUME_IN_PROGRESS",
        "a RESUME_COMPLETE",
        "web RESUME_COMPLETE",
    ];
    assert_eq!(world.events(web.stack).await, expected);
}

#[actix::test]
async fn a_server_sleeps_and_wakes() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
        "server": { "type": "OS::Nova::Server", "depends_on": "subnet", "properties": {
            "flavor": "m1.tiny", "image": "cirros",
            "networks": [{ "network": { "get_resource": "net" } }] } },
    }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let status = || {
        let servers = ground.sandbox.state()["servers"].clone();
        servers["rows"][0]["status"].as_str().unwrap_or_default().to_owned()
    };
    for (action, end, stands) in [
        (Action::Suspend, "SUSPEND_COMPLETE", "SUSPENDED"),
        (Action::Resume, "RESUME_COMPLETE", "ACTIVE"),
        (Action::Check, "CHECK_COMPLETE", "ACTIVE"),
    ] {
        let accepted = act(&world, &web, action).await;
        assert_eq!(world.settled(&accepted).await, end, "{}", world.reason(web.stack).await);
        assert_eq!(status(), stands);
    }
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn what_stands_for_nothing_is_kept_though_it_is_said_to_be_unhealthy() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({ "a": { "type": "OS::Heat::None", "properties": { "x": 1 } } }));
    let web = world.create("web", template.clone()).await.unwrap();
    world.settled(&web).await;
    let before = world.physical_id(web.stack, "a").await;
    mark(&world, &web, "a", false).await;
    assert_eq!(world.resources(web.stack).await, ["a CHECK_FAILED"]);
    let updated = world.update(web.stack, template).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(web.stack).await, ["a CHECK_COMPLETE"]);
    assert_eq!(world.physical_id(web.stack, "a").await, before);
    let rows = world.views.resources(web.stack).await.unwrap();
    let reason = "Update status to COMPLETE for FAILED resource neither update nor replace.";
    assert_eq!(rows[0].reason, reason);
}
