//! Nested stacks through HTTP: lists that go down into them, links that lead there and back.

use serde_json::{Value, json};

use super::app::App;

fn inner(type_name: &str) -> String {
    let resource = json!({ "type": type_name });
    json!({ "heat_template_version": "2021-04-16", "resources": { "z": resource } }).to_string()
}

/// `n` is a child whose `z` is a child whose `z` is a test resource; `a` stands beside `n`.
fn body() -> Value {
    json!({
        "stack_name": "web",
        "template": { "heat_template_version": "2021-04-16", "resources": {
            "a": { "type": "OS::Heat::TestResource" },
            "n": { "type": "child.yaml", "depends_on": "a" },
        } },
        "files": {
            "child.yaml": inner("deep.yaml"),
            "deep.yaml": inner("OS::Heat::TestResource"),
        },
    })
}

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap_or_default()).collect()
}

/// The link of a kind, below the project's URL.
fn linked(app: &App, of: &Value, rel: &str) -> Option<String> {
    let links = of["links"].as_array().unwrap();
    let found = links.iter().find(|link| link["rel"] == rel)?;
    Some(found["href"].as_str().unwrap().split_once(&app.project).unwrap().1.to_owned())
}

#[actix::test]
async fn resources_stacks_and_events_are_listed_level_by_level() {
    let app = App::start().await;
    let created = app.ask("POST", "/stacks", Some(body())).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let web = app.settled("web").await;
    assert_eq!(web["stack_status"], "CREATE_COMPLETE", "{web}");
    assert_eq!(web["parent"], Value::Null);
    let base = linked(&app, &web, "self").unwrap();

    for (depth, wanted) in [(0, &["a", "n"][..]), (1, &["a", "n", "z"]), (9, &["a", "n", "z", "z"])]
    {
        let listed = app.get(&format!("{base}/resources?nested_depth={depth}")).await.json();
        let mut names = texts(&listed["resources"], "resource_name");
        names.sort_unstable();
        assert_eq!(names, wanted, "{depth} levels");
    }
    let listed = app.get(&format!("{base}/resources?nested_depth=1")).await.json();
    let named = |name: &str| {
        let resources = listed["resources"].as_array().unwrap();
        resources.iter().find(|resource| resource["resource_name"] == name).unwrap().clone()
    };
    assert_eq!(named("a").get("parent_resource"), None);
    assert_eq!(linked(&app, &named("a"), "nested"), None);
    assert_eq!(named("z")["parent_resource"], "n");
    let child_path = linked(&app, &named("n"), "nested").unwrap();
    assert_eq!(linked(&app, &named("z"), "stack").as_ref(), Some(&child_path));
    let child = app.get(&child_path).await.json()["stack"].clone();
    assert_eq!((&child["parent"], &child["id"]), (&web["id"], &named("n")["physical_resource_id"]));

    assert_eq!(texts(&app.get("/stacks").await.json()["stacks"], "stack_name"), ["web"]);
    let all = app.get("/stacks?show_nested=true&sort_keys=creation_time").await.json();
    let names = texts(&all["stacks"], "stack_name");
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[1].starts_with("web-n-") && names[2].starts_with(names[1]), "{names:?}");

    let own = app.get(&format!("{base}/events?sort_dir=asc")).await.json();
    assert_eq!(own["events"].as_array().unwrap().len(), 6);
    assert_eq!(linked(&app, &own["events"][0], "root_stack"), None);
    let deep = app.get(&format!("{base}/events?nested_depth=1&sort_dir=asc")).await.json();
    let events = deep["events"].as_array().unwrap();
    assert_eq!(events.len(), 10, "{:?}", texts(&deep["events"], "resource_name"));
    assert!(events.iter().all(|event| linked(&app, event, "root_stack") == Some(base.clone())));
    let within = events.iter().find(|event| event["resource_name"] == "z").unwrap();
    assert_eq!(linked(&app, within, "stack"), Some(child_path));
    let shown = app.get(&linked(&app, within, "self").unwrap()).await.json();
    assert_eq!(shown["event"]["id"], within["id"]);
    let marker = events[3]["id"].as_str().unwrap();
    let path = format!("{base}/events?nested_depth=1&sort_dir=asc&marker={marker}");
    assert_eq!(app.get(&path).await.json()["events"].as_array().unwrap().len(), 6);
    app.stop().await;
}

#[actix::test]
async fn a_preview_lists_what_a_child_would_have_in_the_place_of_its_resource() {
    let app = App::start().await;
    let planned = app.ask("POST", "/stacks/preview", Some(body())).await.json();
    let resources = planned["stack"]["resources"].as_array().unwrap();
    let flat = resources.iter().find(|resource| resource.is_object()).unwrap();
    assert_eq!(flat["resource_name"], "a");
    let nested = resources.iter().find(|resource| resource.is_array()).unwrap();
    assert_eq!(nested[0][0]["resource_name"], "z");
    assert_eq!(nested[0][0]["stack_name"], "web-n-z");
    assert_eq!(nested[0][0]["parent_resource"], "z");

    app.ask("POST", "/stacks", Some(body())).await;
    let web = app.settled("web").await;
    let base = linked(&app, &web, "self").unwrap();
    let mut changed = body();
    changed["files"]["deep.yaml"] = inner("OS::Heat::RandomString").into();
    let path = format!("{base}/preview?show_nested=true");
    let planned = app.ask("PUT", &path, Some(changed)).await.json();
    let changes = &planned["resource_changes"];
    assert_eq!(texts(&changes["unchanged"], "resource_name"), ["a"]);
    assert_eq!(texts(&changes["updated"], "resource_name"), ["n", "z"]);
    assert_eq!(texts(&changes["replaced"], "resource_name"), ["z"]);
    let parents = [&changes["updated"][0], &changes["updated"][1], &changes["replaced"][0]]
        .map(|changed| changed["parent_resource"].clone());
    assert_eq!(parents, [Value::Null, "n".into(), "z".into()]);
    app.stop().await;
}
