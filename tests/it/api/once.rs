//! Requests with an `Idempotency-Key`.

use hearth::clock::{Clock, SystemClock};
use hearth::events::forget::{self, Older};
use serde_json::{Value, json};

use super::app::{Answered, App};

fn template(value: &str) -> Value {
    json!({ "heat_template_version": "2021-04-16", "resources": {
        "a": { "type": "OS::Heat::TestResource", "properties": { "value": value } } } })
}

fn body(name: &str, value: &str) -> Value {
    json!({ "stack_name": name, "template": template(value) })
}

/// Asks with a key.
async fn ask(app: &App, verb: &str, path: &str, key: &str, body: &Value) -> Answered {
    let path = format!("/v1/{}{path}", app.project);
    let headers = [("x-auth-token", app.token.as_str()), ("idempotency-key", key)];
    app.send(verb, &path, &headers, Some(body.to_string())).await
}

/// A stack's path behind the project's.
async fn path_of(app: &App, name: &str) -> String {
    let moved = app.get(&format!("/stacks/{name}")).await;
    moved.header("location").split_once(&app.project).unwrap().1.to_owned()
}

fn class(answered: &Answered) -> String {
    answered.json()["error"]["type"].as_str().unwrap().to_owned()
}

#[actix::test]
async fn a_create_that_comes_again_gets_the_first_answer_whatever_has_become_of_the_stack() {
    let app = App::start().await;
    let first = ask(&app, "POST", "/stacks", "k1", &body("web", "one")).await;
    assert_eq!(first.status, 201, "{}", first.text);
    app.settled("web").await;
    let before = app.log.durable_position();
    let again = async || {
        let again = ask(&app, "POST", "/stacks", "k1", &body("web", "one")).await;
        assert_eq!((again.status, &again.text), (201, &first.text));
        assert_eq!(again.header("location"), first.header("location"));
    };
    again().await;
    assert_eq!(app.log.durable_position(), before, "nothing is written");
    let other = ask(&app, "POST", "/stacks", "k2", &body("web", "one")).await;
    assert_eq!((other.status, class(&other)), (409, "StackExists".to_owned()));
    let path = path_of(&app, "web").await;
    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    app.comes_to(&path, "DELETE_COMPLETE").await;
    again().await;
    app.stop().await;
}

#[actix::test]
async fn an_update_that_comes_again_is_made_once() {
    let app = App::start().await;
    app.create("web", template("one")).await;
    let path = path_of(&app, "web").await;
    let two = json!({ "template": template("two") });
    let first = ask(&app, "PUT", &path, "k1", &two).await;
    assert_eq!(first.status, 202, "{}", first.text);
    app.settled("web").await;
    let three = json!({ "template": template("three") });
    assert_eq!(ask(&app, "PUT", &path, "k2", &three).await.status, 202);
    app.settled("web").await;
    let again = ask(&app, "PUT", &path, "k1", &two).await;
    assert_eq!((again.status, again.text), (202, first.text));
    let history = app.get(&format!("{path}/history")).await.json();
    let text = history.to_string();
    assert!(text.contains("three"), "{text}");
    assert!(app.get(&path).await.header("etag").starts_with("\"3-"), "there are three revisions");
    // What went before is answered first: the stack has moved on, and the header says where it was.
    let back = json!({ "rollback": { "to": 1 } });
    let actions = format!("{path}/actions");
    for _ in 0..2 {
        assert_eq!(ask(&app, "POST", &actions, "k3", &back).await.status, 200);
        app.settled("web").await;
        assert!(app.get(&path).await.header("etag").starts_with("\"4-"));
    }
    app.stop().await;
}

#[actix::test]
async fn a_key_is_of_one_request() {
    let app = App::start().await;
    let one = body("web", "one");
    assert_eq!(ask(&app, "POST", "/stacks", "k1", &one).await.status, 201);
    app.settled("web").await;
    let path = path_of(&app, "web").await;
    let update = json!({ "template": template("one") });
    for (verb, path, body) in [
        ("POST", "/stacks", &body("web", "two")),
        ("POST", "/stacks", &body("other", "one")),
        ("PUT", &path, &update),
        ("PATCH", &path, &update),
    ] {
        let refused = ask(&app, verb, path, "k1", body).await;
        assert_eq!((refused.status, class(&refused)), (422, "HTTPUnprocessableEntity".to_owned()));
    }
    // What was refused is not kept: a name that is free by now is taken.
    assert_eq!(ask(&app, "POST", "/stacks", "k2", &body("2web", "x")).await.status, 400);
    assert_eq!(ask(&app, "POST", "/stacks", "k2", &body("web2", "x")).await.status, 201);
    let long = "k".repeat(256);
    for wrong in ["a b", &long] {
        assert_eq!(ask(&app, "POST", "/stacks", wrong, &one).await.status, 400);
    }
    app.stop().await;
}

#[actix::test]
async fn of_many_at_once_one_is_carried_out() {
    let app = App::start().await;
    let one = body("web", "one");
    let all = (0..6).map(|_| ask(&app, "POST", "/stacks", "k1", &one));
    let answered = futures::future::join_all(all).await;
    let made: Vec<&Answered> = answered.iter().filter(|it| it.status == 201).collect();
    assert!(!made.is_empty());
    assert!(made.iter().all(|it| it.text == made[0].text));
    assert!(answered.iter().all(|it| matches!(it.status, 201 | 409)));
    app.settled("web").await;
    let again = ask(&app, "POST", "/stacks", "k1", &one).await;
    assert_eq!((again.status, &again.text), (201, &made[0].text));
    let listed = app.get("/stacks").await.json();
    assert_eq!(listed["stacks"].as_array().unwrap().len(), 1);
    app.stop().await;
}

#[actix::test]
async fn what_comes_again_after_the_stack_was_deleted_or_purged_gets_the_first_answer() {
    let app = App::start().await;
    let made = ask(&app, "POST", "/stacks", "k1", &body("web", "one")).await;
    assert_eq!(made.status, 201, "{}", made.text);
    app.settled("web").await;
    let path = path_of(&app, "web").await;
    let two = json!({ "template": template("two") });
    let back = json!({ "rollback": { "to": 1 } });
    let actions = format!("{path}/actions");
    assert_eq!(ask(&app, "PUT", &path, "k2", &two).await.status, 202);
    app.settled("web").await;
    assert_eq!(ask(&app, "POST", &actions, "k3", &back).await.status, 200);
    app.settled("web").await;
    let again = async || {
        let create = ask(&app, "POST", "/stacks", "k1", &body("web", "one")).await;
        assert_eq!((create.status, &create.text), (201, &made.text));
        assert_eq!(ask(&app, "PUT", &path, "k2", &two).await.status, 202);
        assert_eq!(ask(&app, "POST", &actions, "k3", &back).await.status, 200);
    };
    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    app.comes_to(&path, "DELETE_COMPLETE").await;
    again().await;
    let older = Older { seconds: 0, project: None };
    let before = older.before(SystemClock.now());
    let gone =
        forget::purge(app.log.as_ref(), &app.vault, &SystemClock, before, &older).await.unwrap();
    assert_eq!(gone.stacks, 1);
    again().await;
    app.stop().await;
}
