//! A server that is changed while it is being changed.

use hearth::openstack::{Request, Service};
use serde_json::json;

use crate::inventory::{assert_unchanged, inventory};
use crate::real_cloud::{RealCloud, alone};
use crate::runner::{Replies, Runner};

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
