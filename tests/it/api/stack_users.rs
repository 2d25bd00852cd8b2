//! Signals from users that stacks have: with a token that a handle hands out.

use serde_json::{Value, json};

use super::app::App;

/// Creates the stack `web` and does not wait for it.
async fn accepted(app: &App, template: Value) -> String {
    let body = json!({ "stack_name": "web", "template": template });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    created.json()["stack"]["id"].as_str().unwrap().to_owned()
}

/// A token of a user who was told his id, password and project.
async fn log_in(app: &App, known: &Value) -> (String, Value) {
    let body = json!({ "auth": {
        "identity": { "methods": ["password"], "password": { "user": {
            "id": known["user_id"], "password": known["password"] } } },
        "scope": { "project": { "id": known["project_id"] } },
    } });
    let url = format!("{}/auth/tokens", known["auth_url"].as_str().unwrap());
    let reply = app.client.post(url).json(&body).send().await.unwrap();
    assert_eq!(reply.status().as_u16(), 201);
    let token = reply.headers()["x-subject-token"].to_str().unwrap().to_owned();
    (token, reply.json().await.unwrap())
}

/// What a user of a stack's is told of a server's configurations.
async fn configurations(app: &App, project: &Value, token: &str, server: &str) -> Value {
    let project = project.as_str().unwrap();
    let path = format!("/v1/{project}/software_deployments/metadata/{server}");
    let metadata = app.send("GET", &path, &[("x-auth-token", token)], None).await;
    assert_eq!(metadata.status, 200, "{}", metadata.text);
    metadata.json()["metadata"].clone()
}

#[actix::test]
async fn whoever_has_a_handles_token_may_signal_it_and_do_nothing_else() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "handle": { "type": "OS::Heat::WaitConditionHandle" },
            "wait": { "type": "OS::Heat::WaitCondition", "properties": {
                "handle": { "get_resource": "handle" }, "timeout": 60 } },
        },
        "outputs": { "how": { "value": { "get_attr": ["handle", "curl_cli"] } },
                     "got": { "value": { "get_attr": ["wait", "data"] } } },
    });
    let id = accepted(&app, template).await;
    let path = format!("/stacks/web/{id}/resources/handle");
    let attributes = loop {
        let shown = app.get(&path).await;
        let attributes = shown.json()["resource"]["attributes"].clone();
        if attributes["token"].is_string() {
            break attributes;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    let (token, endpoint) =
        (attributes["token"].as_str().unwrap(), attributes["endpoint"].as_str().unwrap());
    let curl = attributes["curl_cli"].as_str().unwrap();
    assert!(curl.starts_with("curl -i -X POST -H 'X-Auth-Token: "), "{curl}");
    assert!(curl.ends_with(endpoint) && curl.contains(token));
    let (_, place) = endpoint.split_once("/v1/").unwrap();
    let (users, place) = place.split_once('/').unwrap();
    let as_user = [("x-auth-token", token)];
    let listed = app.send("GET", &format!("/v1/{users}/stacks"), &as_user, None).await;
    assert_eq!(listed.status, 403, "{}", listed.text);
    let body = Some(json!({ "data": "done" }).to_string());
    let signaled = app.send("POST", &format!("/v1/{users}/{place}"), &as_user, body).await;
    assert_eq!(signaled.status, 200, "{}", signaled.text);
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "CREATE_COMPLETE");
    assert_eq!(settled["stack_user_project_id"], users);
    app.stop().await;
}

#[actix::test]
async fn a_deployment_tells_its_server_as_whom_to_answer() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "x" } },
            "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                "config": { "get_resource": "config" }, "server": "s1",
                "signal_transport": "HEAT_SIGNAL" } },
        },
    });
    accepted(&app, template).await;
    let deployment = loop {
        let listed = app.get("/software_deployments").await.json();
        if let Some(found) = listed["software_deployments"].get(0) {
            break found.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    let path = format!("/software_configs/{}", deployment["config_id"].as_str().unwrap());
    let config = app.get(&path).await.json()["software_config"].clone();
    let told = |name: &str| {
        let inputs = config["inputs"].as_array().unwrap();
        let input = inputs.iter().find(|input| input["name"] == name);
        input.unwrap_or_else(|| panic!("no {name} in {config}"))["value"].clone()
    };
    let known = json!({
        "auth_url": told("deploy_auth_url"),
        "user_id": told("deploy_user_id"),
        "password": told("deploy_password"),
        "project_id": told("deploy_project_id"),
    });
    let (token, body) = log_in(&app, &known).await;
    assert_eq!(body["token"]["user"]["name"], told("deploy_username"));
    let metadata = configurations(&app, &known["project_id"], &token, "s1").await;
    assert_eq!(metadata[0]["id"], config["id"], "{metadata}");
    app.stop().await;
}

#[actix::test]
async fn a_server_asks_for_its_configurations_as_a_user_of_its_stacks() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "server": { "type": "OS::Nova::Server", "properties": {
                "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
                "user_data_format": "SOFTWARE_CONFIG",
                "software_config_transport": "POLL_SERVER_HEAT" } },
            "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "x" } },
            "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                "config": { "get_resource": "config" }, "server": { "get_resource": "server" },
                "signal_transport": "NO_SIGNAL" } },
        },
    });
    let id = accepted(&app, template).await;
    let settled = app.settled("web").await;
    let reason = settled["stack_status_reason"].as_str().unwrap();
    assert_eq!(settled["stack_status"], "CREATE_COMPLETE", "{reason}");
    let path = format!("/stacks/web/{id}/resources/server");
    let shown = app.get(&format!("{path}/metadata")).await.json()["metadata"].clone();
    let known = &shown["os-collect-config"]["heat"];
    assert_eq!(known["stack_id"], format!("web/{id}"), "{shown}");
    assert_eq!(shown["os-collect-config"]["collectors"], json!(["ec2", "heat", "local"]));
    assert_eq!(shown["deployments"].as_array().unwrap().len(), 1);
    let server = app.get(&path).await.json()["resource"]["physical_resource_id"].clone();
    let (token, _) = log_in(&app, known).await;
    let told = configurations(&app, &known["project_id"], &token, server.as_str().unwrap()).await;
    assert_eq!(told, shown["deployments"]);

    let users = known["project_id"].as_str().unwrap();
    let path = format!("/v1/{users}{path}/metadata");
    let polled = app.send("GET", &path, &[("x-auth-token", &token)], None).await;
    assert_eq!(polled.json()["metadata"], shown);
    app.stop().await;
}
