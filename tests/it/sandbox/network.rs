//! Networks, ports, routers, floating IPs and security groups.

use serde_json::{Value, json};

use super::{User, instant};

fn error(body: &Value) -> (&str, &str) {
    let error = &body["NeutronError"];
    (error["type"].as_str().unwrap(), error["message"].as_str().unwrap())
}

#[tokio::test]
async fn a_port_gets_the_first_free_address_and_the_default_group() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let (network, subnet) = demo.network("10.7.0.0/29").await;
    let body = json!({"port": {"network_id": network}});
    let port = demo.post("/network/v2.0/ports", body.clone()).await.ok()["port"].clone();
    assert_eq!(port["fixed_ips"], json!([{"subnet_id": subnet, "ip_address": "10.7.0.2"}]));
    assert_eq!(port["status"], "DOWN");
    assert_eq!(port["security_groups"].as_array().map(Vec::len), Some(1));
    assert!(port.get("binding:host_id").is_none(), "tenants do not see hosts");
    let own = json!({"port": {"mac_address": "00-00-00-00-BB-BB"}});
    let path = format!("/network/v2.0/ports/{}", port["id"].as_str().unwrap());
    let port = demo.put(&path, own).await.ok()["port"].clone();
    assert_eq!(port["mac_address"], "00:00:00:00:bb:bb", "however it is written");
    // .1 is the gateway and .7 the broadcast address: five are left, one of them is taken.
    for _ in 0..4 {
        demo.post("/network/v2.0/ports", body.clone()).await.ok();
    }
    let full = demo.post("/network/v2.0/ports", body).await.refused(409);
    assert_eq!(error(&full).0, "IpAddressGenerationFailure");
}

#[tokio::test]
async fn a_port_shows_the_trunk_whose_parent_it_is() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let (network, _) = demo.network("10.7.0.0/24").await;
    let port = json!({"network_id": network});
    let parent = demo.make("ports", "port", port.clone()).await;
    let below = demo.make("ports", "port", port).await;
    let sub_port = json!({"port_id": below, "segmentation_type": "vlan", "segmentation_id": 10});
    let trunk = json!({"port_id": parent, "sub_ports": [sub_port.clone()]});
    let trunk = demo.make("trunks", "trunk", trunk).await;
    let shown = async |id: &str| {
        let path = format!("/network/v2.0/ports/{id}");
        demo.get(&path).await.ok()["port"].clone()
    };
    let mac = shown(&below).await["mac_address"].clone();
    let mut expected = sub_port;
    expected["mac_address"] = mac;
    let details = json!({"trunk_id": trunk, "sub_ports": [expected]});
    assert_eq!(shown(&parent).await["trunk_details"], details);
    assert!(shown(&below).await.get("trunk_details").is_none());
}

#[tokio::test]
async fn an_address_is_given_once() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let (network, subnet) = demo.network("10.7.0.0/24").await;
    let port = |address: &str| {
        let fixed = json!([{"subnet_id": subnet, "ip_address": address}]);
        json!({"port": {"network_id": network, "fixed_ips": fixed}})
    };
    demo.post("/network/v2.0/ports", port("10.7.0.50")).await.ok();
    let again = demo.post("/network/v2.0/ports", port("10.7.0.50")).await.refused(409);
    let text = format!("IP address 10.7.0.50 already allocated in subnet {subnet}");
    assert_eq!(error(&again), ("IpAddressAlreadyAllocated", text.as_str()));
    let outside = demo.post("/network/v2.0/ports", port("10.8.0.1")).await.refused(400);
    assert_eq!(error(&outside).0, "InvalidIpForSubnet");
}

#[tokio::test]
async fn what_is_in_use_stays() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let (network, subnet) = demo.network("10.7.0.0/24").await;
    let router = demo.make("routers", "router", json!({"name": "r"})).await;
    let interface = |verb: &str| format!("/network/v2.0/routers/{router}/{verb}_router_interface");
    let body = json!({"subnet_id": subnet});
    let added = demo.put(&interface("add"), body.clone()).await.ok();
    let port = added["port_id"].as_str().unwrap();
    for (path, kind) in [
        (format!("networks/{network}"), "NetworkInUse"),
        (format!("subnets/{subnet}"), "SubnetInUse"),
        (format!("routers/{router}"), "RouterInUse"),
        (format!("ports/{port}"), "ServicePortInUse"),
    ] {
        let refusal = demo.delete(&format!("/network/v2.0/{path}")).await.refused(409);
        assert_eq!(error(&refusal).0, kind);
    }
    let twice = demo.put(&interface("add"), body.clone()).await.refused(400);
    let text = format!("Bad router request: Router already has a port on subnet {subnet}.");
    assert_eq!(error(&twice).1, text);
    demo.put(&interface("remove"), body.clone()).await.ok();
    let gone = demo.put(&interface("remove"), body).await.refused(404);
    assert_eq!(error(&gone).0, "RouterInterfaceNotFoundForSubnet");
    for path in [format!("routers/{router}"), format!("networks/{network}")] {
        assert_eq!(demo.delete(&format!("/network/v2.0/{path}")).await.status, 204);
    }
    // A network takes its subnets with it.
    demo.get(&format!("/network/v2.0/subnets/{subnet}")).await.refused(404);
}

#[tokio::test]
async fn a_floating_ip_needs_a_router_and_keeps_it() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let public = demo.find("/network/v2.0/networks", "networks", "public").await;
    let (network, subnet) = demo.network("10.7.0.0/24").await;
    let port = demo.make("ports", "port", json!({"network_id": network})).await;
    let floating = json!({"floatingip": {"floating_network_id": public, "port_id": port}});
    let path = "/network/v2.0/floatingips";
    let alone = demo.post(path, floating.clone()).await.refused(404);
    assert_eq!(error(&alone).0, "ExternalGatewayForFloatingIPNotFound");
    let gateway = json!({"external_gateway_info": {"network_id": public}});
    let router = demo.make("routers", "router", gateway).await;
    let interface = |verb: &str| format!("/network/v2.0/routers/{router}/{verb}_router_interface");
    demo.put(&interface("add"), json!({"subnet_id": subnet})).await.ok();
    let made = demo.post(path, floating).await.ok()["floatingip"].clone();
    assert_eq!(made["router_id"], router.as_str());
    assert_eq!(made["fixed_ip_address"], "10.7.0.2");
    let one = format!("{path}/{}", made["id"].as_str().unwrap());
    assert_eq!(demo.get(&one).await.ok()["floatingip"]["status"], "ACTIVE");
    let needed = demo.put(&interface("remove"), json!({"subnet_id": subnet})).await.refused(409);
    assert_eq!(error(&needed).0, "RouterInterfaceInUseByFloatingIP");
    let cleared = json!({"router": {"external_gateway_info": null}});
    let needed = demo.put(&format!("/network/v2.0/routers/{router}"), cleared).await.refused(409);
    assert_eq!(error(&needed).0, "RouterExternalGatewayInUseByFloatingIp");
    // The port may go; the address stays and leads nowhere.
    assert_eq!(demo.delete(&format!("/network/v2.0/ports/{port}")).await.status, 204);
    let left = demo.get(&one).await.ok()["floatingip"].clone();
    assert_eq!((&left["port_id"], &left["status"]), (&Value::Null, &json!("DOWN")));
}

#[tokio::test]
async fn a_rule_exists_once_and_a_group_in_use_stays() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let group = demo.make("security-groups", "security_group", json!({"name": "web"})).await;
    let path = "/network/v2.0/security-group-rules";
    let rule = json!({
        "security_group_id": group, "direction": "ingress", "protocol": "tcp",
        "port_range_min": "80", "port_range_max": 80,
    });
    let many = json!({"security_group_rules": [rule.clone()]});
    let made = demo.post(path, many).await.ok();
    assert_eq!(made["security_group_rules"][0]["port_range_min"], 80);
    let again = demo.post(path, json!({"security_group_rule": rule})).await.refused(409);
    assert_eq!(error(&again).0, "SecurityGroupRuleExists");
    let shown = demo.get(&format!("/network/v2.0/security-groups/{group}")).await.ok();
    // Two for everything that leaves, and the one above.
    let rules = shown["security_group"]["security_group_rules"].as_array().map(Vec::len);
    assert_eq!(rules, Some(3));
    let (network, _) = demo.network("10.7.0.0/24").await;
    let port = json!({"network_id": network, "security_groups": [group]});
    demo.make("ports", "port", port).await;
    let used = demo.delete(&format!("/network/v2.0/security-groups/{group}")).await.refused(409);
    assert_eq!(error(&used).0, "SecurityGroupInUse");
}

#[tokio::test]
async fn a_refused_request_changes_nothing() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    demo.get("/network/v2.0/ports").await.ok();
    let before = sandbox.state();
    // The second of the two is wrong, so the first is not made either.
    let many = json!({"networks": [{"name": "a"}, {"name": "b", "colour": "red"}]});
    let refusal = demo.post("/network/v2.0/networks", many).await.refused(400);
    assert_eq!(error(&refusal).1, "Unrecognized attribute(s) 'colour'");
    assert_eq!(sandbox.state(), before);
}

#[tokio::test]
async fn tenants_are_kept_apart() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let other = User::of(&sandbox, "alt_demo").await;
    let admin = User::of(&sandbox, "admin").await;
    let (network, _) = demo.network("10.7.0.0/24").await;
    let path = format!("/network/v2.0/networks/{network}");
    let hidden = other.get(&path).await.refused(404);
    assert_eq!(error(&hidden).0, "NetworkNotFound");
    other.delete(&path).await.refused(404);
    other.post("/network/v2.0/ports", json!({"port": {"network_id": network}})).await.refused(404);
    admin.get(&path).await.ok();
    // Everybody sees the way out, and may not change it.
    let public = demo.find("/network/v2.0/networks", "networks", "public").await;
    demo.delete(&format!("/network/v2.0/networks/{public}")).await.refused(403);
    let shared = json!({"network": {"shared": true}});
    demo.post("/network/v2.0/networks", shared).await.refused(403);
}

#[tokio::test]
async fn lists_are_filtered_cut_and_narrowed() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.push(demo.make("networks", "network", json!({"name": name})).await);
    }
    let path = "/network/v2.0/networks";
    let found = demo.get(&format!("{path}?name=b&fields=id")).await.ok();
    assert_eq!(found["networks"], json!([{"id": ids[1]}]));
    let two = demo.get(&format!("{path}?id={}&id={}", ids[0], ids[2])).await.ok();
    assert_eq!(two["networks"].as_array().map(Vec::len), Some(2));
    let page = demo.get(&format!("{path}?name=a&name=b&name=c&limit=2")).await.ok();
    assert_eq!(page["networks"].as_array().map(Vec::len), Some(2));
    let next = page["networks_links"][0]["href"].as_str().unwrap();
    let rest = demo.get(&next[next.find("/network").unwrap()..]).await.ok();
    assert_eq!(rest["networks"][0]["id"], ids[2].as_str());
}

#[tokio::test]
async fn a_quota_is_kept_to() {
    let sandbox = instant();
    let admin = User::of(&sandbox, "admin").await;
    let demo = User::of(&sandbox, "demo").await;
    let quota = format!("/network/v2.0/quotas/{}", demo.project);
    // As the client sends it.
    let narrow = json!({"quota": {"network": 1, "check_limit": true}});
    demo.put(&quota, narrow.clone()).await.refused(403);
    let kept = admin.put(&quota, narrow).await.ok();
    assert!(kept["quota"].get("check_limit").is_none(), "{kept}");
    let over = demo.post("/network/v2.0/networks", json!({"network": {}})).await.refused(409);
    assert_eq!(error(&over), ("OverQuota", "Quota exceeded for resources: ['network']."));
}

#[tokio::test]
async fn what_a_collection_of_a_file_refers_to_is_there_and_stays() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let (network, subnet) = demo.network("10.7.0.0/24").await;
    let router = demo.make("routers", "router", json!({})).await;
    let path = "/network/v2.0/vpn/vpnservices";
    let vpn = |router: &str| json!({"vpnservice": {"router_id": router, "subnet_id": subnet}});
    let none = demo.post(path, vpn(&network)).await.refused(404);
    assert_eq!(error(&none).0, "RouterNotFound");
    let wrong = demo.post(path, json!({"vpnservice": {"router_id": "r"}})).await.refused(400);
    let text = "Invalid input for router_id. Reason: 'r' is not a valid UUID.";
    assert_eq!(error(&wrong).1, text);
    let made = demo.post(path, vpn(&router)).await.ok()["vpnservice"].clone();
    assert_eq!(made["status"], "PENDING_CREATE");
    let one = format!("{path}/{}", made["id"].as_str().unwrap());
    assert_eq!(demo.get(&one).await.ok()["vpnservice"]["status"], "ACTIVE");
    let fixed = json!({"vpnservice": {"subnet_id": null}});
    let refusal = demo.put(&one, fixed).await.refused(400);
    assert_eq!(error(&refusal).1, "Cannot update read-only attribute subnet_id");
    let used = demo.delete(&format!("/network/v2.0/routers/{router}")).await.refused(409);
    assert_eq!(error(&used).0, "RouterInUse");
    // A network takes its subnets with it, but for one that serves a VPN.
    let used = demo.delete(&format!("/network/v2.0/networks/{network}")).await.refused(409);
    assert_eq!(error(&used).0, "SubnetInUse");
    assert_eq!(demo.delete(&one).await.status, 204);
    let gone = demo.get(&one).await.refused(404);
    assert_eq!(error(&gone).0, "VPNServiceNotFound");
    assert_eq!(demo.delete(&format!("/network/v2.0/routers/{router}")).await.status, 204);
}

#[tokio::test]
async fn a_tap_goes_with_its_port() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let (network, _) = demo.network("10.7.0.0/24").await;
    let port = demo.make("ports", "port", json!({"network_id": network})).await;
    let source = demo.make("ports", "port", json!({"network_id": network})).await;
    let tap = demo.make("taas/tap_services", "tap_service", json!({"port_id": port})).await;
    let flow = json!({"tap_service_id": tap, "source_port": source, "direction": "UP"});
    let path = "/network/v2.0/taas/tap_flows";
    let wrong = demo.post(path, json!({"tap_flow": flow})).await.refused(400);
    let text = "Invalid input for direction. Reason: 'UP' is not in IN, OUT, BOTH.";
    assert_eq!(error(&wrong).1, text);
    let flow = json!({"tap_service_id": tap, "source_port": source, "direction": "IN"});
    let flow = demo.make("taas/tap_flows", "tap_flow", flow).await;
    assert_eq!(demo.delete(&format!("/network/v2.0/ports/{port}")).await.status, 204);
    demo.get(&format!("{path}/{flow}")).await.refused(404);
}

#[tokio::test]
async fn policies_are_an_administrators_and_everybodys_while_shared() {
    let sandbox = instant();
    let (demo, admin) = (User::of(&sandbox, "demo").await, User::of(&sandbox, "admin").await);
    let path = "/network/v2.0/qos/policies";
    let policy = |shared: bool| json!({"policy": {"name": "slow", "shared": shared}});
    let refusal = demo.post(path, policy(false)).await.refused(403);
    assert_eq!(error(&refusal).1, "rule:create_policy is disallowed by policy");
    let hidden = admin.post(path, policy(false)).await.ok()["policy"]["id"].clone();
    let shared = admin.post(path, policy(true)).await.ok()["policy"]["id"].clone();
    let seen = demo.get(&format!("{path}?name=slow")).await.ok()["policies"].clone();
    assert_eq!((seen.as_array().unwrap().len(), &seen[0]["id"]), (1, &shared));
    demo.get(&format!("{path}/{}", hidden.as_str().unwrap())).await.refused(404);
    let one = format!("{path}/{}", shared.as_str().unwrap());
    admin.put(&format!("{one}/tags"), json!({"tags": ["a"]})).await.ok();
    assert_eq!(demo.get(&one).await.ok()["policy"]["tags"], json!(["a"]));
    let unseen = json!({"network": {"qos_policy_id": hidden}});
    let refusal = demo.post("/network/v2.0/networks", unseen).await.refused(404);
    assert_eq!(error(&refusal).0, "QosPolicyNotFound");
    let network = json!({"name": "n", "qos_policy_id": shared});
    let network = admin.make("networks", "network", network).await;
    assert_eq!(error(&admin.delete(&one).await.refused(409)).0, "QosPolicyInUse");
    assert_eq!(admin.delete(&format!("/network/v2.0/networks/{network}")).await.status, 204);
    assert_eq!(admin.delete(&one).await.status, 204);
}
