//! Snapshots: taken, restored, deleted one by one and with the stack.

use hearth::model::StackId;
use serde_json::{Value, json};

use super::{Life, reached, sweep};
use crate::journeys::snapshots::is_at_hand;
use crate::support::cut_log::CutLog;
use crate::support::world::{Ground, World, hot};

fn template(size: u64) -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
        "port": { "type": "OS::Neutron::Port", "depends_on": "subnet",
                  "properties": { "network": { "get_resource": "net" } } },
        "server": { "type": "OS::Nova::Server", "properties": {
            "flavor": "m1.tiny", "image": "cirros",
            "networks": [{ "port": { "get_resource": "port" } }] } },
        "volume": { "type": "OS::Cinder::Volume", "properties": { "size": size } },
        "attachment": { "type": "OS::Cinder::VolumeAttachment", "properties": {
            "instance_uuid": { "get_resource": "server" },
            "volume_id": { "get_resource": "volume" }, "mountpoint": "/dev/vdz" } },
    }))
}

struct Snapshots;

impl Life for Snapshots {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let engine = &world.engine;
        let web = world.create("web", template(1)).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let mut taken = Vec::new();
        for _ in 0..2 {
            let (accepted, id) =
                engine.take_snapshot(&world.requester(), web.stack, None).await.ok()?;
            reached(world, log, &accepted, "SNAPSHOT_COMPLETE").await?;
            taken.push(id);
        }
        let accepted =
            engine.delete_snapshot(&world.requester(), web.stack, taken[0]).await.ok()?;
        world.views.after(accepted.position).await.ok()?;
        let is_gone = async || world.views.snapshot(taken[0]).await.unwrap().is_none();
        log.until(world, "it is gone", is_gone).await?;
        let restored =
            engine.restore_snapshot(&world.requester(), web.stack, taken[1]).await.ok()?;
        reached(world, log, &restored, "RESTORE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }

    async fn healed(&self, ground: &Ground, world: &World, stack: StackId) {
        if !world.resources(stack).await.is_empty() {
            assert!(is_at_hand(ground, world, stack).await);
        }
    }
}

#[actix::test]
async fn every_cut_of_a_life_with_snapshots_heals() {
    sweep(&Snapshots, 60).await;
}
