//! Whole answers to reads, over histories that are told by hand.

use hearth::model::{Action, Status};
use serde_json::{Value, json};

use super::app::App;
use super::story::Story;

/// An app over a story with one stack in the project of `demo`.
async fn told() -> (App, Told) {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 11);
    let (mut stack, ids) = story.created("web", &["net", "port"]).await;
    story.walk(&mut stack, Action::Update, &[("net", ids[0]), ("port", ids[1])]).await;
    story.start(&stack, "net", ids[0], Action::Update).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let href = format!("{}/v1/{}/stacks/web/{}", app.url, app.project, stack.id);
    let told = Told { id: stack.id.to_string(), href, net: format!("phys-{}", ids[0]) };
    (app, told)
}

struct Told {
    id: String,
    href: String,
    net: String,
}

fn link(href: &str, rel: &str) -> Value {
    json!({ "href": href, "rel": rel })
}

#[actix::test]
async fn stacks_are_listed_as_heat_lists_them() {
    let (app, told) = told().await;
    let expected = json!({ "stacks": [{
        "id": told.id,
        "links": [link(&told.href, "self")],
        "stack_name": "web",
        "description": "",
        "stack_status": "UPDATE_IN_PROGRESS",
        "stack_status_reason": "Stack UPDATE started",
        "creation_time": "2026-01-01T00:00:01Z",
        "updated_time": "2026-01-01T00:00:09Z",
        "deletion_time": null,
        "stack_owner": "alice",
        "parent": null,
        "stack_user_project_id": null,
        "tags": ["blue"],
    }] });
    assert_eq!(app.get("/stacks").await.json(), expected);
    assert_eq!(app.get("/stacks/detail").await.json(), expected);
    assert_eq!(app.get("/stacks?tags=red").await.json(), json!({ "stacks": [] }));
    assert_eq!(app.get("/stacks?status=UPDATE_IN_PROGRESS").await.json(), expected);
    assert_eq!(app.get("/stacks?stack_status=CREATE_FAILED").await.json()["stacks"], json!([]));
    let counted = app.get("/stacks?with_count=true&limit=0").await.json();
    assert_eq!(counted, json!({ "stacks": [], "count": 1 }));

    // An administrator sees every project's stacks, and whose they are.
    let (token, project) = app.login("admin", "admin").await;
    let headers = [("x-auth-token", token.as_str())];
    let listed = app.send("GET", &format!("/v1/{project}/stacks"), &headers, None).await.json();
    assert_eq!(listed["stacks"][0]["project"], app.project);
    app.stop().await;
}

#[actix::test]
async fn a_full_page_links_to_the_next() {
    let (app, told) = told().await;
    let story = Story::of(app.log.clone(), &app.project, 12);
    story.created("hidden", &[]).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let page = app.get("/stacks?sort_keys=stack_name&sort_dir=desc&limit=1").await.json();
    assert_eq!(page["stacks"][0]["stack_name"], "web");
    let next = format!(
        "{}/v1/{}/stacks?sort_keys=stack_name&sort_dir=desc&limit=1&marker={}",
        app.url, app.project, told.id
    );
    assert_eq!(page["links"], json!([link(&next, "next")]));
    let headers = [("x-auth-token", app.token.as_str())];
    let page = app.send("GET", &next, &headers, None).await.json();
    assert_eq!(page["stacks"][0]["stack_name"], "hidden");
    app.stop().await;
}

#[actix::test]
async fn a_stack_is_shown_with_its_definition_and_outputs() {
    let (app, told) = told().await;
    let path = format!("/stacks/web/{}", told.id);
    let mut expected = json!({ "stack": {
        "id": told.id,
        "links": [link(&told.href, "self")],
        "stack_name": "web",
        "description": "A web",
        "template_description": "A web",
        "parameters": { "key": "k", "password": "******" },
        "notification_topics": [],
        "capabilities": [],
        "disable_rollback": true,
        "timeout_mins": 30,
        "tags": ["blue"],
        "stack_status": "UPDATE_IN_PROGRESS",
        "stack_status_reason": "Stack UPDATE started",
        "creation_time": "2026-01-01T00:00:01Z",
        "updated_time": "2026-01-01T00:00:09Z",
        "deletion_time": null,
        "stack_owner": "alice",
        "parent": null,
        "stack_user_project_id": null,
        "outputs": [{
            "output_key": "url",
            "description": "No description given",
            "output_value": "http://web",
        }],
    } });
    let outputs = expected["stack"].as_object_mut().unwrap().remove("outputs").unwrap();
    let without = app.get(&format!("{path}?resolve_outputs=False")).await;
    assert_eq!(without.json(), expected);
    // The stack itself is asked for its outputs: it wakes, and goes on.
    expected["stack"]["outputs"] = outputs;
    assert_eq!(app.get(&path).await.json(), expected);
    app.stop().await;
}

#[actix::test]
async fn outputs_are_listed_without_their_values() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 11);
    let (stack, _) = story.created("web", &["net"]).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let path = format!("/stacks/web/{}", stack.id);
    assert_eq!(
        app.get(&format!("{path}/outputs")).await.json(),
        json!({ "outputs": [{ "output_key": "url", "description": "No description given" }] })
    );
    assert_eq!(
        app.get(&format!("{path}/outputs/url")).await.json()["output"]["output_value"],
        "http://web"
    );
    app.stop().await;
}

#[actix::test]
async fn a_definition_is_given_back_without_its_secrets() {
    let (app, told) = told().await;
    let path = format!("/stacks/web/{}", told.id);
    assert_eq!(
        app.get(&format!("{path}/template")).await.json(),
        json!({ "heat_template_version": "2021-04-16", "resources": {} })
    );
    assert_eq!(
        app.get(&format!("{path}/environment")).await.json(),
        json!({
            "parameters": { "key": "k", "password": "******" },
            "resource_registry": { "resources": {} },
            "parameter_defaults": {},
            "encrypted_param_names": [],
            "event_sinks": [],
        })
    );
    assert_eq!(app.get(&format!("{path}/files")).await.json(), json!({ "file:///a": "content" }));
    app.stop().await;
}

#[actix::test]
async fn resources_are_listed_as_heat_lists_them() {
    let (app, told) = told().await;
    let path = format!("/stacks/web/{}/resources", told.id);
    let listed = app.get(&path).await.json();
    assert_eq!(
        listed["resources"][0],
        json!({
            "resource_name": "net",
            "logical_resource_id": "net",
            "physical_resource_id": told.net,
            "resource_type": "OS::Heat::TestResource",
            "resource_status": "UPDATE_IN_PROGRESS",
            "resource_status_reason": "state changed",
            "creation_time": "2026-01-01T00:00:03Z",
            "updated_time": "2026-01-01T00:00:10Z",
            "links": [
                link(&format!("{}/resources/net", told.href), "self"),
                link(&told.href, "stack"),
            ],
            "required_by": ["port"],
        })
    );
    assert_eq!(listed["resources"][1]["updated_time"], "2026-01-01T00:00:03Z");
    let names = async |query: &str| {
        let listed = app.get(&format!("{path}?{query}")).await.json();
        let rows = listed["resources"].as_array().unwrap().clone();
        rows.iter().map(|row| row["resource_name"].as_str().unwrap().to_owned()).collect::<String>()
    };
    assert_eq!(names("status=COMPLETE").await, "port");
    assert_eq!(names("status=UPDATE_IN_PROGRESS").await, "net");
    assert_eq!(names("type=TestResource&name=port").await, "port");
    assert_eq!(names("type=Server").await, "");
    assert_eq!(names(&format!("physical_resource_id={}&nested_depth=1", told.net)).await, "net");
    assert_eq!(
        app.get(&format!("{path}/net/metadata")).await.json(),
        json!({ "metadata": { "role": "web" } })
    );
    app.stop().await;
}

#[actix::test]
async fn events_are_told_as_heat_tells_them() {
    let (app, told) = told().await;
    let path = format!("/stacks/web/{}/events", told.id);
    let listed = app.get(&format!("{path}?sort_dir=asc")).await.json();
    let events = listed["events"].as_array().unwrap();
    assert_eq!(events.len(), 8);
    let id = events[0]["id"].as_str().unwrap();
    let resource = format!("{}/resources/web", told.href);
    assert_eq!(
        events[0],
        json!({
            "id": id,
            "links": [
                link(&format!("{resource}/events/{id}"), "self"),
                link(&resource, "resource"),
                link(&told.href, "stack"),
            ],
            "event_time": "2026-01-01T00:00:03Z",
            "logical_resource_id": "web",
            "resource_name": "web",
            "physical_resource_id": told.id,
            "resource_status": "CREATE_IN_PROGRESS",
            "resource_status_reason": "Stack CREATE started",
        })
    );
    // A resource without an id yet is told by its name.
    let by_name = events[1]["physical_resource_id"].as_str().unwrap();
    assert!(by_name.starts_with("web-net-"), "{by_name}");
    assert_eq!(events[2]["physical_resource_id"], told.net);

    // Newest first by default; a marker goes on after itself, and an unknown one is ignored.
    let newest = app.get(&format!("{path}?limit=1")).await.json();
    assert_eq!(newest["events"][0], events[7]);
    let rest = app.get(&format!("{path}?sort_dir=asc&marker={id}")).await.json();
    assert_eq!(rest["events"].as_array().unwrap(), &events[1..]);
    let all = app.get(&format!("{path}?marker={}", told.id)).await.json();
    assert_eq!(all["events"].as_array().unwrap().len(), 8);

    // With a depth each event leads to the root.
    let deep = app.get(&format!("{path}?nested_depth=2&limit=1")).await.json();
    assert_eq!(deep["events"][0]["links"][3], link(&told.href, "root_stack"));

    let of_net = app.get(&format!("/stacks/web/{}/resources/net/events", told.id)).await.json();
    assert_eq!(of_net["events"].as_array().unwrap().len(), 3);
    let shown = events[2]["links"][0]["href"].as_str().unwrap();
    let headers = [("x-auth-token", app.token.as_str())];
    let shown = app.send("GET", shown, &headers, None).await.json();
    let mut expected = events[2].clone();
    expected["resource_type"] = "OS::Heat::TestResource".into();
    expected["resource_properties"] = json!({ "value": "v", "secret": "******" });
    assert_eq!(shown, json!({ "event": expected }));
    app.stop().await;
}

#[actix::test]
async fn a_name_leads_to_the_canonical_url_by_every_verb() {
    let (app, told) = told().await;
    let arn = format!("arn:openstack:heat::{}:stacks/web/{}", app.project, told.id);
    let encoded = arn.replace(':', "%3A").replace('/', "%2F");
    for (verb, path, end) in [
        ("GET", "/stacks/web".to_owned(), ""),
        ("PUT", "/stacks/web".to_owned(), ""),
        ("PATCH", "/stacks/web".to_owned(), ""),
        ("DELETE", "/stacks/web".to_owned(), ""),
        ("POST", "/stacks/web".to_owned(), ""),
        ("GET", format!("/stacks/{}", told.id), ""),
        ("GET", format!("/stacks/{arn}"), ""),
        ("GET", format!("/stacks/{encoded}"), ""),
        ("GET", format!("/stacks/{arn}/resources/a"), "/resources/a"),
        (
            "GET",
            "/stacks/web?resolve_outputs=False&a=b%20c".to_owned(),
            "?resolve_outputs=False&a=b%20c",
        ),
        (
            "GET",
            "/stacks/web/events?sort_dir=asc&marker=x".to_owned(),
            "/events?sort_dir=asc&marker=x",
        ),
        ("GET", "/stacks/web/resources".to_owned(), "/resources"),
        ("GET", "/stacks/web/template".to_owned(), "/template"),
        ("GET", "/stacks/web/environment".to_owned(), "/environment"),
        ("GET", "/stacks/web/files".to_owned(), "/files"),
        ("POST", "/stacks/web/actions".to_owned(), "/actions"),
    ] {
        let moved = app.ask(verb, &path, None).await;
        assert_eq!(moved.status, 302, "{verb} {path}: {}", moved.text);
        assert_eq!(moved.header("location"), format!("{}{end}", told.href), "{verb} {path}");
    }
    app.stop().await;
}

#[actix::test]
async fn a_deleted_stack_answers_by_its_id_and_lists_nothing() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 13);
    let (mut stack, ids) = story.created("web", &["net"]).await;
    story.walk(&mut stack, Action::Delete, &[]).await;
    story.act(&stack, "net", ids[0], Action::Delete).await;
    story.walked(&stack, Action::Delete, Status::Complete).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    assert_eq!(app.get("/stacks/web").await.status, 404);
    assert_eq!(app.get(&format!("/stacks/{}", stack.id)).await.status, 302);
    let path = format!("/stacks/web/{}", stack.id);
    let shown = app.get(&path).await.json();
    assert_eq!(shown["stack"]["stack_status"], "DELETE_COMPLETE");
    assert!(shown["stack"].get("outputs").is_none());
    assert_eq!(app.get(&format!("{path}/resources")).await.json(), json!({ "resources": [] }));
    assert_eq!(
        app.get(&format!("{path}/events")).await.json()["events"][0]["resource_status"],
        "DELETE_COMPLETE"
    );
    let nested = app.get(&format!("{path}/events?nested_depth=1")).await.json();
    assert_eq!(nested, json!({ "events": [] }));
    assert_eq!(app.get(&format!("{path}/outputs")).await.status, 404);
    assert_eq!(app.ask("DELETE", &path, None).await.status, 404);
    let listed = app.get("/stacks?show_deleted=true").await.json();
    assert!(listed["stacks"][0]["deletion_time"].is_string());
    app.stop().await;
}

#[actix::test]
async fn what_needs_no_stack_is_told() {
    let app = App::start().await;
    let versions = json!({ "versions": [{
        "id": "v1.0",
        "status": "CURRENT",
        "links": [{ "rel": "self", "href": format!("{}/v1/", app.url) }],
    }] });
    for path in ["/", "/versions", "/v2/anything"] {
        let answered = app.send("GET", path, &[], None).await;
        assert_eq!((answered.status, answered.json()), (300, versions.clone()), "{path}");
    }
    assert_eq!(app.send("GET", "/elsewhere", &[], None).await.status, 404);
    assert_eq!(app.send("GET", "/v1/", &[], None).await.status, 401);
    let healthy = app.send("GET", "/healthcheck", &[], None).await;
    assert_eq!((healthy.status, healthy.text.as_str()), (200, ""));
    assert_eq!(
        app.get("/build_info").await.json(),
        json!({ "api": { "revision": "unknown" }, "engine": { "revision": "unknown" } })
    );
    assert_eq!(app.get("/services").await.status, 403);
    let (token, project) = app.login("admin", "admin").await;
    let headers = [("x-auth-token", token.as_str())];
    let services = app.send("GET", &format!("/v1/{project}/services"), &headers, None).await;
    let service = &services.json()["services"][0];
    assert_eq!((&service["binary"], &service["status"]), (&json!("heat-engine"), &json!("up")));
    let types = app.get("/resource_types?name=OS::Heat::V").await.json();
    assert_eq!(types, json!({ "resource_types": ["OS::Heat::Value"] }));
    let types = app.get("/resource_types?name=OS::Heat::V&with_description=True").await.json();
    assert_eq!(types["resource_types"][0]["resource_type"], "OS::Heat::Value");
    let shown = app.get("/resource_types/OS%3A%3AHeat%3A%3AValue?with_description=False").await;
    assert_eq!(shown.json()["resource_type"], "OS::Heat::Value");
    let made = app.get("/resource_types/OS::Heat::Value/template?template_type=hot").await.json();
    assert_eq!(made["heat_template_version"], "2016-10-14");
    let versions = app.get("/template_versions").await.json();
    assert!(versions["template_versions"].as_array().unwrap().len() > 2);
    let path = "/template_versions/heat_template_version.2021-04-16/functions";
    let functions = app.get(&format!("{path}?with_condition_func=True")).await.json();
    let first = &functions["template_functions"][0];
    assert!(first["functions"].is_string() && first["description"].is_string());
    app.stop().await;
}
