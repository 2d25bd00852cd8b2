//! Changes of one object that leave it, and what belongs to it, where it is.

use hearth::openstack::{Request, Service, Session};
use serde_json::{Value, json};

use crate::drivers::runner::{Made, Runner};
use crate::drivers::{Ground, Replies};

/// A network with a subnet.
async fn network(run: &mut Runner) -> [Made; 2] {
    let net = run.create("OS::Neutron::Net", "net", json!({})).await;
    let subnet = json!({ "network": net.reference(), "cidr": "10.83.0.0/24" });
    let subnet = run.create("OS::Neutron::Subnet", "subnet", subnet).await;
    [net, subnet]
}

async fn server(run: &mut Runner, networks: Value) -> Made {
    let server = json!({ "image": "cirros", "flavor": "m1.nano", "networks": networks });
    run.create("OS::Nova::Server", "server", server).await
}

async fn shown(session: &Session, path: &str) -> Value {
    session.send(Request::get(Service::Network, path)).await.unwrap().json().unwrap()
}

/// The ports of a server.
async fn ports(session: &Session, server: &Made) -> Vec<Value> {
    let listed = shown(session, &format!("/v2.0/ports?device_id={}", server.id())).await;
    listed["ports"].as_array().unwrap().clone()
}

async fn servers_port_keeps_its_address(replies: Replies) {
    let ground = Ground::of("demo").await;
    let mut run = ground.runner(replies);
    let [net, subnet] = network(&mut run).await;
    let entry = |pair: &str| {
        let pairs = json!([{ "ip_address": pair }]);
        json!({
            "network": net.reference(),
            "port_extra_properties": { "allowed_address_pairs": pairs },
        })
    };
    let mut server = server(&mut run, json!([entry("10.83.0.100")])).await;
    let before = ports(&ground.session, &server).await;
    run.update(&mut server, json!({ "networks": [entry("10.83.0.101")] })).await;
    let after = ports(&ground.session, &server).await;
    assert_eq!((before.len(), after.len()), (1, 1));
    for same in ["id", "mac_address", "fixed_ips"] {
        assert_eq!(before[0][same], after[0][same]);
    }
    assert_eq!(after[0]["allowed_address_pairs"][0]["ip_address"], "10.83.0.101");
    // Another place in the list is no other port, and another MAC address is.
    let plain = json!({ "network": net.reference() });
    run.update(&mut server, json!({ "networks": [plain, entry("10.83.0.101")] })).await;
    let both = ports(&ground.session, &server).await;
    assert_eq!(both.len(), 2);
    assert!(both.iter().any(|port| port["id"] == after[0]["id"]));
    let mut other = entry("10.83.0.101");
    other["port_extra_properties"]["mac_address"] = "fa:16:3e:00:00:01".into();
    run.update(&mut server, json!({ "networks": [other] })).await;
    let last = ports(&ground.session, &server).await;
    assert_eq!(last.len(), 1);
    assert_eq!(last[0]["mac_address"], "fa:16:3e:00:00:01");
    for made in [server, subnet, net] {
        run.delete(made).await;
    }
    ground.stop().await;
}

#[tokio::test]
async fn a_servers_port_keeps_its_address_where_neutron_lets_it_change() {
    servers_port_keeps_its_address(Replies::Arrive).await;
}

#[tokio::test]
async fn a_servers_port_keeps_its_address_though_each_answer_is_lost() {
    servers_port_keeps_its_address(Replies::AreLost).await;
}

#[tokio::test]
async fn a_floating_ip_comes_to_a_server_that_is_there_and_goes() {
    let ground = Ground::of("demo").await;
    let mut run = ground.runner(Replies::AreLost);
    let [net, subnet] = network(&mut run).await;
    let gateway = json!({ "external_gateway_info": { "network": "public" } });
    let router = run.create("OS::Neutron::Router", "router", gateway).await;
    let interface = json!({ "router": router.reference(), "subnet": subnet.reference() });
    let interface = run.create("OS::Neutron::RouterInterface", "interface", interface).await;
    let port = run.create("OS::Neutron::Port", "port", json!({ "network": net.reference() })).await;
    let address = json!({ "floating_network": "public" });
    let address = run.create("OS::Neutron::FloatingIP", "address", address).await;
    let path = format!("/v2.0/floatingips/{}", address.id());
    let mut server = server(&mut run, json!([{ "port": port.reference() }])).await;
    let with = json!([{ "port": port.reference(), "floating_ip": address.reference() }]);
    run.update(&mut server, json!({ "networks": with })).await;
    assert_eq!(shown(&ground.session, &path).await["floatingip"]["port_id"], port.id());
    run.update(&mut server, json!({ "networks": [{ "port": port.reference() }] })).await;
    assert_eq!(shown(&ground.session, &path).await["floatingip"]["port_id"], Value::Null);
    for made in [server, address, port, interface, router, subnet, net] {
        run.delete(made).await;
    }
    ground.stop().await;
}
