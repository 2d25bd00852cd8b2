//! Servers, what they need, and volumes: OS::Nova and OS::Cinder.

use hearth::openstack::{Request, Service};
use serde_json::json;

use crate::inventory::{assert_unchanged, inventory};
use crate::real_cloud::{RealCloud, alone};
use crate::runner::{Replies, Runner};

const PUBLIC_KEY: &str = "ssh-ed25519 \
    AAAAC3NzaC1lZDI1NTE5AAAAIPLKmY93iPDR5JV9uCDiM3wdMJaZX4l5B4TDK+++hiG7 hearth-live";

#[tokio::test]
async fn servers_and_volumes_go_there_and_back() {
    servers(Replies::Arrive).await;
}

#[tokio::test]
async fn servers_and_volumes_go_there_and_back_though_each_answer_is_lost_once() {
    servers(Replies::AreLost).await;
}

async fn servers(replies: Replies) {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let before = inventory(&real.demo()).await;
    let mut run = Runner::new(real.demo(), replies);
    let net = run.create("OS::Neutron::Net", "net", json!({})).await;
    let subnet = json!({"network": net.reference(), "cidr": "10.79.0.0/24"});
    let subnet = run.create("OS::Neutron::Subnet", "subnet", subnet).await;
    let port = json!({"network": net.reference(), "fixed_ips": [{"subnet": subnet.reference()}]});
    let port = run.create("OS::Neutron::Port", "port", port).await;
    let key = json!({"name": "hearth-live-key", "public_key": PUBLIC_KEY});
    let mut key = run.create("OS::Nova::KeyPair", "key", key).await;
    let crowd = json!({"policies": ["anti-affinity"]});
    let mut crowd = run.create("OS::Nova::ServerGroup", "crowd", crowd).await;
    let front = json!({
        "image": "cirros",
        "flavor": "m1.nano",
        "key_name": key.reference(),
        "networks": [{"port": port.reference()}],
        "metadata": {"role": "front"},
        "scheduler_hints": {"group": crowd.reference()},
        "user_data_format": "RAW",
        "user_data": "#!/bin/sh\ntrue\n",
    });
    let mut front = run.create("OS::Nova::Server", "front", front).await;
    let back = json!({
        "image": "cirros",
        "flavor": "m1.nano",
        "networks": [{"network": net.reference()}],
    });
    let mut back = run.create("OS::Nova::Server", "back", back).await;
    let mut volume = run.create("OS::Cinder::Volume", "volume", json!({"size": 1})).await;
    let attachment = json!({"instance_uuid": front.reference(), "volume_id": volume.reference()});
    let mut attachment = run.create("OS::Cinder::VolumeAttachment", "attachment", attachment).await;

    let fixed = run.attributes(&port).await["fixed_ips"][0]["ip_address"].clone();
    let seen = run.attributes(&front).await;
    assert_eq!(seen["first_address"], fixed, "{seen:?}");
    assert_eq!(run.attributes(&volume).await["size"], "1");
    run.update(&mut back, json!({"metadata": {"role": "back"}, "name": "hearth-live-back"})).await;
    assert_eq!(run.attributes(&back).await["name"], "hearth-live-back");
    run.update(&mut volume, json!({"size": 2, "description": "larger"})).await;
    assert_eq!(run.attributes(&volume).await["size"], "2");
    for made in [&mut key, &mut crowd, &mut front, &mut back, &mut volume, &mut attachment] {
        run.check(made).await;
    }
    for made in [attachment, volume, back, front, crowd, key, port, subnet, net] {
        run.delete(made).await;
    }
    assert_unchanged(&real.demo(), &before).await;
}

#[tokio::test]
async fn a_server_that_was_just_resized_changes_again() {
    resized(Replies::Arrive).await;
}

#[tokio::test]
async fn a_server_that_was_just_resized_changes_again_though_each_answer_is_lost_once() {
    resized(Replies::AreLost).await;
}

async fn resized(replies: Replies) {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let before = inventory(&real.demo()).await;
    let mut run = Runner::new(real.demo(), replies);
    let net = run.create("OS::Neutron::Net", "net", json!({})).await;
    let subnet = json!({"network": net.reference(), "cidr": "10.79.0.0/24"});
    let subnet = run.create("OS::Neutron::Subnet", "subnet", subnet).await;
    let one = json!({"network": net.reference()});
    let server = json!({"image": "cirros", "flavor": "m1.nano", "networks": [one]});
    let mut server = run.create("OS::Nova::Server", "server", server).await;
    run.update(&mut server, json!({"flavor": "m1.micro"})).await;
    run.update(&mut server, json!({"metadata": {"a": "b"}, "networks": [one, one]})).await;
    let seen = run.attributes(&server).await;
    let networks = seen["networks"].as_object().unwrap();
    assert!(
        networks.values().all(|addresses| addresses.as_array().unwrap().len() == 2),
        "{seen:?}"
    );
    // Somebody else's resize is under way.
    let ask = async |request: Request| run.session.send(request).await.unwrap().json().unwrap();
    let flavors = ask(Request::get(Service::Compute, "/flavors")).await;
    let id_of = |name: &str| {
        let mut flavors = flavors["flavors"].as_array().unwrap().iter();
        flavors.find(|flavor| flavor["name"] == name).unwrap()["id"].clone()
    };
    let path = format!("/servers/{}", server.id());
    let resize = json!({"resize": {"flavorRef": id_of("m1.tiny")}});
    ask(Request::post(Service::Compute, format!("{path}/action")).json(resize)).await;
    let back = json!({"flavor": "m1.nano", "metadata": {"a": "c"}});
    run.update(&mut server, back).await;
    let shown = ask(Request::get(Service::Compute, path)).await;
    let flavor = &shown["server"]["flavor"];
    assert!(flavor["id"] == id_of("m1.nano") || flavor["original_name"] == "m1.nano", "{flavor}");
    assert_eq!(shown["server"]["metadata"], json!({"a": "c"}));
    run.check(&mut server).await;
    for made in [server, subnet, net] {
        run.delete(made).await;
    }
    assert_unchanged(&real.demo(), &before).await;
}

#[tokio::test]
async fn flavors_go_there_and_back() {
    flavors(Replies::Arrive).await;
}

#[tokio::test]
async fn flavors_go_there_and_back_though_each_answer_is_lost_once() {
    flavors(Replies::AreLost).await;
}

async fn flavors(replies: Replies) {
    let Some(real) = RealCloud::find() else { return };
    // Flavors are an administrator's.
    let admin = real.cloud.session(real.credentials("testcloud-admin"));
    let mut run = Runner::new(admin, replies);
    let flavor = json!({"ram": 64, "vcpus": 1, "disk": 1, "extra_specs": {"a": "b"}});
    let mut flavor = run.create("OS::Nova::Flavor", "flavor", flavor).await;
    run.update(&mut flavor, json!({"extra_specs": {"c": "d"}})).await;
    assert_eq!(run.attributes(&flavor).await["extra_specs"], json!({"c": "d"}));
    run.check(&mut flavor).await;
    run.delete(flavor).await;
}
