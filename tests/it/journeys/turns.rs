//! A stack whose definitions take long to resolve lets others have their turn.

use serde_json::{Value, json};

use crate::support::world::{Ground, hot, test_resource};

/// Resources of which a few take more steps to resolve than a stack takes in one turn.
fn hard(count: usize) -> Value {
    let expression = "range(70).select(range(70).select($ + 1).len()).len()";
    let value = json!({ "yaql": { "expression": expression, "data": {} } });
    let resource = json!({ "type": "OS::Heat::Value", "properties": { "value": value } });
    let resources: serde_json::Map<String, Value> =
        (0..count).map(|number| (format!("r{number}"), resource.clone())).collect();
    hot(resources.into())
}

#[actix::test]
async fn a_tenant_who_makes_hard_stacks_does_not_hold_up_the_others() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let hard = world.create("hard", hard(30)).await.unwrap();
    let plain = world.create("plain", hot(json!({ "a": test_resource(json!({})) }))).await.unwrap();
    assert_eq!(world.settled(&plain).await, "CREATE_COMPLETE");
    let made = world.resources(hard.stack).await;
    let complete = made.iter().filter(|line| line.ends_with("CREATE_COMPLETE")).count();
    assert!(complete < 30, "the hard stack was made first: {made:?}");
    assert_eq!(world.settled(&hard).await, "CREATE_COMPLETE", "{}", world.reason(hard.stack).await);
    assert_eq!(world.resources(hard.stack).await.len(), 30);
}
