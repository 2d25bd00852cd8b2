//! What a project feels of another one that sends the most expensive templates that are let in.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::figure::{Figure, most_of};
use super::server::Server;
use super::{BenchError, Scale, stack, templates};
use crate::cli::client::{Client, ClientError};

/// How many requests the other project has under way at any time.
const HOSTILE_CLIENTS: usize = 4;

/// The pause between two reads, which are a person's or a script's.
const PAUSE: Duration = Duration::from_millis(5);

/// An expression that takes nearly all steps that one may.
const EXPRESSION: &str = "range(190).select(range(190).select($ + 1).len()).len()";

/// Reads one stack again and again while others' templates are worked on.
pub(super) async fn run(scale: Scale, server: &Server) -> Result<Vec<Figure>, BenchError> {
    let reads = if scale == Scale::Quick { 50 } else { 1000 };
    let client = server.client().await?;
    stack::create(&client, "plain", &templates::independent(3, "a")).await?;
    let path = stack::find(&client, "plain").await?;
    let mut hostile = Vec::new();
    for _ in 0..HOSTILE_CLIENTS {
        hostile.push(server.client_of("alt_demo").await?);
    }
    let over = AtomicBool::new(false);
    let attacks = hostile.iter().enumerate().map(|(turn, client)| attack(client, turn, &over));
    let reading = async {
        let read = read(&client, &path, reads).await;
        over.store(true, Ordering::Relaxed);
        read
    };
    let (attacked, read) = futures::join!(futures::future::try_join_all(attacks), reading);
    attacked?;
    let mut samples = read?;
    let p99 = most_of(&mut samples);
    Ok(vec![Figure::millis("p99 of a read beside hostile templates", p99, 20.0)])
}

async fn read(client: &Client, path: &str, reads: usize) -> Result<Vec<Duration>, BenchError> {
    let mut samples = Vec::with_capacity(reads);
    for _ in 0..reads {
        let began = Instant::now();
        client.get(path).await?;
        samples.push(began.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(samples)
}

/// Sends hard templates, one after the other, until nobody reads any more. That one is refused for
/// what it takes is as hard as it gets.
async fn attack(client: &Client, turn: usize, over: &AtomicBool) -> Result<(), BenchError> {
    let templates = [expressions(), members()];
    let mut next = templates.iter().cycle().skip(turn);
    while !over.load(Ordering::Relaxed) {
        let body = json!({ "stack_name": "hostile", "template": next.next() });
        match client.post("/stacks/preview", &body).await {
            Ok(_) | Err(ClientError::Refused { status: 400 | 429, .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Expressions that take all steps that a request may.
fn expressions() -> Value {
    let value = json!({ "yaql": { "expression": EXPRESSION, "data": {} } });
    of((0..100).map(|_| json!({ "type": "OS::Heat::Value", "properties": { "value": value } })))
}

/// As many resources as a stack may have, and an answer of many MiB.
fn members() -> Value {
    let text = "x".repeat(20_000);
    let member = json!({ "type": "OS::Heat::TestResource", "properties": { "value": text } });
    let properties = json!({ "count": 600, "resource_def": member });
    of([json!({ "type": "OS::Heat::ResourceGroup", "properties": properties })])
}

fn of(resources: impl IntoIterator<Item = Value>) -> Value {
    let resources = resources.into_iter().enumerate();
    let resources: serde_json::Map<String, Value> =
        resources.map(|(at, resource)| (format!("r{at}"), resource)).collect();
    json!({ "heat_template_version": "2018-08-31", "resources": resources })
}
