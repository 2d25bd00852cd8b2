//! Groups: made in batches, changed in batches with a member removed, scaled by a signal.

use hearth::model::StackId;
use serde_json::{Value, json};

use super::{Life, reached, sweep};
use crate::support::cut_log::CutLog;
use crate::support::world::{Ground, World, hot};

fn net(name: &str) -> Value {
    json!({ "type": "OS::Neutron::Net", "properties": { "name": name } })
}

/// A ResourceGroup that is made and changed in batches.
struct Rolling;

impl Rolling {
    fn template(name: &str, removed: Value) -> Value {
        hot(json!({ "g": {
            "type": "OS::Heat::ResourceGroup",
            "properties": {
                "count": 2,
                "resource_def": net(name),
                "removal_policies": [{ "resource_list": removed }],
            },
            "update_policy": {
                "batch_create": { "max_batch_size": 1 },
                "rolling_update": { "max_batch_size": 1, "min_in_service": 2 },
            },
        } }))
    }
}

impl Life for Rolling {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = world.create("web", Self::template("one-%index%", json!([]))).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let members: StackId = world.physical_id(web.stack, "g").await?.parse().ok()?;
        let first = world.physical_id(members, "0").await?;
        let template = Self::template("two-%index%", json!([first]));
        let updated = world.update(web.stack, template).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }

    async fn healed(&self, _ground: &Ground, world: &World, stack: StackId) {
        let shown = world.views.stack(stack).await.unwrap().unwrap();
        let members = world.physical_id(stack, "g").await.and_then(|id| id.parse().ok());
        let Some(members) = members.filter(|_| shown.revision.0 == 2) else { return };
        let listed = world.resources(members).await;
        let names: Vec<&str> = listed.iter().filter_map(|row| row.split(' ').next()).collect();
        assert_eq!(names, ["1", "2"], "the removed one stays removed: {listed:?}");
    }
}

#[actix::test]
async fn every_cut_of_a_group_that_changes_in_batches_heals() {
    sweep(&Rolling, 60).await;
}

/// An AutoScalingGroup that a signal makes grow, and an update changes member by member.
struct Scaled;

impl Scaled {
    fn template(name: &str) -> Value {
        hot(json!({
            "g": { "type": "OS::Heat::AutoScalingGroup", "properties": {
                "min_size": 1, "max_size": 3, "resource": net(name) } },
            "up": { "type": "OS::Heat::ScalingPolicy", "properties": {
                "auto_scaling_group_id": { "get_resource": "g" },
                "scaling_adjustment": 1, "adjustment_type": "change_in_capacity" } },
        }))
    }
}

impl Life for Scaled {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = world.create("web", Self::template("one")).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let who = world.requester();
        world.engine.signal_resource(&who, web.stack, &"up".into(), &Value::Null).await.ok()?;
        let members: StackId = world.physical_id(web.stack, "g").await?.parse().ok()?;
        log.until(world, "it is told", async || told(world, web.stack).await).await?;
        assert_eq!(world.resources(members).await.len(), 2);
        let updated = world.update(web.stack, Self::template("two")).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }

    async fn healed(&self, ground: &Ground, world: &World, stack: StackId) {
        let members = world.physical_id(stack, "g").await.and_then(|id| id.parse().ok());
        let Some(members) = members else { return };
        let wanted = if ground.signals_taken().await == 0 { 1 } else { 2 };
        let listed = world.resources(members).await;
        assert_eq!(listed.len(), wanted, "a signal counts once: {listed:?}");
    }
}

/// Whether the event list tells of the signal.
async fn told(world: &World, stack: StackId) -> bool {
    world.events(stack).await.iter().any(|event| event == "up SIGNAL_COMPLETE")
}

#[actix::test]
async fn every_cut_of_a_group_that_is_scaled_heals() {
    sweep(&Scaled, 60).await;
}
