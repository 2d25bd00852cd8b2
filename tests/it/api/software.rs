//! Software configurations and deployments over HTTP, and signals to resources.

use std::sync::Arc;

use hearth::actors::EngineLimits;
use hearth::api::{Auth, FrontSettings};
use hearth::events::log::MemoryLog;
use hearth::sandbox::{Sandbox, SandboxConfig};
use serde_json::{Value, json};

use super::app::{Answered, App, SetUp, login};
use crate::support::queue::Queue;
use crate::support::wait::until;

async fn send(app: &App, method: &str, path: &str, body: Value) -> Answered {
    app.ask(method, path, Some(body)).await
}

#[actix::test]
async fn configurations_are_made_listed_shown_and_deleted() {
    let app = App::start().await;
    let asked = json!({ "name": "one", "group": "script", "config": "echo",
        "inputs": [{ "name": "a" }], "outputs": [{ "name": "b" }], "options": null });
    let made = send(&app, "POST", "/software_configs", asked).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let made = made.json()["software_config"].clone();
    let id = made["id"].as_str().unwrap().to_owned();
    let expected = json!({
        "id": id, "name": "one", "group": "script", "config": "echo",
        "creation_time": made["creation_time"], "options": {},
        "inputs": [{ "name": "a", "type": "String" }],
        "outputs": [{ "name": "b", "type": "String", "error_output": false }],
    });
    assert_eq!(made, expected);
    assert_eq!(app.get(&format!("/software_configs/{id}")).await.json()["software_config"], made);
    send(&app, "POST", "/software_configs", json!({ "name": "two" })).await;
    let names = |listed: &Answered| {
        let listed = listed.json()["software_configs"].clone();
        let names = listed.as_array().unwrap().iter().map(|it| it["name"].clone());
        names.collect::<Vec<Value>>()
    };
    let listed = app.get("/software_configs").await;
    assert_eq!(names(&listed), ["two", "one"]);
    let first = listed.json()["software_configs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(names(&app.get("/software_configs?limit=1").await), ["two"]);
    assert_eq!(names(&app.get(&format!("/software_configs?marker={first}")).await), ["one"]);
    let deleted = app.ask("DELETE", &format!("/software_configs/{id}"), None).await;
    assert_eq!(deleted.status, 204);
    let gone = app.get(&format!("/software_configs/{id}")).await;
    assert_eq!(gone.status, 404);
    let text = format!("Software config with id {id} not found");
    assert_eq!(gone.json()["error"]["message"], text);
    let bad = json!({ "inputs": { "name": "a" } });
    assert_eq!(send(&app, "POST", "/software_configs", bad).await.status, 400);
    app.stop().await;
}

#[actix::test]
async fn a_deployment_brings_a_configuration_to_a_server() {
    let app = App::start().await;
    let config = send(&app, "POST", "/software_configs", json!({ "name": "one" })).await;
    let config = config.json()["software_config"]["id"].as_str().unwrap().to_owned();
    let asked = json!({ "server_id": "s1", "config_id": config, "action": "CREATE",
        "status": "IN_PROGRESS", "input_values": { "a": 1 } });
    let made = send(&app, "POST", "/software_deployments", asked).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let made = made.json()["software_deployment"].clone();
    let path = format!("/software_deployments/{}", made["id"].as_str().unwrap());
    let expected = json!({
        "id": made["id"], "server_id": "s1", "config_id": config, "action": "CREATE",
        "status": "IN_PROGRESS", "status_reason": "None", "input_values": { "a": 1 },
        "output_values": null, "creation_time": made["creation_time"],
    });
    assert_eq!(made, expected);
    let changed = json!({ "status": "COMPLETE", "output_values": { "b": 2 }, "action": null });
    let changed = send(&app, "PUT", &path, changed).await.json()["software_deployment"].clone();
    assert_eq!((&changed["status"], &changed["action"]), (&json!("COMPLETE"), &json!("CREATE")));
    assert_eq!(changed["output_values"], json!({ "b": 2 }));
    assert!(changed["updated_time"].is_string());

    let of = async |query: &str| {
        let listed = app.get(&format!("/software_deployments{query}")).await;
        listed.json()["software_deployments"].as_array().unwrap().len()
    };
    assert_eq!((of("").await, of("?server_id=s1").await, of("?server_id=s2").await), (1, 1, 0));
    let metadata = app.get("/software_deployments/metadata/s1").await.json();
    assert_eq!(metadata["metadata"][0]["id"], config);

    let refused = app.ask("DELETE", &format!("/software_configs/{config}"), None).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    let unknown = json!({ "config_id": "11111111-2222-3333-4444-555555555555" });
    let unknown = send(&app, "POST", "/software_deployments", unknown).await;
    assert_eq!(unknown.status, 404);
    let text = "Software config with id 11111111-2222-3333-4444-555555555555 not found";
    assert_eq!(unknown.json()["error"]["message"], text);
    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    let gone = app.get(&path).await;
    assert_eq!((gone.status, &gone.json()["error"]["type"]), (404, &json!("NotFound")));
    let deleted = app.ask("DELETE", &format!("/software_configs/{config}"), None).await;
    assert_eq!(deleted.status, 204);
    app.stop().await;
}

#[actix::test]
async fn a_signal_is_answered_with_null_and_shows_in_metadata_and_events() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "resources": { "handle": { "type": "OS::Heat::WaitConditionHandle" } },
    });
    app.create("web", template).await;
    let moved = app.get("/stacks/web").await;
    let path = moved.header("location").split_once(&app.project).unwrap().1.to_owned();
    let resource = format!("{path}/resources/handle");
    let taken = app.ask("POST", &format!("{resource}/signal"), Some(json!({ "id": "a" }))).await;
    assert_eq!((taken.status, taken.text.as_str()), (200, "null"));
    let taken = app.ask("POST", &format!("{resource}/signal"), None).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
    let metadata = app.get(&format!("{resource}/metadata")).await.json();
    let entry = |number| {
        let reason = format!("Signal {number} received");
        json!({ "data": null, "reason": reason, "status": "SUCCESS" })
    };
    assert_eq!(metadata["metadata"], json!({ "a": entry(1), "2": entry(2) }));
    let events = app.get(&format!("{resource}/events?limit=1")).await.json();
    assert_eq!(events["events"][0]["resource_status"], "SIGNAL_COMPLETE");
    let missing = app.ask("POST", &format!("{path}/resources/none/signal"), None).await;
    assert_eq!(
        (missing.status, &missing.json()["error"]["type"]),
        (404, &json!("ResourceNotFound"))
    );
    app.stop().await;
}

#[actix::test]
async fn a_configuration_cannot_be_put_on_another_tenants_server_by_the_project_of_its_users() {
    let app = App::start().await;
    let (token, project) = app.login("alt_demo", "alt_demo").await;
    let as_other = [("x-auth-token", token.as_str())];
    let template = json!({
        "heat_template_version": "2021-04-16",
        "resources": { "server": { "type": "OS::Nova::Server", "properties": {
            "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
            "user_data_format": "SOFTWARE_CONFIG",
            "software_config_transport": "POLL_SERVER_HEAT" } } },
    });
    let victim = app.create("web", template).await;
    assert_eq!(victim["stack_status"], "CREATE_COMPLETE", "{victim}");
    let path = format!("/stacks/web/{}/resources/server", victim["id"].as_str().unwrap());
    let server = app.get(&path).await.json()["resource"]["physical_resource_id"].clone();
    let users = &victim["stack_user_project_id"];

    let url = |rest: &str| format!("/v1/{project}/{rest}");
    let config = json!({ "name": "evil", "config": "rm -rf /" }).to_string();
    let config = app.send("POST", &url("software_configs"), &as_other, Some(config)).await;
    let config = config.json()["software_config"]["id"].clone();
    let put = async |users: &Value| {
        let body = json!({ "server_id": server, "config_id": config, "action": "CREATE",
            "status": "IN_PROGRESS", "stack_user_project_id": users });
        app.send("POST", &url("software_deployments"), &as_other, Some(body.to_string())).await
    };
    for named in [users, &json!(app.project), &json!("unknown"), &json!(project)] {
        let refused = put(named).await;
        assert_eq!(refused.status, 400, "{named}: {}", refused.text);
        let text = "Data supplied was not valid: \"stack_user_project_id\" should be the one of \
                    a stack in this project";
        assert_eq!(refused.json()["error"]["message"], text);
    }
    // The id of the server alone reaches nobody, and says nothing of whether there is one.
    assert_eq!(put(&Value::Null).await.status, 200);
    let metadata = app.get(&format!("{path}/metadata")).await.json();
    assert_eq!(metadata["metadata"]["deployments"], json!([]), "{metadata}");
    let server = server.as_str().unwrap();
    let own = app.get(&format!("/software_deployments/metadata/{server}")).await.json();
    assert_eq!(own["metadata"], json!([]));
    assert_eq!(app.get("/software_deployments").await.json()["software_deployments"], json!([]));
    app.stop().await;
}

#[actix::test]
async fn another_tenants_configurations_and_deployments_are_not_there() {
    let app = App::start().await;
    let config = send(&app, "POST", "/software_configs", json!({ "name": "one" })).await;
    let config = config.json()["software_config"]["id"].as_str().unwrap().to_owned();
    let asked = json!({ "server_id": "s1", "config_id": config });
    let made = send(&app, "POST", "/software_deployments", asked.clone()).await;
    let made = made.json()["software_deployment"]["id"].as_str().unwrap().to_owned();
    let (token, project) = app.login("alt_demo", "alt_demo").await;
    let as_other = [("x-auth-token", token.as_str())];
    let missing = [
        ("GET", format!("software_configs/{config}"), None),
        ("DELETE", format!("software_configs/{config}"), None),
        ("GET", format!("software_deployments/{made}"), None),
        ("PUT", format!("software_deployments/{made}"), Some(json!({ "status": "FAILED" }))),
        ("DELETE", format!("software_deployments/{made}"), None),
        ("POST", "software_deployments".to_owned(), Some(asked)),
    ];
    for (verb, rest, body) in missing {
        let body = body.map(|body| body.to_string());
        let answered = app.send(verb, &format!("/v1/{project}/{rest}"), &as_other, body).await;
        assert_eq!(answered.status, 404, "{verb} {rest}: {}", answered.text);
    }
    for kind in ["software_configs", "software_deployments"] {
        let listed = app.send("GET", &format!("/v1/{project}/{kind}"), &as_other, None).await;
        assert_eq!(listed.json()[kind], json!([]));
    }
    app.stop().await;
}

#[actix::test]
async fn a_deployment_that_no_resource_made_is_looked_for_in_swift_when_it_is_shown() {
    let app = App::start().await;
    let root = app.keystone.trim_end_matches("/v3").to_owned();
    let store = format!("{root}/v1/AUTH_{}", app.project);
    let token = [("x-auth-token", app.token.as_str())];
    let put = async |path: &str, body: &str| {
        let put = app.send("PUT", &format!("{store}{path}"), &token, Some(body.to_owned())).await;
        assert_eq!(put.status, 201, "{}", put.text);
    };
    put("/answers", "").await;
    let address = format!("{store}/answers/one?temp_url_sig=0&temp_url_expires=1");
    let config = json!({ "name": "one", "outputs": [{ "name": "b" }], "inputs": [
        { "name": "deploy_signal_transport", "value": "TEMP_URL_SIGNAL" },
        { "name": "deploy_signal_id", "value": address } ] });
    let config = send(&app, "POST", "/software_configs", config).await.json();
    let config = &config["software_config"]["id"];
    let made = json!({ "server_id": "s1", "config_id": config, "status": "IN_PROGRESS" });
    let made = send(&app, "POST", "/software_deployments", made).await.json();
    let id = made["software_deployment"]["id"].as_str().unwrap().to_owned();
    let path = format!("/software_deployments/{id}");
    let shown = async || app.get(&path).await.json()["software_deployment"].clone();
    // Nothing yet, what is no answer, and what another project sees are as good as nothing.
    assert_eq!(shown().await["status"], "IN_PROGRESS");
    for nothing in ["", "no JSON", "[1]"] {
        put("/answers/one", nothing).await;
        assert_eq!(shown().await["status"], "IN_PROGRESS", "{nothing}");
    }
    let long = json!({ "b": "x".repeat(300_000) }).to_string();
    put("/answers/one", &long).await;
    assert_eq!(shown().await["status"], "IN_PROGRESS");
    put("/answers/one", r#"{ "b": "done", "deploy_status_code": 0 }"#).await;
    let (other, project) = app.login("alt_demo", "alt_demo").await;
    let as_other = [("x-auth-token", other.as_str())];
    let hidden = app.send("GET", &format!("/v1/{project}{path}"), &as_other, None).await;
    assert_eq!(hidden.status, 404);
    let complete = shown().await;
    assert_eq!(complete["status"], "COMPLETE", "{complete}");
    assert_eq!(complete["output_values"]["b"], "done", "{complete}");
    // It is read once.
    put("/answers/one", r#"{ "b": "again" }"#).await;
    assert_eq!(shown().await, complete);
    app.stop().await;
}

/// A deployment of somebody's stack that is settled, with the queue that its server answers with.
async fn deployed_by_queue(app: &App, project: &str, headers: &[(&str, &str)]) -> (String, Queue) {
    let ask = async |verb: &str, path: &str, body: Option<Value>| {
        let path = format!("/v1/{project}{path}");
        app.send(verb, &path, headers, body.map(|body| body.to_string())).await
    };
    let template = json!({ "heat_template_version": "2018-08-31", "resources": {
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": {
            "config": "echo", "outputs": [{ "name": "said" }] } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": { "get_resource": "config" }, "server": "s1",
            "signal_transport": "ZAQAR_SIGNAL" } } } });
    let body = json!({ "stack_name": "web", "template": template });
    let created = ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let first = async || {
        let listed = ask("GET", "/software_deployments", None).await.json();
        listed["software_deployments"].get(0).cloned()
    };
    let deployment = until(&[app], "a deployment", first).await;
    let config = deployment["config_id"].as_str().unwrap();
    let config = ask("GET", &format!("/software_configs/{config}"), None).await.json();
    let mut told = json!({});
    for input in config["software_config"]["inputs"].as_array().unwrap() {
        let name = input["name"].as_str().unwrap();
        told[name.strip_prefix("deploy_").unwrap_or(name)] = input["value"].clone();
    }
    let queue = Queue::of(&told).await;
    queue.post(&json!({ "said": "at first" })).await;
    let is_made = async || {
        let status = ask("GET", "/stacks", None).await.json()["stacks"][0]["stack_status"].clone();
        assert!(status == "CREATE_COMPLETE" || status == "CREATE_IN_PROGRESS", "{status}");
        status == "CREATE_COMPLETE"
    };
    until(&[app], "the stack is made", is_made).await;
    queue.empty().await;
    (deployment["id"].as_str().unwrap().to_owned(), queue)
}

#[actix::test]
async fn a_deployment_that_no_resource_waits_for_is_looked_for_in_zaqar_when_it_is_shown() {
    let limits = EngineLimits { max_signal_size: 10_000, ..EngineLimits::default() };
    let app = App::within(limits).await;
    let (id, queue) = deployed_by_queue(&app, &app.project, &[("x-auth-token", &app.token)]).await;
    let path = format!("/software_deployments/{id}");
    let shown = async || app.get(&path).await.json()["software_deployment"].clone();
    let started = json!({ "status": "IN_PROGRESS" });
    send(&app, "PUT", &path, started.clone()).await;
    // Nothing yet, and what is no answer.
    assert_eq!(shown().await["status"], "IN_PROGRESS");
    queue.post(&json!("no object")).await;
    queue.post(&json!({ "said": "x".repeat(10_000) })).await;
    assert_eq!(shown().await["status"], "IN_PROGRESS");
    queue.post(&json!({ "said": "done", "deploy_status_code": 0 })).await;
    let (other, project) = app.login("alt_demo", "alt_demo").await;
    let as_other = [("x-auth-token", other.as_str())];
    let hidden = app.send("GET", &format!("/v1/{project}{path}"), &as_other, None).await;
    assert_eq!(hidden.status, 404);
    let complete = shown().await;
    assert_eq!(complete["status"], "COMPLETE", "{complete}");
    assert_eq!(complete["output_values"]["said"], "done", "{complete}");
    assert_eq!(shown().await, complete);
    // What was taken is gone, as in Heat.
    assert_eq!(queue.pop().await, Some(json!("no object")));
    assert!(queue.pop().await.is_some_and(|long| long["said"] != "done"));
    assert_eq!(queue.pop().await, None);
    send(&app, "PUT", &path, started).await;
    queue.post(&json!({ "deploy_status_code": 3 })).await;
    let failed = shown().await;
    assert_eq!(failed["status"], "FAILED", "{failed}");
    app.stop().await;
}

#[actix::test]
async fn a_queue_in_another_cloud_is_looked_at_there_and_for_nobody_of_this_one() {
    let other = Sandbox::start(SandboxConfig::instant()).unwrap();
    let setup = SetUp {
        front: FrontSettings { auth: Auth::Password, ..FrontSettings::default() },
        signers: vec![("west", other.auth_url.clone())],
        entrances: vec![other.auth_url.clone()],
        ..SetUp::default()
    };
    let app = App::set_up(Arc::new(MemoryLog::new()), setup).await;
    let (_, project) = login(&app.client, &other.auth_url, "demo", "demo").await;
    let url = other.auth_url.as_str();
    let there = [("x-auth-user", "demo"), ("x-auth-key", "secret"), ("x-auth-url", url)];
    let (id, queue) = deployed_by_queue(&app, &project, &there).await;
    let ask = async |verb: &str, project: &str, headers: &[(&str, &str)], body: Option<Value>| {
        let path = format!("/v1/{project}/software_deployments/{id}");
        let body = body.map(|body| body.to_string());
        app.send(verb, &path, headers, body).await.json()["software_deployment"].clone()
    };
    ask("PUT", &project, &there, Some(json!({ "status": "IN_PROGRESS" }))).await;
    queue.post(&json!({ "said": "done", "deploy_status_code": 0 })).await;
    let (admin, of_admins) = app.login("admin", "admin").await;
    let seen = ask("GET", &of_admins, &[("x-auth-token", &admin)], None).await;
    assert_eq!(seen["status"], "IN_PROGRESS", "{seen}");
    let seen = ask("GET", &project, &there, None).await;
    assert_eq!(
        (&seen["status"], &seen["output_values"]["said"]),
        (&"COMPLETE".into(), &"done".into())
    );
    // This cloud's Keystone was shown no password of a user that it does not know.
    assert!(app.sandbox.requests().iter().all(|seen| seen.status != 401));
    app.stop().await;
}
