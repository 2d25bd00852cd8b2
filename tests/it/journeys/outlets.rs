//! What is told to others: notifications, and events in the queues that environments name.

use std::sync::Arc;

use hearth::actors::{Accepted, CreateStack, RequestContext};
use hearth::model::StackSettings;
use hearth::openstack::{Method, Request, Service};
use hearth::outlets::Notification;
use hearth::sandbox::{Fault, FaultRule};
use hearth::template::StackSource;
use serde_json::{Value, json};

use crate::support::cut_log::CutLog;
use crate::support::heard::Received;
use crate::support::wait::until;
use crate::support::world::{Ground, World, hot, log_in, test_resource};

pub(super) async fn create(world: &World, name: &str, template: Value, sinks: &Value) -> Accepted {
    create_as(world, &world.requester(), name, template, sinks).await
}

async fn create_as(
    world: &World,
    who: &RequestContext,
    name: &str,
    template: Value,
    sinks: &Value,
) -> Accepted {
    let environment = json!({ "event_sinks": sinks });
    let ask = CreateStack {
        name: name.into(),
        source: StackSource {
            template,
            environment: environment.as_object().unwrap().clone(),
            ..StackSource::default()
        },
        settings: StackSettings { tags: vec!["blue".to_owned()], ..StackSettings::default() },
    };
    world.engine.create_stack(who, ask).await.unwrap()
}

/// The bodies of all messages, oldest first.
pub(crate) fn messages(ground: &Ground) -> Vec<Value> {
    let state = ground.sandbox.state();
    let rows = state["messages"]["rows"].as_array().cloned().unwrap_or_default();
    rows.into_iter().map(|row| row["body"].clone()).collect()
}

/// `NAME ACTION_STATUS` of each, a repeated one once.
pub(crate) fn told(messages: &[Value]) -> Vec<String> {
    let mut known = std::collections::BTreeSet::new();
    let fresh = messages.iter().filter(|body| known.insert(body["id"].to_string()));
    fresh
        .map(|body| {
            let payload = &body["payload"];
            let text = |key: &str| payload[key].as_str().unwrap().to_owned();
            let (action, status) = (text("resource_action"), text("resource_status"));
            format!("{} {action}_{status}", text("resource_name"))
        })
        .collect()
}

/// Waits until all that the event list has of a stack is in the queue.
async fn all_told(ground: &Ground, world: &World, stack: &Accepted) -> Vec<Value> {
    let all = async || {
        let events = world.events(stack.stack).await;
        let mut messages = messages(ground);
        messages.retain(|body| body["payload"]["stack_id"] == json!(stack.stack));
        let told = told(&messages);
        if told == events { Ok(messages) } else { Err(format!("{told:#?}\nare not\n{events:#?}")) }
    };
    until(&[ground, world], "all is told", all).await
}

#[actix::test]
async fn events_go_to_the_queue_that_the_environment_names() {
    let ground = Ground::new().await;
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    let template = hot(json!({
        "secret": { "type": "OS::Heat::RandomString", "properties": { "length": 20 } },
        "a": test_resource(json!({ "value": { "get_attr": ["secret", "value"] } })),
    }));
    let sinks = json!([{ "type": "zaqar-queue", "target": "bell", "ttl": 120 }]);
    let web = create(&world, "web", template, &sinks).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let messages = all_told(&ground, &world, &web).await;
    let first = &messages[0];
    assert_eq!(first["type"], "os.heat.event");
    assert_eq!(first["version"], "0.1");
    assert_eq!(first["payload"]["stack_id"], json!(web.stack));
    assert_eq!(first["payload"]["resource_type"], "OS::Heat::Stack");
    assert_eq!(first["payload"]["resource_status_reason"], "Stack CREATE started");
    let made = messages.iter().find(|body| body["payload"]["resource_name"] == "a").unwrap();
    assert_eq!(made["payload"]["resource_properties"]["value"], "******");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    // The last event too, though the last stack takes its user's trust with it.
    all_told(&ground, &world, &web).await;
    outlets.stop().await;
}

#[actix::test]
async fn a_queue_that_does_not_answer_is_tried_again_and_one_that_refuses_is_left() {
    let ground = Ground::new().await;
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    let rule = FaultRule {
        path: Some("^/messaging/".to_owned()),
        count: Some(2),
        fault: Fault::Status { code: 503, retry_after: None },
        ..FaultRule::default()
    };
    ground.sandbox.set_faults(vec![rule]).unwrap();
    let sinks = json!([
        { "type": "zaqar-queue", "target": "x".repeat(65) },
        { "type": "zaqar-queue", "target": "bell" },
    ]);
    let template = hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    let web = create(&world, "web", template, &sinks).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    all_told(&ground, &world, &web).await;
    outlets.stop().await;
}

#[actix::test]
async fn a_project_whose_queue_is_out_of_reach_holds_up_no_other_and_loses_nothing() {
    let ground = Ground::new().await;
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    let rule = FaultRule {
        path: Some("^/messaging/v2/queues/far/".to_owned()),
        fault: Fault::Status { code: 503, retry_after: None },
        ..FaultRule::default()
    };
    ground.sandbox.set_faults(vec![rule]).unwrap();
    let template = hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    let far = json!([{ "type": "zaqar-queue", "target": "far" }]);
    let far = create(&world, "far", template.clone(), &far).await;
    assert_eq!(world.settled(&far).await, "CREATE_COMPLETE");
    let other = log_in(&world.auth_url, "alt_demo").await;
    let near = json!([{ "type": "zaqar-queue", "target": "near" }]);
    let near = create_as(&world, &other, "near", template, &near).await;
    assert_eq!(world.settled(&near).await, "CREATE_COMPLETE");
    all_told(&ground, &world, &near).await;
    let mut told = messages(&ground);
    told.retain(|body| body["payload"]["stack_id"] == json!(far.stack));
    assert!(told.is_empty(), "{told:#?}");
    world.engine.shutdown();
    outlets.stop().await;
    drop(world);
    ground.sandbox.set_faults(Vec::new()).unwrap();
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    ground.views_catch_up(&world).await;
    all_told(&ground, &world, &far).await;
    outlets.stop().await;
}

#[actix::test]
async fn events_that_are_too_long_for_one_request_go_in_several() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let sinks = json!([{ "type": "zaqar-queue", "target": "bell" }]);
    let resources = (0..6).map(|number| {
        let name = format!("r{number}");
        (name, test_resource(json!({ "value": "x".repeat(60_000) })))
    });
    let template = hot(Value::Object(resources.collect()));
    let web = create(&world, "web", template, &sinks).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    drop(world);
    // All of them are due at once.
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    ground.views_catch_up(&world).await;
    all_told(&ground, &world, &web).await;
    outlets.stop().await;
}

#[actix::test]
async fn events_that_a_queue_does_not_take_together_go_one_by_one() {
    let ground = Ground::new().await;
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    let patch =
        json!([{ "op": "add", "path": "/metadata/_max_messages_post_size", "value": 1000 }]);
    let less = Request::new(Method::Patch, Service::of_type("messaging"), "/v2/queues/bell")
        .header("client-id", "test")
        .json(patch);
    ground.session().send(less).await.unwrap();
    let sinks = json!([{ "type": "zaqar-queue", "target": "bell" }]);
    let template = hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    let web = create(&world, "web", template, &sinks).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    all_told(&ground, &world, &web).await;
    outlets.stop().await;
}

#[actix::test]
async fn signals_to_what_is_no_group_have_its_stream_read_once() {
    let ground = Ground::new().await;
    let log = Arc::new(CutLog::new(ground.log.clone(), i64::MAX));
    let heard = Received::default();
    let (world, outlets) = ground.start_telling(log.clone(), Some(&heard)).await;
    let handle = json!({ "type": "OS::Heat::WaitConditionHandle" });
    let web = world.create("web", hot(json!({ "handle": handle }))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    for id in 0..10 {
        let (who, details) = (world.requester(), json!({ "id": id.to_string() }));
        world.engine.signal_resource(&who, web.stack, &"handle".into(), &details).await.unwrap();
    }
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    received(&heard, 4).await;
    outlets.stop().await;
    assert_eq!(ground.count("SignalHandled").await, 10);
    let reads = log.read_of("resource");
    assert!((1..=2).contains(&reads), "{reads}");
}

#[actix::test]
async fn events_are_told_once_more_after_a_crash_and_none_is_left_out() {
    let sinks = json!([{ "type": "zaqar-queue", "target": "bell" }]);
    let template = hot(json!({
        "a": test_resource(json!({ "value": "x" })),
        "b": test_resource(json!({ "value": { "get_resource": "a" } })),
    }));
    for appends in 4..30 {
        let ground = Ground::new().await;
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let (world, outlets) = ground.start_telling(log.clone(), None).await;
        let web = create(&world, "web", template.clone(), &sinks).await;
        let is_done = async || world.events(web.stack).await.len() >= 6;
        log.until(&world, "it is done", is_done).await;
        let whole = !log.is_cut();
        log.cut();
        world.engine.shutdown();
        // Nothing is noted any more, as in a process that was killed.
        outlets.stop().await;
        drop(world);
        let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
        ground.views_catch_up(&world).await;
        assert_eq!(world.at_rest(web.stack).await, "CREATE_COMPLETE");
        all_told(&ground, &world, &web).await;
        outlets.stop().await;
        if whole {
            assert!(appends > 6, "{appends}");
            return;
        }
    }
    panic!("the journey is longer than thought");
}

/// Waits for a number of notifications.
async fn received(received: &Received, count: usize) -> Vec<Notification> {
    let now = async || match received.borrow().clone() {
        now if now.len() >= count => Ok(now),
        now => Err(format!("{now:#?}")),
    };
    until(&[&**received], format!("{count} notifications"), now).await
}

fn types(received: &[Notification]) -> Vec<&str> {
    received.iter().map(|it| it.event_type.strip_prefix("orchestration.").unwrap()).collect()
}

#[actix::test]
async fn the_life_of_a_stack_is_notified_with_heats_keys() {
    let ground = Ground::new().await;
    let bell = Received::default();
    let (world, outlets) = ground.start_telling(ground.log.clone(), Some(&bell)).await;
    let template = |value: &str, fail: bool| {
        let properties = json!({ "value": value, "fail": fail, "update_replace": true });
        let mut template = hot(json!({ "a": test_resource(properties) }));
        template["description"] = "A web".into();
        template
    };
    let web = create(&world, "web", template("x", false), &json!([])).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let updated = world.update(web.stack, template("y", true)).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_FAILED");
    let told = received(&bell, 4).await;
    assert_eq!(
        types(&told),
        ["stack.create.start", "stack.create.end", "stack.update.start", "stack.update.error"]
    );
    let requester = world.requester();
    let mut payload = told[1].payload.clone();
    for key in ["create_at", "stack_identity"] {
        assert!(payload.as_object_mut().unwrap().remove(key).unwrap().is_string(), "{key}");
    }
    assert_eq!(
        payload,
        json!({
            "tenant_id": requester.caller.project_id,
            "user_id": "demo",
            "user_identity": requester.caller.user_id,
            "username": "demo",
            "stack_name": "web",
            "state": "CREATE_COMPLETE",
            "state_reason": "Stack CREATE completed successfully",
            "description": "A web",
            "tags": ["blue"],
            "updated_at": null,
        })
    );
    let priorities: Vec<&str> = told.iter().map(|it| it.priority.as_str()).collect();
    assert_eq!(priorities, ["INFO", "INFO", "INFO", "ERROR"]);
    assert_eq!(told[3].publisher_id, "orchestration.test");
    assert!(told[3].payload["updated_at"].is_string());
    let mut keys: Vec<String> = told[0].to_json().as_object().unwrap().keys().cloned().collect();
    keys.sort();
    let wanted = ["event_type", "message_id", "payload", "priority", "publisher_id", "timestamp"];
    assert_eq!(keys, wanted);
    outlets.stop().await;
    // What was told and noted is not told again; what comes next is.
    let (_world, outlets) = ground.start_telling(ground.log.clone(), Some(&bell)).await;
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    let told = received(&bell, 6).await;
    assert_eq!(types(&told[4..]), ["stack.delete.start", "stack.delete.end"]);
    outlets.stop().await;
}

#[actix::test]
async fn the_scaling_of_a_group_is_notified() {
    let ground = Ground::new().await;
    let bell = Received::default();
    let (world, outlets) = ground.start_telling(ground.log.clone(), Some(&bell)).await;
    let template = hot(json!({
        "g": { "type": "OS::Heat::AutoScalingGroup", "properties": {
            "min_size": 1, "max_size": 3,
            "resource": test_resource(json!({ "value": "x" })) } },
        "up": { "type": "OS::Heat::ScalingPolicy", "properties": {
            "auto_scaling_group_id": { "get_resource": "g" },
            "scaling_adjustment": 2, "adjustment_type": "change_in_capacity" } },
    }));
    let web = create(&world, "web", template, &json!([])).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let before = received(&bell, 4).await.len();
    let (who, up) = (world.requester(), "up".into());
    world.engine.signal_resource(&who, web.stack, &up, &Value::Null).await.unwrap();
    ground.signals_over().await;
    let told = received(&bell, before + 4).await;
    let told = &told[before..];
    assert_eq!(
        types(told),
        ["autoscaling.start", "stack.update.start", "stack.update.end", "autoscaling.end"]
    );
    let payload = |at: usize, key: &str| told[at].payload[key].clone();
    assert_eq!(payload(0, "stack_name"), "web");
    assert_eq!(payload(0, "state"), "CREATE_COMPLETE");
    assert_eq!(payload(0, "adjustment"), 2);
    assert_eq!(payload(0, "adjustment_type"), "change_in_capacity");
    assert_eq!((payload(0, "capacity"), payload(3, "capacity")), (json!(1), json!(3)));
    let group = payload(0, "groupname").as_str().unwrap().to_owned();
    assert!(group.starts_with("web-g-"), "{group}");
    assert_eq!(payload(0, "message"), format!("Start resizing the group {group}"));
    assert_eq!(payload(3, "message"), format!("End resizing the group {group}"));
    outlets.stop().await;
}

/// Notifications of a log that was there before anybody listened are those to come.
#[actix::test]
async fn what_happened_before_notifications_were_switched_on_is_not_told() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    let web = create(&world, "web", template, &json!([])).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    ground.log.durable(web.position).await.unwrap();
    world.engine.shutdown();
    drop(world);
    let bell = Received::default();
    let (world, outlets) = ground.start_telling(ground.log.clone(), Some(&bell)).await;
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    let told = received(&bell, 2).await;
    assert_eq!(types(&told), ["stack.delete.start", "stack.delete.end"]);
    outlets.stop().await;
}
