//! What was there before: external resources, export, abandon and adopt.

use hearth::actors::executor::run_in_cloud;
use hearth::actors::{Accepted, CreateStack, EngineLimits};
use hearth::model::{Action, Secret, StackSettings};
use hearth::openstack::Credentials;
use hearth::resource_types::asks::Asks;
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
        settings: StackSettings { disable_rollback, ..StackSettings::default() },
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
        settings: Default::default(),
    };
    let web = world.engine.create_stack(&world.requester(), ask).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let document = world.engine.export_stack(&world.requester(), web.stack).await.unwrap();
    assert_eq!(document["environment"]["parameters"], json!({}));
    assert!(!document.to_string().contains("hunter2"), "{document:#}");
    assert!(!document.to_string().contains("sealed"), "{document:#}");
}

#[actix::test]
async fn a_mask_is_not_adopted_as_the_secret_behind_it() {
    let ground = Ground::new().await;
    let world = ground.start_within(limits()).await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "word": { "type": "string", "hidden": true, "default": "hunter2" } },
        "resources": { "a": test_resource(json!({ "value": { "get_param": "word" } })) },
    });
    let who = world.requester();
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let (_, document) = world.engine.abandon_stack(&who, web.stack).await.unwrap();
    assert_eq!(document["template"]["parameters"]["word"]["default"], "******");

    let adopt = async |parameters: Value| {
        let ask = CreateStack {
            name: "again".into(),
            source: StackSource {
                template: document["template"].clone(),
                parameters: parameters.as_object().unwrap().clone(),
                ..StackSource::default()
            },
            settings: Default::default(),
        };
        let resources = document["resources"].as_object().unwrap().clone();
        world.engine.adopt_stack(&who, ask, resources).await
    };
    let refused = adopt(json!({})).await.unwrap_err();
    let text = "Invalid adopt data: the hidden parameter word has no value but the mask of one: \
                give it as a parameter.";
    assert_eq!((&*refused.class, &*refused.message), ("HTTPBadRequest", text));
    let again = adopt(json!({ "word": "hunter2" })).await.unwrap();
    assert_eq!(world.settled(&again).await, "ADOPT_COMPLETE");
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
    assert_eq!(outputs[0].placed.value, json!(id));
    assert!(outputs[1].placed.value.is_number(), "{outputs:?}");

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

fn handle() -> Value {
    hot(json!({ "handle": { "type": "OS::Heat::WaitConditionHandle",
                            "properties": { "signal_transport": "HEAT_SIGNAL" } } }))
}

/// Whether somebody who was told a user's password is let in.
async fn is_let_in(ground: &Ground, known: &Value) -> bool {
    let text = |key: &str| known[key].as_str().unwrap().to_owned();
    let credentials = Credentials::User {
        id: text("user_id"),
        password: Secret::new(text("password")),
        project: text("project_id").into(),
    };
    ground.cloud(true).session(credentials).token().await.is_ok()
}

#[actix::test]
async fn adopting_somebody_elses_user_and_project_neither_shuts_them_out_nor_deletes_them() {
    let ground = Ground::new().await;
    let world = ground.start_within(limits()).await;
    let victim = world.create("victim", handle()).await.unwrap();
    assert_eq!(world.settled(&victim).await, "CREATE_COMPLETE");
    let who = world.requester();
    let shown = world.engine.inspect_resource(&who, victim.stack, &"handle".into(), &[]).await;
    let known: Value = serde_json::from_str(shown.unwrap()["signal"].as_str().unwrap()).unwrap();
    let full = ground.counts();

    let resource = json!({ "resource_id": known["user_id"], "resource_data": {
        "user_id": known["user_id"], "stack_user_project_id": known["project_id"],
        "password": "guessed", "token": "t", "endpoint": "e" } });
    let document = json!({ "template": handle(), "stack_user_project_id": known["project_id"],
                           "resources": { "handle": resource } });
    let again = adopt(&world, &document, true).await;
    assert_eq!(world.settled(&again).await, "ADOPT_COMPLETE");
    let row = world.views.stack(again.stack).await.unwrap().unwrap();
    assert_eq!(row.user_project, None, "the stack has taken the project for its own");
    let who = world.requester();
    let suspended = world.engine.act_on_stack(&who, again.stack, Action::Suspend).await.unwrap();
    world.settled(&suspended).await;
    assert!(is_let_in(&ground, &known).await, "the user was shut out");
    let deleted = world.delete(again.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), full, "something of the victim's is deleted");
    assert!(is_let_in(&ground, &known).await, "the user is gone");
}

#[actix::test]
async fn what_an_older_release_took_over_of_somebody_elses_is_not_deleted_either() {
    let ground = Ground::new().await;
    let world = ground.start_within(limits()).await;
    let victim = world.create("victim", handle()).await.unwrap();
    assert_eq!(world.settled(&victim).await, "CREATE_COMPLETE");
    let user = world.physical_id(victim.stack, "handle").await.unwrap();
    let project = world.views.stack(victim.stack).await.unwrap().unwrap().user_project.unwrap();
    let full = ground.counts();
    let session = ground.cloud(true).service_session();
    let demo = world.requester().caller.clone();
    let meddle = |cloud: &Asks<'_>| {
        let (domain, other) = (cloud.user_domain().unwrap(), "another-project-s-stack");
        domain.set_enabled(&user, other, false)?;
        domain.delete_user(&user, other, None)?;
        domain.delete_project(project.as_str(), other)?;
        // Nor is anything in another domain, whatever it is called.
        domain.delete_user(&demo.user_id, &demo.project_name, None)?;
        domain.delete_project(demo.project_id.as_str(), &demo.project_name)
    };
    run_in_cloud(&session, meddle).await.unwrap();
    assert_eq!(ground.counts(), full);
}

#[actix::test]
async fn an_external_id_opens_no_stack_that_is_not_the_resources_own() {
    let ground = Ground::new().await;
    let world = ground.start_within(limits()).await;
    let mut secret = hot(json!({ "a": test_resource(json!({ "value": "hunter2" })) }));
    secret["outputs"] = json!({ "refs": { "value": { "get_attr": ["a", "output"] } } });
    let victim = world.create("victim", secret).await.unwrap();
    assert_eq!(world.settled(&victim).await, "CREATE_COMPLETE");
    let before = world.events(victim.stack).await;
    let template = |external: bool| {
        let mut group = json!({ "type": "OS::Heat::ResourceGroup", "properties": {
            "count": 1, "resource_def": test_resource(json!({ "value": "own" })) } });
        if external {
            group["external_id"] = json!(victim.stack.to_string());
        }
        let mut template = hot(json!({ "group": group }));
        template["outputs"] = json!({
            "a": { "value": { "get_attr": ["group", "resource.a.output"] } },
            "refs": { "value": { "get_attr": ["group", "refs"] } },
            "all": { "value": { "get_attr": ["group", "attributes", "output"] } },
        });
        template
    };
    if let Ok(spy) = world.create("spy", template(true)).await {
        world.settled(&spy).await;
        let who = world.requester();
        let named = &"group".into();
        let seen = world.engine.inspect_resource(&who, spy.stack, named, &[]).await;
        let shown = world.views.stack_shown(spy.stack).await.unwrap().unwrap();
        let shown = format!("{seen:?} {:?}", shown.outputs);
        assert!(!shown.contains("hunter2"), "{shown}");
        let suspended = world.engine.act_on_stack(&who, spy.stack, Action::Suspend).await;
        world.settled(&suspended.unwrap()).await;
        let deleted = world.delete(spy.stack).await.unwrap();
        world.settled(&deleted).await;
    }
    // The same id in adopted data.
    let document = json!({ "template": template(false), "resources": { "group": {
        "resource_id": victim.stack.to_string(), "action": "CREATE", "status": "COMPLETE",
        "id": victim.stack.to_string(), "resources": {} } } });
    let again = adopt(&world, &document, true).await;
    world.settled(&again).await;
    let deleted = world.delete(again.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(world.events(victim.stack).await, before, "the victim was told something");
}
