//! `GET …/history`: who did what, what it changed, and how long it took.

use hearth::events::stack::{DriftLooked, ResourceDrifted};
use hearth::events::{StackEvent, StreamId};
use hearth::model::{Action, Status};
use serde_json::{Value, json};

use super::app::App;
use super::story::Story;

#[actix::test]
async fn actions_are_told_with_what_they_did_and_the_longest_path() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 51);
    let (mut web, ids) = story.created("web", &["net", "port"]).await;
    story.revision(&web, 2, &["green"]).await;
    story.walk(&mut web, Action::Update, &[("net", ids[0]), ("port", ids[1])]).await;
    story.start(&web, "port", ids[1], Action::Update).await;
    story.settle(&web, ids[1], Action::Update, Status::Failed).await;
    story.walked(&web, Action::Update, Status::Failed).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let url = format!("/stacks/web/{}/history", web.id);
    let told = app.get(&url).await.json();
    let told = told["history"].as_array().unwrap();
    let of = |action: &Value| {
        json!([
            action["position"],
            action["action"],
            action["status"],
            action["seconds"],
            action["user_name"],
            action["request_id"]
        ])
    };
    let actions: Vec<Value> = told.iter().map(of).collect();
    assert_eq!(
        actions,
        [
            json!([10, "UPDATE", "FAILED", 3.0, "alice", "req-1"]),
            json!([3, "CREATE", "COMPLETE", 5.0, "alice", "req-1"]),
        ]
    );
    let acts = |action: &Value| -> Vec<Value> {
        let rows = action["resources"].as_array().unwrap().iter();
        rows.map(|row| {
            json!([row["resource_name"], row["status"], row["seconds"], row["longest_path"]])
        })
        .collect()
    };
    assert_eq!(acts(&told[0]), [json!(["port", "FAILED", 1.0, true])]);
    assert_eq!(
        acts(&told[1]),
        [json!(["net", "COMPLETE", 1.0, true]), json!(["port", "COMPLETE", 1.0, true]),]
    );
    let positions = async |query: &str| {
        let told = app.get(&format!("{url}{query}")).await.json();
        let told = told["history"].as_array().unwrap().iter();
        told.map(|action| action["position"].as_u64().unwrap()).collect::<Vec<u64>>()
    };
    assert_eq!(positions("?limit=1").await, [10]);
    assert_eq!(positions("?limit=1&marker=10").await, [3]);
    assert_eq!(positions("?limit=1&marker=3").await, Vec::<u64>::new());
    assert_eq!(positions("?limit=0").await, Vec::<u64>::new());
    for marker in [1, 4, 1_000] {
        let answer = app.get(&format!("{url}?marker={marker}")).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
    }
    let of_net = app.get(&format!("{url}?resource=net")).await.json();
    assert_eq!(of_net["history"][0]["resources"], json!([]));
    assert_eq!(of_net["history"][1]["resources"][0]["resource_name"], "net");
    assert_eq!(app.get(&format!("{url}?limit=many")).await.status, 400);
    app.stop().await;
}

#[actix::test]
async fn an_action_in_whose_midst_another_began_is_superseded_and_its_work_ends_there() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 53);
    let (mut web, ids) = story.created("web", &["net", "port"]).await;
    story.walk(&mut web, Action::Update, &[("net", ids[0]), ("port", ids[1])]).await;
    story.start(&web, "net", ids[0], Action::Update).await;
    story.walk(&mut web, Action::Update, &[("net", ids[0]), ("port", ids[1])]).await;
    story.settle(&web, ids[0], Action::Update, Status::Complete).await;
    story.start(&web, "net", ids[0], Action::Update).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let told = app.get(&format!("/stacks/web/{}/history", web.id)).await.json();
    let of = |action: &Value| json!([action["status"], action["resources"][0]["status"]]);
    let told: Vec<Value> = told["history"].as_array().unwrap().iter().map(of).collect();
    let expected = [
        json!(["IN_PROGRESS", "IN_PROGRESS"]),
        json!(["SUPERSEDED", "COMPLETE"]),
        json!(["COMPLETE", "COMPLETE"]),
    ];
    assert_eq!(told, expected);
    app.stop().await;
}

#[actix::test]
async fn what_a_revision_changed_is_told_place_by_place_without_secrets() {
    let app = App::start().await;
    let template = |value: &str| {
        json!({
            "heat_template_version": "2018-08-31",
            "parameters": {
                "size": { "type": "string", "default": "small" },
                "password": { "type": "string", "hidden": true },
            },
            "resources": {
                "text": { "type": "OS::Heat::Value", "properties": { "value": value } },
            },
        })
    };
    let body = |value: &str, size: &str, password: &str| {
        json!({
            "stack_name": "web",
            "template": template(value),
            "parameters": { "size": size, "password": password },
        })
    };
    let created = app.ask("POST", "/stacks", Some(body("one", "small", "hush-1"))).await.json();
    app.settled("web").await;
    let url = format!("/stacks/web/{}", created["stack"]["id"].as_str().unwrap());
    let updated = app.ask("PUT", &url, Some(body("two", "large", "hush-2"))).await;
    assert_eq!(updated.status, 202, "{}", updated.text);
    app.settled("web").await;
    let answer = app.get(&format!("{url}/history")).await;
    assert!(!answer.text.contains("hush"), "{}", answer.text);
    let told = answer.json();
    assert_eq!(told["history"][0]["revision"], 2);
    assert_eq!(
        told["history"][0]["changes"],
        json!({
            "template": [{ "place": "resources.text.properties.value", "old": "one", "new": "two" }],
            "parameters": [{ "place": "size", "old": "small", "new": "large" }],
            "environment": [],
        })
    );
    let nothing = json!({ "template": [], "parameters": [], "environment": [] });
    assert_eq!(told["history"][1]["changes"], nothing);
    let of_first = app.get(&format!("{url}/history?revision=1")).await.json();
    assert_eq!(of_first["history"].as_array().unwrap().len(), 1);
    app.stop().await;
}

#[actix::test]
async fn what_looks_at_the_cloud_have_found_is_told_with_the_action_before_them() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 52);
    let (mut web, ids) = story.created("web", &["net"]).await;
    let looked = async |paths: &[&str]| {
        let drifted = |path: &&str| ResourceDrifted {
            path: (*path).to_owned(),
            type_name: "OS::Neutron::Net".to_owned(),
            drift: "gone".to_owned(),
            properties: Vec::new(),
        };
        let resources = paths.iter().map(drifted).collect();
        let looked = StackEvent::from(DriftLooked { same: 1, resources, more: 0 });
        story.write(StreamId::stack(web.id), looked).await.position
    };
    looked(&[]).await;
    let first = looked(&["net"]).await;
    let second = looked(&["net", "inner/net"]).await;
    story.walk(&mut web, Action::Update, &[("net", ids[0])]).await;
    story.walked(&web, Action::Update, Status::Complete).await;
    app.views.after(app.log.durable_position()).await.unwrap();

    let url = format!("/stacks/web/{}/history", web.id);
    let told = app.get(&url).await.json();
    let (update, create) = (&told["history"][0]["drift"], &told["history"][1]["drift"]);
    assert_eq!(*update, json!({ "looks": 0, "looked_at": null, "findings": [] }));
    assert_eq!(create["looks"], 3);
    let found: Vec<u64> = create["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["position"].as_u64().unwrap())
        .collect();
    assert_eq!(found, [second.0, first.0]);
    let resources = &create["findings"][0]["resources"];
    assert_eq!(
        (&resources[1]["path"], &resources[1]["drift"]),
        (&json!("inner/net"), &json!("gone"))
    );
    let of_inner = app.get(&format!("{url}?resource=inner")).await.json();
    let findings = of_inner["history"][1]["drift"]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0]["resources"][0]["path"], "inner/net");
    app.stop().await;
}
