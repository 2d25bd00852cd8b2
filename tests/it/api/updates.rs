//! What an update keeps, forgets, refuses and plans, as clients of Heat know it.

use serde_json::{Value, json};

use super::app::App;

fn template(resources: Value) -> Value {
    json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "text": { "type": "string", "default": "blue" } },
        "resources": resources,
        "outputs": { "said": { "value": { "get_param": "text" } } },
    })
}

fn plain() -> Value {
    template(json!({ "a": { "type": "OS::Heat::TestResource" } }))
}

/// A stack's path behind the project's.
async fn path_of(app: &App, name: &str) -> String {
    let moved = app.get(&format!("/stacks/{name}")).await;
    moved.header("location").split_once(&app.project).unwrap().1.to_owned()
}

#[actix::test]
async fn a_put_forgets_and_refuses_what_a_patch_keeps_and_overlooks() {
    let app = App::start().await;
    app.create("web", plain()).await;
    app.settled("web").await;
    let path = path_of(&app, "web").await;
    let said = async || app.settled("web").await["outputs"][0]["output_value"].clone();
    let body = json!({ "template": plain(), "parameters": { "text": "red" } });
    assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
    assert_eq!(said().await, "red");
    assert_eq!(app.ask("PATCH", &path, Some(json!({ "template": plain() }))).await.status, 202);
    assert_eq!(said().await, "red");

    let unknown = json!({ "template": plain(), "parameters": { "other": "x" } });
    let refused = app.ask("PUT", &path, Some(unknown.clone())).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert_eq!(refused.json()["error"]["type"], "UnknownUserParameter");
    assert_eq!(app.ask("PATCH", &path, Some(unknown)).await.status, 202);
    assert_eq!(said().await, "red");

    assert_eq!(app.ask("PUT", &path, Some(json!({ "template": plain() }))).await.status, 202);
    assert_eq!(said().await, "blue");
    app.stop().await;
}

#[actix::test]
async fn tags_are_parts_between_commas_and_a_put_without_them_removes_them() {
    let app = App::start().await;
    app.create("web", plain()).await;
    assert_eq!(app.settled("web").await["tags"], json!([]));
    let path = path_of(&app, "web").await;
    for (tags, kept) in [("", json!([""])), ("a,,b", json!(["a", "", "b"]))] {
        let body = json!({ "template": plain(), "tags": tags });
        assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
        assert_eq!(app.settled("web").await["tags"], kept);
        assert_eq!(app.ask("PATCH", &path, Some(json!({}))).await.status, 202);
        assert_eq!(app.settled("web").await["tags"], kept);
    }
    assert_eq!(app.ask("PUT", &path, Some(json!({ "template": plain() }))).await.status, 202);
    assert_eq!(app.settled("web").await["tags"], json!([]));
    app.stop().await;
}

#[actix::test]
async fn a_plan_compares_what_is_written_and_not_what_it_comes_to() {
    let app = App::start().await;
    let resources = json!({
        "a": { "type": "OS::Heat::TestResource", "properties": { "value": "one" } },
        "by_value": {
            "type": "OS::Heat::TestResource",
            "properties": { "value": { "get_attr": ["a", "output"] } },
        },
        "noted": { "type": "OS::Heat::TestResource", "metadata": { "size": 1 } },
        "same": { "type": "OS::Heat::TestResource" },
        "typed": { "type": "OS::Heat::TestResource" },
        "unhealthy": { "type": "OS::Heat::TestResource" },
        "group": {
            "type": "OS::Heat::ResourceGroup",
            "properties": { "count": 1, "resource_def": { "type": "OS::Heat::None" } },
        },
    });
    app.create("web", template(resources.clone())).await;
    app.settled("web").await;
    let path = path_of(&app, "web").await;
    let marked = json!({ "mark_unhealthy": true, "resource_status_reason": "seen" });
    let marked = app.ask("PATCH", &format!("{path}/resources/unhealthy"), Some(marked)).await;
    assert_eq!(marked.status, 200, "{}", marked.text);

    let mut next = resources;
    next["noted"]["metadata"]["size"] = 2.into();
    next["typed"] = json!({ "type": "OS::Heat::RandomString" });
    let body = json!({ "template": template(next) });
    let plan = app.ask("PUT", &format!("{path}/preview"), Some(body)).await.json();
    let names = |kind: &str| -> Vec<String> {
        let rows = plan["resource_changes"][kind].as_array().unwrap().iter();
        let mut names: Vec<String> =
            rows.map(|row| row["resource_name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names("unchanged"), ["a", "same"]);
    assert_eq!(names("updated"), ["by_value", "group", "noted"]);
    assert_eq!(names("replaced"), ["typed", "unhealthy"]);
    let replaced = plan["resource_changes"]["replaced"].as_array().unwrap();
    let typed = replaced.iter().find(|row| row["resource_name"] == "typed").unwrap();
    assert_eq!(typed["resource_type"], "OS::Heat::RandomString");
    app.stop().await;
}

#[actix::test]
async fn an_immutable_parameter_keeps_its_default_too_unless_it_is_no_longer_one() {
    let app = App::start().await;
    let with = |default: &str, immutable: bool| {
        json!({
            "heat_template_version": "2021-04-16",
            "parameters": {
                "text": { "type": "string", "default": default, "immutable": immutable },
            },
            "resources": { "a": { "type": "OS::Heat::TestResource" } },
        })
    };
    app.create("web", with("one", true)).await;
    app.settled("web").await;
    let path = path_of(&app, "web").await;
    let body = json!({ "template": with("two", true) });
    let refused = app.ask("PUT", &path, Some(body)).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert_eq!(refused.json()["error"]["type"], "ImmutableParameterModified");
    let body = json!({ "template": with("two", false) });
    assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
    app.stop().await;
}

#[actix::test]
async fn times_and_switches_are_read_as_heat_reads_them() {
    let app = App::start().await;
    app.create("web", plain()).await;
    app.settled("web").await;
    let path = path_of(&app, "web").await;
    let put = async |key: &str, value: Value| {
        let body = json!({ "template": plain(), key: value });
        let answered = app.ask("PUT", &path, Some(body)).await;
        let error = match answered.status {
            202 => Value::Null,
            _ => answered.json()["error"]["type"].clone(),
        };
        (answered.status, error)
    };
    assert_eq!(put("timeout_mins", json!(-1)).await, (400, json!("HTTPBadRequest")));
    assert_eq!(put("timeout_mins", json!("soon")).await, (400, json!("HTTPBadRequest")));
    assert_eq!(put("disable_rollback", json!("perhaps")).await, (400, json!("ValueError")));
    assert_eq!(put("timeout_mins", json!(0)).await, (202, Value::Null));
    app.stop().await;
}

#[actix::test]
async fn events_of_a_tree_leave_out_what_has_no_resources_left() {
    let app = App::start().await;
    app.create("web", plain()).await;
    app.settled("web").await;
    let path = path_of(&app, "web").await;
    let count = async |query: &str| {
        let listed = app.get(&format!("{path}/events{query}")).await.json();
        listed["events"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((count("").await, count("?nested_depth=1").await), (4, 4));
    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    app.comes_to(&path, "DELETE_COMPLETE").await;
    assert_eq!((count("").await, count("?nested_depth=1").await), (8, 0));
    app.stop().await;
}
