//! Users whom an identity provider vouches for, at the sandbox's Keystone. `tests/live/federated.rs`
//! asks the same of a real one.

use hearth::model::{Action, Refusal};
use reqwest::Method;
use serde_json::{Value, json};

use super::trusts::{Somebody, authenticate, keystone, log_in, plain, trusts};
use crate::support::world::{Ground, hot};

/// An identity provider whose users are members of a group that is `member` in the project `demo`;
/// for so many minutes after a login, if at all.
async fn federated(ground: &Ground, minutes: Option<u64>) -> Somebody {
    let admin = log_in(ground, "admin").await;
    let call = async |method: Method, path: &str, body: Option<Value>| {
        keystone(ground, &admin, method, path, body).await
    };
    let put = async |path: &str, body: Value| call(Method::PUT, path, Some(body)).await;
    let group = json!({ "group": { "name": "guests", "domain_id": "default" } });
    let group = call(Method::POST, "/groups", Some(group)).await["group"]["id"].clone();
    let id = async |kind: &str, name: &str| {
        let listed = call(Method::GET, &format!("/{kind}?name={name}"), None).await;
        listed[kind][0]["id"].as_str().unwrap().to_owned()
    };
    let (project, role) = (id("projects", "demo").await, id("roles", "member").await);
    let group = group.as_str().unwrap();
    put(&format!("/projects/{project}/groups/{group}/roles/{role}"), json!({})).await;
    let provider = json!({ "identity_provider": { "authorization_ttl": minutes } });
    put("/OS-FEDERATION/identity_providers/acme", provider).await;
    let local = [json!({ "user": { "name": "{0}" } }), json!({ "group": { "id": group } })];
    let rules = [json!({ "local": local, "remote": [{ "type": "HTTP_X_FED_USER" }] })];
    put("/OS-FEDERATION/mappings/acme", json!({ "mapping": { "rules": rules } })).await;
    let protocol = json!({ "protocol": { "mapping_id": "acme" } });
    put("/OS-FEDERATION/identity_providers/acme/protocols/mapped", protocol).await;
    come_in(ground).await
}

/// A token for the project `demo` of whom the provider calls Ada.
async fn come_in(ground: &Ground) -> Somebody {
    let path = "OS-FEDERATION/identity_providers/acme/protocols/mapped/auth";
    let url = format!("{}/{path}", ground.sandbox.auth_url);
    let request = reqwest::Client::new().get(url).header("x-fed-user", "ada@example.org");
    let unscoped = request.send().await.unwrap();
    assert_eq!(unscoped.status().as_u16(), 201);
    let token = unscoped.headers()["x-subject-token"].to_str().unwrap().to_owned();
    let said: Value = unscoped.json().await.unwrap();
    let by = &said["token"]["user"]["OS-FEDERATION"];
    assert_eq!(
        (&by["identity_provider"]["id"], &by["protocol"]["id"]),
        (&json!("acme"), &json!("mapped"))
    );
    let identity = json!({ "methods": ["token"], "token": { "id": token } });
    let demo = json!({ "project": { "name": "demo", "domain": { "id": "default" } } });
    authenticate(ground, identity, Some(demo)).await
}

/// How long memberships hold from now on.
async fn memberships_hold(ground: &Ground, minutes: u64) {
    let admin = log_in(ground, "admin").await;
    let body = json!({ "identity_provider": { "authorization_ttl": minutes } });
    let path = "/OS-FEDERATION/identity_providers/acme";
    keystone(ground, &admin, Method::PATCH, path, Some(body)).await;
}

fn assert_missing(refusal: &Refusal) {
    let starts = "Missing required credential: roles member, reader. The token has roles that";
    assert_eq!(refusal.class, "MissingCredentialError", "{refusal:?}");
    assert!(refusal.message.starts_with(starts), "{refusal:?}");
}

#[actix::test]
async fn a_federated_user_lends_what_his_groups_give_him_for_a_time() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let ada = federated(&ground, Some(60)).await;
    let made = ada.create((&ground, &world), "web", plain()).await.unwrap();
    assert_eq!(world.settled(&made).await, "CREATE_COMPLETE");
    assert_eq!(ada.asks(&ground).await.caller.user_name, "ada@example.org");
    assert_eq!(trusts(&ground).await, [["member", "reader"]]);
    // The next login is the same user's.
    let again = come_in(&ground).await;
    let deleted = world.engine.delete_stack(&again.asks(&ground).await, made.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_federated_user_who_can_lend_nothing_is_told_so_and_nothing_is_begun() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let here = (&ground, &world);
    let ada = federated(&ground, None).await;
    assert_missing(&ada.create(here, "web", plain()).await.unwrap_err());
    // The name is free, and another's stack stays as it is.
    let demo = log_in(&ground, "demo").await;
    let made = demo.create(here, "web", plain()).await.unwrap();
    assert_eq!(world.settled(&made).await, "CREATE_COMPLETE");
    let who = ada.asks(&ground).await;
    assert_missing(&world.engine.delete_stack(&who, made.stack).await.unwrap_err());
    assert_eq!(world.at_rest(made.stack).await, "CREATE_COMPLETE");
}

#[actix::test]
async fn work_after_the_end_of_a_membership_fails_and_goes_on_after_a_login() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let here = (&ground, &world);
    let ada = federated(&ground, Some(60)).await;
    let net = hot(json!({ "net": { "type": "OS::Neutron::Net" } }));
    let made = ada.create(here, "web", net).await.unwrap();
    assert_eq!(world.settled(&made).await, "CREATE_COMPLETE");
    let networks = ground.counts()["networks"].clone();

    memberships_hold(&ground, 0).await;
    let who = ada.asks(&ground).await;
    let deleted = world.engine.delete_stack(&who, made.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_FAILED");
    assert_eq!(ground.counts()["networks"], networks);
    // From then on it is known beforehand; only to delete is always tried.
    let suspended = world.engine.act_on_stack(&who, made.stack, Action::Suspend).await;
    assert_missing(&suspended.unwrap_err());
    assert_missing(&ada.create(here, "more", plain()).await.unwrap_err());

    memberships_hold(&ground, 60).await;
    let who = come_in(&ground).await.asks(&ground).await;
    let deleted = world.engine.delete_stack(&who, made.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_membership_may_hold_for_longer_than_there_are_times() {
    let ground = Ground::new().await;
    federated(&ground, Some(1)).await;
    for minutes in [u64::from(u32::MAX) << 16, i64::MAX as u64] {
        memberships_hold(&ground, minutes).await;
        come_in(&ground).await;
    }
}
