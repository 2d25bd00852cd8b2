//! Servers and their ports.

use hearth::openstack::{Request, Service};
use hearth::sandbox::{Fault, FaultRule};
use serde_json::json;

use super::{calls_made, rule};
use crate::journeys::servers;
use crate::support::world::{Ground, hot};

#[actix::test]
async fn a_port_goes_from_server_to_server_whatever_is_lost() {
    let passing = Fault::Status { code: 503, retry_after: None };
    for fault in [Fault::DropReply, Fault::DropRequest, passing] {
        // One is taken and one is given back.
        for skip in 0..3 {
            let ground = Ground::new().await;
            let path = Some("/os-interface".to_owned());
            let rule = FaultRule { path, ..rule(skip, fault.clone()) };
            ground.sandbox.set_faults(vec![rule]).unwrap();
            let world = ground.start().await;
            let place = format!("call {skip} meets {fault:?}");
            let with = |flavor, fails| servers::template(flavor, "AUTO", fails);
            let web = world.create_with("web", with("m1.tiny", false), false).await.unwrap();
            assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{place}");
            let before = servers::held(&world, web.stack).await;
            let updated = world.update(web.stack, with("m1.small", true)).await.unwrap();
            assert_eq!(world.settled(&updated).await, "ROLLBACK_COMPLETE", "{place}");
            assert_eq!(servers::held(&world, web.stack).await, before, "{place}");
            let deleted = world.delete(web.stack).await.unwrap();
            assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{place}");
        }
    }
}

#[actix::test]
async fn an_attached_interface_has_the_servers_groups_whatever_is_lost() {
    let with = |net: &str| {
        hot(json!({
            "web": { "type": "OS::Neutron::SecurityGroup" },
            "a": { "type": "OS::Neutron::Net" },
            "b": { "type": "OS::Neutron::Net" },
            "in_a": { "type": "OS::Neutron::Subnet", "properties": {
                "network": { "get_resource": "a" }, "cidr": "10.8.0.0/24" } },
            "in_b": { "type": "OS::Neutron::Subnet", "properties": {
                "network": { "get_resource": "b" }, "cidr": "10.9.0.0/24" } },
            "server": { "type": "OS::Nova::Server", "depends_on": ["in_a", "in_b"],
                "properties": { "image": "cirros", "flavor": "m1.tiny",
                    "security_groups": [{ "get_resource": "web" }],
                    "networks": [{ "network": { "get_resource": net } }] } },
        }))
    };
    let passing = Fault::Status { code: 503, retry_after: None };
    let calm = Fault::Status { code: 429, retry_after: None };
    for fault in [Fault::DropReply, Fault::DropRequest, passing, calm] {
        for (method, path) in [("POST", "/os-interface"), ("PUT", "/v2.0/ports/")] {
            let ground = Ground::new().await;
            let place = format!("{method} {path} meets {fault:?}");
            let rule = FaultRule {
                method: Some(method.to_owned()),
                path: Some(path.to_owned()),
                ..rule(0, fault.clone())
            };
            ground.sandbox.set_faults(vec![rule]).unwrap();
            let world = ground.start().await;
            let web = world.create("web", with("a")).await.unwrap();
            assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{place}");
            let updated = world.update(web.stack, with("b")).await.unwrap();
            let end = world.settled(&updated).await;
            assert_eq!(end, "UPDATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
            assert_eq!(calls_made(&ground, path).min(2), 2, "{place}: it was asked again");
            let server = world.physical_id(web.stack, "server").await.unwrap();
            let group = world.physical_id(web.stack, "web").await.unwrap();
            let listed = Request::get(Service::Network, "/v2.0/ports").query("device_id", server);
            let ports = ground.cloud(true).service_session().send(listed).await.unwrap();
            let ports = ports.json().unwrap()["ports"].take();
            assert_eq!(ports.as_array().map(Vec::len), Some(1), "{place}: {ports}");
            assert_eq!(ports[0]["security_groups"], json!([group]), "{place}");
        }
    }
}
