//! Limits: counted exactly, over whole trees of stacks and whoever asks at once.

use hearth::actors::EngineLimits;
use hearth::model::StackId;
use serde_json::{Value, json};

use crate::support::world::{Ground, World, hot, test_resource};

const TOO_MANY: &str = "Request limit exceeded: Maximum resources per stack exceeded.";

fn within(limit: usize) -> EngineLimits {
    EngineLimits { max_resources_per_stack: Some(limit), ..Ground::limits() }
}

fn group(count: u32) -> Value {
    json!({ "type": "OS::Heat::ResourceGroup", "properties": {
        "count": count, "resource_def": test_resource(json!({ "value": "x" })) } })
}

async fn end(world: &World, template: Value) -> (String, String) {
    let web = world.create("web", template).await.unwrap();
    (world.settled(&web).await, world.reason(web.stack).await)
}

#[actix::test]
async fn the_whole_tree_is_counted() {
    let ground = Ground::new().await;
    let world = ground.start_within(within(6)).await;
    // Two of its own, and two in each group.
    let two = hot(json!({ "a": group(2), "b": group(2) }));
    assert_eq!(end(&world, two).await.0, "CREATE_COMPLETE");
    let ground = Ground::new().await;
    let world = ground.start_within(within(6)).await;
    let three = hot(json!({ "a": group(2), "b": group(3) }));
    let (state, reason) = end(&world, three).await;
    assert_eq!(state, "CREATE_FAILED");
    assert!(reason.starts_with("Resource CREATE failed: resources."), "{reason}");
    assert!(reason.ends_with(TOO_MANY), "{reason}");
}

#[actix::test]
async fn a_group_grows_as_far_as_the_tree_has_room_also_after_a_restart() {
    let ground = Ground::new().await;
    let world = ground.start_within(within(5)).await;
    let of = |a: u32| hot(json!({ "a": group(a), "b": group(1) }));
    let web = world.create("web", of(1)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    world.engine.shutdown();
    drop(world);
    let world = ground.start_within(within(5)).await;
    let grown = world.update(web.stack, of(2)).await.unwrap();
    assert_eq!(world.settled(&grown).await, "UPDATE_COMPLETE");
    let beyond = world.update(web.stack, of(3)).await.unwrap();
    assert_eq!(world.settled(&beyond).await, "UPDATE_FAILED");
    let reason = world.reason(web.stack).await;
    assert_eq!(reason, format!("Resource UPDATE failed: resources.a: {TOO_MANY}"));
    let child = StackId(world.physical_id(web.stack, "b").await.unwrap().parse().unwrap());
    assert_eq!(world.resources(child).await, ["0 CREATE_COMPLETE"]);
    // What is deleted makes room.
    let less = world.update(web.stack, hot(json!({ "a": group(3) }))).await.unwrap();
    assert_eq!(world.settled(&less).await, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
}

#[actix::test]
async fn a_signal_lets_a_group_grow_as_far_as_there_is_room() {
    let ground = Ground::new().await;
    let world = ground.start_within(within(4)).await;
    let template = hot(json!({
        "g": { "type": "OS::Heat::AutoScalingGroup", "properties": {
            "min_size": 1, "max_size": 9,
            "resource": test_resource(json!({ "value": "x" })) } },
        "up": { "type": "OS::Heat::ScalingPolicy", "properties": {
            "auto_scaling_group_id": { "get_resource": "g" },
            "scaling_adjustment": 1, "adjustment_type": "change_in_capacity" } },
    }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let child = StackId(world.physical_id(web.stack, "g").await.unwrap().parse().unwrap());
    for members in [2, 2] {
        let (who, up) = (world.requester(), "up".into());
        let _ = world.engine.signal_resource(&who, web.stack, &up, &Value::Null).await;
        ground.signals_over().await;
        ground.views_catch_up(&world).await;
        assert_eq!(world.resources(child).await.len(), members);
    }
}

#[actix::test]
async fn a_template_that_is_too_large_in_itself_is_refused_before_anything_is_made() {
    let ground = Ground::new().await;
    let world = ground.start_within(within(2)).await;
    let three = json!({
        "a": test_resource(json!({ "value": "x" })),
        "b": test_resource(json!({ "value": "x" })),
        "c": test_resource(json!({ "value": "x" })),
    });
    let refused = world.create("web", hot(three.clone())).await.unwrap_err();
    assert_eq!(
        (refused.class.as_ref(), refused.message.as_str()),
        ("RequestLimitExceeded", TOO_MANY)
    );
    let environment = json!({ "resource_registry": { "My::Thing": "behind.yaml" } });
    let ask = hearth::actors::CreateStack {
        name: "web".into(),
        source: hearth::template::StackSource {
            template: hot(json!({ "thing": { "type": "My::Thing" } })),
            environment: environment.as_object().unwrap().clone(),
            files: [("behind.yaml".to_owned(), hot(three).to_string())].into(),
            ..Default::default()
        },
        settings: Default::default(),
    };
    let refused = world.engine.create_stack(&world.requester(), ask).await.unwrap_err();
    assert_eq!(refused.class, "StackValidationFailed");
    assert_eq!(
        refused.message,
        format!("RequestLimitExceeded: : resources.thing<behind.yaml>: : {TOO_MANY}")
    );
    assert!(world.stack_named("web").await.is_none());
}

#[actix::test]
async fn of_many_stacks_that_are_asked_for_at_once_the_project_gets_its_quota_exactly() {
    let ground = Ground::new().await;
    let limits = EngineLimits { max_stacks_per_tenant: Some(7), ..Ground::limits() };
    let world = ground.start_within(limits).await;
    let template = || hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    let names: Vec<String> = (0..40).map(|number| format!("s{number}")).collect();
    let asked = names.iter().map(|name| world.create(name, template()));
    let answers = futures::future::join_all(asked).await;
    let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((made.len(), refused.len()), (7, 33));
    let text = "Request limit exceeded: You have reached the maximum stacks per tenant, 7. \
                Please delete some stacks.";
    for refusal in refused.into_iter().map(Result::unwrap_err) {
        assert_eq!(
            (refusal.class.as_ref(), refusal.message.as_str()),
            ("RequestLimitExceeded", text)
        );
    }
    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    for one in &made {
        assert_eq!(world.settled(one).await, "CREATE_COMPLETE");
    }
    // One goes, and one may come.
    let gone = world.delete(made[0].stack).await.unwrap();
    assert_eq!(world.settled(&gone).await, "DELETE_COMPLETE");
    let asked = ["n0", "n1", "n2"].map(|name| world.create(name, template()));
    let again = futures::future::join_all(asked).await;
    assert_eq!(again.iter().filter(|answer| answer.is_ok()).count(), 1);
}

#[actix::test]
async fn configurations_of_a_project_are_counted_exactly_also_after_a_restart() {
    let ground = Ground::new().await;
    let limits = || EngineLimits { max_software_configs_per_tenant: Some(3), ..Ground::limits() };
    let world = ground.start_within(limits()).await;
    let asked = (0..9).map(|_| async {
        world.engine.software().create(&world.requester(), Default::default()).await
    });
    let answers = futures::future::join_all(asked).await;
    let made: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
    assert_eq!(made.len(), 3);
    let last = made.iter().map(|(_, position)| *position).max().unwrap();
    world.views.after(last).await.unwrap();
    world.engine.shutdown();
    drop(world);
    let world = ground.start_within(limits()).await;
    let keeper = world.engine.software();
    let refused = keeper.create(&world.requester(), Default::default()).await.unwrap_err();
    assert_eq!(
        refused.message,
        "Request limit exceeded: You have reached the maximum software configs per tenant, 3. \
         Please delete some configs."
    );
    keeper.delete(&world.requester(), &made[0].0.to_string()).await.unwrap();
    keeper.create(&world.requester(), Default::default()).await.unwrap();
    keeper.create(&world.requester(), Default::default()).await.unwrap_err();
    let template = hot(json!({ "config": { "type": "OS::Heat::SoftwareConfig" } }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let reason = world.reason(web.stack).await;
    assert!(reason.contains("maximum software configs per tenant, 3"), "{reason}");
}
