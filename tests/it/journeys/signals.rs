//! Signals to resources: who takes them, and what is told of them.

use hearth::actors::Accepted;
use hearth::events::log::EventLog;
use hearth::model::{Action, Refusal};
use hearth::projections::EventQuery;
use serde_json::{Value, json};

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
