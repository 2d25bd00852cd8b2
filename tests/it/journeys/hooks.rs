//! Hooks and restricted actions of the environment: where a resource waits, and what it is kept
//! from.

use hearth::actors::{Accepted, CreateStack, UpdateStack};
use hearth::model::Refusal;
use hearth::projections::EventQuery;
use hearth::template::StackSource;
use serde_json::{Value, json};

use crate::support::world::{Ground, World, hot, test_resource};

fn environment(entry: Value) -> hearth::model::JsonMap {
    let environment = json!({ "resource_registry": { "resources": { "a": entry } } });
    environment.as_object().unwrap().clone()
}

/// `b` requires `a`.
fn pair(value: &str) -> Value {
    hot(json!({
        "a": test_resource(json!({ "value": value })),
        "b": { "type": "OS::Heat::TestResource", "depends_on": "a" },
    }))
}

async fn create(world: &World, entry: Value) -> Accepted {
    let source = StackSource {
        template: pair("one"),
        environment: environment(entry),
        ..StackSource::default()
    };
    let ask = CreateStack { name: "web".into(), source, settings: Default::default() };
    world.engine.create_stack(&world.requester(), ask).await.unwrap()
}

async fn update(world: &World, stack: &Accepted, template: Value, entry: Value) -> Accepted {
    let ask = UpdateStack {
        template: Some(template),
        environment: environment(entry),
        ..UpdateStack::default()
    };
    world.update_as(stack.stack, ask).await.unwrap()
}

async fn clear(world: &World, stack: &Accepted, hook: &str) -> Result<(), Refusal> {
    let details = json!({ "unset_hook": hook });
    let name = "a".into();
    world.engine.signal_resource(&world.requester(), stack.stack, &name, &details).await.map(|_| ())
}

/// Waits until the event list has such a line.
async fn told(world: &World, stack: &Accepted, line: &str) {
    let is_told = async || events(world, stack).await.iter().any(|known| known == line);
    world.shows(line, is_told).await;
}

/// The event list with reasons, oldest first.
async fn events(world: &World, stack: &Accepted) -> Vec<String> {
    let query = EventQuery { descending: Some(false), ..EventQuery::default() };
    let events = world.views.events(stack.stack, query).await.unwrap();
    let line = |it: &hearth::projections::EventRow| {
        format!("{} {}_{} {}", it.name, it.action, it.status, it.reason)
    };
    events.iter().map(line).collect()
}

#[actix::test]
async fn a_resource_waits_before_and_behind_its_create() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = create(&world, json!({ "hooks": ["pre-create", "post-create"] })).await;
    told(&world, &web, "a INIT_COMPLETE CREATE paused until Hook pre-create is cleared").await;
    let refused = clear(&world, &web, "post-create").await.unwrap_err();
    let text = format!(
        "The \"post-create\" hook is not defined on TestResource \"a\" Stack \"web\" [{}]",
        web.stack
    );
    assert_eq!((&*refused.class, refused.message), ("InvalidBreakPointHook", text));
    let refused = clear(&world, &web, "never").await.unwrap_err();
    let text =
        format!("Invalid hook type \"never\" for TestResource \"a\" Stack \"web\" [{}]", web.stack);
    assert_eq!(refused.message, text);
    clear(&world, &web, "pre-create").await.unwrap();
    let line = "a CREATE_COMPLETE CREATE paused until Hook post-create is cleared";
    told(&world, &web, line).await;
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE", "b INIT_COMPLETE"]);
    clear(&world, &web, "post-create").await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let expected = [
        "web CREATE_IN_PROGRESS Stack CREATE started",
        "a INIT_COMPLETE CREATE paused until Hook pre-create is cleared",
        "a INIT_COMPLETE Hook pre-create is cleared",
        "a CREATE_IN_PROGRESS state changed",
        "a CREATE_COMPLETE state changed",
        "a CREATE_COMPLETE CREATE paused until Hook post-create is cleared",
        "a CREATE_COMPLETE Hook post-create is cleared",
        "b CREATE_IN_PROGRESS state changed",
        "b CREATE_COMPLETE state changed",
        "web CREATE_COMPLETE Stack CREATE completed successfully",
    ];
    assert_eq!(events(&world, &web).await, expected);
}

#[actix::test]
async fn an_update_waits_even_where_nothing_changes_and_behind_real_changes_alone() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = create(&world, json!({})).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let hooks = json!({ "hooks": ["pre-update", "post-update"] });
    for (value, changes) in [("one", false), ("two", true)] {
        let known = events(&world, &web).await.len();
        let updated = update(&world, &web, pair(value), hooks.clone()).await;
        let before = "UPDATE paused until Hook pre-update is cleared";
        let is_told =
            async || events(&world, &web).await[known..].iter().any(|line| line.ends_with(before));
        world.shows(before, is_told).await;
        clear(&world, &web, "pre-update").await.unwrap();
        if changes {
            let line = "a UPDATE_COMPLETE UPDATE paused until Hook post-update is cleared";
            told(&world, &web, line).await;
            clear(&world, &web, "post-update").await.unwrap();
        }
        assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    }
}

#[actix::test]
async fn a_deletion_waits_before_and_behind_and_both_can_be_cleared() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = create(&world, json!({ "hooks": ["pre-delete", "post-delete"] })).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let deleted = world.delete(web.stack).await.unwrap();
    told(&world, &web, "a CREATE_COMPLETE DELETE paused until Hook pre-delete is cleared").await;
    clear(&world, &web, "pre-delete").await.unwrap();
    told(&world, &web, "a DELETE_COMPLETE DELETE paused until Hook post-delete is cleared").await;
    // Heat never lets this one be cleared.
    clear(&world, &web, "post-delete").await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn what_waits_for_its_deletion_is_still_read_and_is_nobodys_need() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = create(&world, json!({ "hooks": "pre-delete" })).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let users = async || {
        let rows = world.views.resources(web.stack).await.unwrap();
        let users = rows.into_iter().map(|row| (row.name.0, row.required_by));
        users.collect::<std::collections::BTreeMap<_, _>>()
    };
    assert_eq!(users().await["a"], ["b".into()]);
    let deleted = world.delete(web.stack).await.unwrap();
    told(&world, &web, "a CREATE_COMPLETE DELETE paused until Hook pre-delete is cleared").await;
    assert_eq!(users().await["a"], []);
    let who = world.requester();
    let shown = world.engine.inspect_resource(&who, web.stack, &"a".into(), &[]).await.unwrap();
    assert_eq!(shown["output"], "one");
    world.engine.resource_metadata(&who, web.stack, &"a".into()).await.unwrap();
    let none = world.engine.inspect_resource(&who, web.stack, &"no".into(), &[]).await;
    assert_eq!(none.unwrap_err().class, "EntityNotFound");
    clear(&world, &web, "pre-delete").await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn an_update_supersedes_a_stack_that_waits_and_a_deletion_ends_the_wait() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let hooks = json!({ "hooks": "pre-create" });
    let web = create(&world, hooks.clone()).await;
    told(&world, &web, "a INIT_COMPLETE CREATE paused until Hook pre-create is cleared").await;
    let updated = update(&world, &web, pair("two"), hooks.clone()).await;
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE", "b CREATE_COMPLETE"]);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");

    let web = create(&world, hooks).await;
    told(&world, &web, "a INIT_COMPLETE CREATE paused until Hook pre-create is cleared").await;
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_wait_survives_a_restart() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = create(&world, json!({ "hooks": ["pre-create", "post-create"] })).await;
    for hook in ["pre-create", "post-create"] {
        let world = ground.start().await;
        let state = if hook == "pre-create" { "INIT" } else { "CREATE" };
        let line = format!("a {state}_COMPLETE CREATE paused until Hook {hook} is cleared");
        told(&world, &web, &line).await;
        world.engine.shutdown();
        let world = ground.start().await;
        clear(&world, &web, hook).await.unwrap();
        if hook == "post-create" {
            assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
        }
        world.engine.shutdown();
    }
    let world = ground.start().await;
    let waits = events(&world, &web).await.iter().filter(|line| line.contains("paused")).count();
    assert_eq!(waits, 2, "each wait is told once");
}

#[actix::test]
async fn what_is_restricted_is_refused_and_changes_nothing() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = create(&world, json!({})).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let changed = |properties: Value| {
        hot(json!({
            "a": test_resource(properties),
            "b": { "type": "OS::Heat::TestResource", "depends_on": "a" },
        }))
    };
    let replacing = json!({ "value": "two", "update_replace": true });
    let other = hot(json!({ "a": { "type": "OS::Heat::RandomString" } }));
    for (template, word) in
        [(pair("two"), "update"), (changed(replacing), "replace"), (other, "replace")]
    {
        let known = events(&world, &web).await.len();
        let physical = world.physical_id(web.stack, "a").await;
        let updated = update(&world, &web, template, json!({ "restricted_actions": word })).await;
        assert_eq!(world.settled(&updated).await, "UPDATE_FAILED");
        let told = format!("{word} is restricted for resource.");
        let reason =
            format!("Resource UPDATE failed: ResourceActionRestricted: resources.a: {told}");
        assert_eq!(world.reason(web.stack).await, reason);
        let news = events(&world, &web).await.split_off(known);
        assert!(news.contains(&format!("a UPDATE_FAILED {told}")), "{news:?}");
        assert_eq!(world.physical_id(web.stack, "a").await, physical);
        assert!(world.resources(web.stack).await.contains(&"a CREATE_COMPLETE".to_owned()));
    }
    // Leaving it out is no change of it.
    let without = hot(json!({ "c": test_resource(json!({})) }));
    let both = json!({ "restricted_actions": ["update", "replace"] });
    let updated = update(&world, &web, without, both).await;
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
}
