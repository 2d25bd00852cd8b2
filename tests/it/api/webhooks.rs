//! Webhooks as clients make them: the key is told once, and the path of the URL never.

use serde_json::{Value, json};

use super::app::{Answered, App};

const URL: &str = "https://hooks.example/path-of-mine?token=of-mine";

async fn made(app: &App, body: Value) -> Answered {
    app.ask("POST", "/webhooks", Some(body)).await
}

#[actix::test]
async fn a_webhook_is_made_shown_and_deleted_and_its_secrets_are_not_told() {
    let app = App::start().await;
    let body = json!({ "url": URL, "type": ["TraversalSettled"], "status": "FAILED" });
    let answer = made(&app, body).await;
    assert_eq!(answer.status, 200);
    let mut webhook = answer.json()["webhook"].clone();
    let key = webhook.as_object_mut().unwrap().shift_remove("key").unwrap();
    assert!(key.as_str().unwrap().starts_with("whsec_"), "{key}");
    assert_eq!(webhook["origin"], "https://hooks.example");
    assert_eq!(webhook["status"], json!(["FAILED"]));
    let path = format!("/webhooks/{}", webhook["id"].as_str().unwrap());
    assert_eq!(app.ask("GET", &path, None).await.json()["webhook"], webhook);
    assert_eq!(app.ask("GET", "/webhooks", None).await.json()["webhooks"], json!([webhook]));
    let feed = app.ask("GET", "/feed?until=now&type=WebhookMade", None).await.text;
    assert!(feed.contains("https://hooks.example"), "{feed}");
    for secret in ["of-mine", key.as_str().unwrap()] {
        assert!(!feed.contains(secret), "{feed}");
    }
    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    assert_eq!(app.ask("GET", &path, None).await.status, 404);
    assert_eq!(app.ask("DELETE", &path, None).await.status, 404);
    app.stop().await;
}

#[actix::test]
async fn what_leads_nowhere_or_asks_for_too_much_is_refused() {
    let app = App::start().await;
    for url in [
        "hooks.example",
        "ftp://hooks.example/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest",
        "http://[fd00::1]/",
    ] {
        assert_eq!(made(&app, json!({ "url": url })).await.status, 400, "{url}");
    }
    let refused = made(&app, json!({ "url": "nope" })).await.json()["error"]["message"].clone();
    assert_eq!(
        refused,
        "The url of a webhook has to be a whole one, such as https://example.com/events."
    );
    let long = |bytes: usize| format!("{URL}{}", "x".repeat(bytes - URL.len()));
    assert_eq!(made(&app, json!({ "url": long(2_049) })).await.status, 400);
    for body in [
        json!({}),
        json!({ "url": 1 }),
        json!({ "url": URL, "typo": "x" }),
        json!({ "url": URL, "type": [1] }),
        json!({ "url": URL, "type": "Zzz" }),
        json!({ "url": URL, "status": "FOO" }),
        json!({ "url": URL, "action": "MAKE" }),
        json!({ "url": URL, "type": vec!["x"; 101] }),
    ] {
        assert_eq!(made(&app, body.clone()).await.status, 400, "{body}");
    }
    assert_eq!(made(&app, json!({ "url": URL, "stack": "none" })).await.status, 404);
    let mut answers = Vec::new();
    for _ in 0..17 {
        answers.push(made(&app, json!({ "url": long(2_048) })).await.status);
    }
    assert_eq!(answers[..16], [200; 16]);
    assert_eq!(answers[16], 400);
    app.stop().await;
}
