//! An update that looks at the cloud first, after somebody has renamed one object and deleted
//! another.

use hearth::actors::UpdateStack;
use hearth::model::StackId;
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

/// What somebody does past Hearth.
async fn meddle(world: &World, stack: StackId) -> Option<()> {
    let (net, group) =
        (world.physical_id(stack, "net").await?, world.physical_id(stack, "group").await?);
    let base = world.auth_url.trim_end_matches("/v3");
    let token = world.requester().token.reveal().clone();
    let client = reqwest::Client::new();
    let body = json!({ "network": { "name": "their-name" } });
    let renamed = client.put(format!("{base}/network/v2.0/networks/{net}")).json(&body);
    let deleted = client.delete(format!("{base}/network/v2.0/security-groups/{group}"));
    for request in [renamed, deleted] {
        let reply = request.header("x-auth-token", &token).send().await.unwrap();
        assert!(reply.status().is_success(), "{}", reply.text().await.unwrap());
    }
    Some(())
}

impl Life for Looking {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = world.create("web", template()).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        meddle(world, web.stack).await?;
        let ask =
            UpdateStack { template: Some(template()), observes: true, ..UpdateStack::default() };
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
