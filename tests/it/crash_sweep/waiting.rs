//! Hooks that are cleared by a word from outside, external resources, and an abandoned stack.

use hearth::actors::CreateStack;
use hearth::template::StackSource;
use serde_json::json;

use super::{Life, reached, sweep};
use crate::support::cut_log::CutLog;
use crate::support::world::{World, hot, test_resource};

struct Waiting;

/// Lets a hook go on as soon as it is reached.
async fn clear(
    world: &World,
    log: &CutLog,
    stack: &hearth::actors::Accepted,
    hook: &str,
) -> Option<()> {
    let details = json!({ "unset_hook": hook });
    let is_taken = async || {
        let (who, name) = (world.requester(), "net".into());
        world.engine.signal_resource(&who, stack.stack, &name, &details).await.is_ok()
    };
    log.until(world, "the signal is taken", is_taken).await
}

impl Life for Waiting {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let hooks = ["pre-create", "post-create", "pre-delete", "post-delete"];
        let environment = json!({ "resource_registry": { "resources": {
            "net": { "hooks": hooks } } } });
        let template = hot(json!({
            "net": { "type": "OS::Neutron::Net" },
            "value": test_resource(json!({ "value": { "get_resource": "net" } })),
        }));
        let ask = CreateStack {
            name: "web".into(),
            source: StackSource {
                template,
                environment: environment.as_object().cloned().unwrap_or_default(),
                ..StackSource::default()
            },
            settings: Default::default(),
        };
        let web = world.engine.create_stack(&world.requester(), ask).await.ok()?;
        clear(world, log, &web, "pre-create").await?;
        clear(world, log, &web, "post-create").await?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        clear(world, log, &web, "pre-delete").await?;
        clear(world, log, &web, "post-delete").await?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }

    /// Whatever waits is let go on.
    async fn help(&self, world: &World, stack: hearth::model::StackId) {
        for hook in ["pre-create", "post-create", "pre-delete", "post-delete"] {
            let details = json!({ "unset_hook": hook });
            let (who, name) = (world.requester(), "net".into());
            let _ = world.engine.signal_resource(&who, stack, &name, &details).await;
        }
    }
}

#[actix::test]
async fn every_cut_of_a_life_with_hooks_heals() {
    sweep(&Waiting, 15).await;
}
