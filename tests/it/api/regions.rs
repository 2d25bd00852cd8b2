//! Stacks that a resource has in another region, through the API of the Heat there.

use serde_json::{Value, json};

use super::app::App;

fn template(region: &str, value: &str) -> Value {
    let beside = json!({
        "heat_template_version": "2018-08-31",
        "parameters": { "value": { "type": "string" } },
        "resources": { "x": { "type": "OS::Heat::TestResource",
                              "properties": { "value": { "get_param": "value" } } } },
        "outputs": { "said": { "value": { "get_attr": ["x", "output"] } } },
    });
    with(region, &beside.to_string(), json!({ "value": value }))
}

fn with(region: &str, text: &str, parameters: Value) -> Value {
    json!({
        "heat_template_version": "2018-08-31",
        "resources": { "far": { "type": "OS::Heat::Stack", "properties": {
            "context": { "region_name": region }, "template": text,
            "parameters": parameters } } },
        "outputs": { "seen": { "value": { "get_attr": ["far", "outputs", "said"] } } },
    })
}

async fn refused(app: &App, template: Value) -> String {
    let body = json!({ "stack_name": "refused", "template": template });
    let refused = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    refused.json()["error"]["message"].as_str().unwrap().to_owned()
}

#[actix::test]
async fn a_stack_lives_in_another_region_with_its_resource() {
    let app = App::start().await;
    let created = app.create("web", template("Elsewhere", "one")).await;
    assert_eq!(created["stack_status"], "CREATE_COMPLETE", "{created}");
    assert_eq!(created["outputs"][0]["output_value"], "one");
    let path = format!("/stacks/web/{}", created["id"].as_str().unwrap());
    let far = app.get(&format!("{path}/resources/far")).await.json()["resource"].clone();
    let far = far["physical_resource_id"].as_str().unwrap().to_owned();
    let listed = app.get("/stacks").await.json();
    let there = listed["stacks"].as_array().unwrap().iter().find(|stack| stack["id"] == *far);
    let name = there.unwrap()["stack_name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("web-far-"), "{name}");

    let body = json!({ "template": template("Elsewhere", "two") });
    assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
    let updated = app.settled("web").await;
    assert_eq!(updated["stack_status"], "UPDATE_COMPLETE", "{updated}");
    assert_eq!(updated["outputs"][0]["output_value"], "two");
    assert_eq!(app.settled(&name).await["stack_status"], "UPDATE_COMPLETE");

    for (word, state) in [("suspend", "SUSPEND_COMPLETE"), ("resume", "RESUME_COMPLETE")] {
        let body = json!({ word: null });
        assert_eq!(app.ask("POST", &format!("{path}/actions"), Some(body)).await.status, 200);
        assert_eq!(app.settled("web").await["stack_status"], state);
        assert_eq!(app.settled(&name).await["stack_status"], state);
    }

    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    app.comes_to(&path, "DELETE_COMPLETE").await;
    let listed = app.get("/stacks").await.json();
    assert_eq!(listed["stacks"], json!([]));
    app.stop().await;
}

#[actix::test]
async fn what_cannot_be_made_elsewhere_refuses_the_stack() {
    let app = App::start().await;
    assert_eq!(
        refused(&app, template("DARKHOLE", "one")).await,
        "Cannot establish connection to Heat endpoint at region \"DARKHOLE\" due to \"public \
         endpoint for orchestration service in DARKHOLE region not found\""
    );
    let wrong = "heat_template_version: 2018-08-31\nresource: {}\n";
    for region in ["RegionOne", "Elsewhere"] {
        let message = refused(&app, with(region, wrong, json!({}))).await;
        let start = format!(
            "Failed validating stack template using Heat endpoint at region \"{region}\" due to \
             \"ERROR: "
        );
        assert!(message.starts_with(&start), "{message}");
        assert!(message.contains("The template section is invalid: resource"), "{message}");
    }
    app.stop().await;
}
