//! Updates that are cancelled while something of them is at work, in the stack and in one within it.

use std::collections::BTreeMap;

use hearth::actors::{CreateStack, UpdateStack};
use hearth::template::StackSource;
use serde_json::{Value, json};

use super::{Life, reached, sweep};
use crate::support::cut_log::CutLog;
use crate::support::world::{World, hot};

/// An update that is cancelled while a resource within is at work.
struct Cancelled;

fn source(cidr: &str, pause: f64) -> (Value, BTreeMap<String, String>) {
    let child = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "cidr": { "type": "string" } },
        "resources": {
            "slow": { "type": "OS::Heat::TestResource", "properties": {
                "value": { "get_param": "cidr" }, "action_wait_secs": { "update": pause } } },
            "net": { "type": "OS::Neutron::Net" },
        },
    });
    let template = hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": cidr } },
        "n": { "type": "child.yaml", "depends_on": "subnet", "properties": { "cidr": cidr } },
        "router": { "type": "OS::Neutron::Router", "depends_on": "n" },
    }));
    (template, BTreeMap::from([("child.yaml".to_owned(), child.to_string())]))
}

impl Life for Cancelled {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let (template, files) = source("10.9.0.0/24", 0.0);
        let ask = CreateStack {
            name: "web".into(),
            source: StackSource { template, files, ..StackSource::default() },
            settings: Default::default(),
        };
        let web = world.engine.create_stack(&world.requester(), ask).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let (template, files) = source("10.8.0.0/24", 0.1);
        let ask = UpdateStack { template: Some(template), files, ..UpdateStack::default() };
        world.engine.update_stack(&world.requester(), web.stack, ask).await.ok()?;
        // It is at work, or was.
        let is_begun = |line: &String| line.starts_with("n UPDATE_");
        let begun = async || world.resources(web.stack).await.iter().any(is_begun);
        log.until(world, "the update is begun", begun).await?;
        match world.engine.cancel_update(&world.requester(), web.stack, true).await {
            Ok(cancelled) => reached(world, log, &cancelled, "ROLLBACK_COMPLETE").await?,
            // A slow machine comes too late.
            Err(refused) if refused.class == "NotSupported" => {}
            Err(_) => return None,
        }
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }
}

#[actix::test]
async fn every_cut_of_an_update_that_is_cancelled_heals() {
    sweep(&Cancelled, 50).await;
}
