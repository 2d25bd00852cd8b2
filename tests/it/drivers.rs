//! Every resource type of the cloud over the sandbox, there and back: created, looked at, updated
//! in place, checked, deleted; with answers that arrive and with answers that are lost. Nothing is
//! made twice and nothing is left.

#[path = "../live/runner.rs"]
mod runner;

use std::sync::Arc;

use hearth::clock::SystemClock;
use hearth::model::Secret;
use hearth::openstack::{Cloud, CloudSettings, Credentials, Session};
use hearth::sandbox::{RunningSandbox, Sandbox, SandboxConfig};
use serde_json::{Value, json};

pub(crate) use runner::Replies;
use runner::Runner;

/// A sandbox and a session of its user.
pub(crate) struct Ground {
    sandbox: RunningSandbox,
    pub(crate) session: Session,
}

impl Ground {
    pub(crate) async fn of(user: &str) -> Ground {
        Self::with(SandboxConfig::instant(), user).await
    }

    pub(crate) async fn with(config: SandboxConfig, user: &str) -> Ground {
        let sandbox = Sandbox::start(config).unwrap();
        let password = Secret::new("secret".to_owned());
        let settings = CloudSettings::new(&sandbox.auth_url, user, password.clone(), user);
        let cloud = Cloud::new(settings.clone(), Arc::new(SystemClock)).unwrap();
        let session = cloud.session(Credentials::Password {
            username: user.to_owned(),
            password,
            user_domain: settings.user_domain,
            project_name: user.to_owned(),
            project_domain: settings.project_domain,
        });
        // The first call makes what a project begins with.
        session
            .send(hearth::openstack::Request::get(
                hearth::openstack::Service::Network,
                "/v2.0/security-groups",
            ))
            .await
            .unwrap();
        Ground { sandbox, session }
    }

    pub(crate) fn runner(&self, replies: Replies) -> Runner {
        Runner::new(self.session.clone(), replies)
    }

    /// How many objects of each kind there are.
    pub(crate) fn counts(&self) -> Value {
        let state = self.sandbox.state();
        let kinds = state.as_object().unwrap().iter();
        let resources = kinds.filter(|(kind, _)| !kind.contains("token"));
        resources.map(|(kind, all)| (kind.clone(), all["count"].clone())).collect()
    }
}

fn count(all: &Value) -> usize {
    all.as_array().map(Vec::len).or(all.as_object().map(serde_json::Map::len)).unwrap_or_default()
}

/// Runs a story with answers that arrive, and again with answers that are lost.
macro_rules! there_and_back {
    ($($name:ident, $lost:ident: $story:ident by $user:literal;)*) => {$(
        #[tokio::test]
        async fn $name() {
            tell($user, Replies::Arrive, $story).await;
        }

        #[tokio::test]
        async fn $lost() {
            tell($user, Replies::AreLost, $story).await;
        }
    )*};
}

async fn tell(user: &str, replies: Replies, story: impl AsyncFn(&mut Runner)) {
    let ground = Ground::of(user).await;
    let before = ground.counts();
    story(&mut ground.runner(replies)).await;
    assert_eq!(ground.counts(), before);
    ground.sandbox.stop().await;
}

there_and_back! {
    networks_come_and_go, networks_are_adopted: networks by "demo";
    chains_come_and_go, chains_are_adopted: chains by "demo";
    vpns_come_and_go, vpns_are_adopted: vpns by "demo";
    policies_come_and_go, policies_are_adopted: policies by "admin";
    choices_come_and_go, choices_are_adopted: choices by "admin";
    servers_come_and_go, servers_are_adopted: servers by "demo";
    volumes_come_and_go, volumes_are_adopted: volumes by "demo";
    flavors_come_and_go, flavors_are_adopted: flavors by "admin";
    containers_come_and_go, containers_are_adopted: containers by "demo";
    images_come_and_go, images_are_adopted: images by "demo";
}

async fn networks(run: &mut Runner) {
    let mut net = run.create("OS::Neutron::Net", "net", json!({"tags": ["a"]})).await;
    let subnet = json!({"network": net.reference(), "cidr": "10.77.0.0/24", "name": "mine"});
    let mut subnet = run.create("OS::Neutron::Subnet", "subnet", subnet).await;
    let router = json!({"external_gateway_info": {"network": "public"}});
    let mut router = run.create("OS::Neutron::Router", "router", router).await;
    let interface = json!({"router": router.reference(), "subnet": subnet.reference()});
    let mut interface = run.create("OS::Neutron::RouterInterface", "interface", interface).await;
    let group = json!({"rules": [{"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}]});
    let mut group = run.create("OS::Neutron::SecurityGroup", "group", group).await;
    let plain = run.create("OS::Neutron::SecurityGroup", "plain", json!({"name": "plain"})).await;
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
    let second = json!({"floating_network": "public"});
    let second = run.create("OS::Neutron::FloatingIP", "second", second).await;
    let spare = json!({"network": net.reference()});
    let spare = run.create("OS::Neutron::Port", "spare", spare).await;
    let link = json!({"floatingip_id": second.reference(), "port_id": spare.reference()});
    let link = run.create("OS::Neutron::FloatingIPAssociation", "link", link).await;

    let seen = run.attributes(&net).await;
    assert_eq!((&seen["status"], &seen["show"]["tags"]), (&json!("ACTIVE"), &json!(["a"])));
    assert_eq!(run.attributes(&subnet).await["cidr"], "10.77.0.0/24");
    let fixed = run.attributes(&port).await["fixed_ips"][0]["ip_address"].clone();
    let seen = run.attributes(&address).await;
    assert_eq!((&seen["fixed_ip_address"], &seen["port_id"]), (&fixed, &port.reference()));
    assert_eq!(run.attributes(&port).await["subnets"][0]["name"], "mine");
    let rules = run.attributes(&group).await["show"]["security_group_rules"].clone();
    assert_eq!(count(&rules), 3, "two that every group begins with, and ours: {rules}");

    run.update(&mut net, json!({"name": "renamed", "tags": ["b", "c"]})).await;
    let seen = run.attributes(&net).await;
    assert_eq!((&seen["name"], count(&seen["show"]["tags"])), (&json!("renamed"), 2));
    run.update(&mut net, json!({"name": null})).await;
    assert_eq!(run.attributes(&net).await["name"], json!(net.subject.physical_name));
    run.update(&mut subnet, json!({"dns_nameservers": ["10.77.0.2"]})).await;
    assert_eq!(run.attributes(&subnet).await["dns_nameservers"], json!(["10.77.0.2"]));
    run.update(&mut router, json!({"admin_state_up": false})).await;
    run.update(&mut group, json!({"rules": [{"protocol": "udp"}], "description": "changed"})).await;
    let seen = run.attributes(&group).await["show"].clone();
    assert_eq!(
        (&seen["description"], count(&seen["security_group_rules"])),
        (&json!("changed"), 3)
    );
    run.update(&mut port, json!({"name": "other"})).await;
    run.update(&mut address, json!({"port_id": null})).await;
    assert_eq!(run.attributes(&address).await["port_id"], Value::Null);

    for made in
        [&mut net, &mut subnet, &mut router, &mut interface, &mut group, &mut rule, &mut port]
    {
        run.check(made).await;
    }
    for made in
        [link, spare, second, address, port, rule, plain, group, interface, router, subnet, net]
    {
        run.delete(made).await;
    }
}

/// Traffic that takes a way of its own: through a chain of port pairs, and copied to a tap.
async fn chains(run: &mut Runner) {
    let net = run.create("OS::Neutron::Net", "net", json!({})).await;
    let subnet = json!({"network": net.reference(), "cidr": "10.80.0.0/24"});
    let subnet = run.create("OS::Neutron::Subnet", "subnet", subnet).await;
    let port = json!({"network": net.reference()});
    let ingress = run.create("OS::Neutron::Port", "ingress", port.clone()).await;
    let egress = run.create("OS::Neutron::Port", "egress", port.clone()).await;
    let pair = json!({"ingress": ingress.reference(), "egress": egress.reference()});
    let mut pair = run.create("OS::Neutron::PortPair", "pair", pair).await;
    let group = json!({"name": "hop", "port_pairs": [pair.reference()]});
    let mut group = run.create("OS::Neutron::PortPairGroup", "group", group).await;
    let classifier = json!({"protocol": "tcp", "logical_source_port": ingress.reference()});
    let mut classifier = run.create("OS::Neutron::FlowClassifier", "web", classifier).await;
    // By its name.
    let chain = json!({"port_pair_groups": ["hop"], "description": "one hop"});
    let mut chain = run.create("OS::Neutron::PortChain", "chain", chain).await;
    let tap = json!({"port": egress.reference()});
    let mut tap = run.create("OS::Neutron::TaaS::TapService", "tap", tap).await;
    let flow = json!({"port": ingress.reference(), "tap_service": tap.reference()});
    let mut flow = run.create("OS::Neutron::TaaS::TapFlow", "flow", flow).await;

    let seen = run.attributes(&chain).await["show"].clone();
    assert_eq!(seen["port_pair_groups"], json!([group.reference()]));
    assert_eq!(seen["name"], json!(chain.subject.physical_name));
    let seen = run.attributes(&flow).await["show"].clone();
    assert_eq!((&seen["status"], &seen["direction"]), (&json!("ACTIVE"), &json!("BOTH")));

    run.update(&mut chain, json!({"flow_classifiers": [classifier.reference()]})).await;
    let seen = run.attributes(&chain).await["show"].clone();
    assert_eq!(seen["flow_classifiers"], json!([classifier.reference()]));
    run.update(&mut group, json!({"port_pairs": []})).await;
    assert_eq!(run.attributes(&group).await["show"]["port_pairs"], json!([]));
    for made in [&mut pair, &mut classifier, &mut tap, &mut flow] {
        run.update(made, json!({"name": "other", "description": "changed"})).await;
        let seen = run.attributes(made).await["show"].clone();
        assert_eq!((&seen["name"], &seen["description"]), (&json!("other"), &json!("changed")));
    }
    for made in [&mut pair, &mut group, &mut classifier, &mut chain, &mut tap, &mut flow] {
        run.check(made).await;
    }
    for made in [flow, tap, chain, classifier, group, pair, egress, ingress, subnet, net] {
        run.delete(made).await;
    }
}

async fn vpns(run: &mut Runner) {
    let net = run.create("OS::Neutron::Net", "net", json!({})).await;
    let subnet = json!({"network": net.reference(), "cidr": "10.81.0.0/24"});
    let subnet = run.create("OS::Neutron::Subnet", "subnet", subnet).await;
    let router = run.create("OS::Neutron::Router", "router", json!({})).await;
    let vpn = json!({"router": router.reference(), "subnet": subnet.reference()});
    let mut vpn = run.create("OS::Neutron::VPNService", "vpn", vpn).await;
    let mut keys = run.create("OS::Neutron::IKEPolicy", "keys", json!({"name": "keys"})).await;
    let lifetime = json!({"lifetime": {"units": "kilobytes", "value": 1000}});
    let mut packets = run.create("OS::Neutron::IPsecPolicy", "packets", lifetime).await;
    let mut scope = run.create("OS::Neutron::AddressScope", "scope", json!({})).await;

    let seen = run.attributes(&vpn).await;
    assert_eq!((&seen["status"], &seen["subnet_id"]), (&json!("ACTIVE"), &subnet.reference()));
    assert_eq!(run.attributes(&packets).await["lifetime"]["value"], 1000);
    run.update(&mut vpn, json!({"admin_state_up": false})).await;
    assert_eq!(run.attributes(&vpn).await["admin_state_up"], json!(false));
    run.update(&mut keys, json!({"ike_version": "v2", "pfs": "group14"})).await;
    assert_eq!(run.attributes(&keys).await["pfs"], "group14");
    run.update(&mut packets, json!({"description": "changed"})).await;
    run.update(&mut scope, json!({"name": "named"})).await;
    assert_eq!(run.attributes(&scope).await["show"]["name"], "named");
    for made in [&mut vpn, &mut keys, &mut packets, &mut scope] {
        run.check(made).await;
    }
    for made in [scope, packets, keys, vpn, router, subnet, net] {
        run.delete(made).await;
    }
}

/// What Neutron lets administrators alone make.
async fn policies(run: &mut Runner) {
    let mut policy = run.create("OS::Neutron::QoSPolicy", "policy", json!({"shared": true})).await;
    let net = json!({"qos_policy": policy.reference()});
    let net = run.create("OS::Neutron::Net", "net", net).await;
    let label = json!({"name": "label", "description": "of traffic"});
    let mut label = run.create("OS::Neutron::MeteringLabel", "label", label).await;

    assert_eq!(run.attributes(&policy).await["rules"], json!([]));
    assert_eq!(run.attributes(&label).await["description"], "of traffic");
    run.update(&mut policy, json!({"shared": false, "description": "changed"})).await;
    assert_eq!(run.attributes(&policy).await["show"]["description"], "changed");
    for made in [&mut policy, &mut label] {
        run.check(made).await;
    }
    for made in [label, net, policy] {
        run.delete(made).await;
    }
}

/// What projects can choose for their load balancers.
async fn choices(run: &mut Runner) {
    let profile = json!({"flavor_data": "{\"a\": 1}", "provider_name": "amphora"});
    let mut profile = run.create("OS::Octavia::FlavorProfile", "profile", profile).await;
    let flavor = json!({"flavor_profile": profile.reference(), "name": "small"});
    let mut flavor = run.create("OS::Octavia::Flavor", "flavor", flavor).await;
    let place = json!({"availability_zone_data": "{\"b\": 2}", "provider_name": "amphora"});
    let mut place = run.create("OS::Octavia::AvailabilityZoneProfile", "place", place).await;
    let zone = json!({"availability_zone_profile": place.reference()});
    let mut zone = run.create("OS::Octavia::AvailabilityZone", "zone", zone).await;

    assert_eq!(zone.id(), zone.subject.physical_name);
    assert_eq!(run.attributes(&flavor).await["flavor_profile_id"], profile.reference());
    run.update(&mut flavor, json!({"enabled": false, "description": "changed"})).await;
    assert_eq!(run.attributes(&flavor).await["show"]["enabled"], json!(false));
    run.update(&mut zone, json!({"description": "changed"})).await;
    run.update(&mut profile, json!({"provider_name": "octavia"})).await;
    run.update(&mut place, json!({"availability_zone_data": "{}"})).await;
    for made in [&mut profile, &mut flavor, &mut place, &mut zone] {
        run.check(made).await;
    }
    for made in [zone, place, flavor, profile] {
        run.delete(made).await;
    }
}

async fn servers(run: &mut Runner) {
    let net = run.create("OS::Neutron::Net", "net", json!({})).await;
    let subnet = json!({"network": net.reference(), "cidr": "10.78.0.0/24"});
    let subnet = run.create("OS::Neutron::Subnet", "subnet", subnet).await;
    let port = run.create("OS::Neutron::Port", "port", json!({"network": net.reference()})).await;
    let key = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC0 somebody@somewhere";
    let key =
        run.create("OS::Nova::KeyPair", "key", json!({"name": "mine", "public_key": key})).await;
    let group = json!({"policies": ["anti-affinity"]});
    let group = run.create("OS::Nova::ServerGroup", "group", group).await;
    let server = json!({
        "image": "cirros",
        "flavor": "m1.tiny",
        "key_name": key.reference(),
        "networks": [
            {"port": port.reference()},
            {"network": net.reference(), "subnet": subnet.reference()},
        ],
        "metadata": {"a": "b", "n": 1},
        "scheduler_hints": {"group": group.reference()},
        "user_data": "#!/bin/sh\n",
        "tags": ["x"],
    });
    let mut server = run.create("OS::Nova::Server", "server", server).await;
    let small = json!({
        "name": "small", "image": "cirros", "flavor": "m1.tiny", "user_data_format": "RAW",
        "networks": [{"network": net.reference()}],
    });
    let small = run.create("OS::Nova::Server", "small", small).await;

    let seen = run.attributes(&server).await;
    assert_eq!(count(&seen["networks"]), 2, "by name and by id: {}", seen["networks"]);
    assert_eq!(seen["show"]["status"], "ACTIVE");
    assert_eq!(seen["show"]["metadata"], json!({"a": "b", "n": "1"}));
    assert_eq!(seen["tags"], json!(["x"]));

    run.update(&mut server, json!({"name": "renamed", "metadata": {"c": "d"}, "tags": ["y"]}))
        .await;
    let seen = run.attributes(&server).await["show"].clone();
    assert_eq!((&seen["name"], &seen["metadata"]), (&json!("renamed"), &json!({"c": "d"})));
    run.update(&mut server, json!({"flavor": "m1.small"})).await;
    let seen = run.attributes(&server).await["show"].clone();
    assert_eq!(
        (&seen["flavor"]["original_name"], &seen["status"]),
        (&json!("m1.small"), &json!("ACTIVE"))
    );
    run.update(&mut server, json!({"networks": [{"port": port.reference()}]})).await;
    let seen = run.attributes(&server).await["addresses"].clone();
    let first = seen.as_object().unwrap().values().next().unwrap();
    assert_eq!(count(first), 1, "the other port is detached: {seen}");
    run.update(&mut server, json!({"admin_pass": "hidden"})).await;
    run.check(&mut server).await;
    for made in [server, small, group, key, port, subnet, net] {
        run.delete(made).await;
    }
}

async fn volumes(run: &mut Runner) {
    let net = run.create("OS::Neutron::Net", "net", json!({})).await;
    let subnet = json!({"network": net.reference(), "cidr": "10.79.0.0/24"});
    let subnet = run.create("OS::Neutron::Subnet", "subnet", subnet).await;
    let server = json!({
        "image": "cirros", "flavor": "m1.tiny", "networks": [{"network": net.reference()}],
    });
    let server = run.create("OS::Nova::Server", "server", server).await;
    let mut volume = run.create("OS::Cinder::Volume", "volume", json!({"size": 1})).await;
    let other = json!({"size": 1, "image": "cirros", "name": "other", "metadata": {"a": "b"}});
    let other = run.create("OS::Cinder::Volume", "other", other).await;
    let pair = json!({"instance_uuid": server.reference(), "volume_id": volume.reference()});
    let mut attachment = run.create("OS::Cinder::VolumeAttachment", "attachment", pair).await;

    let seen = run.attributes(&volume).await;
    assert_eq!((&seen["status"], &seen["size"]), (&json!("in-use"), &json!("1")));
    let seen = run.attributes(&other).await;
    assert_eq!(seen["metadata_values"], json!({"a": "b"}));
    assert_eq!(seen["display_name"], "other");

    run.update(&mut attachment, json!({"volume_id": other.reference()})).await;
    assert_eq!(run.attributes(&volume).await["status"], "available");
    assert_eq!(run.attributes(&other).await["status"], "in-use");
    run.update(&mut volume, json!({"size": 2, "name": "grown", "metadata": {"c": "d"}})).await;
    let seen = run.attributes(&volume).await;
    assert_eq!((&seen["size"], &seen["display_name"]), (&json!("2"), &json!("grown")));
    run.check(&mut volume).await;
    for made in [attachment, other, volume, server, subnet, net] {
        run.delete(made).await;
    }
}

async fn flavors(run: &mut Runner) {
    let flavor = json!({"ram": 64, "vcpus": 1, "disk": 1, "extra_specs": {"a": "b"}});
    let mut flavor = run.create("OS::Nova::Flavor", "flavor", flavor).await;
    let hidden = json!({"ram": 64, "vcpus": 1, "is_public": false, "name": "hidden"});
    let hidden = run.create("OS::Nova::Flavor", "hidden", hidden).await;
    let seen = run.attributes(&flavor).await;
    assert_eq!((&seen["is_public"], &seen["extra_specs"]), (&json!(true), &json!({"a": "b"})));
    run.update(&mut flavor, json!({"extra_specs": {"c": "d"}})).await;
    assert_eq!(run.attributes(&flavor).await["extra_specs"], json!({"c": "d"}));
    run.check(&mut flavor).await;
    run.delete(flavor).await;
    run.delete(hidden).await;
}

async fn containers(run: &mut Runner) {
    let container = json!({"X-Container-Meta": {"color": "red"}, "X-Container-Read": ".r:*"});
    let mut container = run.create("OS::Swift::Container", "container", container).await;
    let seen = run.attributes(&container).await;
    assert_eq!((&seen["ObjectCount"], &seen["BytesUsed"]), (&json!("0"), &json!("0")));
    assert_eq!(seen["HeadContainer"]["x-container-meta-color"], "red");
    assert!(seen["WebsiteURL"].as_str().unwrap().ends_with(container.id()));
    run.check(&mut container).await;
    run.delete(container).await;
}

async fn images(run: &mut Runner) {
    let image = json!({
        "location": "http://images.example.com/small.img",
        "container_format": "bare",
        "disk_format": "raw",
        "extra_properties": {"color": "red"},
    });
    let mut image = run.create("OS::Glance::WebImage", "image", image).await;
    let seen = run.attributes(&image).await["show"].clone();
    assert_eq!((&seen["status"], &seen["color"]), (&json!("active"), &json!("red")));
    run.update(&mut image, json!({"extra_properties": {"shape": "round"}, "tags": ["t"]})).await;
    let seen = run.attributes(&image).await["show"].clone();
    assert_eq!((seen.get("color"), &seen["shape"]), (None, &json!("round")));
    run.check(&mut image).await;
    run.delete(image).await;
}

#[tokio::test]
async fn a_key_pair_gives_its_name_to_its_successor() {
    let ground = Ground::of("demo").await;
    let before = ground.counts();
    let mut run = ground.runner(Replies::Arrive);
    let key = |text: &str| json!({"name": "mine", "public_key": format!("ssh-rsa {text} a@b")});
    let mut old =
        run.create("OS::Nova::KeyPair", "key", key("AAAAB3NzaC1yc2EAAAADAQABAAAAAQC0")).await;
    let mut new =
        run.create("OS::Nova::KeyPair", "key", key("AAAAB3NzaC1yc2EAAAADAQABAAAAAQC1")).await;
    let seen = run.attributes(&new).await["show"]["public_key"].clone();
    assert!(seen.as_str().unwrap().contains("QC1"), "{seen}");
    // The former one's deletion leaves the name to the new one.
    old.subject.taken.insert("mine".to_owned());
    run.delete(old).await;
    assert_eq!(run.attributes(&new).await["show"]["name"], "mine");
    // By now nobody else has it.
    new.subject.taken.clear();
    run.delete(new).await;
    assert_eq!(ground.counts(), before);
}
