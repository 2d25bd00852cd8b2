//! Notifications on the real cloud's RabbitMQ.

use amqprs::channel::{BasicGetArguments, Channel, QueueDeclareArguments};
use amqprs::connection::{Connection, OpenConnectionArguments};
use serde_json::{Value, json};

use crate::real_cloud::{RealCloud, alone};
use crate::served::Served;

/// Where `tests/cloud/up` has it.
const PORT: u16 = 5673;
const USER: &str = "openstack";

#[actix::test]
async fn a_stacks_life_is_told_to_rabbitmq_across_a_kill() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let password = real.settings().password.reveal().clone();
    let topic = format!("live-{}", std::process::id());
    let settings = format!(
        "[oslo_messaging_notifications]\ndriver = messagingv2\ndriver = messaging\n\
         topics = {topic}\ntransport_url = rabbit://{USER}:{password}@127.0.0.1:{PORT}/\n"
    );
    let mut served = Served::start_with(&real, &real.demo(), &settings).await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "resources": { "a": { "type": "OS::Heat::TestResource" } },
    });
    let stack = served.create("live-bus", &template.to_string(), json!({})).await;
    assert_eq!(stack["stack_status"], "CREATE_COMPLETE");
    served.kill_and_restart().await;
    served.delete(&stack).await;

    let arguments = OpenConnectionArguments::new("127.0.0.1", PORT, USER, &password);
    let connection = Connection::open(&arguments).await.unwrap();
    let channel = connection.open_channel(None).await.unwrap();
    let queue = format!("{topic}.info");
    let kinds = ["create.start", "create.end", "delete.start", "delete.end"];
    let kinds = kinds.map(|kind| format!("orchestration.stack.{kind}"));
    let expected: Vec<(String, bool)> =
        kinds.into_iter().flat_map(|kind| [(kind.clone(), true), (kind, false)]).collect();
    let mut told: Vec<(String, bool)> = Vec::new();
    while told.last() != expected.last() {
        let message = next(&channel, &queue).await;
        // What was sent last before the kill may come twice.
        if !told.contains(&message) {
            told.push(message);
        }
    }
    assert_eq!(told, expected);
    channel.queue_delete(amqprs::channel::QueueDeleteArguments::new(&queue)).await.unwrap();
    connection.close().await.unwrap();
}

/// The type of the next message's event, and whether it is in an envelope.
async fn next(channel: &Channel, queue: &str) -> (String, bool) {
    let there = QueueDeclareArguments::new(queue).passive(true).finish();
    channel.queue_declare(there).await.unwrap();
    let get = BasicGetArguments::new(queue).no_ack(true).finish();
    for _ in 0..1000 {
        if let Some((_, _, body)) = channel.basic_get(get.clone()).await.unwrap() {
            let body: Value = serde_json::from_slice(&body).unwrap();
            let wrapped = body["oslo.message"].as_str();
            let is_wrapped = wrapped.is_some();
            let message: Value = match wrapped {
                Some(text) => serde_json::from_str(text).unwrap(),
                None => body,
            };
            return (message["event_type"].as_str().unwrap().to_owned(), is_wrapped);
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{queue} stays empty");
}
