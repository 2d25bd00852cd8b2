//! Walks whose stack is deleted while its creation is in doubt: a call is lost, or its answer, and
//! nobody has looked yet what came of it.

use hearth::sandbox::{Fault, FaultRule};
use serde_json::json;

use super::each;
use super::runner::{Replies, Runner};
use super::walk::{Stage, Walk};
use crate::support::wait::until;
use crate::support::world::{Ground, World, hot};

#[actix::test]
async fn deleted_in_doubt() {
    each(doubted).await;
}

async fn doubted(walk: Walk) {
    for fault in [Fault::DropRequest, Fault::DropReply] {
        // Of each method the first call is lost, then the second, and so on.
        let mut call = 0;
        while is_lost(&walk, &fault, call).await {
            call += 1;
        }
    }
}

/// Whether there is a call that can be lost.
async fn is_lost(walk: &Walk, fault: &Fault, call: u64) -> bool {
    let place = format!("{}: {fault:?} of call {call}", walk.type_name);
    let ground = Ground::of_user(&walk.by).await;
    let before = walk.counted(ground.counts());
    let stage = Stage::set(walk, Runner::new(ground.session(), Replies::Arrive)).await;
    let beside = walk.counted(ground.counts());
    let own = json!({ "type": walk.type_name, "properties": stage.properties });
    let rule = |method: &str| FaultRule {
        method: Some(method.to_owned()),
        // Logins and trusts are no type's.
        path: Some("^(?!.*(auth/tokens|OS-TRUST))".to_owned()),
        skip: call,
        count: Some(1),
        fault: fault.clone(),
        ..FaultRule::default()
    };
    let rules = ["POST", "PUT", "PATCH", "DELETE"].map(rule);
    ground.sandbox.set_faults(rules.to_vec()).unwrap();
    ground.sandbox.forget_requests();
    let world = ground.start_doubting().await;
    // Beside it stands one that a type may name.
    let template = hot(json!({ "own": own, "a": { "type": "OS::Heat::None" } }));
    let stack = world.create("walk", template).await.unwrap();
    let is_lost = until_lost(&ground, &world, stack.stack, &place).await;
    ground.sandbox.set_faults(Vec::new()).unwrap();
    let deleted = world.delete(stack.stack).await.unwrap();
    world.engine.shutdown();
    let world = ground.start().await;
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE", "{place}");
    world.engine.shutdown();
    assert_eq!(
        walk.counted(ground.counts()),
        beside,
        "{place} leaves something, or took what is another's"
    );
    stage.clear().await;
    assert_eq!(walk.counted(ground.counts()), before, "{place} leaves something");
    is_lost
}

/// Waits until a call is lost (true), or the stack is there.
async fn until_lost(
    ground: &Ground,
    world: &World,
    stack: hearth::model::StackId,
    place: &str,
) -> bool {
    let is_lost = async || {
        if ground.sandbox.requests().iter().any(|seen| seen.status == 0) {
            return Some(true);
        }
        let row = world.views.stack(stack).await.unwrap();
        if let Some(row) = row.filter(|row| row.status.to_string() != "IN_PROGRESS") {
            let status = row.status.to_string();
            assert_eq!(status, "COMPLETE", "{place}: {}", row.reason);
            return Some(false);
        }
        None
    };
    until(&[&ground.sandbox, world], format!("{place}: a call is lost"), is_lost).await
}
