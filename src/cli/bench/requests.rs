//! Many small requests: lists, signals, and agents that ask for their metadata.

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use serde_json::{Value, json};

use super::figure::Figure;
use super::server::Server;
use super::{BenchError, Scale, stack, templates};
use crate::cli::client::{Client, ClientError};

/// Who ask at the same time.
const CLIENTS: usize = 16;
const STACKS: usize = 20;
const RESOURCES_EACH: usize = 10;
const HANDLES: usize = 200;
/// The most seconds for so many signals, each durable before its answer.
const SIGNALS: usize = 10_000;
const SIGNALS_SECS: f64 = 5.0;
/// So many agents, each of which asks every ten seconds.
const AGENTS: usize = 1_000;
const ASKED_PER_SEC: f64 = AGENTS as f64 / 10.0;
const AGENTS_PERCENT: f64 = 5.0;

/// Asks, signals, and asks for metadata, on a server that has nothing yet.
pub(super) async fn run(scale: Scale, server: &Server) -> Result<Vec<Figure>, BenchError> {
    let (reads, signals, agents) =
        if scale == Scale::Quick { (500, 200, 50) } else { (30_000, SIGNALS, AGENTS) };
    let client = server.client().await?;
    for number in 0..STACKS {
        let template = templates::independent(RESOURCES_EACH, "a");
        stack::create(&client, &format!("read-{number}"), &template).await?;
    }
    let resources = format!("{}/resources", stack::find(&client, "read-0").await?);
    let listed = rate(&client, reads, |_| "/stacks?limit=20".to_owned()).await?;
    let shown = rate(&client, reads, |_| resources.clone()).await?;
    let signaled = signals_took(&client, signals).await?;

    stack::create(&client, "agents", &templates::independent(agents, "a")).await?;
    let path = stack::find(&client, "agents").await?;
    let asked = reads / 6;
    let before = server.cpu_time()?;
    rate(&client, asked, |number| {
        format!("{path}/resources/{}/metadata", templates::name(number % agents))
    })
    .await?;
    let each = (server.cpu_time()? - before).as_secs_f64() / asked as f64;
    Ok(vec![
        Figure::rate("list 20 stacks", listed, "requests/s", 5_000.0),
        Figure::rate("list 10 resources", shown, "requests/s", 3_000.0),
        Figure::secs(format!("{signals} signals to {HANDLES} handles"), signaled, SIGNALS_SECS),
        Figure::share(
            format!("{AGENTS} agents that ask every 10 s"),
            each * ASKED_PER_SEC * 100.0,
            AGENTS_PERCENT,
        ),
    ])
}

/// How many requests are answered in a second.
async fn rate(
    client: &Client,
    count: usize,
    path: impl Fn(usize) -> String,
) -> Result<f64, BenchError> {
    let began = Instant::now();
    let path = &path;
    try_join_all((0..CLIENTS).map(|turn| async move {
        for number in (turn..count).step_by(CLIENTS) {
            client.download(&path(number)).await?;
        }
        Ok::<_, ClientError>(())
    }))
    .await?;
    Ok(count as f64 / began.elapsed().as_secs_f64())
}

async fn signals_took(client: &Client, count: usize) -> Result<Duration, BenchError> {
    let handle = json!({ "type": "OS::Heat::WaitConditionHandle" });
    let handles: serde_json::Map<String, Value> =
        (0..HANDLES).map(|number| (format!("h{number}"), handle.clone())).collect();
    let template = json!({ "heat_template_version": "2018-08-31", "resources": handles });
    stack::create(client, "signaled", &template).await?;
    let path = &stack::find(client, "signaled").await?;
    let began = Instant::now();
    try_join_all((0..CLIENTS).map(|turn| async move {
        for number in (turn..count).step_by(CLIENTS) {
            let path = format!("{path}/resources/h{}/signal", number % HANDLES);
            client.post(&path, &json!({ "id": number.to_string(), "status": "SUCCESS" })).await?;
        }
        Ok::<_, ClientError>(())
    }))
    .await?;
    Ok(began.elapsed())
}
