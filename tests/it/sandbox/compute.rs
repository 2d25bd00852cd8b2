//! Servers, key pairs, flavors and server groups.

use std::sync::Arc;

use hearth::clock::SimulatedClock;
use hearth::sandbox::{Latencies, RunningSandbox, Sandbox, SandboxConfig};
use reqwest::Method;
use serde_json::{Value, json};

use super::{User, answered, count, instant};

const SERVERS: &str = "/compute/v2.1/servers";

async fn boot(user: &User, extra: Value) -> String {
    let image = user.find("/image/v2/images", "images", "cirros").await;
    let mut server = json!({"name": "s", "imageRef": image, "flavorRef": "1"});
    server.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let made = user.post(SERVERS, json!({"server": server})).await.ok();
    made["server"]["id"].as_str().unwrap().to_owned()
}

async fn show(user: &User, id: &str) -> Value {
    user.get(&format!("{SERVERS}/{id}")).await.ok()["server"].clone()
}

async fn act(user: &User, id: &str, action: Value) -> super::Answered {
    user.post(&format!("{SERVERS}/{id}/action"), action).await
}

#[tokio::test]
async fn a_server_builds_holds_its_ports_and_frees_them() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let (network, _) = demo.network("10.7.0.0/24").await;
    let mine = demo.make("ports", "port", json!({"network_id": network})).await;
    let ports = count(&sandbox, "ports");
    let networks = json!({"networks": [{"port": mine}, {"uuid": network}]});
    let id = boot(&demo, networks).await;
    let server = show(&demo, &id).await;
    assert_eq!(server["status"], "ACTIVE");
    assert_eq!(server["addresses"]["net"].as_array().map(Vec::len), Some(2));
    assert_eq!(count(&sandbox, "ports"), ports + 1);
    let port = demo.get(&format!("/network/v2.0/ports/{mine}")).await.ok()["port"].clone();
    assert_eq!((&port["device_id"], &port["status"]), (&json!(id), &json!("ACTIVE")));
    let taken = json!({"server": {
        "name": "t", "flavorRef": "1", "networks": [{"port": mine}],
        "imageRef": server["image"]["id"],
    }});
    let refusal = demo.post(SERVERS, taken).await.refused(409);
    let text = format!("Port {mine} is still in use.");
    assert_eq!(refusal["conflictingRequest"]["message"], text.as_str());
    assert_eq!(demo.delete(&format!("{SERVERS}/{id}")).await.status, 204);
    let gone = demo.get(&format!("{SERVERS}/{id}")).await.refused(404);
    let text = format!("Instance {id} could not be found.");
    assert_eq!(gone["itemNotFound"]["message"], text.as_str());
    // Its own port went with it, the one it was given is free again.
    assert_eq!(count(&sandbox, "ports"), ports);
    let port = demo.get(&format!("/network/v2.0/ports/{mine}")).await.ok()["port"].clone();
    assert_eq!((&port["device_id"], &port["status"]), (&json!(""), &json!("DOWN")));
}

#[tokio::test]
async fn a_build_takes_as_long_as_it_is_told_to() {
    let mut config = SandboxConfig::instant();
    config.latencies.server = std::time::Duration::from_secs(3600);
    let sandbox = hearth::sandbox::Sandbox::start(config).unwrap();
    let demo = User::of(&sandbox, "demo").await;
    let id = boot(&demo, json!({"networks": "none"})).await;
    let server = show(&demo, &id).await;
    assert_eq!(server["status"], "BUILD");
    assert_eq!(server["OS-EXT-STS:task_state"], "spawning");
    let refusal = act(&demo, &id, json!({"os-stop": null})).await.refused(409);
    let text = format!("Cannot 'stop' instance {id} while it is in vm_state building");
    assert_eq!(refusal["conflictingRequest"]["message"], text.as_str());
    // Even so it can be deleted.
    demo.delete(&format!("{SERVERS}/{id}")).await.ok();
    demo.get(&format!("{SERVERS}/{id}")).await.refused(404);
}

#[tokio::test]
async fn metadata_orders_a_failure() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let id = boot(&demo, json!({"metadata": {"testcloud:fail": "spawn"}})).await;
    let server = show(&demo, &id).await;
    assert_eq!((&server["status"], &server["fault"]["code"]), (&json!("ERROR"), &json!(500)));
}

#[tokio::test]
async fn what_only_a_host_finds_out_fails_the_build() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let (network, _) = demo.network("10.7.0.0/24").await;
    let ports = count(&sandbox, "ports");
    let networks = json!([{"uuid": network}, {"uuid": network, "fixed_ip": "192.0.2.1"}]);
    let id = boot(&demo, json!({"networks": networks})).await;
    let server = show(&demo, &id).await;
    assert_eq!(server["status"], "ERROR");
    let text = format!(
        "Build of instance {id} aborted: IP address 192.0.2.1 is not a valid IP for any of the subnets on the specified network."
    );
    assert_eq!(server["fault"]["message"], text.as_str());
    // The port that was made before is gone again.
    assert_eq!(count(&sandbox, "ports"), ports);
}

#[tokio::test]
async fn a_resize_waits_for_its_confirmation() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let id = boot(&demo, json!({})).await;
    assert_eq!(show(&demo, &id).await["status"], "ACTIVE");
    act(&demo, &id, json!({"confirmResize": null})).await.refused(409);
    assert_eq!(act(&demo, &id, json!({"resize": {"flavorRef": "2"}})).await.status, 202);
    assert_eq!(show(&demo, &id).await["status"], "VERIFY_RESIZE");
    assert_eq!(act(&demo, &id, json!({"confirmResize": null})).await.status, 204);
    let server = show(&demo, &id).await;
    assert_eq!((&server["status"], &server["flavor"]["id"]), (&json!("ACTIVE"), &json!("2")));
    for (action, status) in [
        (json!({"os-stop": null}), "SHUTOFF"),
        (json!({"os-start": null}), "ACTIVE"),
        (json!({"suspend": null}), "SUSPENDED"),
        (json!({"resume": null}), "ACTIVE"),
        (json!({"rebuild": {"imageRef": server["image"]["id"]}}), "ACTIVE"),
        (json!({"reboot": {"type": "HARD"}}), "ACTIVE"),
    ] {
        assert_eq!(act(&demo, &id, action).await.status, 202);
        assert_eq!(show(&demo, &id).await["status"], status);
    }
}

#[tokio::test]
async fn a_volume_follows_its_server() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let id = boot(&demo, json!({})).await;
    let volumes = format!("/volume/v3/{}/volumes", demo.project);
    let made = demo.post(&volumes, json!({"volume": {"size": 1}})).await.ok();
    let volume = made["volume"]["id"].as_str().unwrap();
    assert_eq!(made["volume"]["status"], "creating");
    let path = format!("{SERVERS}/{id}/os-volume_attachments");
    let body = json!({"volumeAttachment": {"volumeId": volume}});
    let attached = demo.post(&path, body.clone()).await.ok();
    assert_eq!(attached["volumeAttachment"]["device"], "/dev/vdb");
    let shown = demo.get(&format!("{volumes}/{volume}")).await.ok()["volume"].clone();
    assert_eq!(shown["status"], "in-use");
    assert_eq!(shown["attachments"][0]["server_id"], id.as_str());
    demo.post(&path, body).await.refused(400);
    demo.delete(&format!("{volumes}/{volume}")).await.refused(400);
    assert_eq!(demo.delete(&format!("{path}/{volume}")).await.status, 202);
    let shown = demo.get(&format!("{volumes}/{volume}")).await.ok()["volume"].clone();
    assert_eq!((&shown["status"], &shown["attachments"]), (&json!("available"), &json!([])));
    demo.get(&format!("{path}/{volume}")).await.refused(404);
}

#[tokio::test]
async fn what_a_server_names_has_to_be_there() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let image = demo.find("/image/v2/images", "images", "cirros").await;
    for (server, text) in [
        (json!({"flavorRef": "99", "imageRef": image}), "Flavor 99 could not be found."),
        (
            json!({"flavorRef": "1", "imageRef": "00000000-0000-0000-0000-000000000001"}),
            "Can not find requested image",
        ),
        (json!({"flavorRef": "1"}), "Missing imageRef attribute"),
        (
            json!({"flavorRef": "1", "imageRef": image, "key_name": "none"}),
            "Invalid key_name provided.",
        ),
    ] {
        let mut server = server;
        server["name"] = "s".into();
        let refusal = demo.post(SERVERS, json!({"server": server})).await.refused(400);
        assert_eq!(refusal["badRequest"]["message"], text);
    }
    assert_eq!(count(&sandbox, "servers"), 0);
}

#[tokio::test]
async fn the_eleventh_server_is_one_too_many() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    for _ in 0..10 {
        boot(&demo, json!({"networks": "none"})).await;
    }
    let image = demo.find("/image/v2/images", "images", "cirros").await;
    let server = json!({"name": "s", "imageRef": image, "flavorRef": "1"});
    let refusal = demo.post(SERVERS, json!({"server": server})).await.refused(403);
    let text = "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances";
    assert_eq!(refusal["forbidden"]["message"], text);
}

async fn at(user: &User, version: &str, path: &str, body: Value) -> super::Answered {
    let version = format!("compute {version}");
    let request = user.ask(Method::POST, path).header("openstack-api-version", version);
    answered(request.json(&body)).await
}

#[tokio::test]
async fn a_private_key_is_made_until_a_public_one_is_required() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let path = "/compute/v2.1/os-keypairs";
    let pair = json!({"keypair": {"name": "k"}});
    at(&demo, "2.92", path, pair.clone()).await.refused(400);
    let made = at(&demo, "2.10", path, pair.clone()).await;
    assert_eq!(made.status, 201);
    assert!(made.body["keypair"]["private_key"].as_str().unwrap().contains("PRIVATE KEY"));
    let again = at(&demo, "2.10", path, pair).await.refused(409);
    assert_eq!(again["conflictingRequest"]["message"], "Key pair 'k' already exists.");
    let shown = demo.get(&format!("{path}/k")).await.ok();
    assert!(shown["keypair"].get("private_key").is_none());
    assert_eq!(demo.delete(&format!("{path}/k")).await.status, 202);
    demo.get(&format!("{path}/k")).await.refused(404);
}

#[tokio::test]
async fn a_microversion_is_answered_or_refused() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let answer = demo.get("/compute/v2.1/flavors").await;
    assert_eq!(answer.header("openstack-api-version"), "compute 2.1");
    at(&demo, "2.999", SERVERS, json!({})).await.refused(406);
    let id = boot(&demo, json!({})).await;
    let request = demo.ask(Method::GET, &format!("{SERVERS}/{id}"));
    let server = answered(request.header("x-openstack-nova-api-version", "2.93")).await.ok();
    assert_eq!(server["server"]["flavor"]["original_name"], "m1.tiny");
}

#[tokio::test]
async fn flavors_are_made_by_administrators_alone() {
    let sandbox: RunningSandbox = instant();
    let (demo, admin) = (User::of(&sandbox, "demo").await, User::of(&sandbox, "admin").await);
    let path = "/compute/v2.1/flavors";
    let body = json!({"flavor": {
        "name": "small", "ram": 64, "vcpus": 1, "disk": 0, "os-flavor-access:is_public": false,
    }});
    demo.post(path, body.clone()).await.refused(403);
    let made = admin.post(path, body.clone()).await.ok();
    let id = made["flavor"]["id"].as_str().unwrap();
    admin.post(path, body).await.refused(409);
    demo.get(&format!("{path}/{id}")).await.refused(404);
    let access = json!({"addTenantAccess": {"tenant": demo.project}});
    admin.post(&format!("{path}/{id}/action"), access).await.ok();
    demo.get(&format!("{path}/{id}")).await.ok();
}

#[tokio::test]
async fn a_server_group_knows_its_members() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let path = "/compute/v2.1/os-server-groups";
    let body = json!({"server_group": {"name": "g", "policies": ["anti-affinity"]}});
    let group = demo.post(path, body).await.ok()["server_group"]["id"].clone();
    let image = demo.find("/image/v2/images", "images", "cirros").await;
    let server = json!({
        "server": {"name": "s", "imageRef": image, "flavorRef": "1"},
        "os:scheduler_hints": {"group": group},
    });
    let server = demo.post(SERVERS, server).await.ok()["server"]["id"].clone();
    let one = format!("{path}/{}", group.as_str().unwrap());
    assert_eq!(demo.get(&one).await.ok()["server_group"]["members"], json!([server]));
    demo.delete(&format!("{SERVERS}/{}", server.as_str().unwrap())).await.ok();
    assert_eq!(demo.get(&one).await.ok()["server_group"]["members"], json!([]));
    assert_eq!(demo.delete(&one).await.status, 204);
}

#[tokio::test]
async fn until_a_resize_is_confirmed_nova_shows_no_sign_of_it_and_allows_little() {
    const TAKES: std::time::Duration = std::time::Duration::from_secs(20);
    let clock = Arc::new(SimulatedClock::new(7));
    let instant = SandboxConfig::instant();
    let latencies = Latencies { server_action: TAKES, ..instant.latencies };
    let config = SandboxConfig { latencies, ..instant };
    let sandbox = Sandbox::start_with_clock(config, clock.clone()).unwrap();
    let pass = || clock.advance(chrono::TimeDelta::seconds(30));
    let demo = User::of(&sandbox, "demo").await;
    let id = boot(&demo, json!({})).await;
    let resize = json!({"resize": {"flavorRef": "2"}});
    assert_eq!(act(&demo, &id, resize).await.status, 202);
    let text = |action: &str, state: &str| {
        json!(format!("Cannot '{action}' instance {id} while it is in {state}"))
    };
    let said = |refused: Value| refused["conflictingRequest"]["message"].clone();
    let port = format!("{SERVERS}/{id}/os-interface/{id}");
    let volumes = format!("{SERVERS}/{id}/os-volume_attachments");
    let volume = json!({"volumeAttachment": {"volumeId": id}});
    let task = "task_state resize_prep";
    // What is asked for does not matter yet.
    let nowhere = json!({"resize": {"flavorRef": "none"}});
    assert_eq!(said(act(&demo, &id, nowhere.clone()).await.refused(409)), text("resize", task));
    assert_eq!(said(demo.delete(&port).await.refused(409)), text("detach_interface", task));
    let refused = demo.post(&volumes, volume.clone()).await.refused(409);
    assert_eq!(said(refused), text("attach_volume", task));
    let server = show(&demo, &id).await;
    assert_eq!((&server["status"], &server["flavor"]["id"]), (&json!("RESIZE"), &json!("1")));
    pass();
    let server = show(&demo, &id).await;
    assert_eq!(
        (&server["status"], &server["flavor"]["id"]),
        (&json!("VERIFY_RESIZE"), &json!("2"))
    );
    let confirm = json!({"confirmResize": null});
    assert_eq!(act(&demo, &id, confirm.clone()).await.status, 204);
    let server = show(&demo, &id).await;
    assert_eq!(server["status"], "VERIFY_RESIZE");
    assert_eq!(server["OS-EXT-STS:vm_state"], "resized");
    assert_eq!(server["OS-EXT-STS:task_state"], Value::Null);
    let again = act(&demo, &id, confirm).await.refused(400);
    assert_eq!(again["badRequest"]["message"], "Instance has not been resized.");
    let state = "vm_state resized";
    assert_eq!(said(act(&demo, &id, nowhere).await.refused(409)), text("resize", state));
    assert_eq!(said(demo.delete(&port).await.refused(409)), text("detach_interface", state));
    // Volumes may come: it is only that there is none.
    demo.post(&volumes, volume).await.refused(404);
    let path = format!("{SERVERS}/{id}/metadata");
    let refused = demo.post(&path, json!({"metadata": {"a": "b"}})).await.refused(409);
    assert_eq!(said(refused), text("update metadata", state));
    pass();
    assert_eq!(show(&demo, &id).await["status"], "ACTIVE");
    assert_eq!(demo.post(&path, json!({"metadata": {"a": "b"}})).await.status, 200);
}
