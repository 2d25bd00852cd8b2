//! With which authority stacks work: that of the token which asked, and never more.

use std::sync::Arc;

use hearth::actors::{Accepted, Conditions, CreateStack, EngineLimits, RequestContext};
use hearth::clock::{Clock, SystemClock};
use hearth::model::{Action, CommandId, Refusal, RequestId, Secret};
use hearth::openstack::FetchBudget;
use hearth::sandbox::{Fault, FaultRule, RequestSeen};
use hearth::template::StackSource;
use serde_json::{Value, json};

use crate::support::cut_log::CutLog;
use crate::support::world::{Ground, World, hot, test_resource};

/// Somebody whose token is for the project `demo`.
pub(crate) struct Somebody {
    token: String,
    user_id: String,
}

pub(crate) async fn authenticate(
    ground: &Ground,
    identity: Value,
    scope: Option<Value>,
) -> Somebody {
    let mut auth = json!({ "auth": { "identity": identity } });
    if let Some(scope) = scope {
        auth["auth"]["scope"] = scope;
    }
    let url = format!("{}/auth/tokens", ground.sandbox.auth_url);
    let reply = reqwest::Client::new().post(url).json(&auth).send().await.unwrap();
    assert_eq!(reply.status().as_u16(), 201);
    let token = reply.headers()["x-subject-token"].to_str().unwrap().to_owned();
    let body: Value = reply.json().await.unwrap();
    Somebody { token, user_id: body["token"]["user"]["id"].as_str().unwrap().to_owned() }
}

pub(crate) async fn log_in(ground: &Ground, user: &str) -> Somebody {
    let identity = json!({ "methods": ["password"], "password": { "user": {
        "name": user, "domain": { "name": "Default" }, "password": "secret" } } });
    let demo = json!({ "project": { "name": "demo", "domain": { "name": "Default" } } });
    authenticate(ground, identity, Some(demo)).await
}

/// The same user by an application credential with fewer roles.
async fn narrowed(ground: &Ground, user: &Somebody, roles: &[&str], free: bool) -> Somebody {
    let roles: Vec<Value> = roles.iter().map(|role| json!({ "name": role })).collect();
    let name = format!("credential {}", SystemClock.fresh_id());
    let body = json!({ "application_credential": {
        "name": name, "roles": roles, "unrestricted": free } });
    let path = format!("/users/{}/application_credentials", user.user_id);
    let made = keystone(ground, user, reqwest::Method::POST, &path, Some(body)).await;
    let made = &made["application_credential"];
    let identity = json!({ "methods": ["application_credential"], "application_credential": {
        "id": made["id"], "secret": made["secret"] } });
    authenticate(ground, identity, None).await
}

pub(crate) async fn keystone(
    ground: &Ground,
    somebody: &Somebody,
    method: reqwest::Method,
    path: impl std::fmt::Display,
    body: Option<Value>,
) -> Value {
    let url = format!("{}{path}", ground.sandbox.auth_url);
    let mut request = reqwest::Client::new().request(method, url);
    request = request.header("x-auth-token", &somebody.token);
    if let Some(body) = body {
        request = request.json(&body);
    }
    let reply = request.send().await.unwrap();
    assert!(reply.status().is_success(), "{}", reply.status());
    let text = reply.text().await.unwrap();
    if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() }
}

impl Somebody {
    pub(crate) async fn asks(&self, ground: &Ground) -> RequestContext {
        let token = Secret::new(self.token.clone());
        let identity = ground.cloud(true).validate_token(&token).await.unwrap();
        RequestContext {
            caller: identity.caller,
            token,
            login: None,
            request_id: RequestId::from("req-test"),
            command_id: CommandId(SystemClock.fresh_id()),
            fetches: FetchBudget::default(),
            conditions: Conditions::default(),
        }
    }

    pub(crate) async fn create(
        &self,
        (ground, world): (&Ground, &World),
        name: &str,
        template: Value,
    ) -> Result<Accepted, Refusal> {
        let ask = CreateStack {
            name: name.into(),
            source: StackSource { template, ..StackSource::default() },
            settings: Default::default(),
        };
        world.engine.create_stack(&self.asks(ground).await, ask).await
    }
}

/// The roles of every trust, by their names.
pub(crate) async fn trusts(ground: &Ground) -> Vec<Vec<String>> {
    let admin = log_in(ground, "admin").await;
    let listed = keystone(ground, &admin, reqwest::Method::GET, "/OS-TRUST/trusts", None).await;
    let roles = |trust: &Value| -> Vec<String> {
        let roles = trust["roles"].as_array().unwrap().iter();
        let mut names: Vec<String> =
            roles.map(|role| role["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let mut all: Vec<_> = listed["trusts"].as_array().unwrap().iter().map(roles).collect();
    all.sort();
    all
}

pub(crate) fn plain() -> Value {
    hot(json!({ "a": test_resource(json!({ "value": "x" })) }))
}

fn flavor() -> Value {
    hot(json!({ "flavor": { "type": "OS::Nova::Flavor",
                            "properties": { "ram": 64, "vcpus": 1, "disk": 1 } } }))
}

const REFUSED: &str = "This token may not lend its roles for work that goes on after the request";

#[actix::test]
async fn a_credential_of_few_roles_cannot_work_with_the_trust_of_an_earlier_token_of_many() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let here = (&ground, &world);
    let admin = log_in(&ground, "admin").await;
    let made = admin.create(here, "admins", flavor()).await.unwrap();
    assert_eq!(world.settled(&made).await, "CREATE_COMPLETE");
    let flavors = ground.counts()["flavors"].clone();

    let member = narrowed(&ground, &admin, &["member"], true).await;
    let more = member.create(here, "more", flavor()).await.unwrap();
    assert_eq!(world.settled(&more).await, "CREATE_FAILED");
    assert_eq!(ground.counts()["flavors"], flavors, "a member has made a flavor");

    // Nor does what the stack itself once lent do his work: he cannot delete what he cannot make.
    let who = member.asks(&ground).await;
    let deleted = world.engine.delete_stack(&who, made.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_FAILED");
    assert_eq!(ground.counts()["flavors"], flavors, "a member has deleted a flavor");
    let who = admin.asks(&ground).await;
    let deleted = world.engine.delete_stack(&who, made.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_token_that_was_lent_lends_nothing_on_and_is_told_so() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let here = (&ground, &world);
    let admin = log_in(&ground, "admin").await;
    let made = admin.create(here, "admins", plain()).await.unwrap();
    assert_eq!(world.settled(&made).await, "CREATE_COMPLETE");
    let restricted = narrowed(&ground, &admin, &["member"], false).await;
    let is_refused = |refusal: Refusal| {
        assert_eq!(refusal.class, "Forbidden", "{refusal:?}");
        assert!(refusal.message.starts_with(REFUSED), "{refusal:?}");
    };
    is_refused(restricted.create(here, "more", plain()).await.unwrap_err());
    let who = restricted.asks(&ground).await;
    let stack = made.stack;
    is_refused(world.engine.act_on_stack(&who, stack, Action::Suspend).await.unwrap_err());
    is_refused(world.engine.take_snapshot(&who, stack, None).await.unwrap_err());
    is_refused(world.engine.delete_stack(&who, stack).await.unwrap_err());
    assert_eq!(world.at_rest(stack).await, "CREATE_COMPLETE");
    // The name is free for who may.
    let demo = log_in(&ground, "demo").await;
    let more = demo.create(here, "more", plain()).await.unwrap();
    assert_eq!(world.settled(&more).await, "CREATE_COMPLETE");

    // What its user has lent with just these roles is his credential's too.
    let free = narrowed(&ground, &admin, &["member"], true).await;
    let other = free.create(here, "other", plain()).await.unwrap();
    assert_eq!(world.settled(&other).await, "CREATE_COMPLETE");
    let again = restricted.create(here, "again", plain()).await.unwrap();
    assert_eq!(world.settled(&again).await, "CREATE_COMPLETE");
    let deleted = world.engine.delete_stack(&who, other.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_stack_can_be_deleted_with_what_it_has_where_that_is_no_more_than_the_caller_holds() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let here = (&ground, &world);
    let demo = log_in(&ground, "demo").await;
    let reader = narrowed(&ground, &demo, &["reader"], true).await;
    let made = reader.create(here, "web", plain()).await.unwrap();
    world.settled(&made).await;
    let wider = narrowed(&ground, &demo, &["member", "reader"], false).await;
    let who = wider.asks(&ground).await;
    let deleted = world.engine.delete_stack(&who, made.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn who_only_looks_at_a_stack_does_not_lend_it_his_few_roles_for_later() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let here = (&ground, &world);
    let template = json!({ "heat_template_version": "2021-04-16", "resources": {
        "group": { "type": "OS::Heat::AutoScalingGroup", "properties": {
            "min_size": 0, "max_size": 3, "desired_capacity": 0,
            "resource": { "type": "OS::Neutron::Net" } } },
        "policy": { "type": "OS::Heat::ScalingPolicy", "properties": {
            "auto_scaling_group_id": { "get_resource": "group" }, "cooldown": 0,
            "adjustment_type": "change_in_capacity", "scaling_adjustment": 1 } } } });
    let demo = log_in(&ground, "demo").await;
    let made = demo.create(here, "web", template).await.unwrap();
    assert_eq!(world.settled(&made).await, "CREATE_COMPLETE");
    let networks = ground.counts()["networks"].as_u64().unwrap();
    let reader = narrowed(&ground, &demo, &["reader"], true).await;
    let who = reader.asks(&ground).await;
    let checked = world.engine.act_on_stack(&who, made.stack, Action::Check).await.unwrap();
    world.settled(&checked).await;
    // The reader is gone, and his leave with him.
    for trust in listed(&ground).await {
        if trust["roles"].as_array().unwrap().len() == 1 {
            let admin = log_in(&ground, "admin").await;
            let id = trust["id"].as_str().unwrap();
            let url = format!("{}/OS-TRUST/trusts/{id}", ground.sandbox.auth_url);
            let gone = reqwest::Client::new().delete(url).header("x-auth-token", &admin.token);
            assert!(gone.send().await.unwrap().status().is_success());
        }
    }
    let who = demo.asks(&ground).await;
    let policy = &"policy".into();
    world.engine.signal_resource(&who, made.stack, policy, &Value::Null).await.unwrap();
    ground.signals_over().await;
    world.at_rest(made.stack).await;
    assert_eq!(ground.counts()["networks"].as_u64().unwrap(), networks + 1);
}

async fn listed(ground: &Ground) -> Vec<Value> {
    let admin = log_in(ground, "admin").await;
    let listed = keystone(ground, &admin, reqwest::Method::GET, "/OS-TRUST/trusts", None).await;
    listed["trusts"].as_array().unwrap().clone()
}

#[actix::test]
async fn trusts_lend_the_roles_of_the_token_or_those_of_them_that_the_operator_names() {
    let all = [
        (vec![], Ok(vec!["heat_stack_owner", "member", "reader"])),
        (vec!["Member", "creator"], Ok(vec!["member"])),
        (vec!["creator"], Err("Missing required credential: roles creator")),
    ];
    for (named, expected) in all {
        let ground = Ground::new().await;
        let trusts_delegated_roles = named.into_iter().map(str::to_owned).collect();
        let limits = EngineLimits { trusts_delegated_roles, ..Ground::limits() };
        let world = ground.start_within(limits).await;
        let made = world.create("web", plain()).await;
        match expected {
            Ok(roles) => {
                assert_eq!(world.settled(&made.unwrap()).await, "CREATE_COMPLETE");
                assert_eq!(trusts(&ground).await, [roles]);
            }
            Err(text) => {
                let refusal = made.unwrap_err();
                let wanted = ("MissingCredentialError", text);
                assert_eq!((&*refusal.class, &*refusal.message), wanted);
                assert!(trusts(&ground).await.is_empty());
            }
        }
    }
}

#[actix::test]
async fn the_same_roles_have_one_trust_and_other_roles_another() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let here = (&ground, &world);
    let admin = log_in(&ground, "admin").await;
    let member = narrowed(&ground, &admin, &["member"], true).await;
    for (somebody, name) in [(&admin, "a"), (&member, "b"), (&admin, "c"), (&member, "d")] {
        let made = somebody.create(here, name, plain()).await.unwrap();
        assert_eq!(world.settled(&made).await, "CREATE_COMPLETE");
    }
    let all = trusts(&ground).await;
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.iter().any(|roles| !roles.contains(&"admin".to_owned())), "{all:?}");
}

#[actix::test]
async fn a_trust_stays_while_keystone_does_not_say_that_it_is_not_good() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let first = world.create("first", plain()).await.unwrap();
    assert_eq!(world.settled(&first).await, "CREATE_COMPLETE");
    drop(world);
    // A process that has not worked with it yet.
    let world = ground.start().await;
    let fails = FaultRule {
        method: Some("POST".to_owned()),
        path: Some("^/v3/auth/tokens".to_owned()),
        fault: Fault::Status { code: 503, retry_after: None },
        ..FaultRule::default()
    };
    ground.sandbox.forget_requests();
    ground.sandbox.set_faults(vec![fails]).unwrap();
    let second = world.create("second", plain()).await.unwrap();
    let seen = ground.sandbox.requests();
    assert!(seen.iter().any(|it| it.status == 503), "{seen:?}");
    let trusts = |it: &RequestSeen| it.path.contains("/OS-TRUST/");
    assert!(!seen.iter().any(trusts), "{seen:?}");
    ground.sandbox.set_faults(Vec::new()).unwrap();
    assert_eq!(world.settled(&second).await, "CREATE_COMPLETE");
}

#[actix::test]
async fn a_log_from_before_roles_were_kept_is_worked_on_with_the_trust_that_it_has() {
    let ground = Ground::new().await;
    let old = ground.start_on(Arc::new(CutLog::before_roles(ground.log.clone()))).await;
    let web = old.create("web", plain()).await.unwrap();
    assert_eq!(old.settled(&web).await, "CREATE_COMPLETE");
    drop(old);
    let all = ground.log.clone();
    let world = ground.start_on(all).await;
    // The trust is found by its roles, which were always on record.
    let before = trusts(&ground).await;
    let again = world.create("again", plain()).await.unwrap();
    assert_eq!(world.settled(&again).await, "CREATE_COMPLETE");
    assert_eq!(trusts(&ground).await, before);
    let other = hot(json!({ "a": { "type": "OS::Neutron::Net" } }));
    let updated = world.update(web.stack, other).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    for stack in [web.stack, again.stack] {
        let deleted = world.delete(stack).await.unwrap();
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    }
}
