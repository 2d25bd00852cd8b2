//! Secrets, and the application credentials that may be among them.

use reqwest::Method;
use serde_json::{Value, json};

use super::{User, instant};

#[tokio::test]
async fn a_secret_is_kept_for_its_project() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let secret = json!({
        "name": "mine", "payload": "hunter2", "payload_content_type": "text/plain",
    });
    let stored = demo.post("/key-manager/v1/secrets", secret).await.ok();
    let address = stored["secret_ref"].as_str().unwrap();
    let path = address.strip_prefix(&format!("http://{}", sandbox.address)).unwrap();
    let shown = demo.get(path).await.ok();
    assert_eq!(shown["name"], "mine");
    assert_eq!(shown["content_types"], json!({ "default": "text/plain" }));
    assert_eq!(shown.get("payload"), None);
    let payload = async |user: &User, kind: &str| {
        let ask = user.ask(Method::GET, &format!("{path}/payload")).header("accept", kind);
        let answer = ask.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(payload(&demo, "text/plain").await, (200, "hunter2".to_owned()));
    assert_eq!(payload(&demo, "application/json").await.0, 406);
    let other = User::of(&sandbox, "alt_demo").await;
    other.get(path).await.refused(403);
    assert_eq!(payload(&other, "text/plain").await.0, 403);
    assert_eq!(other.get("/key-manager/v1/secrets").await.ok()["total"], 0);
    assert_eq!(demo.get("/key-manager/v1/secrets").await.ok()["total"], 1);
    assert_eq!(demo.delete(path).await.status, 204);
    demo.get(path).await.refused(404);
}

#[tokio::test]
async fn a_secret_that_cannot_be_kept_is_refused() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    for (body, says) in [
        (json!({ "payload": "x" }), "'payload_content_type' must also be supplied"),
        (json!({ "payload": 5, "payload_content_type": "text/plain" }), "of type 'string'"),
        (json!({ "payload": "x", "payload_content_type": "foo/bar" }), "is not supported"),
        (
            json!({ "payload": "x", "payload_content_type": "application/octet-stream" }),
            "payload_content_encoding is not one of",
        ),
    ] {
        let refusal = demo.post("/key-manager/v1/secrets", body).await.refused(400);
        let text = refusal["description"].as_str().unwrap();
        assert!(refusal["title"] == "Bad Request" && text.contains(says), "{text}");
    }
}

#[tokio::test]
async fn an_application_credential_opens_its_project_until_it_is_deleted() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let path = format!("/v3/users/{}/application_credentials", demo.id);
    let make = async |body: Value| {
        let made = demo.post(&path, json!({ "application_credential": body })).await.ok();
        made["application_credential"].clone()
    };
    let one = make(json!({ "name": "one", "roles": [{ "name": "reader" }] })).await;
    let log_in = async |credential: Value| {
        let body = json!({ "auth": { "identity": {
            "methods": ["application_credential"], "application_credential": credential } } });
        demo.post("/v3/auth/tokens", body).await
    };
    let proof = json!({ "id": one["id"], "secret": one["secret"] });
    let opened = log_in(proof.clone()).await;
    let token = opened.header("x-subject-token").to_owned();
    let opened = opened.ok()["token"].clone();
    assert_eq!(opened["project"]["id"], demo.project.as_str());
    assert_eq!(opened["roles"].as_array().unwrap().len(), 1);
    let by_name = json!({ "name": "one", "secret": one["secret"], "user": { "id": demo.id } });
    log_in(by_name).await.ok();
    log_in(json!({ "id": one["id"], "secret": "wrong" })).await.refused(401);
    log_in(json!({ "id": "nope", "secret": "wrong" })).await.refused(404);

    let mut program = User::of(&sandbox, "demo").await;
    program.token = token;
    program.get("/network/v2.0/networks").await.ok();
    program.post("/v3/OS-TRUST/trusts", json!({ "trust": {} })).await.refused(403);
    let another = json!({ "application_credential": { "name": "two" } });
    program.post(&path, another).await.refused(403);
    let listed = demo.get(&path).await.ok();
    assert_eq!(listed["application_credentials"][0].get("secret"), None);
    let own = format!("{path}/{}", one["id"].as_str().unwrap());
    assert_eq!(demo.delete(&own).await.status, 204);
    program.get("/network/v2.0/networks").await.refused(401);
    log_in(proof).await.refused(404);
}
