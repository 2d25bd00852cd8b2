//! Previews beside those that Heat 27.0.1 gives for the same templates (`tests/data/previews`).
//! What chance or time makes is left out on both sides.

use std::sync::LazyLock;

use fancy_regex::Regex;
use serde_json::{Value, json};

use super::app::App;

/// What follows from chance: ids, and the ends of names.
static CHANCE: LazyLock<Regex> = LazyLock::new(|| {
    let id = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";
    Regex::new(&format!("{id}|(?<![^-/])[a-z0-9]{{12}}(?![^-/])")).unwrap()
});

struct Case {
    id: String,
    body: Value,
    /// The body of an update of the stack that the first one makes.
    update: Value,
    is_nested: bool,
    heat: Value,
}

fn cases(kind: &str) -> Vec<Case> {
    let path = format!("{}/tests/data/previews/{kind}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(path).unwrap();
    let case = |line: &str| {
        let mut case: Value = serde_json::from_str(line).unwrap();
        Case {
            id: case["id"].as_str().unwrap().to_owned(),
            body: json!({ "template": case["template"], "files": case["files"] }),
            update: case["update"].take(),
            is_nested: case["nested"] == true,
            heat: case["heat"].take(),
        }
    };
    lines.lines().map(case).collect()
}

/// A value without chance, time and order.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let entries =
                map.iter().filter(|(key, _)| *key != "tenant" && *key != "OS::project_id");
            let plain_entry = |(key, value): (&String, &Value)| {
                let is_time = ["creation_time", "updated_time"].contains(&key.as_str());
                let value = if is_time { value.is_string().into() } else { plain(value) };
                (key.clone(), value)
            };
            let mut entries: Vec<_> = entries.map(plain_entry).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(plain).collect();
            items.sort_by_key(Value::to_string);
            items.into()
        }
        Value::String(text) => CHANCE.replace_all(text, "<chance>").into_owned().into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Where two values differ, a line each.
fn differences(at: &str, heat: &Value, ours: &Value, found: &mut Vec<String>) {
    match (heat, ours) {
        (Value::Object(heat), Value::Object(ours)) => {
            for (key, value) in heat {
                let own = ours.get(key).unwrap_or(&Value::Null);
                differences(&format!("{at}.{key}"), value, own, found);
            }
            for key in ours.keys().filter(|key| !heat.contains_key(*key)) {
                found.push(format!("{at}: Heat has no {key} ({})", ours[key]));
            }
        }
        (Value::Array(heat), Value::Array(ours)) if heat.len() == ours.len() => {
            for (index, (heat, ours)) in heat.iter().zip(ours).enumerate() {
                let name = |of: &Value| of["resource_name"].as_str().map(str::to_owned);
                let index = name(heat).unwrap_or_else(|| index.to_string());
                differences(&format!("{at}[{index}]"), heat, ours, found);
            }
        }
        (heat, ours) if heat != ours => found.push(format!("{at}: Heat {heat}, ours {ours}")),
        _ => {}
    }
}

/// The differences that are meant: where, and what Heat has there.
const MEANT: [(&str, &str); 11] = [
    // Those of a group that stands are read as `resource show` reads them.
    (".attributes.refs", "Heat null,"),
    (".attributes.refs_map", "Heat null,"),
    // Of what is not made nothing is known but what the template says.
    (".attributes.removed_rsrc_list", "Heat [],"),
    (".attributes.private_key", "Heat \"\","),
    // A reference to what is not made is its name, for every type.
    (".key_name", "Heat \"\","),
    (".port", "Heat \"\","),
    (".network", "Heat \"\","),
    (".router", "Heat \"\","),
    (".subnet", "Heat \"\","),
    // A value is shown as it was given.
    ("values.resources[n].properties.value", "Heat 5,"),
    ("values.resources[s].properties.value", "Heat \"5\","),
];

fn compare(id: &str, heat: &Value, ours: &Value, found: &mut Vec<String>) {
    let mut all = Vec::new();
    differences(id, &plain(heat), &plain(ours), &mut all);
    let is_meant = |line: &str| {
        let (at, values) = line.split_once(": ").unwrap();
        MEANT.iter().any(|(end, heat)| at.ends_with(end) && values.starts_with(heat))
    };
    found.extend(all.into_iter().filter(|line| !is_meant(line)));
}

#[actix::test]
async fn a_preview_of_a_create_is_heats() {
    let app = App::start().await;
    let mut found = Vec::new();
    for Case { id, mut body, heat, .. } in cases("create") {
        body["stack_name"] = "exam".into();
        let answered = app.ask("POST", "/stacks/preview", Some(body)).await;
        if answered.status != 200 {
            found.push(format!("{id}: {}", answered.text));
            continue;
        }
        let mut ours = answered.json()["stack"].take();
        ours.as_object_mut().unwrap().retain(|key, _| heat.get(key).is_some());
        compare(&id, &heat, &ours, &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    app.stop().await;
}

#[actix::test]
async fn a_preview_of_an_update_is_heats() {
    let app = App::start().await;
    let mut found = Vec::new();
    for Case { id, mut body, update, is_nested, heat } in cases("update") {
        body["stack_name"] = id.as_str().into();
        let created = app.ask("POST", "/stacks", Some(body)).await;
        assert_eq!(created.status, 201, "{id}: {}", created.text);
        let stack = app.settled(&id).await;
        assert_eq!(stack["stack_status"], "CREATE_COMPLETE", "{id}: {stack}");
        let path = format!(
            "/stacks/{id}/{}/preview?show_nested={is_nested}",
            stack["id"].as_str().unwrap()
        );
        let answered = app.ask("PUT", &path, Some(update)).await;
        assert_eq!(answered.status, 200, "{id}: {}", answered.text);
        compare(&id, &heat, &answered.json()["resource_changes"], &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    app.stop().await;
}

#[actix::test]
async fn a_handle_that_changes_is_shown_with_the_signals_that_it_has() {
    let app = App::start().await;
    let with = |note: &str| {
        json!({ "stack_name": "web", "template": {
            "heat_template_version": "2021-04-16",
            "resources": { "handle": {
                "type": "OS::Heat::WaitConditionHandle", "metadata": { "note": note } } },
        } })
    };
    let created = app.ask("POST", "/stacks", Some(with("one"))).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let id = app.settled("web").await["id"].as_str().unwrap().to_owned();
    let base = format!("/stacks/web/{id}");
    let signal = json!({ "id": "7", "data": "d", "status": "SUCCESS", "reason": "r" });
    let path = format!("{base}/resources/handle/signal");
    assert_eq!(app.ask("POST", &path, Some(signal)).await.status, 200);

    let answered = app.ask("PUT", &format!("{base}/preview"), Some(with("two"))).await;
    let planned = answered.json()["resource_changes"]["updated"][0].take();
    assert_eq!(planned["resource_name"], "handle", "{}", answered.text);
    let known = app.get(&format!("{base}/resources/handle/metadata")).await.json();
    assert_eq!(planned["metadata"], known["metadata"]);
    assert_eq!(planned["metadata"]["7"]["data"], "d");
    app.stop().await;
}
