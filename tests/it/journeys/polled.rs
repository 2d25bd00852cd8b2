//! The agents of servers ask for metadata every 10 to 30 seconds: their stack waits for them awake.

use std::time::Duration;

use hearth::metrics::{Measured, Page};
use serde_json::json;

use crate::support::wait::{WAIT_MAX, polled};
use crate::support::world::{Ground, World, hot, test_resource};

/// Stacks that were made one after the other go to rest within this.
const APART: Duration = Duration::from_secs(1);

/// How many stacks are awake.
fn awake(world: &World) -> usize {
    let page = Page::of([&world.engine as &dyn Measured]);
    let mut lines = page.lines();
    let shown = lines.find_map(|line| line.strip_prefix("hearth_engine_actors{kind=\"stack\"} "));
    shown.unwrap().parse().unwrap()
}

#[actix::test]
async fn a_stack_whose_agents_ask_stays_awake_longer_than_others() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({ "a": test_resource(json!({})) }));
    let asked = world.create("asked", template.clone()).await.unwrap();
    let other = world.create("other", template).await.unwrap();
    for stack in [&asked, &other] {
        assert_eq!(world.settled(stack).await, "CREATE_COMPLETE");
    }
    let who = world.requester();
    world.engine.resource_metadata(&who, asked.stack, &"a".into()).await.unwrap();
    polled(WAIT_MAX, "one alone is awake", async || awake(&world) == 1).await;
    tokio::time::sleep(APART).await;
    assert_eq!(awake(&world), 1);
}
