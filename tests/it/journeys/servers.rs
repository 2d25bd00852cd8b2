//! Servers and ports that are replaced, and what they hold meanwhile.

use std::collections::BTreeSet;

use hearth::model::StackId;
use hearth::openstack::{Request, Service};
use hearth::sandbox::{Fault, FaultRule, Latencies, SandboxConfig};
use serde_json::{Value, json};

use crate::support::wait::until;
use crate::support::world::{Ground, World, hot, test_resource};

/// A server at a port of a fixed address; `fails` says that what comes after it fails.
pub(crate) fn template(flavor: &str, ports: &str, fails: bool) -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
        "port": { "type": "OS::Neutron::Port", "properties": {
            "network": { "get_resource": "net" }, "replacement_policy": ports,
            "fixed_ips": [{ "subnet": { "get_resource": "subnet" }, "ip_address": "10.9.0.9" }] } },
        "server": { "type": "OS::Nova::Server", "properties": {
            "image": "cirros", "flavor": flavor, "flavor_update_policy": "REPLACE",
            "networks": [{ "port": { "get_resource": "port" } }] } },
        "last": test_resource(json!({ "value": { "get_resource": "server" }, "fail": fails })),
    }))
}

/// The ids of the server and of its port, after that the port is found at the server.
pub(crate) async fn held(world: &World, stack: StackId) -> [String; 2] {
    let server = world.physical_id(stack, "server").await.unwrap();
    let port = world.physical_id(stack, "port").await.unwrap();
    let wanted = ["device_id".to_owned(), "fixed_ips".to_owned()];
    let who = world.requester();
    let seen = world.engine.inspect_resource(&who, stack, &"port".into(), &wanted).await;
    let seen = seen.unwrap();
    assert_eq!(seen["device_id"], server, "{seen:?}");
    assert_eq!(seen["fixed_ips"][0]["ip_address"], "10.9.0.9", "{seen:?}");
    [server, port]
}

#[actix::test]
async fn a_new_server_takes_the_port_of_the_one_that_it_replaces() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", template("m1.tiny", "AUTO", false)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let [server, port] = held(&world, web.stack).await;
    let updated = world.update(web.stack, template("m1.small", "AUTO", false)).await.unwrap();
    let end = world.settled(&updated).await;
    assert_eq!(end, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
    let [new_server, same_port] = held(&world, web.stack).await;
    assert_ne!(new_server, server);
    assert_eq!(same_port, port);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_rollback_gives_the_port_back_to_the_former_server() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let first = template("m1.tiny", "AUTO", false);
    let web = world.create_with("web", first, false).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let before = held(&world, web.stack).await;
    let updated = world.update(web.stack, template("m1.small", "AUTO", true)).await.unwrap();
    let end = world.settled(&updated).await;
    assert_eq!(end, "ROLLBACK_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(held(&world, web.stack).await, before);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_new_port_may_have_the_addresses_of_the_one_that_it_replaces() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let always = |fails| {
        let mut template = template("m1.tiny", "REPLACE_ALWAYS", fails);
        template["resources"].as_object_mut().unwrap().remove("server");
        template["resources"]["last"]["properties"]["value"] = json!({ "get_resource": "port" });
        template["resources"]["port"]["properties"]["name"] = json!(format!("fails-{fails}"));
        template
    };
    let web = world.create_with("web", always(false), false).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let port = world.physical_id(web.stack, "port").await;
    let address = async || {
        let (who, wanted) = (world.requester(), ["fixed_ips".to_owned()]);
        let seen = world.engine.inspect_resource(&who, web.stack, &"port".into(), &wanted).await;
        seen.unwrap()["fixed_ips"][0]["ip_address"].clone()
    };
    let updated = world.update(web.stack, always(true)).await.unwrap();
    let end = world.settled(&updated).await;
    assert_eq!(end, "ROLLBACK_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(address().await, "10.9.0.9", "the former one has them again");
    assert_eq!(world.physical_id(web.stack, "port").await, port);
    let mut other = always(false);
    other["resources"]["port"]["properties"]["name"] = "other".into();
    let updated = world.update(web.stack, other).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(address().await, "10.9.0.9");
    assert_ne!(world.physical_id(web.stack, "port").await, port);
}

#[actix::test]
async fn an_interface_that_fits_is_kept_however_its_network_is_written() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |networks: Value| {
        hot(json!({
            "net": { "type": "OS::Neutron::Net", "properties": { "name": "own" } },
            "subnet": { "type": "OS::Neutron::Subnet", "properties": {
                "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
            "server": { "type": "OS::Nova::Server", "depends_on": "subnet", "properties": {
                "image": "cirros", "flavor": "m1.tiny", "networks": networks } },
        }))
    };
    let (net, subnet) = (json!({ "get_resource": "net" }), json!({ "get_resource": "subnet" }));
    let ports = async |stack| -> Vec<Value> {
        let (who, wanted) = (world.requester(), ["addresses".to_owned()]);
        let seen = world.engine.inspect_resource(&who, stack, &"server".into(), &wanted).await;
        let addresses = seen.unwrap()["addresses"]["own"].as_array().unwrap().clone();
        addresses.iter().map(|address| address["port"].clone()).collect()
    };
    let first = with(json!([{ "network": net }, { "network": net, "fixed_ip": "10.9.0.33" }]));
    let web = world.create("web", first).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let before = ports(web.stack).await;
    for networks in [
        json!([{ "subnet": subnet }, { "network": net }]),
        json!([{ "network": net, "subnet": subnet }, { "subnet": subnet }]),
    ] {
        let updated = world.update(web.stack, with(networks.clone())).await.unwrap();
        assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE", "{networks}");
        assert_eq!(ports(web.stack).await, before, "{networks}");
    }
    let moved = with(json!([{ "network": net, "fixed_ip": "10.9.0.34" }]));
    let updated = world.update(web.stack, moved).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let after = ports(web.stack).await;
    assert!(after.len() == 1 && !before.contains(&after[0]), "{before:?} {after:?}");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

fn of_flavor(flavor: &str, metadata: &str) -> Value {
    hot(json!({ "server": { "type": "OS::Nova::Server", "properties": {
        "image": "cirros", "flavor": flavor, "metadata": { "a": metadata },
        "networks": [{ "network": "private" }] } } }))
}

/// The requests to change servers that the cloud has got since it forgot the others.
fn asked(ground: &Ground) -> Vec<String> {
    let requests = ground.sandbox.requests();
    let changes = requests.iter().filter(|it| it.method != "GET" && it.path.contains("/servers/"));
    changes.map(|it| it.path.rsplit('/').next().unwrap().to_owned()).collect()
}

/// A fault that meets whatever is to be done with a server, so many times.
fn refusals(count: u64) -> FaultRule {
    FaultRule {
        method: Some("POST".to_owned()),
        path: Some("/servers/.*/action".to_owned()),
        count: Some(count),
        fault: Fault::Status { code: 403, retry_after: None },
        ..FaultRule::default()
    }
}

#[actix::test]
async fn an_update_that_was_refused_whole_is_rolled_back_without_a_call() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create_with("web", of_flavor("m1.tiny", "x"), false).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    ground.sandbox.set_faults(vec![refusals(u64::MAX)]).unwrap();
    ground.sandbox.forget_requests();
    let updated = world.update(web.stack, of_flavor("m1.small", "x")).await.unwrap();
    let end = world.settled(&updated).await;
    assert_eq!(end, "ROLLBACK_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(asked(&ground), ["action"]);
    assert_eq!(world.resources(web.stack).await, ["server UPDATE_COMPLETE"]);
}

#[actix::test]
async fn a_rollback_after_a_refused_resize_looks_at_the_flavor_first() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create_with("web", of_flavor("m1.tiny", "x"), false).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    ground.sandbox.set_faults(vec![refusals(1)]).unwrap();
    ground.sandbox.forget_requests();
    let updated = world.update(web.stack, of_flavor("m1.small", "y")).await.unwrap();
    let end = world.settled(&updated).await;
    assert_eq!(end, "ROLLBACK_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(asked(&ground), ["metadata", "action", "metadata"]);
}

/// A cloud where a server's actions take a while.
fn slow() -> SandboxConfig {
    SandboxConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        latencies: Latencies {
            server_action: std::time::Duration::from_secs(2),
            ..SandboxConfig::instant().latencies
        },
        ..SandboxConfig::instant()
    }
}

async fn act(ground: &Ground, server: &str, action: Value) {
    let request = Request::post(Service::Compute, format!("/servers/{server}/action"));
    ground.session().send(request.json(action)).await.unwrap();
}

async fn has_flavor(ground: &Ground, server: &str, [name, id]: [&str; 2]) {
    let request = Request::get(Service::Compute, format!("/servers/{server}"));
    let shown = ground.session().send(request).await.unwrap().json().unwrap()["server"].clone();
    assert_eq!(shown["status"], "ACTIVE", "{shown}");
    assert!(shown["flavor"]["id"] == id || shown["flavor"]["original_name"] == name, "{shown}");
}

#[actix::test]
async fn a_rollback_first_ends_the_resize_that_the_update_left_under_way() {
    let ground = Ground::with(slow()).await;
    let world = ground.start().await;
    let web = world.create_with("web", of_flavor("m1.tiny", "x"), false).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let server = world.physical_id(web.stack, "server").await.unwrap();
    ground.sandbox.forget_requests();
    let updated = world.update(web.stack, of_flavor("m1.small", "y")).await.unwrap();
    let is_resized = async || asked(&ground).contains(&"action".to_owned());
    until(&[&ground], "it is resized", is_resized).await;
    // It is resized, and the update can no longer see it.
    let blind = FaultRule {
        method: Some("GET".to_owned()),
        path: Some("/servers/".to_owned()),
        ..refusals(1)
    };
    ground.sandbox.set_faults(vec![blind]).unwrap();
    let end = world.settled(&updated).await;
    assert_eq!(end, "ROLLBACK_COMPLETE", "{}", world.reason(web.stack).await);
    has_flavor(&ground, &server, ["m1.tiny", "1"]).await;
}

#[actix::test]
async fn a_server_that_was_just_resized_can_be_updated_again() {
    let ground = Ground::with(slow()).await;
    let world = ground.start().await;
    let web = world.create("web", of_flavor("m1.tiny", "x")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    for (flavor, metadata) in [("m1.small", "x"), ("m1.tiny", "y"), ("m1.small", "y")] {
        let updated = world.update(web.stack, of_flavor(flavor, metadata)).await.unwrap();
        let end = world.settled(&updated).await;
        assert_eq!(end, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
    }
    // Somebody else is at it: what is refused for that is asked again.
    let server = world.physical_id(web.stack, "server").await.unwrap();
    act(&ground, &server, json!({ "reboot": { "type": "SOFT" } })).await;
    let updated = world.update(web.stack, of_flavor("m1.tiny", "y")).await.unwrap();
    let end = world.settled(&updated).await;
    assert_eq!(end, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert!(ground.count("CallRetried").await > 0);
    // Somebody else's resize is confirmed first, whether it leads to the wanted flavor or not.
    for ([wanted, id], other) in [(["m1.medium", "3"], "3"), (["m1.tiny", "1"], "2")] {
        act(&ground, &server, json!({ "resize": { "flavorRef": other } })).await;
        let updated = world.update(web.stack, of_flavor(wanted, wanted)).await.unwrap();
        let end = world.settled(&updated).await;
        assert_eq!(end, "UPDATE_COMPLETE", "{wanted}: {}", world.reason(web.stack).await);
        has_flavor(&ground, &server, [wanted, id]).await;
    }
}

#[actix::test]
async fn a_port_of_a_servers_own_goes_though_its_detaching_broke_off() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let at = |address: &str| {
        hot(json!({
            "net": { "type": "OS::Neutron::Net" },
            "subnet": { "type": "OS::Neutron::Subnet", "properties": {
                "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
            "server": { "type": "OS::Nova::Server", "properties": {
                "image": "cirros", "flavor": "m1.tiny",
                "networks": [{ "subnet": { "get_resource": "subnet" }, "fixed_ip": address }] } },
        }))
    };
    let web = world.create("web", at("10.9.0.33")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let before = ground.counts();
    // The port is at no server any more when its deletion meets the fault.
    let fault = FaultRule {
        method: Some("DELETE".to_owned()),
        path: Some("/network/v2.0/ports/".to_owned()),
        count: Some(1),
        fault: Fault::DropRequest,
        ..FaultRule::default()
    };
    ground.sandbox.set_faults(vec![fault]).unwrap();
    let updated = world.update(web.stack, at("10.9.0.34")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(ground.counts()["ports"], before["ports"]);
}

#[actix::test]
async fn a_server_whose_networks_are_taken_away_keeps_one_and_no_port_of_the_template() {
    let before =
        json!([{ "network": { "get_resource": "net" } }, { "port": { "get_resource": "port" } }]);
    for after in [None, Some(json!([]))] {
        let ground = Ground::new().await;
        let world = ground.start().await;
        let with = |networks: Option<&Value>| {
            let mut properties = json!({ "image": "cirros", "flavor": "m1.tiny" });
            if let Some(networks) = networks {
                properties["networks"] = networks.clone();
            }
            hot(json!({
                "net": { "type": "OS::Neutron::Net", "properties": { "name": "own" } },
                "subnet": { "type": "OS::Neutron::Subnet", "properties": {
                    "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
                "port": { "type": "OS::Neutron::Port", "depends_on": "subnet", "properties": {
                    "network": { "get_resource": "net" } } },
                "server": { "type": "OS::Nova::Server", "depends_on": "subnet",
                    "properties": properties },
            }))
        };
        let web = world.create("web", with(Some(&before))).await.unwrap();
        assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{after:?}");
        let updated = world.update(web.stack, with(after.as_ref())).await.unwrap();
        assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE", "{after:?}");
        let who = world.requester();
        let look = async |name: &str, attribute: &str| {
            let (name, wanted) = (name.into(), [attribute.to_owned()]);
            world.engine.inspect_resource(&who, web.stack, &name, &wanted).await.unwrap()
        };
        assert_eq!(look("port", "device_id").await["device_id"], "", "{after:?}");
        let addresses = look("server", "addresses").await["addresses"].clone();
        // They are there by the network's name and by its id.
        let all = addresses.as_object().unwrap().values().flat_map(|it| it.as_array().unwrap());
        let ports: BTreeSet<&str> = all.map(|it| it["port"].as_str().unwrap()).collect();
        assert_eq!(ports.len(), 1, "{addresses}");
        let deleted = world.delete(web.stack).await.unwrap();
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    }
}

#[actix::test]
async fn an_image_that_does_not_fit_its_flavor_and_too_much_metadata_are_refused_before_all_else() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let session = ground.session();
    let image = json!({ "name": "big", "disk_format": "raw", "container_format": "bare",
        "min_ram": 1024, "min_disk": 10 });
    let made = session.send(Request::post(Service::Image, "/v2/images").json(image)).await.unwrap();
    let id = made.json().unwrap()["id"].as_str().unwrap().to_owned();
    let server = |image: &str, flavor: &str, metadata: usize| {
        let metadata: serde_json::Map<String, Value> =
            (0..metadata).map(|number| (format!("key{number}"), "value".into())).collect();
        let properties = json!({ "image": image, "flavor": flavor, "metadata": metadata,
            "networks": [{ "network": "private" }] });
        hot(json!({ "server": { "type": "OS::Nova::Server", "properties": properties } }))
    };
    let refused = async |image: &str, flavor: &str, metadata: usize| {
        let refusal = world.create("web", server(image, flavor, metadata)).await.unwrap_err();
        refusal.message
    };
    let queued = "Image status is required to be active not queued.";
    assert_eq!(refused("big", "m1.tiny", 0).await, queued);
    let file = Request::put(Service::Image, format!("/v2/images/{id}/file"));
    session.send(file.bytes("application/octet-stream", "x")).await.unwrap();
    assert_eq!(
        refused("big", "m1.tiny", 0).await,
        "Image big requires 1024 minimum ram. Flavor m1.tiny has only 512."
    );
    assert_eq!(
        refused(&id, "m1.tiny", 0).await,
        format!("Image {id} requires 1024 minimum ram. Flavor m1.tiny has only 512.")
    );
    assert_eq!(
        refused("cirros", "m1.tiny", 129).await,
        "Instance metadata must not contain greater than 128 entries.  This is the maximum number \
         allowed by your service provider"
    );
    let web = world.create("web", server("big", "m1.small", 128)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
}
