//! Software configurations, what brings them to servers, and what servers say of them.

use hearth::actors::{Accepted, EngineLimits};
use hearth::events::StreamId;
use hearth::model::StackId;
use hearth::projections::{ConfigQuery, ConfigRow, DeploymentRow};
use hearth::resource_types::software::ConfigContent;
use serde_json::{Value, json};

use crate::support::wait::until;
use crate::support::world::{Ground, World, hot};

async fn deployments(world: &World) -> Vec<DeploymentRow> {
    world.views.deployments(None, None).await.unwrap()
}

async fn configs(world: &World) -> Vec<ConfigRow> {
    world.views.configs(ConfigQuery::default()).await.unwrap()
}

/// What the configuration on a server holds. One that another took the place of meanwhile is gone.
async fn on_server(world: &World, server: &str) -> ConfigContent {
    let project = world.requester().caller.project_id.clone();
    loop {
        let rows = world.views.configs_of_server(None, server).await.unwrap();
        let config = world.engine.software().config(&project, &rows[0].id.to_string()).await;
        match config {
            Ok(config) => return config.content,
            Err(refusal) => assert_eq!(refusal.class, "NotFound"),
        }
    }
}

/// Waits until there is a deployment.
async fn deployed(world: &World) {
    world.shows("a deployment", async || !deployments(world).await.is_empty()).await;
}

async fn signal(world: &World, stack: &Accepted, details: Value) {
    let who = world.requester();
    let name = "deployment".into();
    let taken = world.engine.signal_resource(&who, stack.stack, &name, &details).await.unwrap();
    world.views.after(taken.position).await.unwrap();
}

fn template(script: &str, deployment: Value) -> Value {
    let mut properties = json!({
        "config": { "get_resource": "config" }, "server": "s1",
        "signal_transport": "HEAT_SIGNAL", "input_values": { "a": "one", "b": "two" },
    });
    for (name, value) in deployment.as_object().unwrap() {
        properties[name] = value.clone();
    }
    let mut template = hot(json!({
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": {
            "group": "script", "config": script,
            "inputs": [{ "name": "a" }],
            "outputs": [{ "name": "result" }, { "name": "oops", "error_output": true }] } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": properties },
    }));
    template["outputs"] =
        json!({ "result": { "value": { "get_attr": ["deployment", "result"] } } });
    template
}

fn value_of(content: &ConfigContent, input: &str) -> Value {
    let found = content.inputs.iter().find(|it| it["name"] == input);
    found.map(|it| it["value"].clone()).unwrap_or_default()
}

#[actix::test]
async fn a_configuration_is_deployed_and_its_outputs_come_back() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", template("echo 1", json!({}))).await.unwrap();
    world.at_work(&web, "deployment").await;
    deployed(&world).await;
    let content = on_server(&world, "s1").await;
    assert_eq!(content.config, "echo 1");
    assert_eq!((value_of(&content, "a"), value_of(&content, "b")), (json!("one"), json!("two")));
    assert_eq!(value_of(&content, "deploy_action"), "CREATE");
    assert_eq!(value_of(&content, "deploy_stack_id"), format!("web/{}", web.stack));
    signal(&world, &web, json!({ "result": "fine", "deploy_status_code": 0 })).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let row = deployments(&world).await.remove(0);
    assert_eq!(row.state.status.as_deref(), Some("COMPLETE"));
    assert!(row.inputs.is_some(), "it has the values of its inputs");
    assert_eq!(
        world.engine.outputs_now(&world.requester(), web.stack).await.unwrap()[0].value,
        "fine"
    );

    let updated = world.update(web.stack, template("echo 2", json!({}))).await.unwrap();
    let is_told = async || {
        on_server(&world, "s1").await.config == "echo 2"
            && deployments(&world).await[0].state.status.as_deref() == Some("IN_PROGRESS")
    };
    world.shows("the next script", is_told).await;
    assert_eq!(value_of(&on_server(&world, "s1").await, "deploy_action"), "UPDATE");
    signal(&world, &web, json!({ "deploy_status_code": 0 })).await;
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(configs(&world).await.len(), 2, "the one named, and the one derived from it");

    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(configs(&world).await.is_empty() && deployments(&world).await.is_empty());
}

#[actix::test]
async fn an_error_output_fails_the_deployment() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", template("echo 1", json!({}))).await.unwrap();
    deployed(&world).await;
    signal(&world, &web, json!({ "oops": "no disk" })).await;
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    assert_eq!(
        world.reason(web.stack).await,
        "Resource CREATE failed: Error: resources.deployment: Deployment to server failed: \
         oops : no disk"
    );
}

#[actix::test]
async fn nobody_is_waited_for_without_a_signal_and_only_actions_listed_deploy() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let silent = json!({ "signal_transport": "NO_SIGNAL", "actions": ["UPDATE"] });
    let web = world.create("web", template("echo 1", silent.clone())).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    assert!(deployments(&world).await.is_empty());
    let updated = world.update(web.stack, template("echo 2", silent)).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let row = deployments(&world).await.remove(0);
    let told = (row.state.status.as_deref(), row.state.status_reason.as_deref());
    assert_eq!(told, (Some("COMPLETE"), Some("Not waiting for outputs signal")));
}

#[actix::test]
async fn structured_and_other_configurations_are_kept_in_their_form() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world
        .create(
            "web",
            hot(json!({
                "structured": { "type": "OS::Heat::StructuredConfig", "properties": {
                    "group": "apply",
                    "config": { "port": { "get_input": "port" }, "list": [{ "get_input": "x" }] },
                    "inputs": [{ "name": "port", "default": 80 }] } },
                "deployment": { "type": "OS::Heat::StructuredDeployment", "properties": {
                    "config": { "get_resource": "structured" }, "server": "s1",
                    "signal_transport": "NO_SIGNAL" } },
                "cloud": { "type": "OS::Heat::CloudConfig", "properties": {
                    "cloud_config": { "runcmd": ["ls"] } } },
                "message": { "type": "OS::Heat::MultipartMime", "properties": { "parts": [
                    { "config": { "get_resource": "cloud" }, "subtype": "cloud-config" },
                    { "config": "ls" }] } },
                "component": { "type": "OS::Heat::SoftwareComponent", "properties": {
                    "configs": [{ "tool": "script", "config": "a", "actions": ["DELETE"] }] } },
            })),
        )
        .await
        .unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let config = on_server(&world, "s1").await.config;
    assert_eq!(config, json!({ "port": 80, "list": [null] }));
    let who = world.requester();
    let attribute = async |name: &str| {
        let found = world.engine.inspect_resource(&who, web.stack, &name.into(), &[]).await;
        found.unwrap()["config"].clone()
    };
    assert_eq!(attribute("cloud").await, "#cloud-config\nruncmd:\n- ls\n");
    let message = attribute("message").await.as_str().unwrap().to_owned();
    assert!(message.contains("text/cloud-config;") && message.contains("\n\n#cloud-config\n"));
    assert!(message.contains("text/plain;") && message.contains("\n\nls\n"), "{message}");
    assert_eq!(attribute("component").await[0]["tool"], "script");
}

#[actix::test]
async fn what_a_configuration_holds_is_sealed_in_log_and_views() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", template("echo hunter2", json!({}))).await.unwrap();
    deployed(&world).await;
    signal(&world, &web, json!({ "result": "hunter3" })).await;
    world.settled(&web).await;
    let rows = format!("{:?}{:?}", configs(&world).await, deployments(&world).await);
    assert!(!rows.contains("hunter"), "{rows}");
    for row in configs(&world).await {
        let stream = StreamId::config(row.id);
        let slice = ground.log.read(&stream, hearth::events::StreamRevision(0)).await.unwrap();
        assert!(slice.events.iter().all(|event| !event.body.contains("hunter")));
    }
}

/// A configuration and a group that deploys it to servers by their names.
fn group(script: &str, servers: &Value, transport: &str) -> Value {
    let mut template = hot(json!({
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": {
            "group": "script", "config": script, "outputs": [{ "name": "result" }] } },
        "g": { "type": "OS::Heat::SoftwareDeploymentGroup", "properties": {
            "config": { "get_resource": "config" }, "servers": servers,
            "signal_transport": transport } },
    }));
    template["outputs"] = json!({
        "results": { "value": { "get_attr": ["g", "result"] } },
        "codes": { "value": { "get_attr": ["g", "deploy_status_codes"] } },
    });
    template
}

async fn members_of(world: &World, stack: &Accepted) -> StackId {
    until(&[world], "the group has a stack", async || {
        world.physical_id(stack.stack, "g").await.and_then(|id| id.parse().ok())
    })
    .await
}

/// Says what a member's deployment to a server gave out, as soon as it waits for that.
async fn answer(world: &World, members: StackId, (name, server): (&str, &str), result: &str) {
    let waits = |row: &DeploymentRow| {
        row.server_id == server && row.state.status.as_deref() == Some("IN_PROGRESS")
    };
    world.shows("it waits", async || deployments(world).await.iter().any(waits)).await;
    let (who, details) = (world.requester(), json!({ "result": result, "deploy_status_code": 0 }));
    world.engine.signal_resource(&who, members, &name.into(), &details).await.unwrap();
}

async fn servers_deployed_to(world: &World) -> Vec<String> {
    let rows = deployments(world).await;
    let mut servers: Vec<String> = rows.into_iter().map(|row| row.server_id).collect();
    servers.sort_unstable();
    servers
}

#[actix::test]
async fn a_group_deploys_to_each_of_its_servers_and_gathers_what_they_give_out() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let two = json!({ "a": "s1", "b": "s2" });
    let web = world.create("web", group("echo 1", &two, "HEAT_SIGNAL")).await.unwrap();
    world.views.after(web.position).await.unwrap();
    let members = members_of(&world, &web).await;
    answer(&world, members, ("a", "s1"), "from a").await;
    answer(&world, members, ("b", "s2"), "from b").await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(servers_deployed_to(&world).await, ["s1", "s2"]);
    let output = async |key: &str| {
        let outputs = world.engine.outputs_now(&world.requester(), web.stack).await.unwrap();
        outputs.into_iter().find(|output| output.key == key).unwrap().value
    };
    assert_eq!(output("results").await, json!({ "a": "from a", "b": "from b" }));
    assert_eq!(output("codes").await, json!({ "a": 0, "b": 0 }));

    // Another server is deployed to, one goes, and the one that stays is left alone.
    let others = json!({ "a": "s1", "c": "s3" });
    let updated = world.update(web.stack, group("echo 1", &others, "HEAT_SIGNAL")).await.unwrap();
    world.views.after(updated.position).await.unwrap();
    answer(&world, members, ("c", "s3"), "from c").await;
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(members).await, ["a CREATE_COMPLETE", "c CREATE_COMPLETE"]);
    assert_eq!(servers_deployed_to(&world).await, ["s1", "s3"]);
    assert_eq!(output("results").await, json!({ "a": "from a", "c": "from c" }));

    // Another configuration reaches all of them.
    let updated = world.update(web.stack, group("echo 2", &others, "NO_SIGNAL")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(on_server(&world, "s3").await.config, "echo 2");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(configs(&world).await.is_empty() && deployments(&world).await.is_empty());
}

#[actix::test]
async fn deployments_that_nobody_waits_for_any_longer_have_failed() {
    let ground = Ground::new().await;
    let soon = std::time::Duration::from_secs(4);
    let world =
        ground.start_within(EngineLimits { stack_action_timeout: soon, ..Ground::limits() }).await;
    let two = json!({ "a": "s1", "b": "s2" });
    let group = group("echo 1", &two, "HEAT_SIGNAL");
    let mut whole = template("echo 1", json!({ "server": "s3" }));
    whole["resources"]["g"] = group["resources"]["g"].clone();
    let web = world.create("web", whole).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    assert_eq!(world.reason(web.stack).await, "Timed out");
    world.at_rest(members_of(&world, &web).await).await;
    ground.views_catch_up(&world).await;
    assert_eq!(servers_deployed_to(&world).await, ["s1", "s2", "s3"]);
    for row in deployments(&world).await {
        let told = (row.state.status.as_deref(), row.state.status_reason.as_deref());
        assert_eq!(told, (Some("FAILED"), Some("Deployment cancelled.")), "{}", row.server_id);
    }
    // Who answers all the same is too late.
    signal(&world, &web, json!({ "deploy_status_code": 0 })).await;
    let failed = |row: &DeploymentRow| row.state.status.as_deref() == Some("FAILED");
    assert!(deployments(&world).await.iter().all(failed));
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(configs(&world).await.is_empty() && deployments(&world).await.is_empty());
}
