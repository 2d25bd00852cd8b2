//! Objects of others that look like ours in all that a user can give, and what others have put into
//! objects that ours is put into as well: whatever call is lost, they are never taken for ours, and
//! so never deleted.

use hearth::openstack::{Method, Request, Service};
use hearth::sandbox::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::support::world::{Ground, hot};

/// A type, its properties, and the same object as somebody else makes it.
struct Case {
    type_name: &'static str,
    properties: Value,
    service: fn() -> Service,
    path: &'static str,
    body: Value,
    /// The keys around one object and around a list.
    wraps: (&'static str, &'static str),
    /// What a stack of it comes to beside the other.
    end: &'static str,
}

fn cases() -> Vec<Case> {
    let public_key = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC5";
    vec![
        Case {
            type_name: "OS::Neutron::Net",
            properties: json!({ "name": "twin", "value_specs": { "description": "the same" } }),
            service: || Service::Network,
            path: "/v2.0/networks",
            body: json!({ "name": "twin", "description": "the same" }),
            wraps: ("network", "networks"),
            end: "CREATE_COMPLETE",
        },
        Case {
            type_name: "OS::Neutron::AddressScope",
            properties: json!({ "name": "twin", "ip_version": 6 }),
            service: || Service::Network,
            path: "/v2.0/address-scopes",
            body: json!({ "name": "twin", "ip_version": 6 }),
            wraps: ("address_scope", "address_scopes"),
            end: "CREATE_COMPLETE",
        },
        Case {
            type_name: "OS::Nova::ServerGroup",
            properties: json!({ "name": "twin", "policies": ["affinity"] }),
            service: || Service::Compute,
            path: "/os-server-groups",
            body: json!({ "name": "twin", "policy": "affinity" }),
            wraps: ("server_group", "server_groups"),
            end: "CREATE_COMPLETE",
        },
        Case {
            type_name: "OS::Nova::KeyPair",
            properties: json!({ "name": "twin", "public_key": public_key }),
            service: || Service::Compute,
            path: "/os-keypairs",
            body: json!({ "name": "twin", "public_key": public_key }),
            wraps: ("keypair", "keypairs"),
            end: "CREATE_FAILED",
        },
    ]
}

/// The other's objects of a name, as the cloud lists them.
async fn twins(ground: &Ground, case: &Case) -> Vec<Value> {
    let request = Request::get((case.service)(), case.path);
    let listed: Value = ground.session().send(request).await.unwrap().json().unwrap();
    let objects = listed[case.wraps.1].as_array().unwrap().iter();
    let unwrapped = objects.map(|object| object.get(case.wraps.0).unwrap_or(object).clone());
    unwrapped.filter(|object| object["name"] == "twin").collect()
}

#[actix::test]
async fn an_object_that_only_looks_like_ours_is_never_taken_nor_deleted() {
    let refused = Fault::Status { code: 503, retry_after: None };
    for case in cases() {
        let faults = match case.end {
            "CREATE_COMPLETE" => vec![Fault::DropRequest, Fault::DropReply, refused.clone()],
            // That the name is taken is found out again and again, which takes its time.
            _ => vec![Fault::DropRequest],
        };
        for fault in faults {
            let place = format!("{}: the creation meets {fault:?}", case.type_name);
            let ground = Ground::new().await;
            let body = json!({ case.wraps.0: case.body });
            let request = Request::post((case.service)(), case.path).json(body);
            ground.session().send(request).await.unwrap();
            let before = twins(&ground, &case).await;
            assert_eq!(before.len(), 1, "{place}");

            let rule = FaultRule {
                method: Some("POST".into()),
                path: Some(case.path.into()),
                count: Some(1),
                fault: fault.clone(),
                ..FaultRule::default()
            };
            ground.sandbox.set_faults(vec![rule]).unwrap();
            let world = ground.start().await;
            let declared = json!({ "type": case.type_name, "properties": case.properties });
            let web = world.create("web", hot(json!({ "twin": declared }))).await.unwrap();
            let (end, reason) = (world.settled(&web).await, world.reason(web.stack).await);
            assert_eq!(end, case.end, "{place}: {reason}");
            let own = usize::from(case.end == "CREATE_COMPLETE");
            assert_eq!(twins(&ground, &case).await.len(), 1 + own, "{place}");
            let deleted = world.delete(web.stack).await.unwrap();
            assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{place}");
            assert_eq!(twins(&ground, &case).await, before, "{place}");
            world.engine.shutdown();
        }
    }
}

/// More than the pages of Zaqar's lists have.
const MANY: usize = 50;

#[actix::test]
async fn what_a_lost_call_has_made_is_found_on_whatever_page_of_the_list_it_is() {
    let ground = Ground::new().await;
    let zaqar = || Service::of_type("messaging");
    put_into(&ground, zaqar(), "/v2/queues/busy".to_owned(), json!({})).await;
    let path = "/v2/queues/busy/subscriptions";
    for number in 0..MANY {
        let body = json!({ "subscriber": format!("http://other{number}.example.com/"), "ttl": 60 });
        post(&ground, zaqar(), path, body).await;
    }
    let rule = FaultRule {
        method: Some("POST".into()),
        path: Some(path.into()),
        count: Some(1),
        fault: Fault::DropReply,
        ..FaultRule::default()
    };
    ground.sandbox.set_faults(vec![rule]).unwrap();
    let world = ground.start().await;
    let ours = json!({ "type": "OS::Zaqar::Subscription", "properties": {
        "queue_name": "busy", "subscriber": "http://ours.example.com/", "ttl": 60 } });
    let web = world.create("web", hot(json!({ "ours": ours }))).await.unwrap();
    let (end, reason) = (world.settled(&web).await, world.reason(web.stack).await);
    assert_eq!(end, "CREATE_COMPLETE", "{reason}");
    let count = || async {
        let (mut count, mut marker) = (0, String::new());
        loop {
            let page = Request::get(zaqar(), path).query("marker", marker);
            let page: Value = sent(&ground, page).await;
            let Some(last) = page["subscriptions"].as_array().unwrap().last() else { break count };
            count += page["subscriptions"].as_array().unwrap().len();
            marker = last["id"].as_str().unwrap().to_owned();
        }
    };
    assert_eq!(count().await, MANY + 1);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(count().await, MANY);
    world.engine.shutdown();
}

/// Something that is no object of its own, and that somebody else has made already.
struct Place {
    type_name: &'static str,
    properties: Value,
    /// What makes it.
    lost: (&'static str, String),
    /// What shows it, and where in the answer.
    service: fn() -> Service,
    shown: String,
    at: &'static str,
    /// What a stack that asks for the same comes to.
    end: &'static str,
}

async fn sent(ground: &Ground, request: Request) -> Value {
    ground.session().send(request).await.unwrap().json().unwrap_or_default()
}

async fn post(ground: &Ground, service: Service, path: &str, body: Value) -> Value {
    sent(ground, Request::post(service, path.to_owned()).json(body)).await
}

async fn put(ground: &Ground, path: String, body: Value) {
    put_into(ground, Service::Network, path, body).await;
}

async fn put_into(ground: &Ground, service: Service, path: String, body: Value) {
    sent(ground, Request::put(service, path).json(body)).await;
}

/// What somebody else has made: a cloud for each kind, for they stand in each other's way.
async fn places(ground: &Ground) -> Vec<Place> {
    let network = || Service::Network;
    let of = async |kind: &str, body: Value| {
        let made = post(ground, network(), &format!("/v2.0/{kind}s"), json!({ kind: body })).await;
        made[kind]["id"].as_str().unwrap().to_owned()
    };
    let net = of("network", json!({ "name": "theirs" })).await;
    let subnet = json!({ "network_id": net, "cidr": "10.55.0.0/24", "ip_version": 4 });
    let subnet = of("subnet", subnet).await;
    let router = of("router", json!({ "name": "theirs" })).await;
    let own = format!("/v2.0/routers/{router}");
    put(ground, format!("{own}/add_router_interface"), json!({ "subnet_id": subnet })).await;
    let external = Request::get(network(), "/v2.0/networks").query("name", "public");
    let external = sent(ground, external).await["networks"][0]["id"].clone();
    let route = json!({ "destination": "10.99.0.0/16", "nexthop": "10.55.0.9" });
    let gateway = json!({ "network_id": external });
    let settings = json!({ "routes": [route], "external_gateway_info": gateway });
    put(ground, own.clone(), json!({ "router": settings })).await;

    let find = async |service: fn() -> Service, path: &str, list: &str, name: &str| {
        let listed = sent(ground, Request::get(service(), path.to_owned())).await;
        let mut objects = listed[list].as_array().unwrap().iter();
        objects.find(|object| object["name"] == name).unwrap()["id"].clone()
    };
    let image = find(|| Service::Image, "/v2/images", "images", "cirros").await;
    let flavor = find(|| Service::Compute, "/flavors", "flavors", "m1.nano").await;
    let mut servers = Vec::new();
    for name in ["theirs", "other"] {
        let server = json!({
            "name": name, "imageRef": image, "flavorRef": flavor, "networks": [{ "uuid": net }],
        });
        let made = post(ground, Service::Compute, "/servers", json!({ "server": server })).await;
        servers.push(made["server"]["id"].as_str().unwrap().to_owned());
    }
    let volume = json!({ "volume": { "name": "theirs", "size": 1 } });
    let volume = post(ground, Service::Volume, "/volumes", volume).await;
    let volume = volume["volume"]["id"].as_str().unwrap().to_owned();
    let attachments = format!("/servers/{}/os-volume_attachments", servers[0]);
    let body = json!({ "volumeAttachment": { "volumeId": volume } });
    post(ground, Service::Compute, &attachments, body).await;
    let ports = Request::get(network(), "/v2.0/ports").query("device_id", &*servers[0]);
    let port = sent(ground, ports).await["ports"][0]["id"].clone();
    let address =
        of("floatingip", json!({ "floating_network_id": external, "port_id": port })).await;
    let address_path = format!("/v2.0/floatingips/{address}");
    sent(ground, Request::new(Method::Put, Service::ObjectStore, "/theirs".to_owned())).await;

    let place = |type_name, properties: Value, lost: (&'static str, String), end| Place {
        type_name,
        properties,
        lost,
        service: || Service::Network,
        shown: own.clone(),
        at: "/router/routes",
        end,
    };
    let association = |type_name, properties: Value| Place {
        shown: address_path.clone(),
        at: "/floatingip/port_id",
        ..place(type_name, properties, ("PUT", address_path.clone()), "CREATE_COMPLETE")
    };
    let more = ("PUT", format!("{own}/add_extraroutes"));
    vec![
        Place {
            shown: format!("/v2.0/ports?device_id={router}"),
            at: "/ports",
            ..place(
                "OS::Neutron::RouterInterface",
                json!({ "router": router, "subnet": subnet }),
                ("PUT", format!("{own}/add_router_interface")),
                "CREATE_FAILED",
            )
        },
        Place {
            at: "/router/external_gateway_info/network_id",
            ..place(
                "OS::Neutron::RouterGateway",
                json!({ "router_id": router, "network": "public" }),
                ("PUT", format!("{own}$")),
                "CREATE_COMPLETE",
            )
        },
        place(
            "OS::Neutron::ExtraRoute",
            json!({
                "router_id": router, "destination": route["destination"],
                "nexthop": route["nexthop"],
            }),
            more.clone(),
            "CREATE_FAILED",
        ),
        place(
            "OS::Neutron::ExtraRouteSet",
            json!({ "router": router, "routes": [
                { "destination": "10.98.0.0/16", "nexthop": "10.55.0.8" }, route ] }),
            more,
            "CREATE_FAILED",
        ),
        association(
            "OS::Neutron::FloatingIPAssociation",
            json!({ "floatingip_id": address, "port_id": port }),
        ),
        association(
            "OS::Nova::FloatingIPAssociation",
            json!({ "floating_ip": address, "server_id": servers[0] }),
        ),
        Place {
            service: || Service::Compute,
            shown: attachments.clone(),
            at: "/volumeAttachments",
            ..place(
                "OS::Cinder::VolumeAttachment",
                json!({ "instance_uuid": servers[0], "volume_id": volume }),
                ("POST", attachments),
                "CREATE_FAILED",
            )
        },
        Place {
            service: || Service::ObjectStore,
            shown: "/theirs?format=json".to_owned(),
            at: "",
            ..place(
                "OS::Swift::Container",
                json!({ "name": "theirs" }),
                ("PUT", "/theirs$".to_owned()),
                "CREATE_COMPLETE",
            )
        },
        // What is somebody else's is of another server, and would not be taken back.
        association(
            "OS::Nova::FloatingIPAssociation",
            json!({ "floating_ip": address, "server_id": servers[1] }),
        ),
    ]
}

impl Place {
    /// What there is; `None` where it is gone.
    async fn seen(&self, ground: &Ground) -> Option<Value> {
        let (path, query) = self.shown.split_once('?').unwrap_or((&self.shown, ""));
        let mut request = Request::get((self.service)(), path.to_owned());
        if let Some((name, value)) = query.split_once('=') {
            request = request.query(name, value);
        }
        let shown: Value = ground.session().send(request).await.ok()?.json().unwrap();
        let part = shown.pointer(self.at).unwrap();
        match part.as_array().filter(|_| self.at == "/ports") {
            Some(ports) => Some(ports.iter().map(|port| port["id"].clone()).collect()),
            None => Some(part.clone()),
        }
    }

    fn lost(&self, fault: Fault) -> FaultRule {
        FaultRule {
            method: Some(self.lost.0.into()),
            path: Some(self.lost.1.clone()),
            count: Some(1),
            fault,
            ..FaultRule::default()
        }
    }

    fn template(&self) -> Value {
        hot(json!({ "own": { "type": self.type_name, "properties": self.properties } }))
    }
}

const PLACES: usize = 9;

#[actix::test]
async fn what_is_there_already_stays_when_a_stack_that_asks_for_it_goes() {
    // The last one is another's to begin with, and Neutron gives it to whoever asks.
    for index in 0..PLACES - 1 {
        for fault in [Fault::None, Fault::DropRequest, Fault::DropReply] {
            let ground = Ground::new().await;
            let place = places(&ground).await.swap_remove(index);
            let at = format!("{}: the creation meets {fault:?}", place.type_name);
            let before = place.seen(&ground).await;
            ground.sandbox.set_faults(vec![place.lost(fault)]).unwrap();
            let world = ground.start().await;
            let web = world.create("web", place.template()).await.unwrap();
            let (end, reason) = (world.settled(&web).await, world.reason(web.stack).await);
            assert_eq!(end, place.end, "{at}: {reason}");
            let deleted = world.delete(web.stack).await.unwrap();
            assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{at}");
            assert_eq!(place.seen(&ground).await, before, "{at}");
            world.engine.shutdown();
        }
    }
}

#[actix::test]
async fn what_is_there_already_stays_when_a_stack_goes_whose_creation_is_in_doubt() {
    for index in 0..PLACES {
        let ground = Ground::new().await;
        let place = places(&ground).await.swap_remove(index);
        let before = place.seen(&ground).await;
        ground.sandbox.set_faults(vec![place.lost(Fault::DropRequest)]).unwrap();
        let world = ground.start_doubting().await;
        ground.sandbox.forget_requests();
        let web = world.create("web", place.template()).await.unwrap();
        // Of a route that is there nothing is sent.
        match place.type_name.contains("ExtraRoute") {
            true => assert_eq!(world.settled(&web).await, "CREATE_FAILED"),
            false => ground.wait_for_loss().await,
        }
        let deleted = world.delete(web.stack).await.unwrap();
        world.engine.shutdown();
        let world = ground.start().await;
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{}", place.type_name);
        assert_eq!(place.seen(&ground).await, before, "{}", place.type_name);
        world.engine.shutdown();
    }
}

#[actix::test]
async fn a_container_gives_its_name_to_its_successor() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let container = |readers: &str| {
        hot(json!({ "own": { "type": "OS::Swift::Container", "properties": {
            "name": "shared", "X-Container-Read": readers } } }))
    };
    let web = world.create("web", container(".r:*")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let updated = world.update(web.stack, container("demo")).await.unwrap();
    // A plan says of what is replaced that its id changes; a name stays.
    world.forget_plan(web.stack);
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let there = async || {
        let shown = Request::get(Service::ObjectStore, "/shared").query("format", "json");
        ground.session().send(shown).await.is_ok()
    };
    assert!(there().await);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(!there().await);
}

#[actix::test]
async fn a_volume_that_is_restored_while_its_stack_goes_goes_with_it() {
    let named = json!({ "name": "mine" });
    let described = json!({ "name": "mine", "description": "all that there is to say" });
    for properties in [json!({}), named, described] {
        let ground = Ground::new().await;
        let volume = json!({ "volume": { "name": "source", "size": 1 } });
        let volume = post(&ground, Service::Volume, "/volumes", volume).await;
        let backup = json!({ "backup": { "volume_id": volume["volume"]["id"], "name": "b" } });
        let backup = post(&ground, Service::Volume, "/backups", backup).await;
        let volumes = async || {
            let listed = sent(&ground, Request::get(Service::Volume, "/volumes")).await;
            listed["volumes"].as_array().unwrap().len()
        };
        assert_eq!(volumes().await, 1);
        let lost = FaultRule {
            method: Some("POST".into()),
            path: Some("/restore$".into()),
            count: Some(1),
            fault: Fault::DropReply,
            ..FaultRule::default()
        };
        ground.sandbox.set_faults(vec![lost]).unwrap();
        let world = ground.start_doubting().await;
        ground.sandbox.forget_requests();
        let mut own = json!({ "type": "OS::Cinder::Volume", "properties": properties });
        own["properties"]["backup_id"] = backup["backup"]["id"].clone();
        let web = world.create("web", hot(json!({ "own": own }))).await.unwrap();
        ground.wait_for_loss().await;
        assert_eq!(volumes().await, 2);
        let deleted = world.delete(web.stack).await.unwrap();
        world.engine.shutdown();
        let world = ground.start().await;
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
        assert_eq!(volumes().await, 1, "{own}");
        world.engine.shutdown();
    }
}
