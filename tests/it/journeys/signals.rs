//! Signals to resources: who takes them, and what is told of them.

use hearth::actors::Accepted;
use hearth::events::Position;
use hearth::events::log::Filter;
use hearth::model::{Action, Refusal};
use hearth::projections::EventQuery;
use serde_json::{Value, json};

use crate::support::keystone::users_of;
use crate::support::queue::Queue;
use crate::support::wait::until;
use crate::support::world::{Ground, World, hot, test_resource};

async fn signal(
    world: &World,
    stack: &Accepted,
    name: &str,
    details: Value,
) -> Result<(), Refusal> {
    let who = world.requester();
    let taken = world.engine.signal_resource(&who, stack.stack, &name.into(), &details).await?;
    world.views.after(taken.position).await.unwrap();
    Ok(())
}

/// The newest lines of the event list that are of a resource: status and reason.
async fn told(world: &World, stack: &Accepted, name: &str) -> Vec<String> {
    let query = EventQuery {
        names: vec![name.to_owned()],
        descending: Some(false),
        ..EventQuery::default()
    };
    let events = world.views.events(stack.stack, query).await.unwrap();
    let line =
        |it: &hearth::projections::EventRow| format!("{}_{} {}", it.action, it.status, it.reason);
    events.iter().map(line).collect()
}

#[actix::test]
async fn a_type_that_takes_no_signals_refuses_them() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", hot(json!({ "a": test_resource(json!({})) }))).await.unwrap();
    world.settled(&web).await;
    let refused = signal(&world, &web, "a", Value::Null).await.unwrap_err();
    let expected = ("ResourceActionNotSupported", "signal is not supported for resource.");
    assert_eq!((&*refused.class, &*refused.message), expected);
}

#[actix::test]
async fn a_suspended_resource_takes_no_signal_and_its_event_list_says_so() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", hot(json!({ "a": test_resource(json!({})) }))).await.unwrap();
    world.settled(&web).await;
    let who = world.requester();
    let suspended = world.engine.act_on_stack(&who, web.stack, Action::Suspend).await.unwrap();
    world.settled(&suspended).await;
    let refused = signal(&world, &web, "a", json!({})).await.unwrap_err();
    let expected = ("NotSupported", "Signal resource during SUSPEND is not supported.");
    assert_eq!((&*refused.class, &*refused.message), expected);
    world.views.after(ground.log.durable_position()).await.unwrap();
    let last = told(&world, &web, "a").await.pop();
    let expected = "SUSPEND_COMPLETE Cannot signal resource during SUSPEND";
    assert_eq!(last.as_deref(), Some(expected));
}

/// A condition that waits for two signals to its handle, and an output of their data.
fn waiting(timeout: f64) -> Value {
    let mut template = hot(json!({
        "handle": { "type": "OS::Heat::WaitConditionHandle" },
        "wait": { "type": "OS::Heat::WaitCondition", "properties": {
            "handle": { "get_resource": "handle" }, "timeout": timeout, "count": 2 } },
        "after": test_resource(json!({ "value": { "get_attr": ["wait", "data"] } })),
    }));
    template["outputs"] = json!({ "data": { "value": { "get_attr": ["wait", "data"] } } });
    template
}

async fn output(world: &World, stack: &Accepted) -> Value {
    let shown = world.views.stack_shown(stack.stack).await.unwrap().unwrap();
    world.opened(stack.stack, &shown.outputs[0].placed)
}

#[actix::test]
async fn a_condition_waits_for_the_signals_to_its_handle() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", waiting(60.0)).await.unwrap();
    world.at_work(&web, "wait").await;
    signal(&world, &web, "handle", json!({ "data": "first", "id": "a" })).await.unwrap();
    signal(&world, &web, "handle", json!({ "data": "again", "id": "a" })).await.unwrap();
    signal(&world, &web, "handle", json!({ "status": "PERHAPS" })).await.unwrap();
    signal(&world, &web, "handle", Value::Null).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let expected = [
        "CREATE_IN_PROGRESS state changed",
        "CREATE_COMPLETE state changed",
        "SIGNAL_COMPLETE Signal: status:SUCCESS reason:Signal 1 received",
        "SIGNAL_COMPLETE Signal: status:SUCCESS reason:Signal 2 received",
        "SIGNAL_COMPLETE Signal: status:SUCCESS reason:Signal 2 received",
    ];
    assert_eq!(told(&world, &web, "handle").await, expected);
    assert_eq!(output(&world, &web).await, r#"{"a": "again", "2": null}"#);
    let metadata =
        world.engine.resource_metadata(&world.requester(), web.stack, &"handle".into()).await;
    assert_eq!(metadata.unwrap()["a"]["data"], "again");

    // What comes later is told all the same.
    signal(&world, &web, "handle", json!({ "data": "late", "id": "z" })).await.unwrap();
    let late = r#"{"a": "again", "2": null, "z": "late"}"#;
    world.shows("what comes late", async || output(&world, &web).await == late).await;
    let who = world.requester();
    let live = world.engine.inspect_resource(&who, web.stack, &"wait".into(), &[]).await.unwrap();
    assert_eq!(live["data"], late);
}

#[actix::test]
async fn a_signal_of_failure_fails_the_condition_with_its_reason() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", waiting(60.0)).await.unwrap();
    world.at_work(&web, "wait").await;
    let details = json!({ "status": "FAILURE", "reason": "the disk is full" });
    signal(&world, &web, "handle", details).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let expected = "Resource CREATE failed: WaitConditionFailure: resources.wait: the disk is full";
    assert_eq!(world.reason(web.stack).await, expected);
}

#[actix::test]
async fn a_condition_without_its_signals_fails_in_time() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", waiting(1.0)).await.unwrap();
    world.at_work(&web, "wait").await;
    signal(&world, &web, "handle", json!({})).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let expected = "Resource CREATE failed: WaitConditionTimeout: resources.wait: 1 of 2 received \
                    - Signal 1 received";
    assert_eq!(world.reason(web.stack).await, expected);
}

#[actix::test]
async fn a_wait_goes_on_in_the_next_process_with_what_the_one_before_heard() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", waiting(60.0)).await.unwrap();
    world.at_work(&web, "wait").await;
    signal(&world, &web, "handle", json!({ "id": "a" })).await.unwrap();
    world.engine.shutdown();
    drop(world);
    let world = ground.start().await;
    signal(&world, &web, "handle", json!({ "id": "b" })).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    assert_eq!(output(&world, &web).await, r#"{"a": null, "b": null}"#);
}

#[actix::test]
async fn what_is_no_handle_is_not_waited_for() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = |kind: &str, names: [&str; 2]| {
        hot(json!({
            "other": { "type": "OS::Heat::None" },
            "wait": { "type": kind, "properties": {
                names[0]: { "get_resource": "other" }, names[1]: 9 } },
        }))
    };
    for (name, kind, names, text) in [
        (
            "own",
            "OS::Heat::WaitCondition",
            ["handle", "timeout"],
            "other is not a valid wait condition handle.",
        ),
        (
            "aws",
            "AWS::CloudFormation::WaitCondition",
            ["Handle", "Timeout"],
            "WaitCondition invalid Handle other",
        ),
    ] {
        let stack = world.create(name, template(kind, names)).await.unwrap();
        assert_eq!(world.settled(&stack).await, "CREATE_FAILED");
        let expected = format!("Resource CREATE failed: ValueError: resources.wait: {text}");
        assert_eq!(world.reason(stack.stack).await, expected);
    }
}

/// A handle of CloudFormation's words and a condition on it.
fn renewed(handle: &str) -> Value {
    hot(json!({
        "handle": { "type": handle },
        "wait": { "type": "AWS::CloudFormation::WaitCondition", "properties": {
            "Handle": { "get_resource": "handle" }, "Timeout": 60 } },
    }))
}

#[actix::test]
async fn a_renewed_handle_wants_new_signals_with_each_update_and_another_does_not() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let details = json!({ "Status": "SUCCESS", "UniqueId": "a", "Reason": "ok", "Data": "x" });
    for (name, handle, waits_again) in [
        ("renewed", "OS::Heat::UpdateWaitConditionHandle", true),
        ("plain", "AWS::CloudFormation::WaitConditionHandle", false),
    ] {
        let stack = world.create(name, renewed(handle)).await.unwrap();
        world.at_work(&stack, "wait").await;
        signal(&world, &stack, "handle", details.clone()).await.unwrap();
        assert_eq!(world.settled(&stack).await, "CREATE_COMPLETE", "{name}");
        let before = world.physical_id(stack.stack, "handle").await;
        let updated = world.update(stack.stack, renewed(handle)).await.unwrap();
        if waits_again {
            world.at_work(&stack, "wait").await;
            signal(&world, &stack, "handle", details.clone()).await.unwrap();
        }
        assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE", "{name}");
        let after = world.physical_id(stack.stack, "handle").await;
        assert_eq!(before != after, waits_again, "{name}");
        let deleted = world.delete(stack.stack).await.unwrap();
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{name}");
    }
}

#[actix::test]
async fn a_handle_that_needs_no_signal_is_not_waited_for() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut template = waiting(60.0);
    template["resources"]["handle"]["properties"] = json!({ "signal_transport": "NO_SIGNAL" });
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    assert_eq!(output(&world, &web).await, r#"{"1": null, "2": null}"#);
}

#[actix::test]
async fn signals_are_put_into_an_object_of_swift() {
    let ground = Ground::new().await;
    let empty = ground.counts();
    let world = ground.start().await;
    let template = hot(json!({
        "the händle": { "type": "OS::Heat::SwiftSignalHandle" },
        "signal": { "type": "OS::Heat::SwiftSignal", "properties": {
            "handle": { "get_resource": "the händle" }, "timeout": 60 } },
    }));
    let web = world.create("web", template).await.unwrap();
    world.at_work(&web, "signal").await;
    let who = world.requester();
    let handle = world.engine.inspect_resource(&who, web.stack, &"the händle".into(), &[]).await;
    let endpoint = handle.unwrap()["endpoint"].as_str().unwrap().to_owned();
    assert!(endpoint.contains("temp_url_sig="), "{endpoint}");
    put(&endpoint, &json!({ "id": "a", "data": "fine" })).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let signal = world.engine.inspect_resource(&who, web.stack, &"signal".into(), &[]).await;
    assert_eq!(signal.unwrap()["data"], r#"{"a": "fine"}"#);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    let containers = |counts: &Value| (counts["containers"].clone(), counts["objects"].clone());
    assert_eq!(containers(&ground.counts()), containers(&empty));
}

#[actix::test]
async fn a_signed_address_is_open_to_anybody_as_it_is() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let names = ["handle", "web server", "hän", "am&p", "par(en)", "at@x,y", "a+b%41"];
    let of = |name: &str| (name.to_owned(), json!({ "type": "OS::Heat::SwiftSignalHandle" }));
    let template = hot(Value::Object(names.iter().map(|name| of(name)).collect()));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let who = world.requester();
    let put = |address: String| async move {
        let put = reqwest::Client::new().put(address).body("{}").send();
        put.await.unwrap().status().as_u16()
    };
    for name in names {
        let found = world.engine.inspect_resource(&who, web.stack, &name.into(), &[]).await;
        let address = found.unwrap()["endpoint"].as_str().unwrap().to_owned();
        assert_eq!(put(address.clone()).await, 201, "{address}");
        assert_eq!(put(address.replace("/object-store", "")).await, 201);
        assert_eq!(put(address.replace("temp_url_sig=", "temp_url_sig=0")).await, 401);
        let other = address.replacen("/v1/AUTH_", "/v1/AUTH_0", 1);
        assert_eq!(put(other).await, 401);
    }
}

/// What a resource tells whoever is to signal it, once it does.
async fn told_by(world: &World, stack: &Accepted, name: &str, part: &str) -> Value {
    let told = async || {
        let who = world.requester();
        let shown = world.engine.inspect_resource(&who, stack.stack, &name.into(), &[]).await;
        let signal = shown.ok().and_then(|shown| Some(shown.get("signal")?.as_str()?.to_owned()));
        let known = signal.and_then(|signal| serde_json::from_str::<Value>(&signal).ok());
        known.filter(|known| known[part].is_string())
    };
    until(&[world], format!("{name} tells {part}"), told).await
}

/// Puts a word to an address of Swift's, as curl does.
async fn put(address: &str, word: &Value) {
    let put = reqwest::Client::new().put(address).body(word.to_string()).send().await.unwrap();
    assert!(put.status().is_success(), "{put:?}");
}

#[actix::test]
async fn signals_are_put_to_the_object_of_a_handle() {
    let ground = Ground::new().await;
    let empty = ground.counts();
    let world = ground.start().await;
    let mut template = waiting(60.0);
    template["resources"]["handle"]["properties"] =
        json!({ "signal_transport": "TEMP_URL_SIGNAL" });
    let web = world.create("web", template).await.unwrap();
    let told = told_by(&world, &web, "handle", "alarm_url").await;
    let address = told["alarm_url"].as_str().unwrap();
    put(address, &json!({ "id": "a", "data": "first" })).await;
    put(address, &json!({ "id": "b", "data": "second" })).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(output(&world, &web).await, r#"{"a": "first", "b": "second"}"#);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(users_of(&ground, "web").await.is_empty(), "a user is left behind");
    for kind in ["containers", "objects"] {
        assert_eq!(ground.counts()[kind], empty[kind], "{kind}");
    }
}

#[actix::test]
async fn signals_are_posted_to_the_queue_of_a_handle_and_kept_longer_than_there() {
    let ground = Ground::new().await;
    let empty = ground.counts();
    let world = ground.start().await;
    let mut template = waiting(60.0);
    template["resources"]["handle"]["properties"] = json!({ "signal_transport": "ZAQAR_SIGNAL" });
    let web = world.create("web", template).await.unwrap();
    let told = told_by(&world, &web, "handle", "queue_id").await;
    let queue = Queue::of(&told).await;
    queue.post(&json!({ "data": "first" })).await;
    until(&[&ground], "it is heard", async || heard(&ground).await).await;
    queue.empty().await;
    world.engine.shutdown();
    drop(world);
    let world = ground.start().await;
    queue.post(&json!({ "id": "b", "data": "second" })).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(output(&world, &web).await, r#"{"1": "first", "b": "second"}"#);
    // The user is kept out meanwhile, and still his queue goes.
    let who = world.requester();
    let suspended = world.engine.act_on_stack(&who, web.stack, Action::Suspend).await.unwrap();
    assert_eq!(world.settled(&suspended).await, "SUSPEND_COMPLETE");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(users_of(&ground, "web").await.is_empty(), "a user is left behind");
    assert_eq!(ground.counts()["messages"], empty["messages"]);
}

/// Whether something that was posted is on record.
async fn heard(ground: &Ground) -> bool {
    let events = ground.log.read_all(Position(0), &Filter::default(), 1_000).await.unwrap();
    events.iter().any(|event| event.body.to_string().contains("\"heard\""))
}

#[actix::test]
async fn a_signal_of_failure_that_is_posted_fails_the_condition_with_its_reason() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut template = waiting(60.0);
    template["resources"]["handle"]["properties"] = json!({ "signal_transport": "ZAQAR_SIGNAL" });
    let web = world.create("web", template).await.unwrap();
    let queue = Queue::of(&told_by(&world, &web, "handle", "queue_id").await).await;
    queue.post(&json!({ "status": "FAILURE", "reason": "the disk is full" })).await;
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let expected = "Resource CREATE failed: WaitConditionFailure: resources.wait: the disk is full";
    assert_eq!(world.reason(web.stack).await, expected);
}

#[actix::test]
async fn what_comes_and_is_no_signal_fails_the_condition_at_once() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let bad = [
        json!({ "status": "FAILED", "reason": "it broke" }),
        json!({ "status": "failure" }),
        json!({ "status": 1 }),
        json!({ "status": null }),
        json!({ "foo": "x" }),
        json!("SUCCESS"),
    ];
    let invalid = "Resource CREATE failed: ValueError: resources.wait: Metadata format invalid";
    for (number, word) in bad.iter().enumerate() {
        let mut template = waiting(3_600.0);
        template["resources"]["handle"]["properties"] =
            json!({ "signal_transport": "TEMP_URL_SIGNAL" });
        let web = world.create(&format!("put{number}"), template.clone()).await.unwrap();
        let told = told_by(&world, &web, "handle", "alarm_url").await;
        put(told["alarm_url"].as_str().unwrap(), word).await;
        assert_eq!(world.settled(&web).await, "CREATE_FAILED", "{word}");
        assert_eq!(world.reason(web.stack).await, invalid, "{word}");

        template["resources"]["handle"]["properties"] =
            json!({ "signal_transport": "ZAQAR_SIGNAL" });
        let web = world.create(&format!("posted{number}"), template).await.unwrap();
        let queue = Queue::of(&told_by(&world, &web, "handle", "queue_id").await).await;
        queue.post(&json!({ "data": "first" })).await;
        queue.post(word).await;
        assert_eq!(world.settled(&web).await, "CREATE_FAILED", "{word}");
        assert_eq!(world.reason(web.stack).await, invalid, "{word}");
    }
    let mut template = waiting(3_600.0);
    template["resources"]["handle"]["properties"] =
        json!({ "signal_transport": "TEMP_URL_SIGNAL" });
    let web = world.create("text", template).await.unwrap();
    let told = told_by(&world, &web, "handle", "alarm_url").await;
    let address = told["alarm_url"].as_str().unwrap().to_owned();
    reqwest::Client::new().put(address).body("no JSON").send().await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let expected =
        "Resource CREATE failed: Error: resources.wait: Failed to parse JSON data: no JSON";
    assert_eq!(world.reason(web.stack).await, expected);
}
