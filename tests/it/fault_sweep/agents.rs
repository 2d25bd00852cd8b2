//! Agents that find what they are to know in a queue: it comes there whatever is lost.

use std::time::Duration;

use serde_json::{Value, json};

use super::{assert_nothing_left, each_call_fails};
use crate::support::wait::until_within;
use crate::support::world::{Ground, hot};

/// How long an agent waits for what it is to be told, at most.
const WITHIN: Duration = Duration::from_secs(60);

/// A server whose agent reads a queue, and a deployment that nobody answers.
fn template(script: &str) -> Value {
    hot(json!({
        "server": { "type": "OS::Heat::DeployedServer",
                    "properties": { "software_config_transport": "ZAQAR_MESSAGE" } },
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": script } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": { "get_resource": "config" }, "server": { "get_resource": "server" },
            "signal_transport": "NO_SIGNAL" } },
    }))
}

/// Waits until the newest message is of a script.
async fn told(ground: &Ground, script: &str, place: &str) {
    let newest = async || {
        let state = ground.sandbox.state();
        let newest = state["messages"]["rows"].as_array().and_then(|rows| rows.last()).cloned();
        let body = newest.unwrap_or_default()["body"].take();
        if body["deployments"][0]["config"] == script {
            assert!(body["os-collect-config"]["zaqar"].is_object(), "{place}: {body}");
            return Ok(());
        }
        Err(body.to_string())
    };
    until_within(WITHIN, &[&ground.sandbox], format!("{place}: {script} is told"), newest).await;
}

#[actix::test]
async fn an_agent_is_told_by_its_queue_and_that_is_deleted_whatever_is_lost() {
    let calls = "^/messaging/|^/v3/(users|projects)";
    each_call_fails(calls, &[], 6, async |ground, place| {
        let empty = ground.counts();
        let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
        let web = world.create("web", template("one")).await.unwrap();
        let end = world.settled(&web).await;
        assert_eq!(end, "CREATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
        told(ground, "one", place).await;
        let updated = world.update(web.stack, template("two")).await.unwrap();
        let end = world.settled(&updated).await;
        assert_eq!(end, "UPDATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
        told(ground, "two", place).await;
        let deleted = world.delete(web.stack).await.unwrap();
        let end = world.settled(&deleted).await;
        assert_eq!(end, "DELETE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
        outlets.stop().await;
        assert_nothing_left(ground, &empty, place).await;
    })
    .await;
}
