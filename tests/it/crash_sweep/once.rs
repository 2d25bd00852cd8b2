//! Requests with a key, cut at every append and sent again: each is carried out once.

use hearth::actors::{Accepted, AskedOnce, Conditions, CreateStack, RequestContext, UpdateStack};
use hearth::model::{Refusal, StackId};
use hearth::template::StackSource;

use super::{Life, at_its_end, first_template, reached, second_template, sweep};
use crate::support::cut_log::CutLog;
use crate::support::world::{Ground, World};

fn keyed(world: &World, key: &str) -> RequestContext {
    let once = Some(AskedOnce { key: key.to_owned(), request: format!("digest of {key}") });
    let conditions = Conditions { once, ..Conditions::default() };
    RequestContext { conditions, ..world.requester() }
}

async fn create(world: &World) -> Result<Accepted, Refusal> {
    let ask = CreateStack {
        name: "web".into(),
        source: StackSource { template: first_template(), ..StackSource::default() },
        settings: Default::default(),
    };
    world.engine.create_stack(&keyed(world, "create"), ask).await
}

async fn update(world: &World, stack: StackId) -> Result<Accepted, Refusal> {
    let ask = UpdateStack { template: Some(second_template()), ..UpdateStack::default() };
    world.engine.update_stack(&keyed(world, "update"), stack, ask).await
}

struct Once;

impl Life for Once {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = create(world).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let updated = update(world, web.stack).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await
    }

    async fn healed(&self, _ground: &Ground, world: &World, stack: StackId) {
        for _ in 0..2 {
            assert_eq!(create(world).await.unwrap().stack, stack);
            let updated = update(world, stack).await.unwrap();
            world.views.after(updated.position).await.unwrap();
            assert_eq!(at_its_end(world, stack).await, "UPDATE_COMPLETE");
        }
        let revisions = world.views.revisions(stack).await.unwrap();
        assert_eq!(revisions.len(), 2, "each was carried out once");
    }
}

#[actix::test]
async fn every_cut_of_requests_with_keys_heals_and_none_is_carried_out_twice() {
    sweep(&Once, 30).await;
}
