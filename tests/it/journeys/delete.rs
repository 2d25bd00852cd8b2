//! Deleting stacks.

use serde_json::json;

use crate::support::world::{Ground, hot, test_resource};

#[actix::test]
async fn deletion_goes_against_the_references() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "a": test_resource(json!({})),
        "b": { "type": "OS::Heat::TestResource", "depends_on": "a" },
    }));
    let web = world.create("web", template).await.unwrap();
    world.settled(&web).await;
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(
        world.events(web.stack).await[6..],
        [
            "web DELETE_IN_PROGRESS",
            "b DELETE_IN_PROGRESS",
            "b DELETE_COMPLETE",
            "a DELETE_IN_PROGRESS",
            "a DELETE_COMPLETE",
            "web DELETE_COMPLETE",
        ]
    );
    assert_eq!(world.delete(web.stack).await.unwrap_err().class, "EntityNotFound");
}

#[actix::test]
async fn what_is_retained_stays_in_the_cloud() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let before = ground.counts();
    let template =
        hot(json!({ "net": { "type": "OS::Neutron::Net", "deletion_policy": "Retain" } }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_ne!(ground.counts(), before);
}

#[actix::test]
async fn a_stack_is_deleted_after_a_restart() {
    let ground = Ground::new().await;
    let before = ground.counts();
    let world = ground.start().await;
    let template = hot(json!({ "net": { "type": "OS::Neutron::Net" } }));
    let web = world.create("web", template).await.unwrap();
    world.settled(&web).await;
    world.engine.shutdown();
    let world = ground.start().await;
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), before);
}
