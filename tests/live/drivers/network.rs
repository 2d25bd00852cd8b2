//! The types of OS::Neutron.

use serde_json::json;

use crate::inventory::{assert_unchanged, inventory};
use crate::real_cloud::{RealCloud, alone};
use crate::runner::{Replies, Runner};

#[tokio::test]
async fn networks_go_there_and_back() {
    networks(Replies::Arrive).await;
}

#[tokio::test]
async fn networks_go_there_and_back_though_each_answer_is_lost_once() {
    networks(Replies::AreLost).await;
}

async fn networks(replies: Replies) {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let before = inventory(&real.demo()).await;
    let mut run = Runner::new(real.demo(), replies);
    let mut net = run.create("OS::Neutron::Net", "net", json!({})).await;
    let subnet = json!({"network": net.reference(), "cidr": "10.77.0.0/24"});
    let mut subnet = run.create("OS::Neutron::Subnet", "subnet", subnet).await;
    let router = json!({"external_gateway_info": {"network": "public"}});
    let mut router = run.create("OS::Neutron::Router", "router", router).await;
    let interface = json!({"router": router.reference(), "subnet": subnet.reference()});
    let mut interface = run.create("OS::Neutron::RouterInterface", "interface", interface).await;
    let group = json!({"rules": [{"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}]});
    let mut group = run.create("OS::Neutron::SecurityGroup", "group", group).await;
    // An update of a group's rules removes the rules of others.
    let plain = run.create("OS::Neutron::SecurityGroup", "plain", json!({})).await;
    let rule = json!({"security_group": plain.reference(), "protocol": "icmp"});
    let mut rule = run.create("OS::Neutron::SecurityGroupRule", "rule", rule).await;
    let port = json!({
        "network": net.reference(),
        "fixed_ips": [{"subnet": subnet.reference()}],
        "security_groups": [group.reference()],
    });
    let mut port = run.create("OS::Neutron::Port", "port", port).await;
    let address = json!({"floating_network": "public", "port_id": port.reference()});
    let mut address = run.create("OS::Neutron::FloatingIP", "address", address).await;
    let second = run
        .create("OS::Neutron::FloatingIP", "second", json!({"floating_network": "public"}))
        .await;
    let spare = json!({"network": net.reference(), "fixed_ips": [{"subnet": subnet.reference()}]});
    let spare = run.create("OS::Neutron::Port", "spare", spare).await;
    let link = json!({"floatingip_id": second.reference(), "port_id": spare.reference()});
    let link = run.create("OS::Neutron::FloatingIPAssociation", "link", link).await;

    assert_eq!(run.attributes(&net).await["status"], "ACTIVE");
    assert_eq!(run.attributes(&subnet).await["cidr"], "10.77.0.0/24");
    let fixed = run.attributes(&port).await["fixed_ips"][0]["ip_address"].clone();
    let seen = run.attributes(&address).await;
    assert_eq!((&seen["fixed_ip_address"], &seen["port_id"]), (&fixed, &port.reference()));

    run.update(&mut net, json!({"name": "hearth-live-renamed"})).await;
    assert_eq!(run.attributes(&net).await["name"], "hearth-live-renamed");
    run.update(&mut subnet, json!({"dns_nameservers": ["10.77.0.2"]})).await;
    assert_eq!(run.attributes(&subnet).await["dns_nameservers"], json!(["10.77.0.2"]));
    run.update(&mut router, json!({"admin_state_up": false})).await;
    run.update(&mut group, json!({"rules": [{"protocol": "udp"}], "description": "changed"})).await;
    run.update(&mut port, json!({"name": "hearth-live-port"})).await;
    run.update(&mut address, json!({"port_id": null})).await;

    for made in [
        &mut net,
        &mut subnet,
        &mut router,
        &mut interface,
        &mut group,
        &mut rule,
        &mut port,
        &mut address,
    ] {
        run.check(made).await;
    }
    for made in
        [link, spare, second, address, port, rule, plain, group, interface, router, subnet, net]
    {
        run.delete(made).await;
    }
    assert_unchanged(&real.demo(), &before).await;
}
