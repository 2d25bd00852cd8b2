//! Users that stacks have for those who signal them: made, kept out, let in and deleted with their
//! resources, in a project that goes with the stack.

use std::sync::Arc;

use hearth::events::Position;
use hearth::events::log::Filter;
use hearth::model::{Action, Secret, StackId};
use hearth::openstack::{Credentials, Session};
use hearth::projections::StackRow;
use hearth::sandbox::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::support::cut_log::CutLog;
use crate::support::keystone::users_of;
use crate::support::wait::until;
use crate::support::world::{Ground, World, hot};

fn handle(transport: &str) -> Value {
    hot(json!({ "handle": { "type": "OS::Heat::WaitConditionHandle",
                            "properties": { "signal_transport": transport } } }))
}

async fn attributes(world: &World, id: StackId) -> Value {
    let who = world.requester();
    let found = world.engine.inspect_resource(&who, id, &"handle".into(), &[]).await;
    Value::Object(found.unwrap())
}

async fn act(world: &World, id: StackId, action: Action) -> String {
    let who = world.requester();
    let accepted = world.engine.act_on_stack(&who, id, action).await.unwrap();
    world.settled(&accepted).await
}

/// A session of somebody who was told a user's name and password.
fn as_user(ground: &Ground, known: &Value) -> Session {
    let text = |key: &str| known[key].as_str().unwrap().to_owned();
    let credentials = Credentials::User {
        id: text("user_id"),
        password: Secret::new(text("password")),
        project: text("project_id").into(),
    };
    ground.cloud(true).session(credentials)
}

#[actix::test]
async fn a_handle_has_a_user_for_as_long_as_it_lives() {
    let ground = Ground::new().await;
    let empty = ground.counts();
    let world = ground.start().await;
    let web = world.create("web", handle("HEAT_SIGNAL")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let shown = attributes(&world, web.stack).await;
    let known: Value = serde_json::from_str(shown["signal"].as_str().unwrap()).unwrap();
    assert_eq!(known["user_id"], world.physical_id(web.stack, "handle").await.unwrap());
    assert_eq!(known["auth_url"], ground.sandbox.auth_url.as_str());
    let row = world.views.stack(web.stack).await.unwrap().unwrap();
    assert_eq!(known["project_id"], row.user_project.unwrap().as_str());
    let caller = as_user(&ground, &known).caller().await.unwrap();
    assert_eq!(caller.user_name, known["username"].as_str().unwrap());
    assert_eq!(caller.roles, ["heat_stack_user"]);

    assert_eq!(act(&world, web.stack, Action::Suspend).await, "SUSPEND_COMPLETE");
    assert!(as_user(&ground, &known).token().await.is_err());
    assert_eq!(act(&world, web.stack, Action::Resume).await, "RESUME_COMPLETE");
    assert!(as_user(&ground, &known).token().await.is_ok());

    let all = ground.log.read_all(Position(0), &Filter::default(), usize::MAX).await.unwrap();
    let password = known["password"].as_str().unwrap();
    assert!(all.iter().all(|event| !format!("{:?}", event.body).contains(password)));

    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(users_of(&ground, "web").await.is_empty(), "a user is left behind");
    for kind in ["projects", "grants"] {
        assert_eq!(ground.counts()[kind], empty[kind], "{kind}");
    }
}

#[actix::test]
async fn a_handle_without_such_a_domain_has_no_user() {
    let ground = Ground::new().await;
    let world = ground.start_without_users().await;
    let web = world.create("web", handle("TOKEN_SIGNAL")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let shown = attributes(&world, web.stack).await;
    assert_eq!(shown["token"], Value::Null);
    assert!(world.physical_id(web.stack, "handle").await.is_some());
    assert_eq!(world.settled(&world.delete(web.stack).await.unwrap()).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_project_that_cannot_be_deleted_fails_the_deletion() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", handle("TOKEN_SIGNAL")).await.unwrap();
    world.settled(&web).await;
    let rule = FaultRule {
        method: Some("DELETE".to_owned()),
        path: Some("/v3/projects/".to_owned()),
        count: Some(1),
        fault: Fault::Status { code: 403, retry_after: None },
        ..FaultRule::default()
    };
    ground.sandbox.set_faults(vec![rule]).unwrap();
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_FAILED");
    let reason = world.reason(web.stack).await;
    assert!(reason.starts_with("Error deleting project: "), "{reason}");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

async fn is_deployed(world: &World) -> bool {
    !world.views.deployments(None, None).await.unwrap().is_empty()
}

/// Waits until a stack's deployment waits for its signal; `None` where there is no such stack.
async fn deployed(world: &World) -> Option<StackRow> {
    until(&[world], "it is deployed", async || match world.stack_named("web").await {
        None => Some(None),
        Some(stack) => is_deployed(world).await.then_some(Some(stack)),
    })
    .await
}

#[actix::test]
async fn a_user_may_signal_whenever_the_process_ended_after_he_was_made() {
    const APPENDS: i64 = 14;
    let template = hot(json!({
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "x" } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": { "get_resource": "config" }, "server": "s1",
            "signal_transport": "HEAT_SIGNAL" } },
    }));
    let mut healed = 0;
    for appends in 1..APPENDS {
        let ground = Ground::new().await;
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let world = ground.start_on(log.clone()).await;
        if world.create("web", template.clone()).await.is_err() {
            continue;
        }
        log.until(&world, "it is deployed", async || is_deployed(&world).await).await;
        log.cut();
        world.engine.shutdown();
        drop(world);
        let world = ground.start().await;
        let Some(stack) = deployed(&world).await else { continue };
        ground.views_catch_up(&world).await;
        let row = world.views.stack(stack.id).await.unwrap().unwrap();
        assert!(row.user_project.is_some(), "cut after {appends}: his project is not on record");
        healed += 1;
    }
    assert!(healed > 5, "{healed} cuts");
}
