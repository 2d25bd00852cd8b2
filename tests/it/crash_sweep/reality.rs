//! A check and an update that look at the cloud, after somebody has renamed one object and deleted
//! another; and an update to what somebody has made of an object.

use hearth::actors::UpdateStack;
use hearth::actors::drift::Found;
use hearth::model::{Action, StackId, TraversalOptions};
use serde_json::{Value, json};

use super::{Life, reached, sweep};
use crate::support::cut_log::CutLog;
use crate::support::world::{Ground, World, hot, test_resource};

struct Looking;

fn template() -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net", "properties": { "name": "own-name" } },
        "group": { "type": "OS::Neutron::SecurityGroup" },
        "value": test_resource(json!({ "value": { "get_resource": "net" } })),
    }))
}

const THEIR_NAME: &str = r#"{ "network": { "name": "their-name" } }"#;

/// What somebody does past Hearth.
async fn past_hearth(world: &World, method: &str, path: &str, body: &str) {
    let base = world.auth_url.trim_end_matches("/v3");
    let token = world.requester().token.reveal().clone();
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let request = reqwest::Client::new().request(method, format!("{base}/network/v2.0/{path}"));
    let request = request.header("x-auth-token", token).header("content-type", "application/json");
    let reply = request.body(body.to_owned()).send().await.unwrap();
    assert!(reply.status().is_success(), "{}", reply.text().await.unwrap());
}

async fn meddle(world: &World, stack: StackId) -> Option<()> {
    let (net, group) =
        (world.physical_id(stack, "net").await?, world.physical_id(stack, "group").await?);
    past_hearth(world, "PUT", &format!("networks/{net}"), THEIR_NAME).await;
    past_hearth(world, "DELETE", &format!("security-groups/{group}"), "").await;
    Some(())
}

impl Life for Looking {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = world.create("web", template()).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        meddle(world, web.stack).await?;
        let who = world.requester();
        let checked = world.engine.act_on_stack(&who, web.stack, Action::Check).await.ok()?;
        reached(world, log, &checked, "CHECK_COMPLETE").await?;
        let ask = UpdateStack {
            template: Some(template()),
            options: TraversalOptions { observes: true, ..Default::default() },
            ..UpdateStack::default()
        };
        let updated = world.engine.update_stack(&world.requester(), web.stack, ask).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }

    /// An update that was accepted has brought back what was changed.
    async fn healed(&self, ground: &Ground, world: &World, stack: StackId) {
        let row = world.views.stack(stack).await.unwrap().unwrap();
        if row.action.as_str() == "UPDATE" {
            let networks = ground.sandbox.state()["networks"].to_string();
            assert!(networks.contains("own-name") && !networks.contains("their-name"));
            let groups = ground.sandbox.state()["security_groups"].to_string();
            let group = world.physical_id(stack, "group").await.unwrap();
            assert!(groups.contains(&group), "{group} is not there");
        }
    }
}

#[actix::test]
async fn every_cut_of_an_update_that_looks_first_heals() {
    sweep(&Looking, 20).await;
}

/// What somebody has changed becomes the definition.
struct Accepting;

impl Life for Accepting {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let template =
            hot(json!({ "net": { "type": "OS::Neutron::Net", "properties": { "name": "own" } } }));
        let web = world.create("web", template).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let net = world.physical_id(web.stack, "net").await?;
        past_hearth(world, "PUT", &format!("networks/{net}"), THEIR_NAME).await;
        world.engine.look_for_drift(web.stack).await.ok()?;
        let accepted = world.engine.accept_drift(&world.requester(), web.stack).await.ok()?;
        reached(world, log, &accepted, "UPDATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }

    /// What was accepted is what there is.
    async fn healed(&self, ground: &Ground, world: &World, stack: StackId) {
        let row = world.views.stack(stack).await.unwrap().unwrap();
        if row.action.as_str() == "UPDATE" {
            assert!(ground.sandbox.state()["networks"].to_string().contains("their-name"));
            let found = world.engine.drift(&world.requester(), stack).await.unwrap();
            assert_eq!(found[0].found, Found::Same);
        }
    }
}

#[actix::test]
async fn every_cut_of_an_update_to_what_there_is_heals() {
    sweep(&Accepting, 12).await;
}
