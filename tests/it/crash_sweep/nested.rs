//! Stacks within stacks: created, acted on, changed by a file, replaced and deleted.

use std::collections::BTreeMap;

use hearth::actors::{CreateStack, UpdateStack};
use hearth::model::{Action, StackRevision, StackSettings};
use hearth::template::StackSource;
use serde_json::{Value, json};

use super::{Life, reached, sweep};
use crate::support::cut_log::CutLog;
use crate::support::world::{World, hot, test_resource};

fn template(value: &str) -> Value {
    hot(json!({
        "n": { "type": "child.yaml", "properties": { "cidr": value } },
        "user": test_resource(json!({ "value": { "get_attr": ["n", "cidr"] } })),
    }))
}

/// A child with a network and a child of its own, which has the subnet; or with the subnet itself.
fn files(is_deep: bool) -> BTreeMap<String, String> {
    let subnet = json!({ "type": "OS::Neutron::Subnet", "properties": {
        "network": { "get_param": "network" }, "cidr": { "get_param": "cidr" } } });
    let deep = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "network": { "type": "string" }, "cidr": { "type": "string" } },
        "resources": { "subnet": subnet },
    });
    let mut own = subnet.clone();
    own["properties"]["network"] = json!({ "get_resource": "net" });
    if is_deep {
        own["type"] = "deep.yaml".into();
    }
    let child = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "cidr": { "type": "string" } },
        "resources": { "net": { "type": "OS::Neutron::Net" }, "own": own },
        "outputs": { "cidr": { "value": { "get_param": "cidr" } } },
    });
    BTreeMap::from([
        ("child.yaml".to_owned(), child.to_string()),
        ("deep.yaml".to_owned(), deep.to_string()),
    ])
}

struct Nested;

impl Nested {
    async fn update(
        world: &World,
        stack: hearth::model::StackId,
        template: Value,
        files: BTreeMap<String, String>,
    ) -> Option<hearth::actors::Accepted> {
        let ask = UpdateStack { template: Some(template), files, ..UpdateStack::default() };
        world.engine.update_stack(&world.requester(), stack, ask).await.ok()
    }
}

impl Life for Nested {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let source = StackSource {
            template: template("10.9.0.0/24"),
            files: files(true),
            ..StackSource::default()
        };
        let ask = CreateStack { name: "web".into(), source, settings: Default::default() };
        let web = world.engine.create_stack(&world.requester(), ask).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        for (action, end) in [
            (Action::Suspend, "SUSPEND_COMPLETE"),
            (Action::Resume, "RESUME_COMPLETE"),
            (Action::Check, "CHECK_COMPLETE"),
        ] {
            let acted = world.engine.act_on_stack(&world.requester(), web.stack, action).await;
            reached(world, log, &acted.ok()?, end).await?;
        }
        let updated = Self::update(world, web.stack, template("10.8.0.0/24"), files(true)).await?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let refiled = Self::update(world, web.stack, template("10.7.0.0/24"), files(false)).await?;
        // The same words as of the update before: what tells them apart is the revision.
        until_revision(world, log, &refiled, 3).await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }
}

/// A child whose update fails and is rolled back, and a stack beside.
struct Turned;

fn turned(fails: bool) -> (Value, BTreeMap<String, String>) {
    let child = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "fails": { "type": "boolean" } },
        "resources": {
            "net": { "type": "OS::Neutron::Net" },
            "z": { "type": "OS::Heat::TestResource", "depends_on": "net",
                   "properties": { "value": { "get_param": "fails" },
                                   "fail": { "get_param": "fails" } } },
        },
    });
    let beside = hot(json!({ "a": test_resource(json!({})) }));
    let template = hot(json!({
        "n": { "type": "child.yaml", "properties": { "fails": fails } },
        "s": { "type": "OS::Heat::Stack", "properties": { "template": beside.to_string() } },
    }));
    (template, BTreeMap::from([("child.yaml".to_owned(), child.to_string())]))
}

impl Life for Turned {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let (template, files) = turned(false);
        let ask = CreateStack {
            name: "web".into(),
            source: StackSource { template, files, ..StackSource::default() },
            settings: StackSettings { disable_rollback: false, ..StackSettings::default() },
        };
        let web = world.engine.create_stack(&world.requester(), ask).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let (template, files) = turned(true);
        let updated = Nested::update(world, web.stack, template, files).await?;
        reached(world, log, &updated, "ROLLBACK_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }
}

#[actix::test]
async fn every_cut_of_a_child_that_is_rolled_back_heals() {
    sweep(&Turned, 50).await;
}

/// Back from where it was suspended, with all that is within, and on.
struct Woken;

impl Life for Woken {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let with = |value: &str| {
            hot(json!({ "group": { "type": "OS::Heat::ResourceGroup", "properties": {
                "count": 1, "resource_def": {
                    "type": "OS::Neutron::Net", "properties": { "name": value } } } } }))
        };
        let web = world.create("web", with("one")).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let updated = world.update(web.stack, with("two")).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let acted = world.engine.act_on_stack(&world.requester(), web.stack, Action::Suspend).await;
        reached(world, log, &acted.ok()?, "SUSPEND_COMPLETE").await?;
        let back = world
            .engine
            .roll_back_to(&world.requester(), web.stack, StackRevision(1))
            .await
            .ok()?;
        reached(world, log, &back, "UPDATE_COMPLETE").await?;
        let acted = world.engine.act_on_stack(&world.requester(), web.stack, Action::Resume).await;
        reached(world, log, &acted.ok()?, "RESUME_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }
}

#[actix::test]
async fn every_cut_of_a_way_back_from_rest_heals() {
    sweep(&Woken, 40).await;
}

async fn until_revision(
    world: &World,
    log: &CutLog,
    accepted: &hearth::actors::Accepted,
    revision: u32,
) -> Option<()> {
    let is_at = async || {
        let stack = world.views.stack(accepted.stack).await.unwrap();
        stack.is_some_and(|stack| stack.revision.0 == revision)
    };
    log.until(world, "its revision", is_at).await?;
    reached(world, log, accepted, "UPDATE_COMPLETE").await
}

#[actix::test]
async fn every_cut_of_a_life_of_nested_stacks_heals() {
    sweep(&Nested, 80).await;
}
