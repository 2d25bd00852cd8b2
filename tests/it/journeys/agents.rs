//! Agents that are told things at a place that is filled for them: an object in Swift, a queue in
//! Zaqar.

use std::sync::Arc;
use std::time::Duration;

use hearth::actors::Accepted;
use hearth::sandbox::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::support::cut_log::CutLog;
use crate::support::keystone::users_of;
use crate::support::queue::Queue;
use crate::support::wait::{WAIT_MAX, Written, polled, until, until_within};
use crate::support::world::{Ground, World, hot};

/// How long an agent waits for what it is to be told, at most.
const WITHIN: Duration = Duration::from_secs(60);

fn template(kind: &str, transport: &str) -> Value {
    let mut properties = json!({ "software_config_transport": transport });
    if kind == "OS::Nova::Server" {
        properties["image"] = "cirros".into();
        properties["flavor"] = "m1.tiny".into();
        properties["networks"] = json!([{ "network": "private" }]);
        properties["user_data_format"] = "SOFTWARE_CONFIG".into();
    }
    hot(json!({
        "server": { "type": kind, "properties": properties },
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "echo hello" } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": { "get_resource": "config" }, "server": { "get_resource": "server" },
            "signal_transport": "HEAT_SIGNAL" } },
    }))
}

/// Nothing is put into objects from here on.
fn refuses_objects() -> FaultRule {
    FaultRule {
        method: Some("PUT".to_owned()),
        path: Some("/v1/AUTH_[^/]+/[^/]+/[^/]+$".to_owned()),
        fault: Fault::Status { code: 503, retry_after: None },
        ..FaultRule::default()
    }
}

/// Where the agent of the server is told to ask, once it is told of a way.
async fn told(world: &World, stack: &Accepted, way: &str) -> Value {
    let told = async || {
        let who = world.requester();
        let known = world.engine.resource_metadata(&who, stack.stack, &"server".into()).await;
        let agent = known.ok().and_then(|metadata| metadata.get("os-collect-config").cloned());
        agent.filter(|agent| agent["collectors"][0] == way || agent["collectors"][1] == way)
    };
    until(&[world], format!("it is told of {way}"), told).await
}

/// What anybody reads at an address; the status where that is nothing.
async fn read(address: &str) -> Result<Value, u16> {
    let answer = reqwest::Client::new().get(address).send().await.unwrap();
    let status = answer.status().as_u16();
    if status == 200 { Ok(answer.json().await.unwrap()) } else { Err(status) }
}

#[actix::test]
async fn an_agent_is_told_of_deployments_in_an_object_and_then_in_a_queue() {
    for kind in ["OS::Heat::DeployedServer", "OS::Nova::Server"] {
        let ground = Ground::new().await;
        let empty = ground.counts();
        let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
        let web = world.create("web", template(kind, "POLL_TEMP_URL")).await.unwrap();
        let agent = told(&world, &web, "request").await;
        let address = agent["request"]["metadata_url"].as_str().unwrap().to_owned();
        let placed = async || {
            let found = read(&address).await.ok();
            found.filter(|found| found["deployments"][0].is_object())
        };
        let found = until(&[&Written(&ground.sandbox)], "it is told of a deployment", placed).await;
        assert_eq!(found["os-collect-config"], agent, "{kind}");
        let deployment = &found["deployments"][0];
        assert_eq!(
            (&deployment["config"], &deployment["group"]),
            (&json!("echo hello"), &json!("Heat::Ungrouped"))
        );
        assert!(deployment["inputs"].to_string().contains("deploy_password"), "{deployment}");
        let who = world.requester();
        let done = json!({ "deploy_status_code": 0 });
        world.engine.signal_resource(&who, web.stack, &"deployment".into(), &done).await.unwrap();
        assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{kind}");

        // What there is to know goes along to another transport.
        let updated = world.update(web.stack, template(kind, "ZAQAR_MESSAGE")).await.unwrap();
        assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE", "{kind}");
        let agent = told(&world, &web, "zaqar").await;
        assert_eq!(agent["request"], json!({ "metadata_url": null }), "{kind}");
        assert_eq!(read(&address).await, Err(404), "{kind}");
        let queue = Queue::of(&agent["zaqar"]).await;
        let popped = async || queue.pop().await;
        let found = until(&[&Written(&ground.sandbox)], "it is told in its queue", popped).await;
        assert_eq!(found["os-collect-config"], agent, "{kind}");
        assert_eq!(found["deployments"][0]["config"], "echo hello", "{kind}");

        let deleted = world.delete(web.stack).await.unwrap();
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{kind}");
        outlets.stop().await;
        assert!(users_of(&ground, "web").await.is_empty(), "{kind}");
        for kind in ["containers", "objects"] {
            assert_eq!(ground.counts()[kind], empty[kind], "{kind}");
        }
    }
}

/// A server of a kind and one deployment on it, which nobody answers.
fn served(kind: &str, transport: &str, script: &str) -> Value {
    hot(json!({
        "server": { "type": kind, "properties": { "software_config_transport": transport } },
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": script } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": { "get_resource": "config" }, "server": { "get_resource": "server" },
            "signal_transport": "NO_SIGNAL" } },
    }))
}

/// Waits until an object has a configuration.
async fn placed(ground: &Ground, address: &str, script: &str) {
    let is_placed =
        async || matches!(read(address).await, Ok(it) if it["deployments"][0]["config"] == script);
    until_within(WITHIN, &[&Written(&ground.sandbox)], format!("{script} is placed"), is_placed)
        .await;
}

#[actix::test]
async fn a_store_that_is_away_holds_up_no_other_server_and_is_told_all_later() {
    const KIND: &str = "OS::Heat::DeployedServer";
    let ground = Ground::new().await;
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    let away = world.create("away", served(KIND, "POLL_TEMP_URL", "one")).await.unwrap();
    assert_eq!(world.settled(&away).await, "CREATE_COMPLETE");
    let agent = told(&world, &away, "request").await;
    let object = agent["request"]["metadata_url"].as_str().unwrap().to_owned();
    placed(&ground, &object, "one").await;

    ground.sandbox.set_faults(vec![refuses_objects()]).unwrap();
    let changed = world.update(away.stack, served(KIND, "POLL_TEMP_URL", "two")).await.unwrap();
    assert_eq!(world.settled(&changed).await, "UPDATE_COMPLETE");
    ground.sandbox.forget_requests();
    let is_tried = async || ground.sandbox.requests().iter().any(|seen| seen.status == 503);
    until(&[&ground], "it is tried", is_tried).await;
    for (name, script) in [("near", "three"), ("next", "four")] {
        let near = world.create(name, served(KIND, "ZAQAR_MESSAGE", script)).await.unwrap();
        let agent = told(&world, &near, "zaqar").await;
        let queue = Queue::of(&agent["zaqar"]).await;
        let is_popped =
            async || queue.pop().await.is_some_and(|it| it["deployments"][0]["config"] == script);
        until(&[&Written(&ground.sandbox)], format!("{script} is in its queue"), is_popped).await;
        assert_eq!(world.settled(&near).await, "CREATE_COMPLETE");
    }
    assert_eq!(read(&object).await.unwrap()["deployments"][0]["config"], "one");

    // A process that ends meanwhile, without or after a word of how far it came, owes it still.
    outlets.stop().await;
    drop(world);
    ground.sandbox.set_faults(Vec::new()).unwrap();
    let (_world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    placed(&ground, &object, "two").await;
    outlets.stop().await;
}

#[actix::test]
async fn an_agent_is_told_later_of_what_the_log_does_not_show_at_present() {
    const KIND: &str = "OS::Heat::DeployedServer";
    let ground = Ground::new().await;
    let log = Arc::new(CutLog::new(ground.log.clone(), i64::MAX));
    let (world, outlets) = ground.start_telling(log.clone(), None).await;
    let web = world.create("web", served(KIND, "POLL_TEMP_URL", "one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let agent = told(&world, &web, "request").await;
    let object = agent["request"]["metadata_url"].as_str().unwrap().to_owned();
    placed(&ground, &object, "one").await;
    ground.sandbox.set_faults(vec![refuses_objects()]).unwrap();
    let changed = world.update(web.stack, served(KIND, "POLL_TEMP_URL", "two")).await.unwrap();
    assert_eq!(world.settled(&changed).await, "UPDATE_COMPLETE");
    log.hide(Some("config"));
    let before = log.read_of("config");
    polled(WAIT_MAX, "it is looked for", async || log.read_of("config") != before).await;
    log.hide(None);
    ground.sandbox.set_faults(Vec::new()).unwrap();
    placed(&ground, &object, "two").await;
    outlets.stop().await;
}

/// A queue is there with its first message, also with one that is late.
#[actix::test]
async fn a_word_under_way_to_a_queue_comes_before_that_is_deleted() {
    const KIND: &str = "OS::Heat::DeployedServer";
    let ground = Ground::new().await;
    let empty = ground.counts();
    let (world, outlets) = ground.start_telling(ground.log.clone(), None).await;
    let web = world.create("web", served(KIND, "ZAQAR_MESSAGE", "one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let is_told = async || ground.counts()["messages"] != empty["messages"];
    until(&[&ground], "it is told", is_told).await;
    let late = |method: &str, path: &str, latency_ms| FaultRule {
        method: Some(method.to_owned()),
        path: Some(path.to_owned()),
        latency_ms,
        ..FaultRule::default()
    };
    let rules = vec![
        late("POST", "/messages$", 300),
        late("DELETE", "^/messaging/v2/queues/[^/]+$", 150),
        late("DELETE", "^/v3/users/", 400),
    ];
    ground.sandbox.set_faults(rules).unwrap();
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    outlets.stop().await;
    assert_eq!(ground.counts()["messages"], empty["messages"]);
    assert!(users_of(&ground, "web").await.is_empty());
}
