//! Tokens, trusts and the catalog.

use reqwest::Method;
use serde_json::{Value, json};

use super::{User, answered, instant, project_scope};

#[tokio::test]
async fn a_password_gives_a_token_with_roles_and_catalog() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let check = demo.ask(Method::GET, "/v3/auth/tokens").header("x-subject-token", &demo.token);
    let token = answered(check).await.ok()["token"].clone();
    assert_eq!(token["project"]["name"], "demo");
    assert_eq!(token["user"]["domain"]["name"], "Default");
    let roles: Vec<&str> =
        token["roles"].as_array().unwrap().iter().filter_map(|r| r["name"].as_str()).collect();
    assert_eq!(roles, ["member", "reader", "heat_stack_owner"]);
    let url = |kind: &str| {
        let catalog = token["catalog"].as_array().unwrap();
        let service = catalog.iter().find(|service| service["type"] == kind).unwrap();
        service["endpoints"][0]["url"].as_str().unwrap().to_owned()
    };
    assert_eq!(url("orchestration"), format!("http://127.0.0.1:8004/v1/{}", demo.project));
    assert_eq!(url("network"), format!("http://{}/network", sandbox.address));
}

#[tokio::test]
async fn a_wrong_password_or_a_foreign_project_gives_none() {
    let sandbox = instant();
    assert_eq!(User::with_scope(&sandbox, "nobody", project_scope("demo")).await.err(), Some(401));
    assert_eq!(User::with_scope(&sandbox, "demo", project_scope("admin")).await.err(), Some(401));
}

#[tokio::test]
async fn a_token_that_was_revoked_opens_nothing() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let revoke = demo.ask(Method::DELETE, "/v3/auth/tokens").header("x-subject-token", &demo.token);
    assert_eq!(answered(revoke).await.status, 204);
    demo.get("/network/v2.0/networks").await.refused(401);
    let refusal = demo.get("/compute/v2.1/servers").await;
    assert!(refusal.header("www-authenticate").starts_with("Keystone uri="));
}

#[tokio::test]
async fn a_trustee_acts_as_the_trustor_until_the_trust_is_deleted() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let service = User::of_service(&sandbox).await;
    let trust = json!({
        "trustor_user_id": demo.id,
        "trustee_user_id": service.id,
        "project_id": demo.project,
        "impersonation": true,
        "roles": [{"name": "member"}],
    });
    let trust = demo.post("/v3/OS-TRUST/trusts", json!({"trust": trust})).await.ok();
    let id = trust["trust"]["id"].as_str().unwrap();
    let scope = json!({"OS-TRUST:trust": {"id": id}});
    let acting = User::with_scope(&sandbox, "hearth", scope.clone()).await.unwrap();
    assert_eq!((&acting.id, &acting.project), (&demo.id, &demo.project));
    acting.get("/network/v2.0/networks").await.ok();
    // Only the trustee can use it, and only the trustor can end it.
    assert_eq!(User::with_scope(&sandbox, "alt_demo", scope.clone()).await.err(), Some(403));
    assert_eq!(demo.delete(&format!("/v3/OS-TRUST/trusts/{id}")).await.status, 204);
    acting.get("/network/v2.0/networks").await.refused(401);
    assert_eq!(User::with_scope(&sandbox, "hearth", scope).await.err(), Some(401));
}

#[tokio::test]
async fn a_trust_gives_no_more_than_the_trustor_has() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let trust = json!({
        "trustor_user_id": demo.id,
        "trustee_user_id": demo.id,
        "project_id": demo.project,
        "impersonation": false,
        "roles": [{"name": "admin"}],
    });
    demo.post("/v3/OS-TRUST/trusts", json!({"trust": trust})).await.refused(404);
}

#[tokio::test]
async fn names_are_looked_up_as_clients_do() {
    let sandbox = instant();
    let admin = User::of(&sandbox, "admin").await;
    let projects = admin.get("/v3/projects?name=demo").await.ok();
    assert_eq!(projects["projects"].as_array().map(Vec::len), Some(1));
    let users = admin.get("/v3/users?name=hearth&domain_id=default").await.ok();
    assert_eq!(users["users"][0]["name"], "hearth");
    admin.get("/v3/users/nobody").await.refused(404);
    let versions = admin.get("/").await;
    assert_eq!(versions.status, 300);
    assert_eq!(versions.body["versions"]["values"][0]["id"], "v3.14");
    let services = admin.get("/v3/services").await.ok();
    let kinds: Vec<&Value> =
        services["services"].as_array().unwrap().iter().map(|s| &s["type"]).collect();
    assert!(kinds.contains(&&json!("object-store")));
}

impl User {
    async fn of_service(sandbox: &hearth::sandbox::RunningSandbox) -> User {
        User::with_scope(sandbox, "hearth", project_scope("service")).await.unwrap()
    }
}

#[tokio::test]
async fn a_token_for_a_domain_or_the_system_has_its_roles_and_no_addresses_of_projects() {
    let sandbox = instant();
    for (scope, key, shown) in [
        (json!({"system": {"all": true}}), "system", json!({"all": true})),
        (
            json!({"domain": {"id": "default"}}),
            "domain",
            json!({"id": "default", "name": "Default"}),
        ),
    ] {
        let admin = User::of(&sandbox, "admin").await;
        let role = admin.get("/v3/roles?name=admin").await.ok()["roles"][0]["id"].clone();
        let (role, id) = (role.as_str().unwrap(), &admin.id);
        let grant = format!("/v3/domains/default/users/{id}/roles/{role}");
        assert_eq!(answered(admin.ask(Method::PUT, &grant)).await.status, 204);
        let scoped = User::with_scope(&sandbox, "admin", scope.clone()).await.unwrap();
        let check =
            admin.ask(Method::GET, "/v3/auth/tokens").header("x-subject-token", &scoped.token);
        let token = answered(check).await.ok()["token"].clone();
        assert_eq!(token[key], shown);
        assert!(token.get("project").is_none() && token.get("is_domain").is_none(), "{token}");
        let roles = token["roles"].as_array().unwrap().iter().map(|role| role["name"].clone());
        assert_eq!(roles.collect::<Vec<_>>(), ["admin", "member", "reader"]);
        let catalog = token["catalog"].as_array().unwrap();
        let endpoints = |kind: &str| {
            let service = catalog.iter().find(|service| service["type"] == kind).unwrap();
            service["endpoints"].as_array().unwrap().len()
        };
        assert_eq!((endpoints("identity"), endpoints("orchestration")), (3, 0));
        // Services have nothing for it.
        scoped.get("/network/v2.0/networks").await.refused(401);
        assert_eq!(User::with_scope(&sandbox, "demo", scope).await.err(), Some(401));
    }
}

#[tokio::test]
async fn a_token_for_nothing_has_neither_roles_nor_a_catalog() {
    let sandbox = instant();
    let admin = User::of(&sandbox, "admin").await;
    let unscoped = User::with_scope(&sandbox, "admin", json!("unscoped")).await.unwrap();
    let check =
        admin.ask(Method::GET, "/v3/auth/tokens").header("x-subject-token", &unscoped.token);
    let token = answered(check).await.ok()["token"].clone();
    for key in ["project", "domain", "system", "roles", "catalog"] {
        assert!(token.get(key).is_none(), "{key}: {token}");
    }
    unscoped.get("/v3/auth/catalog").await.refused(403);
    let odd = User::with_scope(&sandbox, "admin", json!({"galaxy": {}})).await;
    assert_eq!(odd.err(), Some(400));
}
