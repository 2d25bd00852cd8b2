//! Child stacks: what templates stand behind, within other stacks.

mod values;

use std::collections::{BTreeMap, BTreeSet};

use hearth::actors::{Accepted, CreateStack, UpdateStack};
use hearth::events::log::Filter;
use hearth::events::{Position, RecordedEvent};
use hearth::model::{Action, CommandId, Refusal, StackId, Status};
use hearth::projections::{StackQuery, StackRow};
use hearth::template::StackSource;
use serde_json::{Value, json};

use crate::support::wait::until;
use crate::support::world::{Ground, World, hot, test_resource};

/// A stack with a child `n` that is made of a file.
struct Nest {
    value: &'static str,
    file: Value,
}

fn file(resources: Value) -> Value {
    json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "value": { "type": "string", "default": "none" } },
        "resources": resources,
        "outputs": { "given": { "value": { "get_attr": ["z", "output"] } } },
    })
}

fn plain_file() -> Value {
    file(json!({ "z": test_resource(json!({ "value": { "get_param": "value" } })) }))
}

impl Nest {
    fn template(&self) -> Value {
        let mut template = hot(json!({
            "n": { "type": "child.yaml", "properties": { "value": self.value } },
            "user": test_resource(json!({ "value": { "get_attr": ["n", "given"] } })),
        }));
        template["outputs"] = json!({ "seen": { "value": { "get_attr": ["user", "output"] } } });
        template
    }

    fn files(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("child.yaml".to_owned(), self.file.to_string())])
    }

    fn ask(&self) -> CreateStack {
        CreateStack {
            name: "web".into(),
            source: StackSource {
                template: self.template(),
                files: self.files(),
                ..StackSource::default()
            },
            settings: Default::default(),
        }
    }

    async fn create(&self, world: &World) -> Result<Accepted, Refusal> {
        world.engine.create_stack(&world.requester(), self.ask()).await
    }

    async fn update(&self, world: &World, stack: StackId) -> Result<Accepted, Refusal> {
        let ask = UpdateStack {
            template: Some(self.template()),
            files: self.files(),
            ..UpdateStack::default()
        };
        world.update_as(stack, ask).await
    }
}

/// The stacks within others.
async fn children(world: &World) -> Vec<StackRow> {
    let query = StackQuery { nested: true, ..StackQuery::default() };
    let mut stacks = world.views.stacks(query).await.unwrap();
    stacks.retain(|stack| stack.within.is_some());
    stacks
}

async fn output(world: &World, stack: StackId) -> Value {
    world.views.stack_shown(stack).await.unwrap().unwrap().outputs[0].placed.value.clone()
}

#[actix::test]
async fn a_template_behind_a_type_is_a_stack_of_its_own() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = Nest { value: "one", file: plain_file() }.create(&world).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(output(&world, web.stack).await, "one");
    let found = children(&world).await;
    let [child] = &found[..] else { panic!("{found:#?}") };
    let within = child.within.as_ref().unwrap();
    assert_eq!((within.parent, within.root, within.depth), (web.stack, web.stack, 1));
    assert_eq!(within.resource.as_str(), "n");
    assert!(child.name.as_str().starts_with("web-n-"), "{}", child.name);
    let physical_id = world.physical_id(web.stack, "n").await;
    assert_eq!(physical_id.as_deref(), Some(child.id.to_string().as_str()));
    let wanted =
        ["CREATE_IN_PROGRESS", "z CREATE_IN_PROGRESS", "z CREATE_COMPLETE", "CREATE_COMPLETE"];
    let name = &child.name;
    let wanted = wanted.map(|event| match event.starts_with('z') {
        true => event.to_owned(),
        false => format!("{name} {event}"),
    });
    assert_eq!(world.events(child.id).await, wanted);

    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(children(&world).await.is_empty());
}

#[actix::test]
async fn a_child_is_updated_where_it_changes_and_left_alone_where_it_does_not() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let first = Nest { value: "one", file: plain_file() };
    let web = first.create(&world).await.unwrap();
    world.settled(&web).await;
    let child = children(&world).await[0].id;
    let before = world.events(child).await.len();
    let same = first.update(&world, web.stack).await.unwrap();
    assert_eq!(world.settled(&same).await, "UPDATE_COMPLETE");
    assert_eq!(world.events(child).await.len(), before, "nothing changed");

    let second = Nest { value: "two", file: plain_file() };
    let changed = second.update(&world, web.stack).await.unwrap();
    assert_eq!(world.settled(&changed).await, "UPDATE_COMPLETE");
    assert_eq!(output(&world, web.stack).await, "two");
    assert_eq!(world.at_rest(child).await, "UPDATE_COMPLETE");

    let mut other = plain_file();
    other["resources"]["y"] = test_resource(json!({}));
    let file_changed = Nest { value: "two", file: other }.update(&world, web.stack).await.unwrap();
    assert_eq!(world.settled(&file_changed).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(child).await, ["y CREATE_COMPLETE", "z UPDATE_COMPLETE"]);
    assert_eq!(world.resources(web.stack).await, ["n UPDATE_COMPLETE", "user UPDATE_COMPLETE"]);
}

#[actix::test]
async fn a_failure_within_is_told_with_its_whole_path() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let failing = file(json!({ "z": test_resource(json!({ "fail": true })) }));
    let web = Nest { value: "one", file: failing }.create(&world).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    assert_eq!(
        world.reason(web.stack).await,
        "Resource CREATE failed: ValueError: resources.n.resources.z: Test Resource failed z"
    );
    let child = children(&world).await[0].id;
    let mended = Nest { value: "one", file: plain_file() }.update(&world, web.stack).await.unwrap();
    assert_eq!(world.settled(&mended).await, "UPDATE_COMPLETE");
    assert_eq!(children(&world).await[0].id, child, "the child is mended in place");
}

/// A file whose resource waits in the action.
fn waiting_file(action: &str) -> Value {
    file(json!({
        "z": test_resource(json!({
            "value": { "get_param": "value" }, "action_wait_secs": { action: 60 } })),
        "last": { "type": "OS::Heat::TestResource", "depends_on": "z" },
    }))
}

#[actix::test]
async fn a_child_that_somebody_has_deleted_is_made_anew_by_the_next_update() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let nest = Nest { value: "one", file: plain_file() };
    let web = nest.create(&world).await.unwrap();
    world.settled(&web).await;
    let child = children(&world).await[0].id;
    let gone = world.delete(child).await.unwrap();
    assert_eq!(world.settled(&gone).await, "DELETE_COMPLETE");

    let updated = nest.update(&world, web.stack).await.unwrap();
    let state = world.settled(&updated).await;
    assert_eq!(state, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
    let found = children(&world).await;
    let [anew] = &found[..] else { panic!("{found:#?}") };
    assert_ne!(anew.id, child);
    assert_eq!(output(&world, web.stack).await, "one");

    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(children(&world).await.is_empty());
}

/// Waits until the child's resource is at work.
async fn child_at_work(world: &World) -> StackRow {
    let at_work = async || {
        for child in children(world).await {
            let listed = world.resources(child.id).await;
            if listed.iter().any(|row| row.starts_with("z ") && row.ends_with("_IN_PROGRESS")) {
                return Some(child);
            }
        }
        None
    };
    until(&[world], "the child is at work", at_work).await
}

#[actix::test]
async fn actions_go_down_into_children() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = Nest { value: "one", file: plain_file() }.create(&world).await.unwrap();
    world.settled(&web).await;
    let child = children(&world).await[0].id;
    for action in [Action::Suspend, Action::Resume, Action::Check] {
        let acted = world.engine.act_on_stack(&world.requester(), web.stack, action).await.unwrap();
        let wanted = format!("{action}_COMPLETE");
        assert_eq!(world.settled(&acted).await, wanted);
        assert_eq!(world.at_rest(child).await, wanted);
        assert_eq!(world.resources(child).await, [format!("z {wanted}")]);
    }
}

#[actix::test]
async fn a_delete_interrupts_a_child_that_is_being_created() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = Nest { value: "one", file: waiting_file("create") }.create(&world).await.unwrap();
    let child = child_at_work(&world).await;
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(world.at_rest(child.id).await, "DELETE_COMPLETE");
    let events = world.events(child.id).await;
    assert!(events.contains(&format!("{} CREATE_FAILED", child.name)), "{events:#?}");
    assert!(events.contains(&"z DELETE_COMPLETE".to_owned()), "{events:#?}");
}

#[actix::test]
async fn a_cancel_reaches_the_child_whose_next_resource_never_starts() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut slow = waiting_file("create");
    slow["resources"]["z"]["properties"]["action_wait_secs"]["create"] = json!(3);
    let web = Nest { value: "one", file: slow }.create(&world).await.unwrap();
    let child = child_at_work(&world).await;
    let who = world.requester();
    let cancelled = world.engine.cancel_update(&who, web.stack, false).await.unwrap();
    assert_eq!(world.settled(&cancelled).await, "CREATE_FAILED");
    assert_eq!(world.reason(web.stack).await, "Stack CREATE cancelled");
    assert_eq!(world.at_rest(child.id).await, "CREATE_FAILED");
    assert_eq!(world.resources(child.id).await, ["last INIT_COMPLETE", "z CREATE_COMPLETE"]);
}

#[actix::test]
async fn an_update_takes_over_a_child_at_work() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut slow = waiting_file("create");
    slow["resources"]["z"]["properties"]["action_wait_secs"]["create"] = json!(3);
    let web = Nest { value: "one", file: slow }.create(&world).await.unwrap();
    let child = child_at_work(&world).await;
    let mended = Nest { value: "two", file: plain_file() }.update(&world, web.stack).await.unwrap();
    assert_eq!(world.settled(&mended).await, "UPDATE_COMPLETE");
    assert_eq!(output(&world, web.stack).await, "two");
    assert_eq!(world.resources(child.id).await, ["z UPDATE_COMPLETE"]);
    let events = world.events(child.id).await;
    assert!(!events.iter().any(|event| event.starts_with("last ")), "{events:#?}");
}

#[actix::test]
async fn a_failed_update_is_rolled_back_in_the_child() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let first = Nest { value: "one", file: plain_file() };
    let mut ask = first.ask();
    ask.settings.disable_rollback = false;
    let web = world.engine.create_stack(&world.requester(), ask).await.unwrap();
    world.settled(&web).await;
    let child = children(&world).await[0].id;
    let failing = file(json!({
        "z": test_resource(json!({ "value": { "get_param": "value" } })),
        "bad": { "type": "OS::Heat::TestResource", "depends_on": "z",
                 "properties": { "fail": true } },
    }));
    let failed = Nest { value: "two", file: failing }.update(&world, web.stack).await.unwrap();
    assert_eq!(world.settled(&failed).await, "ROLLBACK_COMPLETE");
    assert_eq!(output(&world, web.stack).await, "one");
    assert_eq!(children(&world).await[0].id, child);
    assert_eq!(world.at_rest(child).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(child).await, ["z UPDATE_COMPLETE"]);
    let events = world.views.events(web.stack, Default::default()).await.unwrap();
    let told = events.iter().find(|event| event.name == "n" && event.status == Status::Failed);
    assert_eq!(
        told.unwrap().reason,
        "resources.n: Resource CREATE failed: ValueError: resources.bad: Test Resource failed bad"
    );
}

#[actix::test]
async fn what_is_unhealthy_in_a_child_is_replaced_by_an_update_that_changes_nothing() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let nest = Nest { value: "one", file: plain_file() };
    let web = nest.create(&world).await.unwrap();
    world.settled(&web).await;
    let child = children(&world).await[0].id;
    let before = world.views.resources(child).await.unwrap()[0].id;
    let mark = async |stack, name: &str| {
        let who = world.requester();
        let marked = world.engine.mark_resource(&who, stack, &name.into(), false, "seen").await;
        world.views.after(marked.unwrap().position).await.unwrap();
    };
    mark(child, "z").await;
    let healed = nest.update(&world, web.stack).await.unwrap();
    assert_eq!(world.settled(&healed).await, "UPDATE_COMPLETE");
    assert_eq!(children(&world).await[0].id, child);
    assert_ne!(world.views.resources(child).await.unwrap()[0].id, before);

    mark(web.stack, "n").await;
    let replaced = nest.update(&world, web.stack).await.unwrap();
    assert_eq!(world.settled(&replaced).await, "UPDATE_COMPLETE");
    let now = children(&world).await;
    assert_eq!(now.len(), 1, "{now:#?}");
    assert_ne!(now[0].id, child, "an unhealthy child is replaced as a whole");
}

#[actix::test]
async fn templates_nest_five_deep_and_no_deeper() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let level = |next: &str| {
        json!({ "heat_template_version": "2021-04-16",
                "resources": { "next": { "type": next } } })
    };
    let deep = |levels: usize| {
        let mut files: BTreeMap<String, String> = (1..levels)
            .map(|n| (format!("{n}.yaml"), level(&format!("{}.yaml", n + 1)).to_string()))
            .collect();
        files.insert(format!("{levels}.yaml"), level("OS::Heat::TestResource").to_string());
        let template = level("1.yaml");
        let source = StackSource { template, files, ..StackSource::default() };
        let name = format!("deep{levels}").as_str().into();
        CreateStack { name, source, settings: Default::default() }
    };
    let web = world.engine.create_stack(&world.requester(), deep(5)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let mut depths: Vec<u32> =
        children(&world).await.iter().map(|it| it.within.as_ref().unwrap().depth).collect();
    depths.sort_unstable();
    assert_eq!(depths, [1, 2, 3, 4, 5]);
    let refused = world.engine.create_stack(&world.requester(), deep(6)).await.unwrap_err();
    assert!(refused.message.contains("Recursion depth exceeds 5."), "{refused}");
}

#[actix::test]
async fn every_event_says_who_asked_why_and_which_command_it_all_goes_back_to() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let file = file(json!({
        "z": test_resource(json!({ "value": { "get_param": "value" } })),
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "true" } },
    }));
    let who = world.requester();
    let mut roots = vec![who.command_id];
    let nest = Nest { value: "one", file: file.clone() };
    let web = world.engine.create_stack(&who, nest.ask()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let child = children(&world).await.remove(0).id;

    // Another engine goes on with the same log.
    let world = ground.start().await;
    let who = world.requester();
    roots.push(who.command_id);
    let nest = Nest { value: "two", file };
    let ask = UpdateStack {
        template: Some(nest.template()),
        files: nest.files(),
        ..UpdateStack::default()
    };
    let updated = world.engine.update_stack(&who, web.stack, ask).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let who = world.requester();
    roots.push(who.command_id);
    let deleted = world.engine.delete_stack(&who, web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");

    let events = ground.log.read_all(Position(0), &Filter::default(), 1_000).await.unwrap();
    let kinds: BTreeSet<&str> = events.iter().map(|event| event.stream.kind()).collect();
    assert_eq!(kinds, BTreeSet::from(["config", "project", "resource", "stack"]));
    for event in &events {
        let meta = &event.meta;
        let is_whole = meta.caller.is_some() && meta.request_id.is_some() && meta.cause.is_some();
        assert!(is_whole && meta.correlation.is_some(), "{event:?}");
    }
    let led_to = |events: &mut dyn Iterator<Item = &std::sync::Arc<RecordedEvent>>| {
        let mut found: Vec<CommandId> = events.filter_map(|it| it.meta.correlation).collect();
        found.dedup();
        found
    };
    assert_eq!(led_to(&mut events.iter()), roots);
    let of_child = format!("stack-{child}");
    let of_child = &mut events.iter().filter(|event| event.stream.as_str() == of_child);
    assert_eq!(led_to(of_child), roots);
}
