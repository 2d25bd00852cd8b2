//! Deferred work by the user's own password (`deferred_auth_method = password`): kept sealed for as
//! long as his stacks need it, and seen nowhere.

use std::sync::Arc;

use hearth::actors::{Accepted, CreateStack, EngineLimits, Login, RequestContext};
use hearth::clock::{Clock, SystemClock};
use hearth::events::Position;
use hearth::events::log::{EventLog, Filter};
use hearth::model::{CommandId, DeferredAuth, Refusal, Secret};
use hearth::template::StackSource;
use serde_json::{Value, json};

use super::trusts::{authenticate, keystone, log_in, trusts};
use crate::support::cut_log::CutLog;
use crate::support::wait::{WAIT_MAX, polled};
use crate::support::world::{Ground, World, hot, test_resource};

const FIRST: &str = "kept-to-myself-1";
const SECOND: &str = "kept-to-myself-2";

fn limits() -> EngineLimits {
    EngineLimits { deferred_auth: DeferredAuth::Password, ..Ground::limits() }
}

fn template() -> Value {
    hot(json!({
        "a": test_resource(json!({ "value": "x" })),
        "net": { "type": "OS::Neutron::Net" },
    }))
}

/// A user of the project `demo`, by name and id.
struct Eve(String);

impl Eve {
    async fn arrives(ground: &Ground) -> Eve {
        let admin = log_in(ground, "admin").await;
        let ask = |method, path: String, body| keystone(ground, &admin, method, path, body);
        let user = json!({ "user": { "name": "eve", "domain_id": "default", "password": FIRST } });
        let made = ask(reqwest::Method::POST, "/users".to_owned(), Some(user)).await;
        let id = made["user"]["id"].as_str().unwrap().to_owned();
        let roles = ask(reqwest::Method::GET, "/roles".to_owned(), None).await;
        let role = roles["roles"].as_array().unwrap().iter().find(|it| it["name"] == "member");
        let role = role.unwrap()["id"].as_str().unwrap();
        let found = ask(reqwest::Method::GET, "/projects?name=demo".to_owned(), None).await;
        let project = found["projects"][0]["id"].as_str().unwrap();
        let grant = format!("/projects/{project}/users/{id}/roles/{role}");
        ask(reqwest::Method::PUT, grant, None).await;
        Eve(id)
    }

    async fn has_another_password(&self, ground: &Ground) {
        let admin = log_in(ground, "admin").await;
        let body = json!({ "user": { "password": SECOND } });
        let path = format!("/users/{}", self.0);
        keystone(ground, &admin, reqwest::Method::PATCH, path, Some(body)).await;
    }

    /// Her request, with a token that she got by one password, and another beside it.
    async fn asks(
        &self,
        ground: &Ground,
        own: &str,
        login: Option<(&str, &str)>,
    ) -> RequestContext {
        let identity = json!({ "methods": ["password"], "password": { "user": {
            "name": "eve", "domain": { "name": "Default" }, "password": own } } });
        let demo = json!({ "project": { "name": "demo", "domain": { "name": "Default" } } });
        let who = authenticate(ground, identity, Some(demo)).await.asks(ground).await;
        let login = login.map(|(name, password)| Login {
            name: name.to_owned(),
            password: Secret::new(password.to_owned()),
        });
        RequestContext { login, ..who }
    }
}

async fn create(world: &World, who: &RequestContext, name: &str) -> Result<Accepted, Refusal> {
    let ask = CreateStack {
        name: name.into(),
        source: StackSource { template: template(), ..StackSource::default() },
        settings: Default::default(),
    };
    world.engine.create_stack(who, ask).await
}

async fn delete(world: &World, who: &RequestContext, stack: &Accepted) {
    let who = RequestContext { command_id: CommandId(SystemClock.fresh_id()), ..who.clone() };
    let deleted = world.engine.delete_stack(&who, stack.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

/// The keys that seal a password.
fn keys(log: &dyn EventLog) -> Vec<String> {
    let all = log.keys("", 1_000).unwrap().into_iter().map(|(scope, _)| scope);
    all.filter(|scope| scope.starts_with("login-")).collect()
}

/// Waits until there are so many; no event says when one is destroyed.
async fn keys_are(log: &dyn EventLog, count: usize) {
    let counted = async || match keys(log) {
        keys if keys.len() == count => Ok(()),
        keys => Err(format!("{keys:?}")),
    };
    polled(WAIT_MAX, format!("{count} keys"), counted).await;
}

async fn is_in_no_event(log: &dyn EventLog) {
    for event in log.read_all(Position(0), &Filter::default(), usize::MAX).await.unwrap() {
        assert!(!event.body.contains("kept-to-myself"), "{}", event.event_type);
    }
}

#[actix::test]
async fn a_password_is_kept_sealed_until_the_last_stack_is_gone() {
    let ground = Ground::new().await;
    let eve = Eve::arrives(&ground).await;
    let world = ground.start_with(ground.log.clone(), limits()).await;
    // Without one nothing begins, and with one that is not hers neither.
    let none = eve.asks(&ground, FIRST, None).await;
    let refused = create(&world, &none, "none").await.unwrap_err();
    assert_eq!(refused.class, "MissingCredentialError");
    assert_eq!(refused.message, "Missing required credential: X-Auth-Key");
    for login in [("eve", SECOND), ("demo", "secret"), ("eve", ""), ("nobody", FIRST)] {
        let who = eve.asks(&ground, FIRST, Some(login)).await;
        let refused = create(&world, &who, "other").await.unwrap_err();
        assert_eq!(refused.class, "Forbidden", "{login:?}");
        assert!(!format!("{refused:?} {who:?}").contains("kept-to-myself"));
    }
    assert_eq!(keys(ground.log.as_ref()), [""; 0]);

    let with = eve.asks(&ground, FIRST, Some(("eve", FIRST))).await;
    let web = create(&world, &with, "web").await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    assert_eq!(trusts(&ground).await, Vec::<Vec<String>>::new());
    keys_are(ground.log.as_ref(), 1).await;
    // The same one is not kept twice, and is good for what a token alone asks for.
    let again = create(&world, &with, "again").await.unwrap();
    assert_eq!(world.settled(&again).await, "CREATE_COMPLETE");
    world.engine.shutdown();
    drop(world);

    let world = ground.start_with(ground.log.clone(), limits()).await;
    let alone = create(&world, &none, "alone").await.unwrap();
    assert_eq!(world.settled(&alone).await, "CREATE_COMPLETE");
    keys_are(ground.log.as_ref(), 1).await;

    // Another one takes its place.
    eve.has_another_password(&ground).await;
    let other = eve.asks(&ground, SECOND, Some(("eve", SECOND))).await;
    let new = create(&world, &other, "new").await.unwrap();
    assert_eq!(world.settled(&new).await, "CREATE_COMPLETE");
    let former = keys(ground.log.as_ref());
    keys_are(ground.log.as_ref(), 1).await;
    is_in_no_event(ground.log.as_ref()).await;
    let token_alone = eve.asks(&ground, SECOND, None).await;
    for stack in [&web, &again, &alone, &new] {
        delete(&world, &token_alone, stack).await;
    }
    keys_are(ground.log.as_ref(), 0).await;
    assert!(!former.is_empty());
    is_in_no_event(ground.log.as_ref()).await;
}

#[actix::test]
async fn every_cut_of_a_life_by_password_heals() {
    for appends in 1..60 {
        let ground = Ground::new().await;
        let empty = ground.counts();
        let eve = Eve::arrives(&ground).await;
        let log = Arc::new(CutLog::new(ground.log.clone(), appends));
        let world = ground.start_with(log.clone(), limits()).await;
        let with = eve.asks(&ground, FIRST, Some(("eve", FIRST))).await;
        if let Ok(web) = create(&world, &with, "web").await {
            log.until(&world, "it is made", async || is_made(&world, &web).await).await;
        }
        let whole = !log.is_cut();
        log.cut();
        world.engine.shutdown();
        drop(world);

        // What goes on has no token any more.
        let world = ground.start_with(ground.log.clone(), limits()).await;
        world.engine.let_go_of_unclaimed().await;
        if let Some(stack) = world.stack_named("web").await {
            assert_eq!(world.at_rest(stack.id).await, "CREATE_COMPLETE", "cut after {appends}");
            let accepted = Accepted { stack: stack.id, name: "web".into(), position: Position(0) };
            delete(&world, &eve.asks(&ground, FIRST, None).await, &accepted).await;
        }
        assert_eq!(ground.counts()["networks"], empty["networks"], "cut after {appends}");
        is_in_no_event(ground.log.as_ref()).await;
        // Also where the stack never came to be.
        keys_are(ground.log.as_ref(), 0).await;
        if whole {
            assert!(appends > 6, "{appends}");
            return;
        }
    }
    panic!("the journey is longer than thought");
}

async fn is_made(world: &World, web: &Accepted) -> bool {
    let stack = world.views.stack(web.stack).await.unwrap();
    stack.is_some_and(|stack| format!("{}_{}", stack.action, stack.status) == "CREATE_COMPLETE")
}
