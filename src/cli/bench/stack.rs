//! A stack as a workload handles it: ask, then look until it has settled.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::BenchError;
use crate::cli::client::{Client, ClientError};

/// How often a waiting client looks; real ones take seconds.
const LOOK_EVERY: Duration = Duration::from_millis(2);
const SETTLED_WITHIN: Duration = Duration::from_secs(300);

/// Creates a stack and waits for its end.
pub(super) async fn create(
    client: &Client,
    name: &str,
    template: &Value,
) -> Result<Duration, BenchError> {
    create_of(client, name, json!({ "template": template })).await
}

/// The same with the rest of a request: files, an environment.
pub(super) async fn create_of(
    client: &Client,
    name: &str,
    mut body: Value,
) -> Result<Duration, BenchError> {
    body["stack_name"] = name.into();
    let began = Instant::now();
    let reply = client.post("/stacks", &body).await?;
    let id = reply["stack"]["id"].as_str().unwrap_or_default();
    wait(client, &path(name, id), "CREATE").await?;
    Ok(began.elapsed())
}

/// Brings it to another template.
pub(super) async fn update(
    client: &Client,
    path: &str,
    template: &Value,
) -> Result<Duration, BenchError> {
    let began = Instant::now();
    client.put(path, &json!({ "template": template })).await?;
    wait(client, path, "UPDATE").await?;
    Ok(began.elapsed())
}

/// Deletes it.
pub(super) async fn delete(client: &Client, path: &str) -> Result<Duration, BenchError> {
    let began = Instant::now();
    client.delete(path).await?;
    wait(client, path, "DELETE").await?;
    Ok(began.elapsed())
}

/// `/stacks/{name}/{id}` of a stack that is known by its name.
pub(super) async fn find(client: &Client, name: &str) -> Result<String, BenchError> {
    let listed = client.get(&format!("/stacks?name={name}")).await?;
    let id = listed["stacks"][0]["id"].as_str();
    let id = id.ok_or_else(|| BenchError::Unexpected(format!("no stack is named {name}")))?;
    Ok(path(name, id))
}

fn path(name: &str, id: &str) -> String {
    format!("/stacks/{name}/{id}")
}

/// Waits until an action of it is over.
pub(super) async fn wait(client: &Client, path: &str, action: &str) -> Result<(), BenchError> {
    let began = Instant::now();
    let (complete, failed) = (format!("{action}_COMPLETE"), format!("{action}_FAILED"));
    while began.elapsed() < SETTLED_WITHIN {
        let shown = match client.get(&format!("{path}?resolve_outputs=False")).await {
            Err(ClientError::Refused { status: 404, .. }) if action == "DELETE" => return Ok(()),
            shown => shown?,
        };
        let status = shown["stack"]["stack_status"].as_str().unwrap_or_default();
        if status == complete {
            return Ok(());
        }
        if status == failed {
            let reason = &shown["stack"]["stack_status_reason"];
            return Err(BenchError::Unexpected(format!("{path} is {status}: {reason}")));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(BenchError::Unexpected(format!("{path} does not settle")))
}
