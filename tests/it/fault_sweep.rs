//! Every call to the cloud fails in turn, in each way that a call can: the end is right,
//! and the cloud holds no duplicate and no orphan.

use hearth::model::Action;
use hearth::openstack::{Request, Service};
use hearth::sandbox::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::journeys::{servers, snapshots};
use crate::support::far::{self, Far, Lost, Place};
use crate::support::queue::Queue;
use crate::support::world::{Ground, World, hot};

fn template(cidr: &str) -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net", "properties": { "name": "own-name" } },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": cidr } },
        "group": { "type": "OS::Neutron::SecurityGroup",
                   "properties": { "rules": [{ "protocol": "tcp", "port_range_min": 22,
                                               "port_range_max": 22 }] } },
        "router": { "type": "OS::Neutron::Router" },
        "interface": { "type": "OS::Neutron::RouterInterface", "properties": {
            "router": { "get_resource": "router" }, "subnet": { "get_resource": "subnet" } } },
    }))
}

#[actix::test]
async fn a_lost_reply_is_found_again() {
    sweep(Fault::DropReply).await;
}

#[actix::test]
async fn a_lost_request_is_sent_again() {
    sweep(Fault::DropRequest).await;
}

#[actix::test]
async fn a_passing_error_is_tried_again() {
    sweep(Fault::Status { code: 503, retry_after: None }).await;
}

#[actix::test]
async fn an_object_for_signals_is_made_and_deleted_whatever_is_lost() {
    let passing = Fault::Status { code: 503, retry_after: None };
    for fault in [Fault::DropReply, Fault::DropRequest, passing] {
        for skip in 0..24 {
            let ground = Ground::new().await;
            let empty = ground.counts();
            let path = Some("/object-store/".to_owned());
            let rule = FaultRule { path, ..rule(skip, fault.clone()) };
            ground.sandbox.set_faults(vec![rule]).unwrap();
            let world = ground.start().await;
            let place = format!("call {skip} meets {fault:?}");
            let template = hot(json!({
                "handle": { "type": "OS::Heat::SwiftSignalHandle" },
                "other": { "type": "OS::Heat::WaitConditionHandle", "depends_on": "handle",
                           "properties": { "signal_transport": "TEMP_URL_SIGNAL" } },
                "guest": { "type": "OS::Heat::DeployedServer", "depends_on": "other",
                           "properties": { "software_config_transport": "POLL_TEMP_URL" } },
            }));
            let web = world.create("web", template).await.unwrap();
            assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{place}");
            let deleted = world.delete(web.stack).await.unwrap();
            assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{place}");
            for kind in ["containers", "objects"] {
                assert_eq!(ground.counts()[kind], empty[kind], "{place}: {kind}");
            }
        }
    }
}

#[actix::test]
async fn a_queue_for_signals_is_read_and_deleted_whatever_is_lost() {
    let passing = Fault::Status { code: 503, retry_after: None };
    for fault in [Fault::DropReply, Fault::DropRequest, passing] {
        for skip in 0..5 {
            let ground = Ground::new().await;
            let empty = ground.counts();
            let world = ground.start().await;
            let place = format!("call {skip} meets {fault:?}");
            let template = hot(json!({
                "handle": { "type": "OS::Heat::WaitConditionHandle",
                            "properties": { "signal_transport": "ZAQAR_SIGNAL" } },
                "wait": { "type": "OS::Heat::WaitCondition", "properties": {
                    "handle": { "get_resource": "handle" }, "timeout": 600, "count": 2 } },
            }));
            let web = world.create("web", template).await.unwrap();
            world.at_work(&web, "wait").await;
            let who = world.requester();
            let shown = world.engine.inspect_resource(&who, web.stack, &"handle".into(), &[]).await;
            let signal = shown.unwrap()["signal"].as_str().unwrap().to_owned();
            let queue = Queue::of(&serde_json::from_str(&signal).unwrap()).await;
            queue.post(&json!({ "id": "a" })).await;
            queue.post(&json!({ "id": "b" })).await;
            let path = Some("/messaging/".to_owned());
            let rule = FaultRule { path, ..rule(skip, fault.clone()) };
            ground.sandbox.set_faults(vec![rule]).unwrap();
            assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{place}");
            let deleted = world.delete(web.stack).await.unwrap();
            assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{place}");
            for kind in ["messages", "users"] {
                assert_eq!(ground.counts()[kind], empty[kind], "{place}: {kind}");
            }
        }
    }
}

#[actix::test]
async fn a_user_of_a_stacks_is_made_and_deleted_whatever_is_lost() {
    let passing = Fault::Status { code: 503, retry_after: None };
    for fault in [Fault::DropReply, Fault::DropRequest, passing] {
        for skip in 0..24 {
            let ground = Ground::new().await;
            let empty = ground.counts();
            let path = Some("/v3/".to_owned());
            ground
                .sandbox
                .set_faults(vec![FaultRule { path, ..rule(skip, fault.clone()) }])
                .unwrap();
            let world = ground.start().await;
            let place = format!("call {skip} meets {fault:?}");
            let template = hot(json!({
                "handle": { "type": "OS::Heat::WaitConditionHandle" },
                "address": { "type": "AWS::CloudFormation::WaitConditionHandle",
                             "depends_on": "handle" },
            }));
            // A lost call on the way to the trust refuses the stack as a whole.
            let Ok(web) = world.create("web", template).await else { continue };
            let end = world.settled(&web).await;
            assert_eq!(end, "CREATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
            let deleted = world.delete(web.stack).await.unwrap();
            assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{place}");
            for kind in ["users", "projects", "grants", "credentials"] {
                assert_eq!(ground.counts()[kind], empty[kind], "{place}: {kind}");
            }
        }
    }
}

#[actix::test]
async fn a_group_that_changes_in_batches_loses_no_member_whatever_is_lost() {
    for fault in [Fault::DropReply, Fault::DropRequest] {
        let mut calls = 1;
        let mut skip = 0;
        while skip <= calls {
            let ground = Ground::new().await;
            let world = ground.start().await;
            let empty = ground.counts();
            // The first time without a fault, to see how many calls there are.
            if skip > 0 {
                ground.sandbox.set_faults(vec![rule(skip - 1, fault.clone())]).unwrap();
            }
            let place = format!("call {skip} meets {fault:?}");
            let web = world.create("web", group("one-%index%", 2)).await.unwrap();
            assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{place}");
            let updated = world.update(web.stack, group("two-%index%", 3)).await.unwrap();
            assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE", "{place}");
            let networks = |of: &Value| of["networks"].as_u64().unwrap();
            assert_eq!(networks(&ground.counts()) - networks(&empty), 3, "{place}");
            let deleted = world.delete(web.stack).await.unwrap();
            assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{place}");
            assert_eq!(ground.counts(), empty, "{place}: something is left behind");
            if skip == 0 {
                calls = calls_made(&ground, "/network/") as u64;
                assert!(calls > 6, "the journey makes only {calls} calls");
            }
            skip += 1;
        }
    }
}

/// Networks that are changed one after the other.
fn group(name: &str, count: u64) -> Value {
    hot(json!({ "g": {
        "type": "OS::Heat::ResourceGroup",
        "properties": { "count": count, "resource_def": {
            "type": "OS::Neutron::Net", "properties": { "name": name } } },
        "update_policy": { "rolling_update": { "max_batch_size": 1 } },
    } }))
}

#[actix::test]
async fn a_snapshot_leaves_nothing_behind_whatever_is_lost() {
    let template = hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
        "server": { "type": "OS::Nova::Server", "depends_on": "subnet", "properties": {
            "flavor": "m1.tiny", "image": "cirros",
            "networks": [{ "network": { "get_resource": "net" } }] } },
        "volume": { "type": "OS::Cinder::Volume", "properties": { "size": 1 } },
    }));
    for (path, calls_min) in [("/compute/", 1), ("/volume/", 2), ("/image/", 1)] {
        for fault in [Fault::DropReply, Fault::DropRequest] {
            let (mut calls, mut skip) = (0, 0);
            while skip <= calls {
                let ground = Ground::new().await;
                let world = ground.start().await;
                let empty = ground.counts();
                let place = format!("call {skip} to {path} meets {fault:?}");
                let web = world.create("web", template.clone()).await.unwrap();
                assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{place}");
                ground.sandbox.forget_requests();
                if skip > 0 {
                    let path = Some(path.to_owned());
                    let rule = FaultRule { path, ..rule(skip - 1, fault.clone()) };
                    ground.sandbox.set_faults(vec![rule]).unwrap();
                }
                let who = world.requester();
                let (taken, _) = world.engine.take_snapshot(&who, web.stack, None).await.unwrap();
                let end = world.settled(&taken).await;
                assert_eq!(end, "SNAPSHOT_COMPLETE", "{place}: {}", world.reason(web.stack).await);
                let one_more = |kind: &str| {
                    let count = |of: &Value| of[kind].as_u64().unwrap();
                    assert_eq!(count(&ground.counts()), count(&empty) + 1, "{place}: {kind}");
                };
                ["images", "backups"].into_iter().for_each(one_more);
                let deleted = world.delete(web.stack).await.unwrap();
                let end = world.settled(&deleted).await;
                assert_eq!(end, "DELETE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
                assert_eq!(ground.counts(), empty, "{place}: something is left behind");
                if skip == 0 {
                    calls = calls_made(&ground, path) as u64;
                    assert!(calls >= calls_min, "only {calls} calls to {path}");
                }
                skip += 1;
            }
        }
    }
}

#[actix::test]
async fn a_volume_that_a_server_has_is_filled_and_given_back_whatever_is_lost() {
    let passing = Fault::Status { code: 503, retry_after: None };
    for (path, calls_min) in [("/os-volume_attachments", 4), ("/volume/", 3)] {
        for fault in [Fault::DropReply, Fault::DropRequest, passing.clone()] {
            let (mut calls, mut skip) = (0, 0);
            while skip <= calls {
                let ground = Ground::new().await;
                let world = ground.start().await;
                let place = format!("call {skip} to {path} meets {fault:?}");
                let template = snapshots::at_hand("one", json!({}));
                let web = world.create("web", template).await.unwrap();
                assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{place}");
                let id = snapshots::take(&world, &web).await;
                ground.sandbox.forget_requests();
                if skip > 0 {
                    let path = Some(path.to_owned());
                    let rule = FaultRule { path, ..rule(skip - 1, fault.clone()) };
                    ground.sandbox.set_faults(vec![rule]).unwrap();
                }
                let end = snapshots::restore(&world, &web, id).await;
                assert_eq!(end, "RESTORE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
                assert!(snapshots::is_at_hand(&ground, &world, web.stack).await, "{place}");
                if skip == 0 {
                    calls = calls_made(&ground, path) as u64;
                    assert!(calls >= calls_min, "only {calls} calls to {path}");
                }
                skip += 1;
            }
        }
    }
}

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

#[actix::test]
async fn a_stack_elsewhere_is_made_changed_and_deleted_whatever_is_lost() {
    let region = [Lost::Request, Lost::Answer, Lost::Refused].map(|lost| (Place::Region, lost));
    let cloud = [Lost::Answer, Lost::Token];
    for (place, lost) in region.into_iter().chain(cloud.map(|lost| (Place::Cloud, lost))) {
        let (mut calls, mut number) = (0, 0);
        while number <= calls {
            let far = Far::new(place).await;
            let world = far.ground.start().await;
            let empty = far.networks();
            // The first time without a loss, to see how many calls there are.
            far.lose(if number > 0 { number - 1 } else { usize::MAX }, lost);
            let place = format!("{place:?}: call {number} meets {lost:?}");
            let web = match world.create("web", far.template("one")).await {
                Ok(web) => web,
                // Before anything is accepted the place there is only looked at.
                Err(refusal) => {
                    assert!(number > 0 && far.stacks().await.is_empty(), "{place}: {refusal:?}");
                    number += 1;
                    continue;
                }
            };
            let end = world.settled(&web).await;
            assert_eq!(end, "CREATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
            for (action, wanted) in
                [(Action::Suspend, "SUSPEND_COMPLETE"), (Action::Resume, "RESUME_COMPLETE")]
            {
                let end = far::act(&world, web.stack, action).await;
                assert_eq!(end, wanted, "{place}: {}", world.reason(web.stack).await);
            }
            if let Ok(updated) = world.update(web.stack, far.template("two")).await {
                let end = world.settled(&updated).await;
                assert_eq!(end, "UPDATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
            }
            assert_eq!((far.stacks().await.len(), far.networks()), (1, empty + 1), "{place}");
            let deleted = world.delete(web.stack).await.unwrap();
            let end = world.settled(&deleted).await;
            assert_eq!(end, "DELETE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
            assert_eq!((far.stacks().await.len(), far.networks()), (0, empty), "{place}");
            if number == 0 {
                calls = far.seen();
                assert!(calls > 9, "the journey makes only {calls} calls");
            }
            number += 1;
            world.engine.shutdown().await;
            far.stop().await;
        }
    }
}

/// The journey with the fault at each call in turn.
async fn sweep(fault: Fault) {
    let calls = {
        let ground = Ground::new().await;
        let world = ground.start().await;
        journey(&ground, &world, "none").await;
        calls_made(&ground, "/network/")
    };
    assert!(calls > 12, "the journey makes only {calls} calls");
    for skip in 0..calls {
        let ground = Ground::new().await;
        ground.sandbox.set_faults(vec![rule(skip as u64, fault.clone())]).unwrap();
        let world = ground.start().await;
        journey(&ground, &world, &format!("call {skip} meets {fault:?}")).await;
    }
}

fn rule(skip: u64, fault: Fault) -> FaultRule {
    FaultRule {
        path: Some("/network/".to_owned()),
        skip,
        count: Some(1),
        fault,
        ..FaultRule::default()
    }
}

fn calls_made(ground: &Ground, path: &str) -> usize {
    let seen = ground.sandbox.requests();
    seen.iter().filter(|request| request.path.contains(path)).count()
}

async fn journey(ground: &Ground, world: &World, what: &str) {
    let empty = ground.counts();
    let web = world.create("web", template("10.9.0.0/24")).await.unwrap();
    let end = world.settled(&web).await;
    assert_eq!(end, "CREATE_COMPLETE", "{what}: {}", world.reason(web.stack).await);
    let full = ground.counts();
    let grown = |kind: &str| full[kind].as_u64().unwrap_or(0) - empty[kind].as_u64().unwrap_or(0);
    assert_eq!((grown("networks"), grown("subnets"), grown("routers")), (1, 1, 1), "{what}");
    let updated = world.update(web.stack, template("10.8.0.0/24")).await.unwrap();
    let end = world.settled(&updated).await;
    assert_eq!(end, "UPDATE_COMPLETE", "{what}: {}", world.reason(web.stack).await);
    assert_eq!(ground.counts(), full, "{what}: after the update");
    let deleted = world.delete(web.stack).await.unwrap();
    let end = world.settled(&deleted).await;
    assert_eq!(end, "DELETE_COMPLETE", "{what}: {}", world.reason(web.stack).await);
    assert_eq!(ground.counts(), empty, "{what}: something is left behind");
}
