//! Places for signals: they are made and deleted, and what comes there is heard.

use hearth::sandbox::{Fault, FaultRule};
use serde_json::json;

use super::{assert_nothing_left, rule};
use crate::support::queue::Queue;
use crate::support::world::{Ground, hot};

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
            assert_nothing_left(&ground, &empty, &place).await;
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
            assert_nothing_left(&ground, &empty, &place).await;
        }
    }
}
