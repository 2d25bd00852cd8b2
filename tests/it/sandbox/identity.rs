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
