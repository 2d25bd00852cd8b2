//! Which types a caller sees and may use: by his roles, and by the services of the cloud.

use serde_json::{Value, json};

use hearth::resource_types::Registry;

use super::app::{Answered, App, SetUp};

use crate::support::wait::until;

fn one(type_name: &str, properties: Value) -> Value {
    json!({ "heat_template_version": "2021-04-16", "resources": {
        "a": { "type": type_name, "properties": properties } } })
}

fn is_fault(answered: &Answered, status: u16, class: &str, message: &str) {
    let error = &answered.json()["error"];
    assert_eq!((answered.status, &error["type"]), (status, &json!(class)), "{}", answered.text);
    assert_eq!(error["message"], message);
}

/// In a cloud without Zun.
async fn without_containers() -> App {
    let log = std::sync::Arc::new(hearth::events::log::MemoryLog::new());
    App::set_up(log, SetUp { without: vec!["container".to_owned()], ..SetUp::default() }).await
}

#[actix::test]
async fn types_are_listed_that_the_caller_may_use_and_the_cloud_has_a_service_for() {
    let app = without_containers().await;
    let listed = app.get("/resource_types").await.json();
    let names: Vec<&str> =
        listed["resource_types"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for name in ["OS::Nova::Server", "OS::Heat::Value", "OS::Cinder::Volume"] {
        assert!(names.contains(&name), "{name}");
    }
    for name in ["OS::Nova::Flavor", "OS::Keystone::User", "OS::Zun::Container"] {
        assert!(!names.contains(&name), "{name}");
    }
    let forbidden = "You are not authorized to use OS::Keystone::User.";
    let shown = app.get("/resource_types/OS::Keystone::User").await;
    is_fault(&shown, 403, "Forbidden", forbidden);
    let template = app.get("/resource_types/OS::Keystone::User/template").await;
    is_fault(&template, 403, "Forbidden", forbidden);
    let unavailable = app.get("/resource_types/OS::Zun::Container").await;
    let text = "HEAT-E99001 Service zun is not available for resource type OS::Zun::Container, \
                reason: Service endpoint not in service catalog.";
    is_fault(&unavailable, 400, "ResourceTypeUnavailable", text);
    app.stop().await;
}

/// A type of an extension that there is not.
const OF_AN_EXTENSION: &str = "\
type: Example::Network::Ray
class: Ray
description: What networks have elsewhere.
service: network
extension: rays
properties: { name: { type: string, description: Its name. } }
wrap: ray
name: name
create: { post: /v2.0/rays }
show: { get: '/v2.0/rays/{id}' }
delete: { delete: '/v2.0/rays/{id}' }
";

#[actix::test]
async fn types_of_an_extension_that_a_service_lacks_are_neither_listed_nor_made() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ray.yaml"), OF_AN_EXTENSION).unwrap();
    let mut registry = Registry::built_in().unwrap();
    registry.add_plugins(folder.path()).unwrap();
    let log = std::sync::Arc::new(hearth::events::log::MemoryLog::new());
    let app = App::set_up(log, SetUp { registry, ..SetUp::default() }).await;
    let listed = app.get("/resource_types").await.json();
    let listed = listed["resource_types"].as_array().unwrap();
    for (name, is_there) in [
        ("Example::Network::Ray", false),
        ("OS::Neutron::Net", true),
        ("OS::Neutron::QoSMinimumPacketRateRule", false),
        ("OS::Neutron::Trunk", true),
        ("OS::Neutron::VPNService", true),
        ("OS::Cinder::VolumeType", false),
    ] {
        // Those of an administrator are not listed, whatever there is.
        assert_eq!(listed.contains(&name.into()), is_there, "{name}");
    }
    let text = "HEAT-E99001 Service neutron is not available for resource type \
                Example::Network::Ray, reason: Required extension rays in neutron service is not \
                available.";
    let shown = app.get("/resource_types/Example::Network::Ray").await;
    is_fault(&shown, 400, "ResourceTypeUnavailable", text);
    let before = app.log.durable_position();
    let ray = one("Example::Network::Ray", json!({}));
    let body = json!({ "stack_name": "web", "template": ray });
    for path in ["/stacks", "/stacks/preview"] {
        let answered = app.ask("POST", path, Some(body.clone())).await;
        is_fault(&answered, 400, "ResourceTypeUnavailable", text);
    }
    assert_eq!(app.log.durable_position(), before);
    app.stop().await;
}

#[actix::test]
async fn types_that_are_not_the_callers_or_the_clouds_are_not_made() {
    let app = without_containers().await;
    let stack = app.create("web", one("OS::Heat::Value", json!({ "value": 1 }))).await;
    let id = stack["id"].as_str().unwrap();
    let flavor = one("OS::Nova::Flavor", json!({ "ram": 1, "vcpus": 1 }));
    let before = app.log.durable_position();
    let text = "You are not authorized to use OS::Nova::Flavor.";
    let body = json!({ "stack_name": "other", "template": flavor });
    for path in ["/stacks", "/stacks/preview"] {
        let answered = app.ask("POST", path, Some(body.clone())).await;
        is_fault(&answered, 403, "Forbidden", text);
    }
    let update = json!({ "template": flavor });
    let answered = app.ask("PUT", &format!("/stacks/web/{id}"), Some(update)).await;
    is_fault(&answered, 403, "Forbidden", text);
    let share = one("OS::Zun::Container", json!({ "image": "a" }));
    let body = json!({ "stack_name": "other", "template": share });
    let answered = app.ask("POST", "/stacks", Some(body)).await;
    let text = "HEAT-E99001 Service zun is not available for resource type OS::Zun::Container, \
                reason: zun container endpoint is not in service catalog.";
    is_fault(&answered, 400, "ResourceTypeUnavailable", text);
    assert_eq!(app.log.durable_position(), before);
    app.stop().await;
}

#[actix::test]
async fn a_nested_stack_has_no_types_that_its_user_may_not_use() {
    let app = App::start().await;
    let inner = one("OS::Nova::Flavor", json!({ "ram": 1, "vcpus": 1 }));
    let body = json!({
        "stack_name": "web",
        "template": one("inner.yaml", json!({})),
        "files": { "inner.yaml": inner.to_string() },
    });
    let answered = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(answered.status, 201, "{}", answered.text);
    let ended = async || {
        let shown = app.get("/stacks/web").await;
        let path = shown.header("location").split("/stacks/").nth(1).unwrap().to_owned();
        let shown = app.get(&format!("/stacks/{path}")).await.json();
        let is_ended = shown["stack"]["stack_status"] != "CREATE_IN_PROGRESS";
        if is_ended { Ok(shown) } else { Err(shown.to_string()) }
    };
    let shown = until(&[&app], "it ends", ended).await;
    assert_eq!(shown["stack"]["stack_status"], "CREATE_FAILED");
    assert_eq!(
        shown["stack"]["stack_status_reason"],
        "Resource CREATE failed: resources.a: You are not authorized to use OS::Nova::Flavor."
    );
    app.stop().await;
}

#[actix::test]
async fn an_alias_is_no_way_around_a_type_that_is_the_administrators() {
    let app = App::start().await;
    let template = one("My::Own", json!({ "ram": 1, "vcpus": 1 }));
    let registries = [
        json!({ "My::Own": "OS::Nova::Flavor" }),
        json!({ "My::Own": "My::Other", "My::Other": "OS::Nova::Flavor" }),
        json!({ "My::*": "OS::Nova::*", "My::Own": "OS::Nova::Flavor" }),
        json!({ "resources": { "a": { "My::Own": "OS::Nova::Flavor" } } }),
    ];
    let before = app.log.durable_position();
    for registry in registries {
        let body = json!({ "stack_name": "web", "template": template,
                           "environment": { "resource_registry": registry } });
        for path in ["/stacks", "/stacks/preview"] {
            let answered = app.ask("POST", path, Some(body.clone())).await;
            let text = "You are not authorized to use OS::Nova::Flavor.";
            is_fault(&answered, 403, "Forbidden", text);
        }
    }
    assert_eq!(app.log.durable_position(), before);
    // Behind a template that stands for the type, the alias counts as little.
    let body = json!({
        "stack_name": "web", "template": template,
        "environment": { "resource_registry": { "My::Own": "inner.yaml",
                                                "My::Other": "OS::Nova::Flavor" } },
        "files": { "inner.yaml": json!({
            "heat_template_version": "2021-04-16",
            "parameters": { "ram": { "type": "number" }, "vcpus": { "type": "number" } },
            "resources": { "b": { "type": "My::Other", "properties": {
                "ram": { "get_param": "ram" }, "vcpus": { "get_param": "vcpus" } } } },
        }).to_string() },
    });
    let answered = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(answered.status, 201, "{}", answered.text);
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "CREATE_FAILED", "{settled}");
    let reason = settled["stack_status_reason"].as_str().unwrap();
    assert!(reason.ends_with("You are not authorized to use OS::Nova::Flavor."), "{reason}");
    app.stop().await;
}
