//! What was there before: external resources, export, abandon and adopt.

use hearth::actors::{Accepted, CreateStack, EngineLimits};
use hearth::template::StackSource;
use serde_json::{Value, json};

use crate::support::world::{Ground, World, hot, test_resource};

fn limits() -> EngineLimits {
    EngineLimits { enable_stack_abandon: true, enable_stack_adopt: true, ..Ground::limits() }
}

fn net() -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
    }))
}

async fn adopt(world: &World, document: &Value, disable_rollback: bool) -> Accepted {
    let template = document["template"].clone();
    let ask = CreateStack {
        name: "again".into(),
        source: StackSource { template, ..StackSource::default() },
        timeout_mins: None,
        disable_rollback,
        tags: Vec::new(),
    };
    let resources = document["resources"].as_object().unwrap().clone();
    world.engine.adopt_stack(&world.requester(), ask, resources).await.unwrap()
}

#[actix::test]
async fn an_abandoned_stack_is_adopted_with_all_that_it_has() {
    let ground = Ground::new().await;
    let world = ground.start_within(limits()).await;
    let empty = ground.counts();
    let web = world.create("web", net()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let full = ground.counts();
    let who = world.requester();
    let exported = world.engine.export_stack(&who, web.stack).await.unwrap();
    let (accepted, document) = world.engine.abandon_stack(&who, web.stack).await.unwrap();
    assert_eq!(exported, document);
    assert_eq!((&document["action"], &document["status"]), (&json!("CREATE"), &json!("COMPLETE")));
    assert_eq!(world.settled(&accepted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), full, "nothing of it is deleted");

    let again = adopt(&world, &document, true).await;
    assert_eq!(
        world.settled(&again).await,
        "ADOPT_COMPLETE",
        "{}",
        world.reason(again.stack).await
    );
    let expected = [
        "again ADOPT_IN_PROGRESS",
        "net ADOPT_IN_PROGRESS",
        "net ADOPT_COMPLETE",
        "subnet ADOPT_IN_PROGRESS",
        "subnet ADOPT_COMPLETE",
        "again ADOPT_COMPLETE",
    ];
    assert_eq!(world.events(again.stack).await, expected);
    let net_id = document["resources"]["net"]["resource_id"].as_str().unwrap();
    assert_eq!(world.physical_id(again.stack, "net").await.as_deref(), Some(net_id));
    let updated = world.update(again.stack, net()).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(ground.counts(), full, "nothing is made twice");
    let deleted = world.delete(again.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), empty);
}

#[actix::test]
async fn what_cannot_be_adopted_stays_whose_it_is() {
    let ground = Ground::new().await;
    let world = ground.start_within(limits()).await;
    let web = world.create("web", net()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let full = ground.counts();
    let who = world.requester();
    let (accepted, mut document) = world.engine.abandon_stack(&who, web.stack).await.unwrap();
    assert_eq!(world.settled(&accepted).await, "DELETE_COMPLETE");
    document["resources"]["subnet"]["resource_id"] = Value::Null;
    let again = adopt(&world, &document, false).await;
    assert_eq!(world.settled(&again).await, "ROLLBACK_COMPLETE");
    assert!(world.resources(again.stack).await.is_empty());
    assert_eq!(ground.counts(), full, "a rollback deletes nothing that was there before");
    let failed = adopt_fails(&world, &again, &document).await;
    let text = "Resource ADOPT failed: Exception: resources.subnet: Resource ID was not provided.";
    assert_eq!(failed, text);
}

async fn adopt_fails(world: &World, former: &Accepted, document: &Value) -> String {
    let deleted = world.delete(former.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    let again = adopt(world, document, true).await;
    assert_eq!(world.settled(&again).await, "ADOPT_FAILED");
    world.reason(again.stack).await
}

#[actix::test]
async fn nobody_exports_or_adopts_unless_the_operator_lets_him() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", hot(json!({ "a": test_resource(json!({})) }))).await.unwrap();
    let who = world.requester();
    let refused = world.engine.export_stack(&who, web.stack).await.unwrap_err();
    let wanted = ("NotSupported", "Stack Abandon is not supported.");
    assert_eq!((&*refused.class, &*refused.message), wanted);
    assert_eq!(world.engine.abandon_stack(&who, web.stack).await.unwrap_err(), refused);
}

#[actix::test]
async fn an_exported_document_has_no_secrets() {
    let ground = Ground::new().await;
    let world = ground.start_within(limits()).await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "word": { "type": "string", "hidden": true } },
        "resources": { "a": test_resource(json!({ "value": { "get_param": "word" } })) },
    });
    let ask = CreateStack {
        name: "web".into(),
        source: StackSource {
            template,
            parameters: json!({ "word": "hunter2" }).as_object().unwrap().clone(),
            ..StackSource::default()
        },
        timeout_mins: None,
        disable_rollback: true,
        tags: Vec::new(),
    };
    let web = world.engine.create_stack(&world.requester(), ask).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let document = world.engine.export_stack(&world.requester(), web.stack).await.unwrap();
    assert_eq!(document["environment"]["parameters"], json!({}));
    assert!(!document.to_string().contains("hunter2"), "{document:#}");
    assert!(!document.to_string().contains("sealed"), "{document:#}");
}

#[actix::test]
async fn an_external_resource_is_looked_at_and_never_changed() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let owner = world.create("owner", hot(json!({ "net": { "type": "OS::Neutron::Net" } }))).await;
    let owner = owner.unwrap();
    assert_eq!(world.settled(&owner).await, "CREATE_COMPLETE");
    let id = world.physical_id(owner.stack, "net").await.unwrap();
    let full = ground.counts();
    let with = |external: Value, name: &str| {
        json!({
            "heat_template_version": "2021-04-16",
            "resources": { "net": { "type": "OS::Neutron::Net", "external_id": external,
                                    "properties": { "name": name } } },
            "outputs": {
                "id": { "value": { "get_resource": "net" } },
                "mtu": { "value": { "get_attr": ["net", "mtu"] } },
            },
        })
    };
    let web = world.create("web", with(json!(id), "x")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let expected = [
        "web CREATE_IN_PROGRESS",
        "net ADOPT_IN_PROGRESS",
        "net ADOPT_COMPLETE",
        "net CHECK_COMPLETE",
        "web CREATE_COMPLETE",
    ];
    let told = world.events(web.stack).await;
    assert_eq!(told, expected);
    let outputs = world.views.stack_shown(web.stack).await.unwrap().unwrap().outputs;
    assert_eq!(outputs[0].value, json!(id));
    assert!(outputs[1].value.is_number(), "{outputs:?}");

    let known = told.len();
    let updated = world.update(web.stack, with(json!(id), "y")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let quiet = ["web UPDATE_IN_PROGRESS", "web UPDATE_COMPLETE"];
    assert_eq!(world.events(web.stack).await[known..], quiet);

    let plain = hot(json!({ "net": { "type": "OS::Neutron::Net" } }));
    let updated = world.update(web.stack, plain).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_FAILED");
    let reason = "Resource UPDATE failed: NotSupported: resources.net: Update to property \
                  external_id of net (OS::Neutron::Net) is not supported.";
    assert_eq!(world.reason(web.stack).await, reason);

    let unknown = json!("00000000-0000-4000-8000-000000000000");
    let refused = world.create("other", with(unknown, "x")).await.unwrap_err();
    let text = "Invalid external resource: Resource 00000000-0000-4000-8000-000000000000 \
                (OS::Neutron::Net) can not be found.";
    assert_eq!((&*refused.class, &*refused.message), ("StackValidationFailed", text));

    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), full, "what is somebody else's stays");
}
