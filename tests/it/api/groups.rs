//! Groups and the stacks of their members through HTTP.

use serde_json::{Value, json};

use super::app::App;

#[actix::test]
async fn a_group_shows_its_members_though_no_output_reads_them() {
    let app = App::start().await;
    let member = json!({ "type": "OS::Heat::TestResource", "properties": { "value": "x" } });
    let template = json!({
        "heat_template_version": "2021-04-16",
        "resources": {
            "group": { "type": "OS::Heat::ResourceGroup",
                       "properties": { "count": 2, "resource_def": member } },
            "chain": { "type": "OS::Heat::ResourceChain", "properties": {
                "resources": ["OS::Heat::TestResource"],
                "resource_properties": { "value": "x" } } },
            "scaled": { "type": "OS::Heat::AutoScalingGroup", "properties": {
                "min_size": 1, "max_size": 1, "resource": member } },
        },
    });
    let stack = app.create("web", template).await;
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");
    let path = format!("/stacks/web/{}/resources", stack["id"].as_str().unwrap());
    for (name, size) in [("group", 2), ("chain", 1), ("scaled", 1)] {
        let ids = |attributes: &Value| {
            let refs = attributes["refs"].as_array().cloned().unwrap_or_default();
            assert_eq!(refs.len(), size, "{name}: {attributes}");
            assert!(refs.iter().all(Value::is_string), "{name}: {attributes}");
        };
        ids(&app.get(&format!("{path}/{name}")).await.json()["resource"]["attributes"]);
        let asked = app.get(&format!("{path}/{name}?with_attr=refs&with_attr=output")).await;
        ids(&asked.json()["resource"]["attributes"]);
    }
    let asked = app.get(&format!("{path}/group?with_attr=output")).await.json();
    assert_eq!(asked["resource"]["attributes"]["output"], json!(["x", "x"]));
    app.stop().await;
}

#[actix::test]
async fn the_environment_of_a_members_stack_has_every_section() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "resources": { "group": { "type": "OS::Heat::ResourceGroup", "properties": {
            "count": 1, "resource_def": { "type": "OS::Heat::TestResource" } } } },
    });
    let stack = app.create("web", template).await;
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");
    let path = format!("/stacks/web/{}/resources/group", stack["id"].as_str().unwrap());
    let group = app.get(&path).await.json();
    let child = group["resource"]["physical_resource_id"].as_str().unwrap().to_owned();
    let moved = app.get(&format!("/stacks/{child}")).await;
    let (_, place) = moved.header("location").split_once("/stacks/").unwrap();
    let environment = app.get(&format!("/stacks/{place}/environment")).await.json();
    assert_eq!(environment["resource_registry"]["resources"], json!({}), "{environment}");
    app.stop().await;
}
