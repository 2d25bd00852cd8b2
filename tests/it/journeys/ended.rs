//! What is left of an engine that has ended.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::support::wait::polled;
use crate::support::world::{Ground, hot, test_resource};

const GONE_WITHIN: Duration = Duration::from_secs(30);

#[actix::test]
async fn an_engine_that_has_ended_keeps_nothing_of_what_it_worked_with() {
    let ground = Ground::new().await;
    for is_killed in [true, false] {
        let world = ground.start().await;
        let name = if is_killed { "killed" } else { "ended" };
        let template = hot(json!({ "value": test_resource(json!({ "value": "one" })) }));
        let stack = world.create(name, template).await.unwrap();
        world.settled(&stack).await;
        // Held by all that works, as the log and the views are.
        let vault = Arc::downgrade(&world.vault);
        if !is_killed {
            world.engine.shutdown();
        }
        drop(world);
        let is_freed = async || match vault.strong_count() {
            0 => Ok(()),
            held => Err(format!("{held} hold it")),
        };
        polled(GONE_WITHIN, format!("free ({name})"), is_freed).await;
    }
}
