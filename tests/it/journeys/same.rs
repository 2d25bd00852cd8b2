//! A name and the id that it stands for: an update that writes one for the other changes nothing.

use hearth::model::StackId;
use hearth::openstack::{Request, Service};
use hearth::sandbox::RequestSeen;
use serde_json::{Value, json};

use crate::support::world::{Ground, World, hot};

/// Where things are named: by names, or by the ids of `ids`.
fn template(by: impl Fn(&str) -> Value) -> Value {
    hot(json!({
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": by("own-net"), "cidr": "10.9.0.0/24" } },
        "port": { "type": "OS::Neutron::Port", "depends_on": "subnet", "properties": {
            "network": by("own-net"), "security_groups": [by("own-group")] } },
        "rule": { "type": "OS::Neutron::SecurityGroupRule", "properties": {
            "security_group": by("own-group"), "protocol": "tcp",
            "port_range_min": 22, "port_range_max": 22 } },
        "router": { "type": "OS::Neutron::Router", "properties": {
            "external_gateway_info": { "network": by("public") } } },
        "interface": { "type": "OS::Neutron::RouterInterface", "properties": {
            "router": { "get_resource": "router" }, "subnet": { "get_resource": "subnet" } } },
        "address": { "type": "OS::Neutron::FloatingIP", "properties": {
            "floating_network": by("public") } },
        "volume": { "type": "OS::Cinder::Volume", "properties": {
            "size": 1, "image": by("cirros") } },
        "typed": { "type": "OS::Cinder::Volume", "properties": {
            "size": 1, "volume_type": by("__DEFAULT__") } },
        "server": { "type": "OS::Nova::Server", "depends_on": "subnet", "properties": {
            "image": by("cirros"), "flavor": by("m1.tiny"), "flavor_update_policy": "REPLACE",
            "networks": [{ "network": by("own-net") }],
            "security_groups": [by("own-group")] } },
    }))
}

const RESOURCES: [&str; 9] =
    ["subnet", "port", "rule", "router", "interface", "address", "volume", "typed", "server"];

async fn physical_ids(world: &World, of: StackId) -> Vec<Option<String>> {
    let mut ids = Vec::new();
    for name in RESOURCES {
        ids.push(world.physical_id(of, name).await);
    }
    ids
}

/// The id of an object that every sandbox has.
async fn id_of(ground: &Ground, service: Service, path: &str, name: &str) -> Value {
    let session = ground.cloud(true).service_session();
    let listed = session.send(Request::get(service, path)).await.unwrap().json().unwrap();
    let mut objects =
        listed.as_object().unwrap().values().find_map(Value::as_array).unwrap().iter();
    objects.find(|object| object["name"] == name).unwrap()["id"].clone()
}

fn changes(seen: &[RequestSeen]) -> Vec<String> {
    let of_cloud = seen.iter().filter(|it| !it.path.contains("/v3/auth/"));
    let changes = of_cloud.filter(|it| it.method != "GET" && it.method != "HEAD");
    changes.map(|it| format!("{} {}", it.method, it.path)).collect()
}

#[actix::test]
async fn a_name_and_its_id_are_the_same() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let base = hot(json!({
        "net": { "type": "OS::Neutron::Net", "properties": { "name": "own-net" } },
        "other": { "type": "OS::Neutron::Net", "properties": { "name": "other-net" } },
        "group": { "type": "OS::Neutron::SecurityGroup", "properties": { "name": "own-group" } },
    }));
    let base = world.create("base", base).await.unwrap();
    assert_eq!(world.settled(&base).await, "CREATE_COMPLETE");
    let ids = json!({
        "own-net": world.physical_id(base.stack, "net").await,
        "own-group": world.physical_id(base.stack, "group").await,
        "public": id_of(&ground, Service::Network, "/v2.0/networks", "public").await,
        "cirros": id_of(&ground, Service::Image, "/v2/images", "cirros").await,
        "__DEFAULT__": id_of(&ground, Service::Volume, "/types", "__DEFAULT__").await,
        "m1.tiny": id_of(&ground, Service::Compute, "/flavors", "m1.tiny").await,
    });
    let by_name = |name: &str| Value::from(name);
    let by_id = |name: &str| ids[name].clone();
    let web = world.create("web", template(by_name)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let before = physical_ids(&world, web.stack).await;
    for template in [template(by_id), template(by_name)] {
        ground.sandbox.forget_requests();
        let updated = world.update(web.stack, template).await.unwrap();
        let end = world.settled(&updated).await;
        assert_eq!(end, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
        assert_eq!(changes(&ground.sandbox.requests()), [""; 0]);
        assert_eq!(physical_ids(&world, web.stack).await, before);
    }
    // What is something else replaces as ever.
    let mut other = template(by_id);
    other["resources"]["port"]["properties"]["network"] = "other-net".into();
    let updated = world.update(web.stack, other).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let after = physical_ids(&world, web.stack).await;
    assert_ne!(after[1], before[1]);
    assert_eq!((&after[0], &after[2..]), (&before[0], &before[2..]));
}
