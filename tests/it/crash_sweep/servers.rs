//! A server that is replaced, at last in vain: its port is always at the one that counts.

use hearth::model::StackId;

use super::{Life, reached, sweep};
use crate::journeys::servers::{held, template};
use crate::support::cut_log::CutLog;
use crate::support::world::{Ground, World};

struct Servers;

impl Life for Servers {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let first = template("m1.tiny", "AUTO", false);
        let web = world.create_with("web", first, false).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let second = template("m1.small", "AUTO", false);
        let updated = world.update(web.stack, second).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let in_vain = template("m1.tiny", "AUTO", true);
        let updated = world.update(web.stack, in_vain).await.ok()?;
        reached(world, log, &updated, "ROLLBACK_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }

    async fn healed(&self, _ground: &Ground, world: &World, stack: StackId) {
        if !world.resources(stack).await.is_empty() {
            held(world, stack).await;
        }
    }
}

#[actix::test]
async fn every_cut_of_a_life_of_servers_that_are_replaced_heals() {
    sweep(&Servers, 60).await;
}
