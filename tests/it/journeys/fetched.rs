//! Templates that are fetched by their URL: on record once they were, and never fetched again for
//! the same revision.

use hearth::actors::EngineLimits;
use hearth::model::{Action, Refusal, StackId, StackRevision};
use serde_json::{Value, json};

use crate::support::shelf::Shelf;
use crate::support::world::{Ground, World, hot, test_resource};

/// A template with an output `given`.
fn child(value: &str) -> Value {
    let mut child = hot(json!({ "z": test_resource(json!({ "value": value })) }));
    child["outputs"] = json!({ "given": { "value": { "get_attr": ["z", "output"] } } });
    child
}

fn stack_at(url: &str) -> Value {
    let mut template = hot(json!({
        "s": { "type": "AWS::CloudFormation::Stack", "properties": { "TemplateURL": url } },
    }));
    template["outputs"] = json!({ "seen": { "value": { "get_attr": ["s", "Outputs.given"] } } });
    template
}

async fn seen(world: &World, id: StackId) -> Value {
    world.views.stack_shown(id).await.unwrap().unwrap().outputs[0].placed.value.clone()
}

#[actix::test]
async fn a_template_is_fetched_when_its_stack_is_accepted_and_not_again() {
    let ground = Ground::new().await;
    let shelf = Shelf::new().await;
    let url = shelf.lay("/child.template", child("one"));
    let world = ground.start().await;
    let web = world.create("web", stack_at(&url)).await.unwrap();
    assert_eq!(shelf.asked(), 1);
    shelf.clear();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    drop(world);

    let world = ground.start().await;
    assert_eq!(seen(&world, web.stack).await, "one");
    let who = world.requester();
    let suspended = world.engine.act_on_stack(&who, web.stack, Action::Suspend).await.unwrap();
    assert_eq!(world.settled(&suspended).await, "SUSPEND_COMPLETE");
    assert_eq!(shelf.asked(), 1);
}

#[actix::test]
async fn an_update_takes_the_text_that_stands_there_now_and_a_rollback_the_former_one() {
    let ground = Ground::new().await;
    let shelf = Shelf::new().await;
    let url = shelf.lay("/child.template", child("one"));
    let world = ground.start().await;
    let web = world.create("web", stack_at(&url)).await.unwrap();
    world.settled(&web).await;
    shelf.lay("/child.template", child("two"));
    let updated = world.update(web.stack, stack_at(&url)).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(seen(&world, web.stack).await, "two");

    shelf.clear();
    let back = world.roll_back(web.stack, StackRevision(1)).await.unwrap();
    assert_eq!(world.settled(&back).await, "UPDATE_COMPLETE");
    assert_eq!(seen(&world, web.stack).await, "one");
    // Once by the create, once by the update and once by its plan.
    assert_eq!(shelf.asked(), 3);
}

#[actix::test]
async fn templates_behind_types_name_others_by_url() {
    let ground = Ground::new().await;
    let shelf = Shelf::new().await;
    let inner = shelf.lay("/inner.yaml", child("deep"));
    let mut outer = hot(json!({ "i": { "type": inner } }));
    outer["outputs"] = json!({ "given": { "value": { "get_attr": ["i", "given"] } } });
    let outer = shelf.lay("/outer.yaml", outer);
    let mut template = hot(json!({ "o": { "type": outer } }));
    template["outputs"] = json!({ "seen": { "value": { "get_attr": ["o", "given"] } } });
    let world = ground.start().await;
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(seen(&world, web.stack).await, "deep");
    assert_eq!(shelf.asked(), 2);
}

#[actix::test]
async fn what_cannot_be_fetched_refuses_the_stack() {
    let ground = Ground::new().await;
    let shelf = Shelf::new().await;
    let limits = EngineLimits { max_template_size: 1000, ..Ground::limits() };
    let world = ground.start_within(limits).await;
    let refusal = |template: Value| {
        let world = &world;
        async move { world.create("web", template).await.unwrap_err() }
    };
    // Closed, open without the text, something else than a template, and what is not allowed: who
    // gave the URL learns nothing of which it is, and nothing of what stands there.
    for url in [
        "http://127.0.0.1:1/x.yaml".to_owned(),
        "http://169.254.169.254/latest.yaml".to_owned(),
        shelf.at("/gone.yaml"),
        shelf.lay("/long.yaml", "x".repeat(2000)),
        shelf.lay("/json.yaml", "{\"secret\": \"hunter2\"}"),
        shelf.lay("/broken.yaml", "secret: [hunter2\nheat_template_version: 2018-08-31"),
        shelf.lay("/passwd.yaml", "root:x:0:0:hunter2:/root:/bin/sh"),
        shelf.lay("/empty.yaml", ""),
    ] {
        let why = format!("Failed to retrieve template from {url}");
        let behind = format!("Could not fetch remote template \"{url}\": {why}");
        let of = |text: String| Refusal::new("StackValidationFailed", text);
        assert_eq!(refusal(hot(json!({ "o": { "type": url } }))).await, of(behind));
        let nested = format!(
            "ValueError: : resources.s<nested_stack>: : Could not fetch remote template '{url}': \
             {why}"
        );
        assert_eq!(refusal(stack_at(&url)).await, of(nested));
    }
    assert_eq!(
        refusal(stack_at("file:///etc/hosts")).await.message,
        "ValueError: : resources.s<nested_stack>: : Could not fetch remote template \
         'file:///etc/hosts': Invalid URL scheme file"
    );
}

#[actix::test]
async fn loopback_is_not_fetched_where_nobody_allowed_it() {
    let ground = Ground::new().await;
    let shelf = Shelf::new().await;
    let url = shelf.lay("/child.template", child("one"));
    let limits = EngineLimits { fetch_allow: Vec::new(), ..Ground::limits() };
    let world = ground.start_within(limits).await;
    let refusal = world.create("web", stack_at(&url)).await.unwrap_err();
    assert!(refusal.message.ends_with(&format!("Failed to retrieve template from {url}")));
    assert_eq!(shelf.asked(), 0);
}
