//! What is asked of the cloud as it is shown: attributes of resources, also of those at work, and
//! the outputs that read what others may change.

use std::time::Duration;

use serde_json::{Value, json};

use super::app::{Answered, App, SetUp};
use hearth::sandbox::Latencies;

/// The answer to a question below a stack's path.
async fn below(app: &App, stack: &Value, path: &str) -> Value {
    let name = stack["stack_name"].as_str().unwrap();
    let id = stack["id"].as_str().unwrap();
    app.get(&format!("/stacks/{name}/{id}{path}")).await.json()
}

#[actix::test]
async fn an_output_shows_what_the_cloud_has_of_an_object_by_now() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "resources": { "net": { "type": "OS::Neutron::Net", "properties": { "name": "first" } } },
        "outputs": {
            "shown": { "value": { "get_attr": ["net", "show", "name"] } },
            "kept": { "value": { "get_attr": ["net", "name"] } },
        },
    });
    let stack = app.create("web", template).await;
    let net = below(&app, &stack, "/resources/net").await;
    let id = net["resource"]["physical_resource_id"].as_str().unwrap().to_owned();
    let base = app.keystone.trim_end_matches('/').trim_end_matches("/v3");
    let url = format!("{base}/network/v2.0/networks/{id}");
    let headers = [("x-auth-token", app.token.as_str())];
    let body = json!({ "network": { "name": "second" } }).to_string();
    assert_eq!(app.send("PUT", &url, &headers, Some(body)).await.status, 200);

    let value = async |key: &str| {
        let shown = below(&app, &stack, &format!("/outputs/{key}")).await;
        shown["output"]["output_value"].clone()
    };
    assert_eq!((value("shown").await, value("kept").await), (json!("second"), json!("first")));
    let shown = below(&app, &stack, "").await;
    let outputs = shown["stack"]["outputs"].as_array().unwrap();
    let found = outputs.iter().find(|output| output["output_key"] == "shown").unwrap();
    assert_eq!(found["output_value"], "second");

    // What cannot be looked up is as it was.
    assert_eq!(app.send("DELETE", &url, &headers, None).await.status, 204);
    assert_eq!(value("shown").await, "first");
    app.stop().await;
}

#[actix::test]
async fn a_resource_at_work_shows_its_object_as_it_is() {
    let latencies = Latencies { server: Duration::from_secs(3600), ..Latencies::none() };
    let setup = SetUp { latencies, ..SetUp::default() };
    let app = App::set_up(std::sync::Arc::new(hearth::events::log::MemoryLog::new()), setup).await;
    let body = json!({ "stack_name": "web", "template": {
        "heat_template_version": "2021-04-16",
        "resources": { "server": { "type": "OS::Nova::Server", "properties": {
            "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
        } } },
    } });
    let created = app.ask("POST", "/stacks", Some(body)).await.json();
    let path = format!("/stacks/web/{}/resources/server", created["stack"]["id"].as_str().unwrap());
    let is_made = |shown: &Answered| shown.json()["resource"]["physical_resource_id"] != "";
    let resource = app.shows(&path, is_made).await.json()["resource"].take();
    assert_eq!(resource["resource_status"], "CREATE_IN_PROGRESS");
    assert_eq!(resource["attributes"]["status"], "BUILD", "{resource}");
    app.stop().await;
}

#[actix::test]
async fn the_object_of_a_resource_is_shown_with_what_else_is_asked_for() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "resources": { "net": { "type": "OS::Neutron::Net" },
                       "said": { "type": "OS::Heat::TestResource",
                                 "properties": { "value": "x" } } },
    });
    let stack = app.create("web", template).await;
    app.settled("web").await;
    let attributes = async |query: &str| {
        let shown = below(&app, &stack, &format!("/resources/{query}")).await;
        shown["resource"]["attributes"].clone()
    };
    let object = attributes("net").await;
    assert!(object["id"].is_string() && object["revision_number"].is_number(), "{object}");
    assert_eq!((object.get("show"), object.get("segments")), (None, None), "{object}");
    let mut more = attributes("net?with_attr=segments&with_attr=mtu&with_attr=nothing").await;
    for (name, value) in [("segments", json!([])), ("nothing", Value::Null)] {
        assert_eq!(more.as_object_mut().unwrap().remove(name), Some(value), "{name}");
    }
    assert_eq!(more, object);
    assert_eq!(attributes("net?with_attr=show").await["show"], object);
    // What has none is told by its attributes.
    assert_eq!(attributes("said").await, json!({ "output": "x" }));
    app.stop().await;
}
