//! Notifications on a message bus.

use std::sync::Arc;

use hearth::model::bus::{BusSettings, MessageFormat};
use hearth::outlets::Carrier;
use serde_json::{Value, json};

use super::outlets::create;
use crate::support::broker::{Broker, Taken, Whim};
use crate::support::cut_log::CutLog;
use crate::support::printed::Printed;
use crate::support::wait::until;
use crate::support::world::{Ground, World, hot, test_resource};

/// The driver `messagingv2`.
fn carrier(broker: &Broker) -> Option<Carrier> {
    Some(Carrier::Bus(vec![bus(broker, MessageFormat::Envelope)]))
}

fn bus(broker: &Broker, format: MessageFormat) -> Option<Arc<BusSettings>> {
    Some(Arc::new(BusSettings { format, ..broker.settings() }))
}

fn template(fail: bool) -> Value {
    hot(json!({ "a": test_resource(json!({ "value": "x", "fail": fail })) }))
}

/// Waits for a number of different messages; what the broker has by then.
async fn taken(broker: &Broker, count: usize) -> Vec<Taken> {
    let now = async || {
        let taken = broker.taken();
        let is_all = types(&taken).len() >= count;
        if is_all { Ok(taken) } else { Err(format!("{:?}", types(&taken))) }
    };
    until(&[broker], format!("{count} messages"), now).await
}

/// What each message is of; oslo.messaging passes over one with an id that was there.
fn types(taken: &[Taken]) -> Vec<String> {
    let mut known = std::collections::BTreeSet::new();
    let messages = taken.iter().map(Taken::message);
    let fresh = messages.filter(|it| known.insert(it["_unique_id"].to_string()));
    fresh.map(|it| it["event_type"].as_str().unwrap().to_owned()).collect()
}

/// What each notification in the log is of.
fn logged(printed: &Printed) -> Vec<String> {
    let text = printed.text();
    let found = text.lines().filter_map(|line| line.find("{\"message_id\"").map(|at| &line[at..]));
    let notifications = found.map(|it| serde_json::from_str::<Value>(it).unwrap());
    notifications.map(|it| it["event_type"].as_str().unwrap().to_owned()).collect()
}

async fn create_and_delete(world: &World) {
    let web = create(world, "web", template(false), &json!([])).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

const LIFE: [&str; 4] = [
    "orchestration.stack.create.start",
    "orchestration.stack.create.end",
    "orchestration.stack.delete.start",
    "orchestration.stack.delete.end",
];

/// The fields are those that `messagingv2` of oslo.messaging 17 was seen to send for Heat 27.
#[actix::test]
async fn a_stack_is_told_of_as_oslo_messaging_tells_it() {
    let (ground, broker) = (Ground::new().await, Broker::start());
    let (world, outlets) = ground.start_carrying(ground.log.clone(), carrier(&broker)).await;
    let web = create(&world, "web", template(true), &json!([])).await;
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let taken = taken(&broker, 2).await;
    let queues: Vec<&str> = taken.iter().map(|it| it.queue.as_str()).collect();
    assert_eq!(queues, ["notifications.info", "notifications.error"]);
    assert!(taken.iter().all(|it| it.exchange == "heat" && it.content_type == "application/json"));
    assert!(taken.iter().all(|it| it.format() == MessageFormat::Envelope));
    assert_eq!(broker.declared(), ["heat", "notifications.info", "heat", "notifications.error"]);
    let mut message = taken[0].message();
    let fields = message.as_object_mut().unwrap();
    let id = fields.remove("message_id").unwrap();
    let unique = fields.remove("_unique_id").unwrap();
    assert_eq!(id.as_str().unwrap().replace('-', ""), unique.as_str().unwrap());
    let caller = &world.requester().caller;
    assert_eq!(fields["_context_user"], json!(caller.user_id));
    assert_eq!(fields["_context_project_name"], json!(caller.project_name));
    assert_eq!(fields["_context_auth_token"], Value::Null);
    assert_eq!(fields["event_type"], LIFE[0]);
    assert_eq!(fields["payload"]["stack_name"], "web");
    fields.retain(|name, _| !name.starts_with("_context_"));
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    assert_eq!(names, ["publisher_id", "event_type", "priority", "payload", "timestamp"]);
    outlets.stop().await;
}

/// As `messaging` of oslo.messaging, whose format 1.0 has no envelope.
#[actix::test]
async fn without_the_envelope_a_message_is_the_notification_itself() {
    let (ground, broker) = (Ground::new().await, Broker::start());
    let carrier = Carrier::Bus(vec![bus(&broker, MessageFormat::Plain)]);
    let (world, outlets) = ground.start_carrying(ground.log.clone(), Some(carrier)).await;
    create_and_delete(&world).await;
    let taken = taken(&broker, 4).await;
    assert_eq!(types(&taken), LIFE);
    for Taken { queue, content_type, body, .. } in &taken {
        assert_eq!((&**queue, &**content_type), ("notifications.info", "application/json"));
        assert_eq!(body["payload"]["stack_name"], "web");
        assert_eq!(body["_context_auth_token"], Value::Null);
        let names = body.as_object().unwrap().keys().map(String::as_str);
        let own: Vec<&str> = names.filter(|name| !name.starts_with("_context_")).collect();
        assert_eq!(
            own,
            [
                "message_id",
                "publisher_id",
                "event_type",
                "priority",
                "payload",
                "timestamp",
                "_unique_id"
            ]
        );
    }
    outlets.stop().await;
}

/// One that a driver has to send again is not sent again by the others.
#[actix::test]
async fn where_there_are_several_drivers_each_tells_everything_in_order() {
    let (ground, broker) = (Ground::new().await, Broker::start());
    broker.has_whim(Whim::DiesBeforeAck);
    let printed = Printed::of_this_thread();
    let formats = [MessageFormat::Envelope, MessageFormat::Plain];
    let [envelope, plain] = formats.map(|format| bus(&broker, format));
    let carrier = Carrier::Bus(vec![None, envelope, plain]);
    let (world, outlets) = ground.start_carrying(ground.log.clone(), Some(carrier)).await;
    create_and_delete(&world).await;
    let taken = taken(&broker, 2 * LIFE.len()).await;
    for (format, count) in formats.into_iter().zip([LIFE.len() + 1, LIFE.len()]) {
        let of_it: Vec<Taken> = taken.iter().filter(|it| it.format() == format).cloned().collect();
        assert_eq!(types(&of_it), LIFE, "{format:?}");
        assert_eq!(of_it.len(), count, "{format:?}");
    }
    assert_eq!(logged(&printed), LIFE);
    outlets.stop().await;
}

#[actix::test]
async fn a_bus_that_is_away_gets_everything_in_order_when_it_is_back() {
    let (ground, broker) = (Ground::new().await, Broker::start());
    let (address, carrier) = (broker.address, carrier(&broker));
    drop(broker);
    let (world, outlets) = ground.start_carrying(ground.log.clone(), carrier).await;
    create_and_delete(&world).await;
    let broker = Broker::start_at(address);
    assert_eq!(types(&taken(&broker, 4).await), LIFE);
    outlets.stop().await;
}

#[actix::test]
async fn what_the_broker_does_not_confirm_is_sent_again() {
    for whim in [Whim::DiesBeforeAck, Whim::Nack, Whim::Precondition] {
        let (ground, broker) = (Ground::new().await, Broker::start());
        broker.has_whim(whim);
        let (world, outlets) = ground.start_carrying(ground.log.clone(), carrier(&broker)).await;
        create_and_delete(&world).await;
        let taken = taken(&broker, 4).await;
        assert_eq!(types(&taken), LIFE, "{whim:?}");
        let twice = usize::from(whim == Whim::DiesBeforeAck);
        assert_eq!(taken.len(), 4 + twice, "{whim:?}");
        outlets.stop().await;
    }
}

/// What a process sent that was killed before it noted so is sent again, as the same message.
#[actix::test]
async fn nothing_is_left_out_after_a_crash() {
    let broker = Broker::start();
    let mut cut = 0;
    for appends in 4..12 {
        let ground = Ground::new().await;
        let before = broker.taken().len();
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let (world, outlets) = ground.start_carrying(log.clone(), carrier(&broker)).await;
        let web = create(&world, "web", template(false), &json!([])).await;
        let is_over = async || log.is_cut() || broker.taken().len() >= before + 2;
        until(&[&*log, &broker], "all is told, or the log breaks off", is_over).await;
        cut += usize::from(log.is_cut());
        log.cut();
        world.engine.shutdown();
        outlets.stop().await;
        drop(world);
        let (world, outlets) = ground.start_carrying(ground.log.clone(), carrier(&broker)).await;
        ground.views_catch_up(&world).await;
        assert_eq!(world.at_rest(web.stack).await, "CREATE_COMPLETE");
        let all = async || match types(&broker.taken()[before..]) {
            told if told == LIFE[..2] => Ok(()),
            told => Err(format!("{told:?}")),
        };
        until(&[&broker], format!("all is told after {appends}"), all).await;
        outlets.stop().await;
    }
    assert!(cut >= 3, "of the logs, {cut} were cut");
}
