//! Groups that change in batches.

use hearth::sandbox::Fault;
use serde_json::{Value, json};

use super::{calls_made, rule};
use crate::support::world::{Ground, hot};

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
