//! Deployments that are answered by each transport: one answer is enough, and nothing that was made
//! for it is left.

use serde_json::{Value, json};

use super::{assert_nothing_left, each_call_fails};
use crate::support::guest::Told;
use crate::support::wait::until;
use crate::support::world::{Ground, World, hot};

const SERVER: &str = "s1";

fn template(transport: &str, script: &str) -> Value {
    hot(json!({
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": script } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": { "get_resource": "config" }, "server": SERVER,
            "signal_transport": transport } },
    }))
}

/// What the server is told, once that is a script.
async fn told(world: &World, script: &str) -> Told {
    until(&[world], format!("{script} is told"), async || {
        Told::on(world, SERVER).await.filter(|told| told.script == script)
    })
    .await
}

/// Deployed, deployed anew and deleted; each time the server answers once.
async fn deployed(transport: &str, ground: &Ground, place: &str) {
    let empty = ground.counts();
    let world = ground.start().await;
    let web = world.create("web", template(transport, "one")).await.unwrap();
    let answer =
        async |script| told(&world, script).await.answer(&world, (web.stack, "deployment")).await;
    assert!(answer("one").await, "{place}");
    let end = world.settled(&web).await;
    assert_eq!(end, "CREATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
    let updated = world.update(web.stack, template(transport, "two")).await.unwrap();
    assert!(answer("two").await, "{place}");
    let end = world.settled(&updated).await;
    assert_eq!(end, "UPDATE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
    let deleted = world.delete(web.stack).await.unwrap();
    let end = world.settled(&deleted).await;
    assert_eq!(end, "DELETE_COMPLETE", "{place}: {}", world.reason(web.stack).await);
    assert!(world.views.deployments(None, None).await.unwrap().is_empty(), "{place}");
    assert_nothing_left(ground, &empty, place).await;
}

#[actix::test]
async fn a_deployment_is_answered_at_a_signed_address_whatever_is_lost() {
    let calls = "^/v3/(users|projects|credentials)";
    each_call_fails(calls, &[], 5, async |ground, place| {
        deployed("CFN_SIGNAL", ground, place).await;
    })
    .await;
}

#[actix::test]
async fn a_deployment_is_answered_in_a_queue_whatever_is_lost() {
    let posts = (Some("POST"), "^/messaging/.*/messages$");
    each_call_fails("^/messaging/", &[posts], 3, async |ground, place| {
        deployed("ZAQAR_SIGNAL", ground, place).await;
    })
    .await;
}

#[actix::test]
async fn a_deployment_is_answered_in_an_object_whatever_is_lost() {
    each_call_fails("^/object-store/", &[], 5, async |ground, place| {
        deployed("TEMP_URL_SIGNAL", ground, place).await;
    })
    .await;
}
