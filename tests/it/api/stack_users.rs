//! Signals from users that stacks have: with a token that a handle hands out.

use serde_json::{Value, json};

use super::app::{Answered, App};

/// Creates the stack `web` and does not wait for it.
async fn accepted(app: &App, template: Value) -> String {
    let body = json!({ "stack_name": "web", "template": template });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    created.json()["stack"]["id"].as_str().unwrap().to_owned()
}

/// Whether a user who was told his id, password and project gets a token.
async fn may_log_in(app: &App, known: &Value) -> bool {
    ask_token(app, known).await.status().is_success()
}

/// A token of such a user's.
async fn log_in(app: &App, known: &Value) -> (String, Value) {
    let reply = ask_token(app, known).await;
    assert_eq!(reply.status().as_u16(), 201);
    let token = reply.headers()["x-subject-token"].to_str().unwrap().to_owned();
    (token, reply.json().await.unwrap())
}

async fn ask_token(app: &App, known: &Value) -> reqwest::Response {
    let body = json!({ "auth": {
        "identity": { "methods": ["password"], "password": { "user": {
            "id": known["user_id"], "password": known["password"] } } },
        "scope": { "project": { "id": known["project_id"] } },
    } });
    let url = format!("{}/auth/tokens", known["auth_url"].as_str().unwrap());
    app.client.post(url).json(&body).send().await.unwrap()
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
    let attributes = with_token(&app, &path).await;
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
    let is_there = |shown: &Answered| shown.json()["software_deployments"][0].is_object();
    let listed = app.shows("/software_deployments", is_there).await.json();
    let deployment = listed["software_deployments"][0].clone();
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
    // He may say how it went, and is not the server itself, which asks for what it is to do.
    let project = known["project_id"].as_str().unwrap();
    let path = format!("/v1/{project}/software_deployments/metadata/s1");
    is_forbidden(&app.send("GET", &path, &[("x-auth-token", &token)], None).await);
    let moved = app.get("/stacks/web").await;
    let (_, place) = moved.header("location").split_once("/stacks/").unwrap();
    let path = format!("/v1/{project}/stacks/{place}/resources/deployment/signal");
    let body = Some(json!({ "deploy_status_code": 0 }).to_string());
    let signaled = app.send("POST", &path, &[("x-auth-token", &token)], body).await;
    assert_eq!(signaled.status, 200, "{}", signaled.text);
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");
    app.stop().await;
}

#[actix::test]
async fn a_server_asks_for_its_configurations_as_a_user_of_its_stacks() {
    let app = App::start().await;
    let template = |transport: &str| {
        json!({
            "heat_template_version": "2018-08-31",
            "resources": {
                "server": { "type": "OS::Nova::Server", "properties": {
                    "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
                    "user_data_format": "SOFTWARE_CONFIG",
                    "software_config_transport": transport } },
                "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "x" } },
                "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                    "config": { "get_resource": "config" }, "server": { "get_resource": "server" },
                    "signal_transport": "NO_SIGNAL" } },
            },
        })
    };
    let id = accepted(&app, template("POLL_SERVER_HEAT")).await;
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

    // To and fro: each time the agent is told the way that is good from then on.
    let stack = format!("/stacks/web/{id}");
    for (transport, way, former) in
        [("POLL_SERVER_CFN", "cfn", "heat"), ("POLL_SERVER_HEAT", "heat", "cfn")]
    {
        let body = json!({ "template": template(transport) });
        assert_eq!(app.ask("PUT", &stack, Some(body)).await.status, 202);
        let settled = app.settled("web").await;
        assert_eq!(settled["stack_status"], "UPDATE_COMPLETE", "{settled}");
        let path = format!("{stack}/resources/server");
        let now = app.get(&path).await.json()["resource"]["physical_resource_id"].clone();
        assert_eq!(now, server, "it is the same server");
        let shown = app.get(&format!("{path}/metadata")).await.json()["metadata"].clone();
        let agent = &shown["os-collect-config"];
        assert_eq!(agent["collectors"], json!(["ec2", way, "local"]));
        let is_told = |way: &str| agent[way].as_object().unwrap().values().any(|it| !it.is_null());
        assert_eq!((is_told(way), is_told(former)), (true, false), "{agent}");
        assert_eq!(shown["deployments"].as_array().unwrap().len(), 1);
    }
    let path = format!("{stack}/resources/server/metadata");
    let known = app.get(&path).await.json()["metadata"]["os-collect-config"]["heat"].clone();
    assert!(may_log_in(&app, &known).await);
    app.stop().await;
}

/// The attributes of a resource of `web`, once it has a token of its user's.
async fn with_token(app: &App, path: &str) -> Value {
    let has_token = |shown: &Answered| shown.json()["resource"]["attributes"]["token"].is_string();
    app.shows(path, has_token).await.json()["resource"]["attributes"].take()
}

fn is_forbidden(answered: &super::app::Answered) {
    let error = answered.json()["error"].clone();
    let text = "You are not authorized to complete this action.";
    assert_eq!((answered.status, &error["type"]), (403, &json!("Forbidden")), "{error}");
    assert_eq!(error["message"], text);
}

#[actix::test]
async fn a_stacks_user_can_neither_read_nor_signal_what_is_not_his() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "own": { "type": "OS::Heat::WaitConditionHandle" },
            "other": { "type": "OS::Heat::WaitConditionHandle" },
            "database": { "type": "OS::Heat::TestResource",
                          "metadata": { "password": "hunter2" } },
        },
    });
    let id = accepted(&app, template).await;
    let attributes = with_token(&app, &format!("/stacks/web/{id}/resources/own")).await;
    let (_, place) = attributes["endpoint"].as_str().unwrap().split_once("/v1/").unwrap();
    let (users, _) = place.split_once('/').unwrap();
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");
    let token = [("x-auth-token", attributes["token"].as_str().unwrap())];
    let ask = async |verb: &str, rest: &str| {
        let path = format!("/v1/{users}/stacks/web/{id}{rest}");
        app.send(verb, &path, &token, None).await
    };
    let own = ask("GET", "/resources/own/metadata").await;
    assert_eq!(own.status, 200, "{}", own.text);
    for name in ["database", "other", "nowhere"] {
        is_forbidden(&ask("GET", &format!("/resources/{name}/metadata")).await);
        is_forbidden(&ask("POST", &format!("/resources/{name}/signal")).await);
    }
    for rest in ["", "/resources", "/resources/own", "/events", "/template", "/environment"] {
        assert_eq!(ask("GET", rest).await.status, 403, "{rest}");
    }
    // The signals of others left no trace.
    let metadata = app.get(&format!("/stacks/web/{id}/resources/other/metadata")).await.json();
    assert_eq!(metadata["metadata"], json!({}));

    // A stack of the same project whose user he is not is not there at all.
    app.create("beside", json!({ "heat_template_version": "2018-08-31" })).await;
    let beside = app.settled("beside").await["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/{users}/stacks/beside/{beside}/resources/own/metadata");
    assert_eq!(app.send("GET", &path, &token, None).await.status, 404);
    let path = format!("/v1/{users}/stacks/beside");
    assert_eq!(app.send("GET", &path, &token, None).await.status, 404);
    app.stop().await;
}

#[actix::test]
async fn a_server_cannot_ask_for_the_configurations_of_its_neighbor() {
    let app = App::start().await;
    let server = json!({ "type": "OS::Nova::Server", "properties": {
        "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
        "user_data_format": "SOFTWARE_CONFIG",
        "software_config_transport": "POLL_SERVER_HEAT" } });
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "one": server, "two": server,
            "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "x" } },
            "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                "config": { "get_resource": "config" }, "server": { "get_resource": "one" },
                "signal_transport": "NO_SIGNAL" } },
        },
        "outputs": { "one": { "value": { "get_resource": "one" } },
                     "two": { "value": { "get_resource": "two" } } },
    });
    let id = accepted(&app, template).await;
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "CREATE_COMPLETE", "{settled}");
    let output = |key: &str| {
        let outputs = settled["outputs"].as_array().unwrap();
        let found = outputs.iter().find(|output| output["output_key"] == key).unwrap();
        found["output_value"].as_str().unwrap().to_owned()
    };
    let path = format!("/stacks/web/{id}/resources/two/metadata");
    let known = app.get(&path).await.json()["metadata"]["os-collect-config"]["heat"].clone();
    let (token, _) = log_in(&app, &known).await;
    let users = known["project_id"].as_str().unwrap();
    let polled = async |server: &str| {
        let path = format!("/v1/{users}/software_deployments/metadata/{server}");
        app.send("GET", &path, &[("x-auth-token", token.as_str())], None).await
    };
    assert_eq!(polled(&output("two")).await.json()["metadata"], json!([]));
    is_forbidden(&polled(&output("one")).await);
    is_forbidden(&polled("nowhere").await);
    app.stop().await;
}

#[actix::test]
async fn a_server_that_is_there_already_asks_for_its_configurations_as_a_user_of_the_stacks() {
    let app = App::start().await;
    let template = |transport: &str| {
        json!({
            "heat_template_version": "2018-08-31",
            "resources": {
                "server": { "type": "OS::Heat::DeployedServer", "properties": {
                    "name": "rack-7", "software_config_transport": transport } },
                "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "x" } },
                "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                    "config": { "get_resource": "config" },
                    "server": { "get_resource": "server" }, "signal_transport": "NO_SIGNAL" } },
            },
            "outputs": { "name": { "value": { "get_attr": ["server", "name"] } } },
        })
    };
    let id = accepted(&app, template("POLL_SERVER_HEAT")).await;
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "CREATE_COMPLETE", "{settled}");
    assert_eq!(settled["outputs"][0]["output_value"], "rack-7");
    let stack = format!("/stacks/web/{id}");
    let path = format!("{stack}/resources/server");
    let metadata = async || app.get(&format!("{path}/metadata")).await.json()["metadata"].clone();
    let shown = metadata().await;
    assert_eq!(shown["os-collect-config"]["collectors"], json!(["heat", "local"]));
    assert_eq!(shown["deployments"].as_array().unwrap().len(), 1);
    let server = app.get(&path).await.json()["resource"]["physical_resource_id"].clone();
    let known = &shown["os-collect-config"]["heat"];
    let (token, _) = log_in(&app, known).await;
    let told = configurations(&app, &known["project_id"], &token, server.as_str().unwrap()).await;
    assert_eq!(told, shown["deployments"]);

    for (word, is_let_in) in [("suspend", false), ("resume", true)] {
        app.ask("POST", &format!("{stack}/actions"), Some(json!({ word: null }))).await;
        let settled = app.settled("web").await;
        assert_eq!(settled["stack_status"], format!("{}_COMPLETE", word.to_uppercase()));
        assert_eq!(may_log_in(&app, known).await, is_let_in, "{word}");
    }

    let body = json!({ "template": template("POLL_SERVER_CFN") });
    assert_eq!(app.ask("PUT", &stack, Some(body)).await.status, 202);
    assert_eq!(app.settled("web").await["stack_status"], "UPDATE_COMPLETE");
    let agent = metadata().await["os-collect-config"].clone();
    assert_eq!(agent["collectors"], json!(["cfn", "local"]), "{agent}");
    assert_eq!(
        (&agent["heat"]["password"], &agent["cfn"]["stack_name"]),
        (&Value::Null, &json!("web"))
    );

    assert_eq!(app.ask("DELETE", &stack, None).await.status, 204);
    app.comes_to(&stack, "DELETE_COMPLETE").await;
    assert!(!may_log_in(&app, known).await);
    app.stop().await;
}

#[actix::test]
async fn an_amazon_user_reads_what_his_policies_admit() {
    let app = App::start().await;
    let user = |policies: Value| {
        json!({ "type": "AWS::IAM::User", "depends_on": ["narrow", "wide"], "properties": {
            "LoginProfile": { "Password": "Let-me-in-7" }, "Policies": policies } })
    };
    let policy = |names: Value| json!({ "type": "OS::Heat::AccessPolicy", "properties": { "AllowedResources": names } });
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "narrow": policy(json!(["one"])),
            "wide": policy(json!(["one", "two"])),
            "free": user(json!([])),
            "bound": user(json!(["wide", "narrow"])),
            "one": { "type": "OS::Heat::TestResource", "metadata": { "number": 1 } },
            "two": { "type": "OS::Heat::TestResource", "metadata": { "number": 2 } },
        },
    });
    app.create("web", template).await;
    let web = app.settled("web").await;
    assert_eq!(web["stack_status"], "CREATE_COMPLETE", "{web}");
    let (id, users) = (web["id"].as_str().unwrap(), web["stack_user_project_id"].as_str().unwrap());
    for (name, readable) in
        [("free", vec!["free", "bound", "one", "two"]), ("bound", vec!["bound", "one"])]
    {
        let path = format!("/stacks/web/{id}/resources/{name}");
        let user = app.get(&path).await.json()["resource"]["physical_resource_id"].clone();
        let known = json!({ "auth_url": app.keystone, "user_id": user,
                            "password": "Let-me-in-7", "project_id": users });
        let (token, _) = log_in(&app, &known).await;
        for other in ["free", "bound", "one", "two"] {
            let path = format!("/v1/{users}/stacks/web/{id}/resources/{other}/metadata");
            let read = app.send("GET", &path, &[("x-auth-token", &token)], None).await;
            match readable.contains(&other) {
                true => assert_eq!(read.status, 200, "{name} {other}: {}", read.text),
                false => is_forbidden(&read),
            }
        }
    }
    app.stop().await;
}
