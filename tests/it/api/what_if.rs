//! What an update would have done at a moment that is past: what its plan said then.

use serde_json::{Value, json};

use super::app::App;

const INNER: &str = "\
heat_template_version: 2021-04-16
parameters: { word: { type: string } }
resources:
  said: { type: OS::Heat::TestResource, properties: { value: { get_param: word } } }
outputs: { said: { value: { get_attr: [said, output] } } }
";

fn update(word: &str, more: &[&str]) -> Value {
    let mut resources = json!({
        "a": { "type": "OS::Heat::TestResource", "properties": { "value": { "get_param": "word" } } },
        "b": { "type": "OS::Heat::TestResource",
               "properties": { "value": { "get_attr": ["a", "output"] } } },
        "secret": { "type": "OS::Heat::TestResource",
                    "properties": { "value": { "get_param": "password" } } },
        "inner": { "type": "inner.yaml", "properties": { "word": { "get_param": "word" } } },
        "group": { "type": "OS::Heat::ResourceGroup", "properties": {
            "count": 2, "resource_def": { "type": "OS::Heat::TestResource",
                                          "properties": { "value": { "get_param": "word" } } } } },
        "random": { "type": "OS::Heat::RandomString", "properties": { "length": 8 } },
    });
    for name in more {
        resources[*name] = json!({ "type": "OS::Heat::TestResource" });
    }
    if more.contains(&"longer") {
        resources["random"]["properties"]["length"] = 16.into();
        resources.as_object_mut().unwrap().shift_remove("b");
    }
    let template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "word": { "type": "string" },
                        "password": { "type": "string", "hidden": true } },
        "resources": resources,
    });
    json!({ "template": template, "files": { "inner.yaml": INNER },
            "parameters": { "word": word, "password": "Vq57-kept-from-all" } })
}

/// A plan without what ties it to its moment.
async fn plan(app: &App, path: &str, at: &str, body: &Value) -> Value {
    let asked = json!({ "update": body });
    let answered = app.ask("POST", &format!("{path}/plan{at}"), Some(asked)).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    assert!(!answered.text.contains("Vq57"), "{}", answered.text);
    let mut plan = answered.json()["plan"].clone();
    assert_eq!(plan["id"].is_null(), !at.is_empty(), "what is past binds nobody");
    for key in ["id", "position"] {
        plan.as_object_mut().unwrap().shift_remove(key);
    }
    plan
}

#[actix::test]
async fn what_would_have_been_is_what_the_plan_of_then_said() {
    let app = App::start().await;
    let mut create = update("one", &[]);
    create["stack_name"] = "web".into();
    let created = app.ask("POST", "/stacks", Some(create)).await;
    let id = created.json()["stack"]["id"].as_str().unwrap().to_owned();
    let path = format!("/stacks/web/{id}");
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");

    let candidates = [
        update("one", &[]),
        update("two", &[]),
        update("two", &["fresh"]),
        update("one", &["longer"]),
    ];
    let mut then = Vec::new();
    for body in &candidates {
        then.push(plan(&app, &path, "", body).await);
    }
    let at = app.log.durable_position();
    let told = |plan: &Value, name: &str| -> Value {
        let mut listed = plan["resources"].as_array().unwrap().iter();
        listed.find(|it| it["resource_name"] == name).unwrap()["change"].clone()
    };
    assert_eq!(told(&then[1], "inner/said"), "updated", "{:#}", then[1]);
    assert_eq!(told(&then[3], "random"), "replaced");
    assert_eq!(told(&then[3], "b"), "deleted");

    let updated = app.ask("PUT", &path, Some(update("three", &["late"]))).await;
    assert_eq!(updated.status, 202, "{}", updated.text);
    assert_eq!(app.settled("web").await["stack_status"], "UPDATE_COMPLETE");
    let before = app.log.durable_position();
    for moment in [format!("?at={at}"), "?at=r1".to_owned()] {
        for (body, then) in candidates.iter().zip(&then) {
            assert_eq!(&plan(&app, &path, &moment, body).await, then, "{moment}");
        }
    }
    let now = plan(&app, &path, "", &candidates[1]).await;
    assert_eq!(plan(&app, &path, &format!("?at={before}"), &candidates[1]).await, now);
    assert_ne!(now, then[1]);
    assert_eq!(app.log.durable_position(), before, "nothing is written");
}

#[actix::test]
async fn what_was_not_there_and_what_is_no_update_is_refused() {
    let app = App::start().await;
    let mut create = update("one", &[]);
    create["stack_name"] = "web".into();
    let created = app.ask("POST", "/stacks", Some(create)).await;
    let id = created.json()["stack"]["id"].as_str().unwrap().to_owned();
    let path = format!("/stacks/web/{id}");
    app.settled("web").await;
    let refused = async |at: &str, body: Value| {
        let answered = app.ask("POST", &format!("{path}/plan?at={at}"), Some(body)).await;
        (answered.status, answered.json()["error"]["message"].as_str().unwrap().to_owned())
    };
    let body = json!({ "update": update("two", &[]) });
    let (status, told) = refused("1", body.clone()).await;
    assert_eq!((status, told), (404, format!("The Stack ({id}) could not be found.")));
    let (status, told) = refused("r9", body.clone()).await;
    assert_eq!((status, told.as_str()), (404, "The Revision (9) could not be found."));
    assert_eq!(refused("yesterday", body.clone()).await.0, 400);
    for other in
        [json!({ "delete": {} }), json!({ "rollback": { "to": 1 } }), json!({ "patch": {} })]
    {
        let (status, told) = refused("r1", other).await;
        assert_eq!((status, told.as_str()), (400, "Only an update is planned for what is past."));
    }
    let broken = json!({ "update": { "template": { "heat_template_version": "2021-04-16",
        "resources": { "a": { "type": "OS::No::Such" } } } } });
    assert_eq!(refused("r1", broken).await.0, 400);

    let alive = app.log.durable_position();
    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    app.settled(&id).await;
    let end = app.log.durable_position().to_string();
    assert_eq!(refused(&end, body.clone()).await.0, 404, "it was deleted by then");
    let asked = json!({ "update": update("two", &[]) });
    let then = app.ask("POST", &format!("{path}/plan?at={alive}"), Some(asked)).await;
    assert_eq!(then.status, 200, "a deleted stack has a past as well: {}", then.text);
}

#[actix::test]
async fn what_is_in_stacks_whose_keys_are_destroyed_is_told_all_the_same() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "password": { "type": "string", "hidden": true } },
        "resources": { "group": { "type": "OS::Heat::ResourceGroup", "properties": {
            "count": 2, "resource_def": { "type": "OS::Heat::TestResource",
                "properties": { "value": { "get_param": "password" } } } } } },
    });
    let parameters = json!({ "password": "Vq57-kept-from-all" });
    let body = json!({ "template": template, "parameters": parameters });
    let mut create = body.clone();
    create["stack_name"] = "web".into();
    let created = app.ask("POST", "/stacks", Some(create)).await;
    let id = created.json()["stack"]["id"].as_str().unwrap().to_owned();
    let path = format!("/stacks/web/{id}");
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");
    let without = json!({ "template": { "heat_template_version": "2021-04-16" } });
    let at = format!("?at={}", app.log.durable_position());
    let alive = plan(&app, &path, &at, &without).await;
    assert_eq!(alive["counts"], json!({ "deleted": 3 }));

    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    app.settled(&id).await;
    for stack in [id.as_str(), alive["resources"][0]["physical_resource_id"].as_str().unwrap()] {
        app.destroy_key(stack.parse().unwrap()).await;
    }
    assert_eq!(plan(&app, &path, &at, &without).await, alive);
    let told = plan(&app, &path, &at, &body).await;
    let group = &told["resources"][0];
    let why = "what was secret in its nested stack cannot be read any more";
    assert_eq!((&group["resource_name"], &group["why"]), (&json!("group"), &json!(why)));
}
