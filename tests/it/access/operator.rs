//! What an operator's rules change.

use std::sync::Arc;

use hearth::clock::SystemClock;
use hearth::policy::{Policy, PolicyPaths, PolicySettings};
use serde_json::{Value, json};

use crate::api::app::App;

/// A Hearth under a file of rules.
async fn under(rules: Value) -> App {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), rules.to_string()).unwrap();
    let paths = PolicyPaths { file: Some(file.path().into()), ..PolicyPaths::default() };
    let settings = PolicySettings { paths, ..PolicySettings::default() };
    App::under(Policy::load(settings, Arc::new(SystemClock)).unwrap()).await
}

fn value() -> Value {
    json!({ "stack_name": "web", "template": {
        "heat_template_version": "2018-08-31",
        "resources": { "a": { "type": "OS::Heat::Value", "properties": { "value": 1 } } } } })
}

#[actix::test]
async fn what_the_operator_forbids_everybody_is_refused_as_heat_refuses_it() {
    let app = under(json!({ "stacks:create": "!" })).await;
    for (user, project) in [("demo", "demo"), ("admin", "admin")] {
        let (token, id) = app.login(user, project).await;
        let headers = [("x-auth-token", token.as_str())];
        let path = format!("/v1/{id}/stacks");
        let answered = app.send("POST", &path, &headers, Some(value().to_string())).await;
        assert_eq!(answered.status, 403, "{}", answered.text);
        assert_eq!(
            answered.json(),
            json!({
                "code": 403,
                "title": "Forbidden",
                "explanation": "Access was denied to this resource.",
                "error": {
                    "type": "Forbidden",
                    "message": "You are not authorized to use stacks:create.",
                    "traceback": null,
                },
            })
        );
    }
    let preview = app.ask("POST", "/stacks/preview", Some(value())).await;
    assert_eq!(preview.status, 200, "{}", preview.text);
    app.stop().await;
}

#[actix::test]
async fn a_type_that_the_operator_forbids_is_not_made_under_any_name() {
    let app = under(json!({ "resource_types:OS::Heat::Value": "role:admin" })).await;
    let mut named = value();
    named["environment"] = json!({ "resource_registry": { "My::Own": "OS::Heat::Value" } });
    for body in [value(), named] {
        let answered = app.ask("POST", "/stacks", Some(body)).await;
        assert_eq!(answered.status, 403, "{}", answered.text);
        let message = &answered.json()["error"]["message"];
        assert_eq!(message, "You are not authorized to use OS::Heat::Value.");
    }
    let listed = app.get("/resource_types").await;
    assert!(!listed.text.contains("\"OS::Heat::Value\""));
    app.stop().await;
}

#[actix::test]
async fn lists_of_all_projects_are_for_those_whom_the_operator_names() {
    let app = under(json!({ "stacks:global_index": "role:reader",
                            "software_configs:global_index": "role:reader" }))
    .await;
    let created = app.ask("POST", "/stacks", Some(value())).await;
    assert_eq!(created.status, 201, "{}", created.text);
    app.settled("web").await;
    let config = json!({ "name": "c", "config": "x", "group": "script" });
    assert_eq!(app.ask("POST", "/software_configs", Some(config)).await.status, 200);
    let (token, project) = app.login("alt_demo", "alt_demo").await;
    let headers = [("x-auth-token", token.as_str())];
    for (collection, name) in [("stacks", "stack_name"), ("software_configs", "name")] {
        let path = format!("/v1/{project}/{collection}");
        let own = app.send("GET", &path, &headers, None).await.json();
        assert_eq!(own[collection], json!([]));
        let all = format!("{path}?global_tenant=true");
        let all = app.send("GET", &all, &headers, None).await.json();
        assert!(all[collection][0][name].is_string(), "{all}");
    }
    let all = format!("/v1/{project}/stacks?global_tenant=true");
    let all = app.send("GET", &all, &headers, None).await.json();
    assert_eq!(all["stacks"][0]["project"], json!(app.project));
    app.stop().await;
}

#[actix::test]
async fn who_administers_the_cloud_is_for_the_operator_to_say() {
    let app = under(json!({ "context_is_admin": "role:heat_stack_owner" })).await;
    let created = app.ask("POST", "/stacks", Some(value())).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let id = created.json()["stack"]["id"].as_str().unwrap().to_owned();
    let show = async |user: &str, project: &str| {
        let (token, project) = app.login(user, project).await;
        let headers = [("x-auth-token", token.as_str())];
        app.send("GET", &format!("/v1/{project}/stacks/web/{id}"), &headers, None).await.status
    };
    assert_eq!(show("alt_demo", "alt_demo").await, 200);
    // The sandbox's service user is an administrator by role alone.
    assert_eq!(show("hearth", "service").await, 404);
    app.stop().await;
}
