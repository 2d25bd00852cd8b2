//! Updates that look first at what there is in the cloud, which somebody has changed.

use hearth::actors::{Accepted, UpdateStack};
use hearth::model::{StackId, TraversalOptions};
use serde_json::{Value, json};

use crate::support::world::{Ground, World, hot, test_resource};

/// The same template again, with a look at the cloud first.
async fn converge(world: &World, stack: StackId, template: &Value) -> Accepted {
    let ask = UpdateStack {
        template: Some(template.clone()),
        options: TraversalOptions { observes: true, ..Default::default() },
        ..UpdateStack::default()
    };
    let accepted = world.update_as(stack, ask).await.unwrap();
    assert_eq!(world.settled(&accepted).await, "UPDATE_COMPLETE", "{}", world.reason(stack).await);
    accepted
}

/// Somebody who works on the same cloud, past Hearth.
pub(super) struct Other<'a> {
    ground: &'a Ground,
    token: String,
}

impl<'a> Other<'a> {
    pub(super) fn new(ground: &'a Ground, world: &World) -> Self {
        Self { ground, token: world.requester().token.reveal().clone() }
    }

    pub(super) async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        let base = self.ground.sandbox.auth_url.trim_end_matches("/v3");
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = reqwest::Client::new().request(method, format!("{base}{path}"));
        let request = request.header("x-auth-token", &self.token);
        let request = if body.is_null() { request } else { request.json(&body) };
        let reply = request.send().await.unwrap();
        let (status, text) = (reply.status(), reply.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }
}

pub(super) fn network() -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net", "properties": { "name": "own-name" } },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24",
            "dns_nameservers": ["10.9.0.2", "10.9.0.3"] } },
        "port": { "type": "OS::Neutron::Port", "properties": {
            "network": { "get_resource": "net" },
            "fixed_ips": [{ "subnet": { "get_resource": "subnet" } }] } },
        "value": test_resource(json!({ "value": "x" })),
    }))
}

#[actix::test]
async fn what_is_as_it_should_be_is_left_alone() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", network()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let before = world.events(web.stack).await.len();
    converge(&world, web.stack, &network()).await;
    assert_eq!(
        world.events(web.stack).await[before..],
        ["web UPDATE_IN_PROGRESS", "web UPDATE_COMPLETE"]
    );
}

#[actix::test]
async fn what_somebody_changed_is_brought_back_and_only_where_that_is_asked_for() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", network()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let id = world.physical_id(web.stack, "net").await.unwrap();
    let path = format!("/network/v2.0/networks/{id}");
    let other = Other::new(&ground, &world);
    let renamed = json!({ "network": { "name": "their-name", "admin_state_up": false } });
    other.send("PUT", &path, renamed).await;
    let plain = world.update(web.stack, network()).await.unwrap();
    assert_eq!(world.settled(&plain).await, "UPDATE_COMPLETE");
    let shown = other.send("GET", &path, Value::Null).await;
    assert_eq!(shown["network"]["name"], "their-name");
    converge(&world, web.stack, &network()).await;
    let shown = other.send("GET", &path, Value::Null).await;
    assert_eq!(shown["network"]["name"], "own-name");
    assert_eq!(shown["network"]["admin_state_up"], true);
    assert_eq!(world.physical_id(web.stack, "net").await.unwrap(), id);
    assert_eq!(
        world.resources(web.stack).await,
        [
            "net UPDATE_COMPLETE",
            "port CREATE_COMPLETE",
            "subnet CREATE_COMPLETE",
            "value CREATE_COMPLETE"
        ]
    );
}

#[actix::test]
async fn what_somebody_deleted_is_made_anew() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", network()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let id = world.physical_id(web.stack, "port").await.unwrap();
    let other = Other::new(&ground, &world);
    other.send("DELETE", &format!("/network/v2.0/ports/{id}"), Value::Null).await;
    let before = world.events(web.stack).await.len();
    converge(&world, web.stack, &network()).await;
    let made = world.physical_id(web.stack, "port").await.unwrap();
    assert_ne!(made, id);
    assert_eq!(
        world.events(web.stack).await[before..],
        [
            "web UPDATE_IN_PROGRESS",
            "port CREATE_IN_PROGRESS",
            "port CREATE_COMPLETE",
            "port DELETE_IN_PROGRESS",
            "port DELETE_COMPLETE",
            "web UPDATE_COMPLETE",
        ]
    );
    other.send("GET", &format!("/network/v2.0/ports/{made}"), Value::Null).await;
}

#[actix::test]
async fn nested_stacks_look_too() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let group = json!({ "type": "OS::Heat::ResourceGroup", "properties": {
        "count": 2, "resource_def": { "type": "OS::Neutron::Net" } } });
    let template = hot(json!({ "g": group }));
    let web = world.create("web", template.clone()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let child = StackId(world.physical_id(web.stack, "g").await.unwrap().parse().unwrap());
    let gone = world.physical_id(child, "1").await.unwrap();
    let other = Other::new(&ground, &world);
    other.send("DELETE", &format!("/network/v2.0/networks/{gone}"), Value::Null).await;
    let plain = world.update(web.stack, template.clone()).await.unwrap();
    assert_eq!(world.settled(&plain).await, "UPDATE_COMPLETE");
    assert_eq!(world.physical_id(child, "1").await.unwrap(), gone);
    converge(&world, web.stack, &template).await;
    assert_ne!(world.physical_id(child, "1").await.unwrap(), gone);
    assert_eq!(world.resources(child).await, ["0 CREATE_COMPLETE", "1 CREATE_COMPLETE"]);
}

/// What each type says of its object: after a change past Hearth, the property that is brought
/// back, by the path that shows it.
#[actix::test]
async fn each_type_is_compared_with_its_object() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "router": { "type": "OS::Neutron::Router", "properties": {
            "external_gateway_info": { "network": "public" } } },
        "volume": { "type": "OS::Cinder::Volume", "properties": {
            "size": 1, "name": "v", "metadata": { "k": "v" } } },
        "box": { "type": "OS::Swift::Container", "properties": {
            "name": "box", "X-Container-Read": ".r:*" } },
        "server": { "type": "OS::Nova::Server", "properties": {
            "name": "s", "flavor": "m1.tiny", "image": "cirros", "metadata": { "k": "v" },
            "networks": [{ "allocate_network": "none" }] } },
    }));
    let web = world.create("web", template.clone()).await.unwrap();
    let end = world.settled(&web).await;
    assert_eq!(end, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let before = world.events(web.stack).await.len();
    converge(&world, web.stack, &template).await;
    let events = world.events(web.stack).await;
    assert_eq!(events[before..], ["web UPDATE_IN_PROGRESS", "web UPDATE_COMPLETE"]);
    let other = Other::new(&ground, &world);
    let project = world.requester().caller.project_id.to_string();
    let id = async |name: &str| world.physical_id(web.stack, name).await.unwrap();
    let volumes = format!("/volume/v3/{project}/volumes/{}", id("volume").await);
    let servers = format!("/compute/v2.1/servers/{}", id("server").await);
    let routers = format!("/network/v2.0/routers/{}", id("router").await);
    let without = json!({ "router": { "external_gateway_info": null } });
    other.send("PUT", &routers, without).await;
    other.send("PUT", &volumes, json!({ "volume": { "name": "theirs" } })).await;
    other.send("PUT", &servers, json!({ "server": { "name": "theirs" } })).await;
    let other_metadata = json!({ "metadata": { "k": "theirs" } });
    other.send("PUT", &format!("{servers}/metadata"), other_metadata).await;
    converge(&world, web.stack, &template).await;
    let shown = async |path: &str| other.send("GET", path, Value::Null).await;
    assert!(shown(&routers).await["router"]["external_gateway_info"].is_object());
    assert_eq!(shown(&volumes).await["volume"]["name"], "v");
    assert_eq!(shown(&servers).await["server"]["name"], "s");
    assert_eq!(shown(&servers).await["server"]["metadata"], json!({ "k": "v" }));
    let updated: Vec<String> = world.resources(web.stack).await;
    let updated: Vec<&String> = updated.iter().filter(|row| row.contains("UPDATE")).collect();
    assert_eq!(
        updated,
        ["router UPDATE_COMPLETE", "server UPDATE_COMPLETE", "volume UPDATE_COMPLETE"]
    );
}

/// The ports of a server.
async fn ports(other: &Other<'_>, server: &str) -> Vec<String> {
    let path = format!("/compute/v2.1/servers/{server}/os-interface");
    let shown = other.send("GET", &path, Value::Null).await;
    let attached = shown["interfaceAttachments"].as_array().unwrap().iter();
    attached.map(|it| it["port_id"].as_str().unwrap().to_owned()).collect()
}

#[actix::test]
async fn a_servers_networks_are_compared_with_its_interfaces() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
        "server": { "type": "OS::Nova::Server", "properties": {
            "flavor": "m1.tiny", "image": "cirros",
            "networks": [{ "subnet": { "get_resource": "subnet" } }, { "network": "private" }] } },
    }));
    let web = world.create("web", template.clone()).await.unwrap();
    let end = world.settled(&web).await;
    assert_eq!(end, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let before = world.events(web.stack).await.len();
    converge(&world, web.stack, &template).await;
    let events = world.events(web.stack).await;
    assert_eq!(events[before..], ["web UPDATE_IN_PROGRESS", "web UPDATE_COMPLETE"]);
    let server = world.physical_id(web.stack, "server").await.unwrap();
    let interfaces = format!("/compute/v2.1/servers/{server}/os-interface");
    let other = Other::new(&ground, &world);
    let made = ports(&other, &server).await;
    other.send("DELETE", &format!("{interfaces}/{}", made[1]), Value::Null).await;
    converge(&world, web.stack, &template).await;
    let attached = ports(&other, &server).await;
    assert_eq!((attached.len(), &attached[0]), (2, &made[0]), "{made:?} {attached:?}");
    let net = world.physical_id(web.stack, "net").await.unwrap();
    let further = json!({ "interfaceAttachment": { "net_id": net } });
    other.send("POST", &interfaces, further).await;
    assert_eq!(ports(&other, &server).await.len(), 3);
    converge(&world, web.stack, &template).await;
    assert_eq!(ports(&other, &server).await, attached);
    let mut alone = template;
    alone["resources"]["server"]["properties"]["networks"] =
        json!([{ "allocate_network": "none" }]);
    let accepted = world.update(web.stack, alone.clone()).await.unwrap();
    assert_eq!(world.settled(&accepted).await, "UPDATE_COMPLETE");
    assert_eq!(ports(&other, &server).await, [""; 0]);
    assert_eq!(world.physical_id(web.stack, "server").await, Some(server));
    converge(&world, web.stack, &alone).await;
}

#[actix::test]
async fn what_neutron_writes_in_a_ports_profile_stays_there() {
    let ground = Ground::of_user("admin").await;
    let world = ground.start().await;
    let template = |profile: Value, name: &str| {
        hot(json!({
            "net": { "type": "OS::Neutron::Net" },
            "port": { "type": "OS::Neutron::Port", "properties": {
                "network": { "get_resource": "net" }, "name": name,
                "value_specs": { "binding:profile": profile } } },
        }))
    };
    let first = template(json!({ "a": "1", "b": "2" }), "port");
    let web = world.create("web", first.clone()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let port = world.physical_id(web.stack, "port").await.unwrap();
    let path = format!("/network/v2.0/ports/{port}");
    let other = Other::new(&ground, &world);
    let profile =
        async || other.send("GET", &path, Value::Null).await["port"]["binding:profile"].clone();
    let slot = json!({ "port": { "binding:profile": { "a": "1", "b": "2", "pci_slot": "x" } } });
    other.send("PUT", &path, slot).await;
    // It is no difference to what the template says.
    let before = world.events(web.stack).await.len();
    converge(&world, web.stack, &first).await;
    let events = world.events(web.stack).await;
    assert_eq!(events[before..], ["web UPDATE_IN_PROGRESS", "web UPDATE_COMPLETE"]);
    for (wanted, shown) in [
        (json!({ "a": "3", "b": null }), json!({ "a": "3", "pci_slot": "x" })),
        (json!({ "a": "3", "c": "4" }), json!({ "a": "3", "pci_slot": "x", "c": "4" })),
    ] {
        let accepted = world.update(web.stack, template(wanted, "other")).await.unwrap();
        assert_eq!(world.settled(&accepted).await, "UPDATE_COMPLETE");
        assert_eq!(profile().await, shown);
    }
}
