//! Commands through HTTP: what is answered, and what is seen at once afterwards.

use hearth::clock::Clock;
use serde_json::{Value, json};

use super::app::App;

use crate::support::wait::{WAIT_MAX, polled};

fn template() -> Value {
    json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "text": { "type": "string", "default": "blue" } },
        "resources": {
            "a": { "type": "OS::Heat::Value", "properties": { "value": { "get_param": "text" } } },
            "b": {
                "type": "OS::Heat::TestResource",
                "properties": { "value": { "get_attr": ["a", "value"] } },
            },
        },
        "outputs": { "said": { "value": { "get_attr": ["b", "output"] } } },
    })
}

#[actix::test]
async fn a_created_stack_is_seen_at_once_and_comes_to_its_end() {
    let app = App::start().await;
    let body = json!({ "stack_name": "web", "template": template(), "tags": "a,b" });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let stack = &created.json()["stack"];
    let href = stack["links"][0]["href"].as_str().unwrap().to_owned();
    assert_eq!(created.header("location"), href);
    assert!(created.header("x-openstack-request-id").starts_with("req-"));
    assert_eq!(app.get("/stacks").await.json()["stacks"][0]["stack_name"], "web");
    let stack = app.settled("web").await;
    assert_eq!(stack["stack_status"], "CREATE_COMPLETE");
    assert_eq!(stack["tags"], json!(["a", "b"]));
    assert_eq!(stack["outputs"][0]["output_value"], "blue");
    app.stop().await;
}

/// Sends a command to a stack by its canonical path.
async fn path_of(app: &App, name: &str) -> String {
    let moved = app.get(&format!("/stacks/{name}")).await;
    let location = moved.header("location").to_owned();
    location.split_once(&app.project).unwrap().1.to_owned()
}

#[actix::test]
async fn an_update_takes_what_is_given_and_patch_keeps_the_rest() {
    let app = App::start().await;
    app.create("web", template()).await;
    let path = path_of(&app, "web").await;
    let body = json!({ "template": template(), "parameters": { "text": "red" }, "tags": "x" });
    let accepted = app.ask("PUT", &path, Some(body)).await;
    assert_eq!(accepted.status, 202, "{}", accepted.text);
    // The answer leaves when the update is seen.
    let stack = app.settled("web").await;
    assert_eq!(stack["stack_status"], "UPDATE_COMPLETE");
    assert_eq!(stack["outputs"][0]["output_value"], "red");
    assert!(stack["updated_time"].is_string());

    let accepted = app.ask("PATCH", &path, Some(json!({ "template": null }))).await;
    assert_eq!(accepted.status, 202, "{}", accepted.text);
    let stack = app.settled("web").await;
    assert_eq!(stack["outputs"][0]["output_value"], "red");
    assert_eq!(stack["tags"], json!(["x"]));

    let body = json!({ "parameters": {}, "clear_parameters": ["text"] });
    assert_eq!(app.ask("PATCH", &path, Some(body)).await.status, 202);
    assert_eq!(app.settled("web").await["outputs"][0]["output_value"], "blue");

    // PUT forgets what it is not given, and wants a template.
    let body = json!({ "template": template() });
    assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
    assert_eq!(app.settled("web").await["tags"], json!([]));
    let before = app.log.durable_position();
    let refused = app.ask("PUT", &path, Some(json!({ "parameters": {} }))).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["message"], "No template specified");
    assert_eq!(app.ask("PATCH", &path, None).await.status, 400);
    assert_eq!(app.log.durable_position(), before);
    app.stop().await;
}

#[actix::test]
async fn environments_meet_parameters_as_heat_lets_them() {
    let app = App::start().await;
    let said = async |name: &str, more: Value| {
        let mut body = json!({ "stack_name": name, "template": template() });
        body.as_object_mut().unwrap().extend(super::story::map(more));
        let created = app.ask("POST", "/stacks", Some(body)).await;
        assert_eq!(created.status, 201, "{}", created.text);
        app.settled(name).await["outputs"][0]["output_value"].clone()
    };
    // Beside an environment parameters win; beside files of environments the files do.
    let environment = json!({ "parameters": { "text": "from environment" } });
    let parameters = json!({ "text": "from parameters" });
    let both = json!({ "environment": environment, "parameters": parameters });
    assert_eq!(said("a", both).await, "from parameters");
    let alone = json!({ "environment": "parameters: {text: as text}" });
    assert_eq!(said("b", alone).await, "as text");
    let files = json!({
        "environment": environment,
        "environment_files": ["one", "two"],
        "files": { "one": "parameters: {text: one}", "two": "parameters: {text: two}" },
        "parameters": parameters,
    });
    assert_eq!(said("c", files).await, "two");
    app.stop().await;
}

#[actix::test]
async fn previews_say_what_would_be_and_write_nothing() {
    let app = App::start().await;
    app.create("web", template()).await;
    let path = path_of(&app, "web").await;
    let before = app.log.durable_position();
    let body = json!({ "stack_name": "other", "template": template() });
    let planned = app.ask("POST", "/stacks/preview", Some(body)).await;
    assert_eq!(planned.status, 200, "{}", planned.text);
    let stack = &planned.json()["stack"];
    assert_eq!((&stack["id"], &stack["stack_name"]), (&json!("None"), &json!("other")));
    assert_eq!(stack["parameters"]["OS::stack_id"], "None");
    let first = &stack["resources"][0];
    assert_eq!(first["resource_action"], "INIT");
    assert_eq!(first["resource_identity"]["path"], "/resources/a");
    assert_eq!(first["required_by"], json!(["b"]));
    assert_eq!(first["properties"], json!({ "value": "blue", "type": null }));
    assert_eq!(first["attributes"], json!({ "value": "blue" }));
    assert_eq!((&first["creation_time"], &first["updated_time"]), (&Value::Null, &Value::Null));

    let mut changed = template();
    changed["resources"]["b"]["type"] = "OS::Heat::RandomString".into();
    changed["resources"]["b"]["properties"] = json!({});
    changed["resources"]["c"] = json!({ "type": "OS::Heat::None" });
    changed["outputs"] = json!({});
    let body = json!({ "template": changed });
    let planned = app.ask("PUT", &format!("{path}/preview"), Some(body)).await;
    assert_eq!(planned.status, 200, "{}", planned.text);
    let plan = planned.json();
    let names = |group: &str| {
        let rows = plan["resource_changes"][group].as_array().unwrap().iter();
        rows.map(|row| row["resource_name"].as_str().unwrap().to_owned()).collect::<String>()
    };
    let groups = ["unchanged", "updated", "replaced", "added", "deleted"].map(names);
    assert_eq!(groups, ["a", "", "b", "c", ""]);
    let planned = app.ask("PATCH", &format!("{path}/preview"), Some(json!({}))).await;
    assert_eq!(planned.status, 200, "{}", planned.text);
    assert_eq!(app.log.durable_position(), before);
    app.stop().await;
}

#[actix::test]
async fn a_deleted_name_is_free_at_once() {
    let app = App::start().await;
    app.create("web", template()).await;
    let path = path_of(&app, "web").await;
    let deleted = app.ask("DELETE", &path, None).await;
    assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    app.shows("/stacks/web", |shown| shown.status == 404).await;
    app.create("web", template()).await;
    app.stop().await;
}

#[actix::test]
async fn a_validation_tells_parameters_and_faults() {
    let app = App::start().await;
    let mut checked = template();
    checked["parameters"]["size"] = json!({
        "type": "number",
        "hidden": true,
        "constraints": [{ "range": { "min": 1, "max": 3 }, "description": "small" }],
    });
    let valid = app.ask("POST", "/validate", Some(json!({ "template": checked }))).await;
    assert_eq!(valid.status, 200, "{}", valid.text);
    assert_eq!(
        valid.json(),
        json!({
            "Description": "No description",
            "Parameters": {
                "text": {
                    "Type": "String", "Description": "", "NoEcho": "false", "Label": "text",
                    "Default": "blue",
                },
                "size": {
                    "Type": "Number", "Description": "", "NoEcho": "true", "Label": "size",
                    "MinValue": 1, "MaxValue": 3, "ConstraintDescription": "small",
                },
            },
            "Environment": {
                "event_sinks": [], "parameter_defaults": {}, "parameters": {},
                "resource_registry": { "resources": {} },
            },
        })
    );
    let broken = json!({ "heat_template_version": "2021-04-16", "resources": { "a": {} } });
    let refused = app.ask("POST", "/validate", Some(json!({ "template": broken }))).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"]["type"], "HTTPBadRequest");
    assert_eq!(app.log.durable_position().0, 0);
    app.stop().await;
}

#[actix::test]
async fn an_administrator_reaches_every_projects_stacks_by_id_and_his_own_by_name() {
    let app = App::start().await;
    let theirs = app.create("web", template()).await["id"].as_str().unwrap().to_owned();
    let (token, project) = app.login("admin", "admin").await;
    let headers = [("x-auth-token", token.as_str())];
    let ask = async |verb: &str, name: &str, body: Option<Value>| {
        let (path, body) = (format!("/v1/{project}/stacks{name}"), body.map(|it| it.to_string()));
        app.send(verb, &path, &headers, body).await
    };
    let moved = ask("GET", &format!("/{theirs}"), None).await;
    // It leads to the owner's project, whose URL his own token is good for.
    assert!(moved.header("location").contains(&app.project));
    let shown = app.send("GET", moved.header("location"), &headers, None).await;
    assert_eq!(shown.json()["stack"]["stack_name"], "web");

    let now = hearth::clock::SystemClock.now().format("%Y-%m-%dT%H:%M:%S%.6fZ");
    for (verb, name) in [
        ("GET", "/web".to_owned()),
        ("DELETE", "/web".to_owned()),
        ("POST", "/web/actions".to_owned()),
        ("GET", format!("/web?at={now}")),
    ] {
        assert_eq!(ask(verb, &name, None).await.status, 404, "{verb} {name}");
    }
    let body = json!({ "stack_name": "web", "template": template() });
    let own = ask("POST", "", Some(body)).await.json()["stack"]["id"].take();
    let moved = ask("PUT", "/web", None).await;
    assert!(
        moved.header("location").ends_with(&format!("{project}/stacks/web/{own}").replace('"', ""))
    );
    app.stop().await;
}

#[actix::test]
async fn a_log_that_cannot_be_written_refuses_commands_and_answers_reads() {
    let log = std::sync::Arc::new(hearth::events::log::MemoryLog::new());
    let app = App::over(log.clone()).await;
    app.create("web", template()).await;
    log.hold();
    let body = json!({ "stack_name": "new", "template": template() });
    let refused = {
        let asked = app.ask("POST", "/stacks", Some(body.clone()));
        tokio::pin!(asked);
        loop {
            // However late it comes to the log, it is lost there.
            let patience = std::time::Duration::from_millis(100);
            if let Ok(refused) = tokio::time::timeout(patience, &mut asked).await {
                break refused;
            }
            log.lose("no space left on device");
            log.hold();
        }
    };
    assert_eq!(refused.status, 503, "{}", refused.text);
    let fault = refused.json();
    assert_eq!(fault["error"]["type"], "HTTPServiceUnavailable");
    assert_eq!(refused.header("retry-after"), "5");
    assert_eq!(app.get("/stacks").await.json()["stacks"].as_array().unwrap().len(), 1);
    assert_eq!(app.get("/stacks/new").await.status, 404);
    log.release();
    // Actors that went ahead of the log are woken anew; soon commands are taken again.
    let is_taken = async || app.ask("POST", "/stacks", Some(body.clone())).await.status == 201;
    polled(WAIT_MAX, "commands are taken again", is_taken).await;
    assert_eq!(app.settled("new").await["stack_status"], "CREATE_COMPLETE");
    app.stop().await;
}

#[actix::test]
async fn attributes_that_have_no_value_are_null() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "resources": {
            "a": { "type": "OS::Heat::TestResource", "properties": { "fail": true } },
            "b": { "type": "OS::Heat::RandomString", "depends_on": "a" },
            "c": { "type": "My::Test", "properties": { "fail": true } },
        },
    });
    let environment = json!({ "resource_registry": { "My::Test": "OS::Heat::TestResource" } });
    let body = json!({ "stack_name": "web", "template": template, "environment": environment });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    app.settled("web").await;
    let path = path_of(&app, "web").await;
    let output = json!({ "output": null });
    for (name, expected) in [("a", output.clone()), ("b", json!({ "value": null })), ("c", output)]
    {
        let shown = app.get(&format!("{path}/resources/{name}")).await.json();
        assert_eq!(shown["resource"]["attributes"], expected, "{shown}");
    }
    app.stop().await;
}
