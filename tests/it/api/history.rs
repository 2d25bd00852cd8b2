//! `GET …/history`: who did what, what it changed, and how long it took.

use hearth::events::resource::RealityObserved;
use hearth::events::stack::{DriftLooked, ResourceDrifted};
use hearth::events::{ResourceEvent, StackEvent, StreamId};
use hearth::model::{Action, Status};
use serde_json::{Value, json};

use super::app::App;
use super::story::{Stack, Story};

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
            "settings": [],
        })
    );
    let nothing = json!({ "template": [], "parameters": [], "environment": [], "settings": [] });
    assert_eq!(told["history"][1]["changes"], nothing);
    let of_first = app.get(&format!("{url}/history?revision=1")).await.json();
    assert_eq!(of_first["history"].as_array().unwrap().len(), 1);
    app.stop().await;
}

#[actix::test]
async fn why_there_is_a_revision_is_told() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": { "text": { "type": "OS::Heat::Value", "properties": { "value": "one" } } },
    });
    let body = json!({ "stack_name": "web", "template": template });
    let created = app.ask("POST", "/stacks", Some(body)).await.json();
    app.settled("web").await;
    let url = format!("/stacks/web/{}", created["stack"]["id"].as_str().unwrap());
    let actions = format!("{url}/actions");
    for (verb, path, body) in [
        ("PATCH", &url, json!({ "tags": "hearth:drift_every=6h" })),
        ("POST", &actions, json!({ "rollback": { "to": 1 } })),
        ("POST", &actions, json!({ "repair": null })),
    ] {
        let answer = app.ask(verb, path, Some(body)).await;
        assert!(answer.status < 300, "{}", answer.text);
        app.settled("web").await;
    }
    let told = app.get(&format!("{url}/history")).await.json();
    let told = told["history"].as_array().unwrap();
    let of =
        |action: &Value| json!([action["revision"], action["back_to"], action["settles_drift"]]);
    let expected = [
        json!([4, null, "repair"]),
        json!([3, 1, null]),
        json!([2, null, null]),
        json!([1, null, null]),
    ];
    assert_eq!(told.iter().map(of).collect::<Vec<_>>(), expected);
    let tagged = json!([{ "place": "tags", "old": [], "new": ["hearth:drift_every=6h"] }]);
    assert_eq!(told[2]["changes"]["settings"], tagged);
    app.stop().await;
}

#[actix::test]
async fn what_a_check_found_is_told_with_it() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 54);
    let (mut web, ids) = story.created("web", &["net", "port", "disk"]).await;
    let nodes = [("net", ids[0]), ("port", ids[1]), ("disk", ids[2])];
    story.walk(&mut web, Action::Check, &nodes).await;
    for (id, gone) in [(ids[0], false), (ids[1], true)] {
        let properties = json!({ "value": "theirs" }).as_object().cloned().unwrap();
        let observed = RealityObserved {
            traversal: web.traversal,
            gone,
            properties: if gone { Default::default() } else { properties },
        };
        story.write(StreamId::resource(id), ResourceEvent::from(observed)).await;
        // There is nothing to be done where the type has no check.
        story.settle(&web, id, Action::Check, Status::Complete).await;
    }
    story.start(&web, "disk", ids[2], Action::Check).await;
    story.settle(&web, ids[2], Action::Check, Status::Failed).await;
    story.walked(&web, Action::Check, Status::Failed).await;
    app.views.after(app.log.durable_position()).await.unwrap();

    let url = format!("/stacks/web/{}/history", web.id);
    let told = app.get(&url).await.json();
    let check = &told["history"][0];
    let rows = check["resources"].as_array().unwrap().iter();
    let rows: Vec<Value> =
        rows.map(|row| json!([row["resource_name"], row["action"], row["status"]])).collect();
    let expected = [
        json!(["net", "CHECK", "COMPLETE"]),
        json!(["port", "CHECK", "COMPLETE"]),
        json!(["disk", "CHECK", "FAILED"]),
    ];
    assert_eq!(rows, expected);
    let findings = check["drift"]["findings"].as_array().unwrap();
    assert_eq!((findings.len(), &findings[0]["by"]), (1, &json!("CHECK")));
    let type_name = "OS::Heat::TestResource";
    let expected = json!([
        { "path": "net", "type_name": type_name, "drift": "differs",
          "properties": [{ "name": "value", "live": "theirs" }] },
        { "path": "port", "type_name": type_name, "drift": "gone" },
    ]);
    assert_eq!(findings[0]["resources"], expected);
    let of_port = app.get(&format!("{url}?resource=port")).await.json();
    let of_port = &of_port["history"][0]["drift"]["findings"][0]["resources"];
    assert_eq!((of_port.as_array().unwrap().len(), &of_port[0]["path"]), (1, &json!("port")));
    app.stop().await;
}

/// The resources of the newest action that were on the longest path, and how each ended and when.
async fn newest_acts(app: &App, stack: &Stack) -> Vec<Value> {
    app.views.after(app.log.durable_position()).await.unwrap();
    let told = app.get(&format!("/stacks/web/{}/history?limit=1", stack.id)).await.json();
    let rows = told["history"][0]["resources"].as_array().unwrap().iter();
    let of = |row: &Value| {
        let path = if row["longest_path"] == true { "longest" } else { "beside" };
        json!([row["resource_name"], row["action"], row["status"], row["seconds"], path])
    };
    rows.map(of).collect()
}

#[actix::test]
async fn the_longest_path_of_what_is_left_out_goes_by_what_required_it_before() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 55);
    let (mut web, ids) = story.created("web", &["net", "port", "disk"]).await;
    let longest = |name: &str, status: &str| json!([name, "DELETE", status, 1.0, "longest"]);
    story.walk(&mut web, Action::Update, &[("net", ids[0])]).await;
    story.act(&web, "disk", ids[2], Action::Delete).await;
    story.act(&web, "port", ids[1], Action::Delete).await;
    story.walked(&web, Action::Update, Status::Complete).await;
    let expected = [longest("disk", "COMPLETE"), longest("port", "COMPLETE")];
    assert_eq!(newest_acts(&app, &web).await, expected);

    let fresh = story.fresh_resource();
    story.walk(&mut web, Action::Update, &[("net", ids[0]), ("port", fresh)]).await;
    story.act(&web, "port", fresh, Action::Create).await;
    story.walked(&web, Action::Update, Status::Complete).await;
    story.walk(&mut web, Action::Delete, &[]).await;
    story.start(&web, "port", fresh, Action::Delete).await;
    story.settle(&web, fresh, Action::Delete, Status::Failed).await;
    story.walked(&web, Action::Delete, Status::Failed).await;
    story.walk(&mut web, Action::Delete, &[]).await;
    story.act(&web, "port", fresh, Action::Delete).await;
    story.act(&web, "net", ids[0], Action::Delete).await;
    story.walked(&web, Action::Delete, Status::Complete).await;
    let expected = [longest("port", "COMPLETE"), longest("net", "COMPLETE")];
    assert_eq!(newest_acts(&app, &web).await, expected);
    app.stop().await;
}

#[actix::test]
async fn two_incarnations_of_a_name_that_go_at_once_are_told_apart() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 56);
    let (mut web, ids) = story.created("web", &["net"]).await;
    story.walk(&mut web, Action::Update, &[("net", ids[0])]).await;
    let new = story.replace(&web, "net", ids[0]).await;
    story.act(&web, "net", new, Action::Create).await;
    story.walk(&mut web, Action::Delete, &[]).await;
    for id in [ids[0], new] {
        story.start(&web, "net", id, Action::Delete).await;
    }
    story.settle(&web, new, Action::Delete, Status::Complete).await;
    story.settle(&web, ids[0], Action::Delete, Status::Failed).await;
    story.walked(&web, Action::Delete, Status::Failed).await;
    let expected = [
        json!(["net", "DELETE", "FAILED", 3.0, "longest"]),
        json!(["net", "DELETE", "COMPLETE", 1.0, "beside"]),
    ];
    assert_eq!(newest_acts(&app, &web).await, expected);
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
