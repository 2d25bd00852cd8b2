//! What is left of an engine that has ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

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
        let began = Instant::now();
        while vault.strong_count() > 0 {
            assert!(began.elapsed() < GONE_WITHIN, "{name}: {} hold it", vault.strong_count());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
