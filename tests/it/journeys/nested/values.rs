//! What goes into child stacks, comes out of them, and is told of them.

use std::collections::BTreeMap;

use hearth::actors::previewed::PreviewedResource;
use hearth::actors::{CreateStack, UpdateStack};
use hearth::events::Position;
use hearth::events::log::Filter;
use hearth::model::Action;
use hearth::projections::StackQuery;
use hearth::template::StackSource;
use serde_json::{Value, json};

use super::{Nest, children, output, plain_file};
use crate::support::world::{Ground, hot, test_resource};

#[actix::test]
async fn a_childs_resources_are_attributes_and_its_own_reference_counts() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut inner = plain_file();
    inner["outputs"]["OS::stack_id"] = json!({ "value": { "get_attr": ["z", "output"] } });
    let mut template = hot(json!({
        "n": { "type": "child.yaml", "properties": { "value": "one" } },
        "plain": { "type": "plain.yaml" },
    }));
    template["outputs"] = json!({
        "within": { "value": { "get_attr": ["n", "resource.z", "output"] } },
        "dotted": { "value": { "get_attr": ["n", "resource.z.output"] } },
        "member": { "value": { "get_attr": ["n", "resource.z"] } },
        "own": { "value": { "get_resource": "n" } },
        "arn": { "value": { "get_resource": "plain" } },
    });
    let files = BTreeMap::from([
        ("child.yaml".to_owned(), inner.to_string()),
        ("plain.yaml".to_owned(), plain_file().to_string()),
    ]);
    let source = StackSource { template, files, ..StackSource::default() };
    let ask = CreateStack { source, ..Nest { value: "", file: json!({}) }.ask() };
    let web = world.engine.create_stack(&world.requester(), ask).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let outputs = world.views.stack_shown(web.stack).await.unwrap().unwrap().outputs;
    let value = |key: &str| &outputs.iter().find(|output| output.key == key).unwrap().placed.value;
    assert_eq!(
        (value("within"), value("dotted"), value("own")),
        (&json!("one"), &json!("one"), &json!("one"))
    );
    let found = children(&world).await;
    let named = |name: &str| {
        found.iter().find(|it| it.within.as_ref().unwrap().resource.as_str() == name).unwrap()
    };
    let member = world.physical_id(named("n").id, "z").await;
    assert_eq!(value("member").as_str(), member.as_deref());
    let plain = named("plain");
    let arn =
        format!("arn:openstack:heat::{}:stacks/{}/{}", plain.project_id, plain.name, plain.id);
    assert_eq!(value("arn"), &json!(arn));
}

#[actix::test]
async fn a_secret_of_the_parent_is_a_secret_in_the_child() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut inner = plain_file();
    inner["outputs"]["seen"] = json!({ "value": { "get_param": "value" } });
    let template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "word": { "type": "string", "hidden": true } },
        "resources": {
            "n": { "type": "child.yaml", "properties": { "value": { "get_param": "word" } },
                   "metadata": { "word": { "get_param": "word" } } },
            "user": test_resource(json!({ "value": { "get_attr": ["n", "seen"] } })),
        },
    });
    let source = StackSource {
        template,
        files: BTreeMap::from([("child.yaml".to_owned(), inner.to_string())]),
        parameters: json!({ "word": "geheim" }).as_object().unwrap().clone(),
        ..StackSource::default()
    };
    let ask = CreateStack { source, ..Nest { value: "", file: json!({}) }.ask() };
    let web = world.engine.create_stack(&world.requester(), ask).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let child = children(&world).await[0].id;
    let shown = world.views.stack_shown(child).await.unwrap().unwrap();
    assert_eq!(shown.revision.unwrap().parameters["value"], "******");
    let log = &ground.log;
    for event in log.read_all(Position(0), &Filter::default(), usize::MAX).await.unwrap() {
        let body = event.body.to_string();
        assert!(!body.contains("geheim"), "{}: {body}", event.stream);
    }
    // The child wakes from what is sealed.
    drop(world);
    let world = ground.start().await;
    let acted =
        world.engine.act_on_stack(&world.requester(), web.stack, Action::Check).await.unwrap();
    assert_eq!(world.settled(&acted).await, "CHECK_COMPLETE", "{}", world.reason(web.stack).await);
}

#[actix::test]
async fn a_template_sees_the_resource_that_it_stands_for() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let inner = json!({
        "heat_template_version": "2021-04-16",
        "resources": { "z": test_resource(json!({
            "value": { "get_attr": ["from", "value", "note"] } })),
            "from": { "type": "OS::Heat::Value", "properties": {
                "value": { "resource_facade": "metadata" } } } },
        "outputs": { "given": { "value": { "get_attr": ["z", "output"] } } },
    });
    let with = |note: &str| {
        let mut template = hot(json!({
            "n": { "type": "child.yaml", "metadata": { "note": { "get_attr": ["a", "output"] } } },
            "a": test_resource(json!({ "value": note })),
        }));
        template["outputs"] = json!({ "seen": { "value": { "get_attr": ["n", "given"] } } });
        template
    };
    let files = BTreeMap::from([("child.yaml".to_owned(), inner.to_string())]);
    let source = StackSource { template: with("one"), files: files.clone(), ..Default::default() };
    let ask = CreateStack { source, ..Nest { value: "", file: json!({}) }.ask() };
    let web = world.engine.create_stack(&world.requester(), ask).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(output(&world, web.stack).await, "one");
    let ask = UpdateStack { template: Some(with("two")), files, ..UpdateStack::default() };
    let updated = world.update_as(web.stack, ask).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(output(&world, web.stack).await, "two");
}

#[actix::test]
async fn a_stack_of_another_stacks_template_stands_beside_it() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str| {
        let mut template = hot(json!({ "s": { "type": "OS::Heat::Stack", "properties": {
            "template": plain_file().to_string(), "parameters": { "value": value } } } }));
        template["outputs"] =
            json!({ "seen": { "value": { "get_attr": ["s", "outputs", "given"] } } });
        template
    };
    let web = world.create("web", with("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(output(&world, web.stack).await, "one");
    let names = async || -> Vec<String> {
        let stacks = world.views.stacks(StackQuery::default()).await.unwrap();
        stacks.iter().map(|stack| stack.name.to_string()).collect()
    };
    let listed = names().await;
    let [other, _] = &listed[..] else { panic!("{listed:?}") };
    assert!(other.starts_with("web-s-"), "{listed:?}");
    let taken = world.create(other, plain_file()).await.unwrap_err();
    assert_eq!(taken.class, "StackExists");
    let updated = world.update(web.stack, with("two")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(output(&world, web.stack).await, "two");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert!(names().await.is_empty());
    world.create(other, plain_file()).await.unwrap();
}

#[actix::test]
async fn a_stack_of_cloudformations_gives_its_outputs_for_attributes() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut template = hot(json!({ "s": { "type": "AWS::CloudFormation::Stack", "properties": {
        "TemplateURL": "http://files/child.yaml", "Parameters": { "value": "one" } } } }));
    template["outputs"] = json!({
        "seen": { "value": { "get_attr": ["s", "Outputs.given"] } } });
    let files = BTreeMap::from([("http://files/child.yaml".to_owned(), plain_file().to_string())]);
    let source = StackSource { template: template.clone(), files, ..StackSource::default() };
    let ask = CreateStack { source, ..Nest { value: "", file: json!({}) }.ask() };
    let web = world.engine.create_stack(&world.requester(), ask).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(output(&world, web.stack).await, "one");
    assert_eq!(children(&world).await.len(), 1);
}

#[actix::test]
async fn a_plan_goes_down_into_children() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let first = Nest { value: "one", file: plain_file() };
    let plan = world.engine.preview_create(&world.requester(), &first.ask()).await.unwrap();
    let nested = plan.added[0].nested.as_ref().unwrap();
    assert_eq!((nested.name.as_str(), nested.resources.len()), ("web-n", 1));
    let web = first.create(&world).await.unwrap();
    world.settled(&web).await;
    let mut other = plain_file();
    other["resources"]["y"] = test_resource(json!({}));
    let second = Nest { value: "two", file: other };
    let ask = UpdateStack {
        template: Some(second.template()),
        files: second.files(),
        ..UpdateStack::default()
    };
    let who = world.requester();
    let plan = world.engine.preview_update(&who, web.stack, &ask, true).await.unwrap();
    let names = |of: &[PreviewedResource]| -> Vec<String> {
        of.iter().map(|resource| resource.name.clone()).collect()
    };
    assert_eq!(names(&plan.updated), ["n", "user"]);
    let [within] = &plan.within[..] else { panic!("{:#?}", plan.within) };
    assert_eq!(
        (names(&within.plan.updated), names(&within.plan.added)),
        (vec!["z".to_owned()], vec!["y".to_owned()])
    );
}

#[actix::test]
async fn an_output_that_fails_within_says_so_outside() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut inner = hot(json!({ "a": test_resource(json!({ "value": "x" })) }));
    inner["outputs"] = json!({
        "good": { "value": { "get_attr": ["a", "output"] } },
        "bad": { "value": { "get_param": "foo" } },
    });
    let mut template = hot(json!({ "n": { "type": "child.yaml" } }));
    for name in ["good", "bad"] {
        template["outputs"][name] = json!({ "value": { "get_attr": ["n", name] } });
    }
    let files = BTreeMap::from([("child.yaml".to_owned(), inner.to_string())]);
    let source = StackSource { template, files, ..StackSource::default() };
    let web = world.create_of("web", source).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let shown = world.views.stack_shown(web.stack).await.unwrap().unwrap();
    let output = |key| shown.outputs.iter().find(|output| output.key == key).unwrap();
    assert_eq!((&output("good").placed.value, &output("good").error), (&json!("x"), &None));
    let text = "Error in n output bad: The Parameter (foo) was not provided.";
    assert_eq!(
        (&output("bad").placed.value, output("bad").error.as_deref()),
        (&Value::Null, Some(text))
    );
    let who = world.requester();
    let attributes = world.engine.inspect_resource(&who, web.stack, &"n".into(), &[]).await;
    assert_eq!(json!(attributes.unwrap()), json!({ "good": "x", "bad": null }));
}

#[actix::test]
async fn a_child_whose_create_failed_shows_the_outputs_that_it_has() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut inner = plain_file();
    let failing = json!({ "fail": true });
    inner["resources"]["bad"] =
        json!({ "type": "OS::Heat::TestResource", "properties": failing, "depends_on": "z" });
    let mut template =
        hot(json!({ "n": { "type": "child.yaml", "properties": { "value": "one" } } }));
    template["outputs"] = json!({ "given": { "value": { "get_attr": ["n", "given"] } } });
    let files = BTreeMap::from([("child.yaml".to_owned(), inner.to_string())]);
    let source = StackSource { template, files, ..StackSource::default() };
    let web = world.create_of("web", source).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let child = children(&world).await.remove(0);
    assert_eq!(world.at_rest(child.id).await, "CREATE_FAILED");
    // The parent takes attributes in once an action is complete.
    for (stack, expected) in [(child.id, json!("one")), (web.stack, Value::Null)] {
        let outputs = world.engine.outputs_now(&world.requester(), stack).await.unwrap();
        let shown: Vec<_> = outputs.iter().map(|it| (&*it.key, &it.value)).collect();
        assert_eq!(shown, [("given", &expected)]);
    }
    let (who, name) = (world.requester(), "n".into());
    let shown = world.engine.inspect_resource(&who, web.stack, &name, &[]).await.unwrap();
    assert_eq!(shown["given"], "one");
}
