//! Snapshots, and stacks that are brought back to them.

use hearth::sandbox::{Fault, FaultRule};
use serde_json::{Value, json};

use super::{calls_made, rule};
use crate::journeys::snapshots;
use crate::support::world::{Ground, hot};

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
