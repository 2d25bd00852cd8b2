//! Stacks that a resource has in another cloud, by a credential that its user keeps in the key
//! manager.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hearth::actors::UpdateStack;
use hearth::actors::previewed::PreviewedResource;
use hearth::actors::resource::{Knowledge, Resource};
use hearth::actors::shell::Aggregate;
use hearth::events::{ResourceEvent, StreamId, StreamRevision};
use hearth::model::{Action, StackId};
use hearth::openstack::{Request, Service};
use hearth::resource_types::Registry;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::far::{Far, Lost, Place, act, credential, store, template_in};
use crate::support::shelf::Shelf;
use crate::support::tls::AUTHORITY;
use crate::support::world::World;

const UNREACHED: &str = "Cannot establish connection to Heat endpoint at remote cloud due to \"";

async fn output(world: &World, stack: StackId) -> Value {
    world.views.stack_shown(stack).await.unwrap().unwrap().outputs[0].placed.value.clone()
}

fn with(context: &Value, more: &Value) -> Value {
    let mut context = context.clone();
    for (key, value) in more.as_object().into_iter().flatten() {
        context[key] = value.clone();
    }
    context
}

#[actix::test]
async fn a_stack_lives_in_another_cloud_with_its_resource() {
    let far = Far::new(Place::Cloud).await;
    let world = far.ground.start().await;
    let (here, there) = (far.ground.counts(), far.networks());
    let web = world.create("web", far.template("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!((output(&world, web.stack).await, far.networks()), (json!("one"), there + 1));
    let made = world.physical_id(web.stack, "far").await.unwrap();
    let [stack] = &far.stacks().await[..] else { panic!("there is one stack") };
    assert!(stack.id.to_string() == made && stack.name.0.starts_with("web-far-"), "{}", stack.name);
    assert_eq!(far.ground.counts()["networks"], here["networks"], "it is not made here");
    for (action, state) in [
        (Action::Suspend, "SUSPEND_COMPLETE"),
        (Action::Resume, "RESUME_COMPLETE"),
        (Action::Check, "CHECK_COMPLETE"),
    ] {
        assert_eq!(act(&world, web.stack, action).await, state);
        let stack = far.stacks().await.remove(0);
        assert_eq!(format!("{}_{}", stack.action, stack.status), state);
    }
    let updated = world.update(web.stack, far.template("two")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(output(&world, web.stack).await, "two");
    assert_eq!(world.physical_id(web.stack, "far").await.as_deref(), Some(made.as_str()));
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!((far.stacks().await.len(), far.networks()), (0, there));
    far.stop().await;
}

#[actix::test]
async fn what_the_other_cloud_was_asked_is_on_record_and_comes_to_the_same_again() {
    let far = Far::new(Place::Cloud).await;
    let world = far.ground.start().await;
    let web = world.create("web", far.template("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let [row] = &world.views.resources(web.stack).await.unwrap()[..] else { panic!("one") };
    let knowledge = Knowledge {
        registry: Arc::new(Registry::built_in().unwrap()),
        action_retry_limit: 0,
        lost_call_rest: Duration::ZERO,
        observe_on_update: false,
    };
    let stream = StreamId::resource(row.id);
    let read = far.ground.log.read(&stream, StreamRevision(0)).await.unwrap();
    let (mut resource, mut seals) =
        (Resource::named(row.id, row.name.clone()), world.seals(stream));
    let mut asked = Vec::new();
    for event in read.events {
        let body: ResourceEvent = seals.open(&event).unwrap();
        if let ResourceEvent::AnswersKept(kept) = &body {
            let rerun = resource.replay(kept, &knowledge).unwrap().rerun;
            assert!(matches!(rerun.outcome, Some(Ok(_))), "{:?}", rerun.asked);
            asked.extend(rerun.asked.into_iter().map(|(ask, _)| ask.to_string()));
        }
        resource.apply(&body, event.at);
    }
    let id = row.physical_id.as_deref().unwrap();
    let [definition, made, shown] = &asked[..] else { panic!("{asked:#?}") };
    assert_eq!(definition, "definition of the stack elsewhere");
    assert_eq!(made, "elsewhere POST orchestration:/stacks");
    let is_of_it = shown.starts_with("elsewhere GET orchestration:/stacks/web-far-");
    assert!(is_of_it && shown.ends_with(id), "{shown}");
    far.stop().await;
}

#[actix::test]
async fn another_credential_opens_the_same_stack_and_another_region_has_another() {
    let far = Far::new(Place::Cloud).await;
    let world = far.ground.start().await;
    let web = world.create("web", far.template("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let made = async || world.physical_id(web.stack, "far").await.unwrap();
    let first = made().await;
    let auth_url = &far.there().sandbox.auth_url;
    let password = json!({ "auth_type": "v3password", "auth": {
        "auth_url": auth_url, "username": "demo", "password": "secret",
        "user_domain_name": "Default", "project_name": "demo", "project_domain_name": "Default",
    } });
    let secret = store(&far.ground, &password).await;
    let change = async |more: Value| {
        let template = template_in(with(&far.context(), &more), "one");
        let updated = world.update(web.stack, template).await.unwrap();
        assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
        made().await
    };
    assert_eq!(change(json!({ "credential_secret_id": secret })).await, first);
    let address = format!("http://keys/v1/secrets/{secret}");
    assert_eq!(change(json!({ "credential_secret_id": address, "insecure": true })).await, first);
    assert_ne!(change(json!({ "region_name": "RegionOne" })).await, first);
    assert_eq!(far.stacks().await.len(), 1);
    far.stop().await;
}

#[actix::test]
async fn a_credential_that_opens_nothing_refuses_the_stack() {
    let far = Far::new(Place::Cloud).await;
    let world = far.ground.start().await;
    let auth_url = &far.there().sandbox.auth_url;
    let good = credential(far.there(), auth_url).await;
    let cases = include_str!("../../data/elsewhere/credentials.yaml");
    let cases: Vec<Value> = serde_yaml::from_str(cases).unwrap();
    for case in cases {
        let mut payload = good.clone();
        for (option, value) in case["change"].as_object().into_iter().flatten() {
            match value {
                Value::Null => drop(payload["auth"].as_object_mut().unwrap().remove(option)),
                value => payload["auth"][option] = value.clone(),
            }
        }
        let secret = match (case["secret"].as_str(), case.get("payload")) {
            (Some(secret), _) => secret.to_owned(),
            (None, _) if case["holds"] == "nothing" => empty_secret(&far).await,
            (None, payload_given) => store(&far.ground, payload_given.unwrap_or(&payload)).await,
        };
        let context = with(&json!({ "credential_secret_id": secret }), &case["context"]);
        let refusal = world.create("web", template_in(context, "one")).await.unwrap_err();
        let says = match case["refuses"].as_str() {
            None => format!("{UNREACHED}{}", case["says"].as_str().unwrap()),
            Some(why) => format!(
                "{UNREACHED}Authorization failed. Failed to validate auth_plugin with error {why}"
            ),
        };
        let Some(rest) = refusal.message.strip_prefix(&says) else {
            panic!("{case}: {}", refusal.message)
        };
        match case["refuses"].as_str() {
            None => assert_eq!(rest, "\""),
            Some(_) => assert!(rest.ends_with(
                ". Please make sure the credential you provide is correct. Also make sure the it \
                 is a valid Keystone auth plugin type and contain in your environment.\""
            )),
        }
        assert_eq!(refusal.class, "StackValidationFailed");
    }
    for (text, says) in [
        (
            "{\"heat_template_version\": \"2018-08-31\", \"resource\": {}}",
            "ERROR: The template section is invalid: resource\"",
        ),
        ("{", "Error parsing template [root stack] while parsing a flow node\n"),
    ] {
        let mut template = far.template("one");
        template["resources"]["far"]["properties"]["template"] = text.into();
        let refusal = world.create("web", template).await.unwrap_err();
        let start =
            "Failed validating stack template using Heat endpoint at remote cloud due to \"";
        assert!(refusal.message.starts_with(&format!("{start}{says}")), "{}", refusal.message);
    }
    assert!(far.stacks().await.is_empty());
    far.stop().await;
}

async fn empty_secret(far: &Far) -> String {
    let stored = Request::post(Service::of_type("key-manager"), "/v1/secrets").json(json!({}));
    let stored = far.ground.session().send(stored).await.unwrap().json().unwrap();
    stored["secret_ref"].as_str().unwrap().to_owned()
}

#[actix::test]
async fn without_its_secret_a_stack_is_out_of_reach() {
    let far = Far::new(Place::Cloud).await;
    let world = far.ground.start().await;
    let web = world.create("web", far.template("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let context = far.context();
    let secret = context["credential_secret_id"].as_str().unwrap();
    let gone = Request::delete(Service::of_type("key-manager"), format!("/v1/secrets/{secret}"));
    far.ground.session().send(gone).await.unwrap();
    let why = format!("EntityNotFound: resources.far: The Secret ({secret}) could not be found.");
    assert_eq!(act(&world, web.stack, Action::Suspend).await, "SUSPEND_FAILED");
    assert_eq!(world.reason(web.stack).await, format!("Resource SUSPEND failed: {why}"));
    assert_eq!(act(&world, web.stack, Action::Check).await, "CHECK_FAILED");
    let reason = format!("Resource CHECK failed: far: Resource CHECK failed: {why}");
    assert_eq!(world.reason(web.stack).await, reason);
    let refusal = world.update(web.stack, far.template("two")).await.unwrap_err();
    let says = format!("{UNREACHED}The Secret ({secret}) could not be found.\"");
    assert_eq!(refusal.message, says);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_FAILED");
    assert_eq!(world.reason(web.stack).await, format!("Resource DELETE failed: {why}"));
    assert_eq!(far.stacks().await.len(), 1);
    far.stop().await;
}

#[actix::test]
async fn a_credential_that_is_taken_back_does_not_look_like_a_stack_that_is_gone() {
    let far = Far::new(Place::Cloud).await;
    let world = far.ground.start().await;
    let web = world.create("web", far.template("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let session = far.there().session();
    let user = session.caller().await.unwrap().user_id.clone();
    let path = format!("/v3/users/{user}/application_credentials");
    let listed = session.send(Request::get(Service::Identity, &path)).await.unwrap();
    let listed = listed.json().unwrap()["application_credentials"].clone();
    for credential in listed.as_array().unwrap() {
        let path = format!("{path}/{}", credential["id"].as_str().unwrap());
        session.send(Request::delete(Service::Identity, path)).await.unwrap();
    }
    // The token too holds no longer, once the Heat there asks for it again.
    far.lose(0, Lost::Token);
    let deleted = world.delete(web.stack).await.unwrap();
    let (state, reason) = (world.settled(&deleted).await, world.reason(web.stack).await);
    let start = "Resource DELETE failed: AuthorizationFailure: resources.far: Authorization \
                 failed. Failed to validate auth_plugin with error Could not find Application \
                 Credential: ";
    assert!(state == "DELETE_FAILED" && reason.starts_with(start), "{state}: {reason}");
    assert_eq!(far.stacks().await.len(), 1);
    far.stop().await;
}

#[actix::test]
async fn a_server_in_another_cloud_is_believed_by_its_authority_or_unseen() {
    let far = Far::behind(Place::Cloud, true).await;
    let world = far.ground.start().await;
    let template = |more: Value| template_in(with(&far.context(), &more), "one");
    let refusal = world.create("unknown", template(json!({}))).await.unwrap_err();
    assert!(refusal.message.contains("Unable to establish connection to https://127.0.0.1:"));
    let beside = json!({ "ca_cert": "-----BEGIN CERTIFICATE-----\nAAAA\n" });
    let refusal = world.create("unread", template(beside)).await.unwrap_err();
    assert!(refusal.message.contains("due to \"ca_cert cannot be read: "), "{refusal:?}");
    for (name, more) in [
        ("known", json!({ "ca_cert": AUTHORITY })),
        ("unseen", json!({ "insecure": true, "ca_cert": "not looked at" })),
    ] {
        let web = world.create(name, template(more)).await.unwrap();
        let state = world.settled(&web).await;
        assert_eq!(state, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
        let deleted = world.delete(web.stack).await.unwrap();
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    }
    far.stop().await;
}

#[actix::test]
async fn a_template_cannot_have_hearth_believe_anybody_in_its_own_cloud() {
    let far = Far::behind(Place::Region, true).await;
    let world = far.ground.start().await;
    for more in [json!({ "insecure": true }), json!({ "ca_cert": AUTHORITY })] {
        let template = template_in(with(&far.context(), &more), "one");
        let refusal = world.create("web", template).await.unwrap_err();
        let text = "Unable to establish connection to https://127.0.0.1:";
        assert!(refusal.message.contains(text), "{refusal:?}");
        assert!(refusal.message.contains("invalid peer certificate"), "{refusal:?}");
    }
    far.stop().await;
}

#[actix::test]
async fn a_credential_cannot_have_a_token_or_password_sent_to_a_foreign_host() {
    let far = Far::new(Place::Cloud).await;
    let world = far.ground.start().await;
    let spy = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = spy.local_addr().unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let listening = actix::spawn({
        let received = Arc::clone(&received);
        async move {
            while let Ok((mut from, _)) = spy.accept().await {
                let mut bytes = vec![0; 65_536];
                let read = from.read(&mut bytes).await.unwrap_or_default();
                received.lock().unwrap().extend_from_slice(&bytes[..read]);
                let body = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
                let _ = from.write_all(body.as_bytes()).await;
            }
        }
    });
    let given = json!({ "auth_type": "v3password", "auth": {
        "auth_url": format!("http://{address}/v3"), "user_id": "mallory", "password": "mine" } });
    let secret = store(&far.ground, &given).await;
    let context = json!({ "credential_secret_id": secret, "insecure": true });
    let refusal = world.create("web", template_in(context, "one")).await.unwrap_err();
    assert!(refusal.message.starts_with(UNREACHED), "{refusal:?}");
    listening.abort();
    let received = String::from_utf8_lossy(&received.lock().unwrap()).to_lowercase();
    assert!(received.contains("mallory"), "nothing was received");
    let token = world.requester().token.reveal().to_lowercase();
    assert!(!received.contains(&token), "the user's own token is sent");
    // The password of the sandbox's users, of Hearth's own among them.
    assert!(!received.contains("\"secret\""), "{received}");
    assert!(!received.contains("x-auth-token") && !received.contains("os-trust"), "{received}");
    far.stop().await;
}

#[actix::test]
async fn a_credential_leads_to_no_address_that_is_not_allowed_and_tells_of_none() {
    let far = Far::new(Place::Cloud).await;
    let shelf = Shelf::new().await;
    let good = credential(far.there(), &far.there().sandbox.auth_url).await;
    let refused = async |world: &World, auth_url: &str| {
        let mut payload = good.clone();
        payload["auth"]["auth_url"] = auth_url.into();
        let secret = store(&far.ground, &payload).await;
        let context = json!({ "credential_secret_id": secret });
        let refusal = world.create("web", template_in(context, "one")).await.unwrap_err();
        refusal.message.replace(auth_url, "URL")
    };
    // Closed; open, but no cloud: another text, another JSON.
    shelf.lay("/page/v3/auth/tokens", "<h1>hunter2</h1>");
    shelf.lay("/json/v3/auth/tokens", "{\"secret\": \"hunter2\"}");
    let open = far.ground.start().await;
    let closed_port = refused(&open, "http://127.0.0.1:1/v3").await;
    let text = format!(
        "{UNREACHED}Authorization failed. Failed to validate auth_plugin with error Unable to \
         establish connection to URL/auth/tokens. "
    );
    assert!(closed_port.starts_with(&text), "{closed_port}");
    for page in ["/page/v3", "/json/v3", "/gone/v3"] {
        assert_eq!(refused(&open, &shelf.at(page)).await, closed_port, "{page}");
    }
    let asked = shelf.asked();
    drop(open);
    // What is not allowed is not asked.
    let shut = far.ground.start_allowing(&[]).await;
    for url in [&shelf.at("/page/v3"), "http://169.254.169.254/v3", "http://2130706433:1/v3"] {
        assert_eq!(refused(&shut, url).await, closed_port, "{url}");
    }
    let there = far.there().sandbox.auth_url.clone();
    assert_eq!(refused(&shut, &there).await, closed_port);
    assert_eq!(shelf.asked(), asked);
    drop(shut);
    // A Keystone that is allowed may say where its Heat is, and does not open the way there.
    let keystone = far.ground.start_allowing(&[far.there().sandbox.address.to_string()]).await;
    let refusal = refused(&keystone, &there).await;
    assert!(refusal.starts_with("Unable to establish connection to http://127."), "{refusal}");
    assert_eq!(far.seen(), 0);
    far.stop().await;
}

#[actix::test]
async fn somebody_else_in_the_own_cloud_needs_no_leave() {
    let far = Far::new(Place::Region).await;
    let auth_url = &far.ground.sandbox.auth_url;
    let secret = store(&far.ground, &credential(&far.ground, auth_url).await).await;
    let world = far.ground.start_allowing(&[]).await;
    let context = with(&far.context(), &json!({ "credential_secret_id": secret }));
    let web = world.create("web", template_in(context, "one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    far.stop().await;
}

#[actix::test]
async fn a_plan_asks_the_other_cloud_what_would_change_there() {
    let far = Far::new(Place::Cloud).await;
    let world = far.ground.start().await;
    let web = world.create("web", far.template("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let plan = async |name: &str| {
        let template = Some(far.template(name));
        let ask = UpdateStack { template, ..UpdateStack::default() };
        let plan = world.engine.plan_update(&world.requester(), web.stack, &ask).await.unwrap();
        let [entry] = &plan.updated[..] else { panic!("one resource is updated: {plan:#?}") };
        let [within] = &plan.within[..] else { panic!("there is one stack within: {plan:#?}") };
        let named = |kind: &[PreviewedResource]| -> Vec<String> {
            kind.iter().map(|resource| resource.name.clone()).collect()
        };
        (entry.why.clone(), named(&within.plan.updated), named(&within.plan.unchanged))
    };
    let none: Vec<String> = Vec::new();
    let net = vec!["net".to_owned()];
    let elsewhere = "its stack stands elsewhere, and every update updates it".to_owned();
    assert_eq!(plan("one").await, (elsewhere, none.clone(), net.clone()));
    assert_eq!(plan("two").await, ("template changes".to_owned(), net, none));
    let updated = world.update(web.stack, far.template("two")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    far.stop().await;
}
