//! Stacks of types that are a YAML file each, on collections that are data.

use std::time::Duration;

use hearth::sandbox::{Latencies, SandboxConfig};
use serde_json::{Value, json};

use crate::support::world::{Ground, hot};

/// A tap, a chain and a VPN on one network.
fn chain(ports: &[&str], text: &str) -> Value {
    let port = json!({ "type": "OS::Neutron::Port", "properties": {
        "network": { "get_resource": "net" },
        "fixed_ips": [{ "subnet": { "get_resource": "subnet" } }],
    } });
    let of =
        |type_name: &str, properties: Value| json!({ "type": type_name, "properties": properties });
    let id = |name: &str| json!({ "get_resource": name });
    let pairs: Vec<Value> = ports.iter().map(|name| id(name)).collect();
    hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": of("OS::Neutron::Subnet", json!({ "network": id("net"), "cidr": "10.9.0.0/24" })),
        "router": { "type": "OS::Neutron::Router" },
        "in": port.clone(),
        "out": port,
        "there": of("OS::Neutron::PortPair", json!({ "ingress": id("in"), "egress": id("out") })),
        "back": of("OS::Neutron::PortPair", json!({ "ingress": id("out"), "egress": id("in") })),
        "hop": of("OS::Neutron::PortPairGroup", json!({ "port_pairs": pairs })),
        "web": of("OS::Neutron::FlowClassifier", json!({ "protocol": "tcp" })),
        "chain": of("OS::Neutron::PortChain", json!({
            "port_pair_groups": [id("hop")], "flow_classifiers": [id("web")], "description": text,
        })),
        "tap": of("OS::Neutron::TaaS::TapService", json!({ "port": id("in"), "description": text })),
        "flow": of("OS::Neutron::TaaS::TapFlow", json!({
            "port": id("out"), "tap_service": id("tap"), "direction": "IN",
        })),
        "vpn": of("OS::Neutron::VPNService", json!({
            "router": id("router"), "subnet": id("subnet"), "description": text,
        })),
    }))
}

#[actix::test]
async fn a_stack_of_plain_types_is_made_changed_and_deleted() {
    let latencies = Latencies { object: Duration::from_millis(50), ..Latencies::none() };
    let ground = Ground::with(SandboxConfig { latencies, ..SandboxConfig::instant() }).await;
    let before = ground.counts();
    let world = ground.start().await;
    let web = world.create("web", chain(&["there"], "first")).await.unwrap();
    let end = world.settled(&web).await;
    assert_eq!(end, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let chained = world.physical_id(web.stack, "chain").await;

    let changed = chain(&["there", "back"], "second");
    let updated = world.update(web.stack, changed).await.unwrap();
    let end = world.settled(&updated).await;
    assert_eq!(end, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(world.physical_id(web.stack, "chain").await, chained);
    let state = ground.sandbox.state();
    let row = |table: &str| state[table]["rows"][0].clone();
    assert_eq!(row("network.port_pair_group")["port_pairs"].as_array().unwrap().len(), 2);
    for table in ["network.port_chain", "network.tap_service", "network.vpnservice"] {
        assert_eq!(row(table)["description"], "second", "{table}");
    }
    assert_eq!(row("network.tap_flow")["status"], "ACTIVE");

    let deleted = world.delete(web.stack).await.unwrap();
    let end = world.settled(&deleted).await;
    assert_eq!(end, "DELETE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(ground.counts(), before);
}

#[actix::test]
async fn what_is_made_at_once_under_one_load_balancer_waits_for_its_turn() {
    let latencies = Latencies { object: Duration::from_millis(20), ..Latencies::none() };
    let ground = Ground::with(SandboxConfig { latencies, ..SandboxConfig::instant() }).await;
    let before = ground.counts();
    let world = ground.start().await;
    let of =
        |type_name: &str, properties: Value| json!({ "type": type_name, "properties": properties });
    let id = |name: &str| json!({ "get_resource": name });
    let mut resources = json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": of("OS::Neutron::Subnet", json!({ "network": id("net"), "cidr": "10.9.0.0/24" })),
        "lb": of("OS::Octavia::LoadBalancer", json!({ "vip_subnet": id("subnet") })),
        "pool": of("OS::Octavia::Pool", json!({
            "loadbalancer": id("lb"), "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN",
        })),
    });
    for number in 0..6 {
        resources[format!("member{number}")] = of(
            "OS::Octavia::PoolMember",
            json!({
                "pool": id("pool"), "address": format!("10.9.0.{}", 10 + number), "protocol_port": 80,
            }),
        );
    }
    let web = world.create("web", hot(resources)).await.unwrap();
    let end = world.settled(&web).await;
    assert_eq!(end, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let members = ground.sandbox.state()["load-balancer.member"]["count"].clone();
    assert_eq!(members, 6);
    let seen = ground.sandbox.requests();
    let refused = seen.iter().filter(|it| it.status == 409 && it.path.ends_with("/members"));
    assert!(refused.count() > 0, "the lock is never met");
    let deleted = world.delete(web.stack).await.unwrap();
    let end = world.settled(&deleted).await;
    assert_eq!(end, "DELETE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(ground.counts(), before);
}

#[actix::test]
async fn a_change_that_heat_refuses_fails_in_its_words_and_changes_nothing() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = |gateway: &str| {
        hot(json!({
            "net": { "type": "OS::Neutron::Net" },
            "subnet": { "type": "OS::Neutron::Subnet", "properties": {
                "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24",
                "gateway_ip": gateway } },
        }))
    };
    let web = world.create("web", template("10.9.0.7")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    ground.sandbox.forget_requests();
    let updated = world.update(web.stack, template("auto")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_FAILED");
    let reason = world.reason(web.stack).await;
    let expected = "ResourceActionNotSupported: resources.subnet: The value \"auto\" for \
                    gateway_ip cannot be used to update an existing subnet. It is only supported \
                    during subnet creation. is not supported for resource.";
    assert_eq!(reason, format!("Resource UPDATE failed: {expected}"));
    let seen = ground.sandbox.requests();
    assert!(seen.iter().all(|seen| seen.method != "PUT"), "{seen:?}");
}
