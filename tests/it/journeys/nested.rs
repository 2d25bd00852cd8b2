//! Child stacks: what templates stand behind, within other stacks.

use std::collections::BTreeMap;

use hearth::actors::{Accepted, CreateStack, UpdateStack};
use hearth::model::{Refusal, StackId};
use hearth::projections::{StackQuery, StackRow};
use hearth::template::StackSource;
use serde_json::{Value, json};

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

    async fn create(&self, world: &World) -> Result<Accepted, Refusal> {
        let ask = CreateStack {
            name: "web".into(),
            source: StackSource {
                template: self.template(),
                files: self.files(),
                ..StackSource::default()
            },
            timeout_mins: None,
            disable_rollback: true,
            tags: Vec::new(),
        };
        world.engine.create_stack(&world.requester(), ask).await
    }

    async fn update(&self, world: &World, stack: StackId) -> Result<Accepted, Refusal> {
        let ask = UpdateStack {
            template: Some(self.template()),
            files: self.files(),
            ..UpdateStack::default()
        };
        world.engine.update_stack(&world.requester(), stack, ask).await
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
    world.views.stack_shown(stack).await.unwrap().unwrap().outputs[0].value.clone()
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
