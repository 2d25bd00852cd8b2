//! What agents ask for again and again is kept, and is as new as what was answered before.

use std::cell::Cell;

use serde_json::{Value, json};

use super::app::App;
use crate::support::wait::until;

fn template(note: &str, deployments: usize) -> Value {
    let mut resources = json!({
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "echo" } },
        "server": { "type": "OS::Heat::DeployedServer", "properties": {
            "software_config_transport": "POLL_SERVER_HEAT" } },
        "handle": { "type": "OS::Heat::WaitConditionHandle" },
        "wait": { "type": "OS::Heat::WaitCondition", "properties": {
            "handle": { "get_resource": "handle" }, "timeout": 600, "count": 1 } },
        "reader": { "type": "OS::Heat::TestResource", "metadata": {
            "note": note, "data": { "get_attr": ["wait", "data"] } } },
    });
    for number in 0..deployments {
        resources[format!("deployment{number}")] = json!({
            "type": "OS::Heat::SoftwareDeployment", "properties": {
                "config": { "get_resource": "config" }, "server": { "get_resource": "server" },
                "signal_transport": "NO_SIGNAL" } });
    }
    json!({ "heat_template_version": "2018-08-31", "resources": resources })
}

/// The stack `web`, complete; its path.
async fn made(app: &App) -> String {
    let body = json!({ "stack_name": "web", "template": template("first", 1) });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let stack = format!("/stacks/web/{}", created.json()["stack"]["id"].as_str().unwrap());
    signaled(app, &stack, "first").await;
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");
    stack
}

/// Signals the handle, once it is there.
async fn signaled(app: &App, stack: &str, id: &str) {
    let path = format!("{stack}/resources/handle/signal");
    let body = json!({ "id": id, "data": id });
    let is_taken = async || app.ask("POST", &path, Some(body.clone())).await.status == 200;
    until(&[app], "the handle takes it", is_taken).await;
}

async fn polled(app: &App, stack: &str, name: &str) -> Value {
    let answered = app.get(&format!("{stack}/resources/{name}/metadata")).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    answered.json()["metadata"].clone()
}

#[actix::test]
async fn what_is_polled_is_new_after_each_change_of_what_it_tells() {
    let app = App::start().await;
    let stack = made(&app).await;
    let server = app.get(&format!("{stack}/resources/server")).await.json()["resource"].clone();
    let deployed = async || {
        let (first, again) = (polled(&app, &stack, "server").await, polled(&app, &stack, "server"));
        assert_eq!(first, again.await);
        let told = first["deployments"].as_array().unwrap().clone();
        told.iter().map(|it| it["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(deployed().await.len(), 1);

    // By the API, beside the stack.
    let sent = async |method: &str, path: &str, body: Option<Value>| {
        let answered = app.ask(method, path, body).await;
        assert!(answered.status < 300, "{method} {path}: {}", answered.text);
        serde_json::from_str(&answered.text).unwrap_or(Value::Null)
    };
    let config = async |name: &str| {
        let made = sent("POST", "/software_configs", Some(json!({ "name": name }))).await;
        made["software_config"]["id"].clone()
    };
    let (one, other) = (config("one").await, config("other").await);
    let body = json!({ "server_id": server["physical_resource_id"], "config_id": one,
                       "action": "CREATE", "status": "IN_PROGRESS" });
    let made = sent("POST", "/software_deployments", Some(body)).await;
    let path = format!(
        "/software_deployments/{}",
        made["software_deployment"]["id"].as_str().unwrap_or_default()
    );
    assert!(deployed().await.contains(&"one".to_owned()));
    sent("PUT", &path, Some(json!({ "config_id": other, "status": "IN_PROGRESS" }))).await;
    let now = deployed().await;
    assert!(now.contains(&"other".to_owned()) && !now.contains(&"one".to_owned()), "{now:?}");
    sent("DELETE", &path, None).await;
    assert_eq!(deployed().await.len(), 1);

    // By the stack.
    assert_eq!(polled(&app, &stack, "reader").await["note"], "first");
    sent("PUT", &stack, Some(json!({ "template": template("second", 2) }))).await;
    assert_eq!(app.settled("web").await["stack_status"], "UPDATE_COMPLETE");
    assert_eq!(polled(&app, &stack, "reader").await["note"], "second");
    assert_eq!(deployed().await.len(), 2);
    sent("DELETE", &stack, None).await;
    let is_deleted =
        async || app.get(&stack).await.json()["stack"]["stack_status"] == "DELETE_COMPLETE";
    until(&[&app], "it is deleted", is_deleted).await;
    let gone = app.get(&format!("{stack}/resources/server/metadata")).await;
    assert_eq!(gone.status, 404, "{}", gone.text);
    app.stop().await;
}

#[actix::test]
async fn a_signal_is_seen_by_who_polls_meanwhile() {
    let app = App::start().await;
    let stack = made(&app).await;
    let (done, seen) = (Cell::new(false), Cell::new(0));
    // Whoever polls all the time keeps an answer of any moment.
    let agent = async |name: &'static str| {
        while !done.get() {
            polled(&app, &stack, name).await;
            seen.set(seen.get() + 1);
        }
    };
    let signals = async {
        for number in 0..20 {
            let id = format!("signal{number}");
            signaled(&app, &stack, &id).await;
            // The handle has it once the signal is answered, and what is made of it soon.
            assert_eq!(polled(&app, &stack, "handle").await[&id]["data"], id);
            while !polled(&app, &stack, "reader").await["data"].as_str().unwrap().contains(&id) {
                tokio::task::yield_now().await;
            }
        }
        done.set(true);
    };
    let agents = futures::future::join(agent("reader"), agent("handle"));
    let bound = std::time::Duration::from_secs(120);
    tokio::time::timeout(bound, futures::future::join(signals, agents)).await.unwrap();
    assert!(seen.get() > 20, "{}", seen.get());
    app.stop().await;
}
