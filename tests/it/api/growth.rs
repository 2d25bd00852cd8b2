//! How much somebody can have kept for ever: in one request, in many, and in a day.

use std::sync::Arc;

use hearth::actors::EngineLimits;
use hearth::clock::{Clock, SystemClock};
use hearth::events::Position;
use hearth::events::log::{EventLog, Filter, MemoryLog};
use hearth::model::ProjectId;
use hearth::projections::Views;
use serde_json::{Value, json};

use super::app::{Answered, App, SetUp};

fn message(refused: &Answered) -> String {
    refused.json()["error"]["message"].as_str().unwrap().to_owned()
}

/// How much there is in the bodies of all events.
async fn recorded(log: &dyn EventLog) -> usize {
    let events = log.read_all(Position(0), &Filter::default(), usize::MAX).await.unwrap();
    events.iter().map(|event| event.body.len()).sum()
}

fn handle() -> Value {
    json!({
        "heat_template_version": "2018-08-31",
        "resources": { "handle": { "type": "OS::Heat::WaitConditionHandle", "properties": {
            "signal_transport": "NO_SIGNAL" } } },
    })
}

#[actix::test]
async fn a_hundred_signals_of_a_megabyte_fill_neither_the_log_nor_the_memory() {
    let app = App::start().await;
    let stack = app.create("web", handle()).await;
    let path = format!("/stacks/web/{}/resources/handle/signal", stack["id"].as_str().unwrap());
    let signal = async |id: &str, bytes: usize| {
        let body = json!({ "id": id, "data": "x".repeat(bytes) });
        app.ask("POST", &path, Some(body)).await
    };
    let before = recorded(app.log.as_ref()).await;
    let refused = signal("large", 1_000_000).await;
    assert_eq!(refused.status, 400);
    let text = "Request limit exceeded: Signal size (1000024 bytes) exceeds maximum allowed size \
                (262144 bytes).";
    assert_eq!(message(&refused), text);
    assert_eq!(recorded(app.log.as_ref()).await, before, "nothing of it is kept");
    let mut taken = 0;
    for number in 0..100 {
        let answered = signal(&number.to_string(), 200_000).await;
        match answered.status {
            200 => taken += 1,
            status => {
                assert_eq!(status, 400, "{}", answered.text);
                assert!(message(&answered).starts_with("Request limit exceeded: Signals to the"));
            }
        }
    }
    assert!((3..=5).contains(&taken), "{taken}");
    assert!(recorded(app.log.as_ref()).await < before + 2_000_000);
    let replaced = signal("0", 200_001).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text);
    app.stop().await;
}

#[actix::test]
async fn a_hundred_signals_of_a_stack_user_leave_no_more_than_a_few_of_them() {
    // Small ones, of which a hundred take no minute to be sealed.
    const SIGNAL: usize = 16_384;
    let app =
        App::within(EngineLimits { max_signal_size: SIGNAL, ..EngineLimits::default() }).await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": { "handle": { "type": "OS::Heat::WaitConditionHandle" } },
    });
    let stack = app.create("web", template).await;
    let stack = format!("/stacks/web/{}", stack["id"].as_str().unwrap());
    let shown = app.get(&format!("{stack}/resources/handle")).await.json();
    let attributes = &shown["resource"]["attributes"];
    let token = [("x-auth-token", attributes["token"].as_str().unwrap())];
    let (_, place) = attributes["endpoint"].as_str().unwrap().split_once("/v1/").unwrap();
    let path = format!("/v1/{place}");
    let signal = async |number: usize, bytes: usize| {
        let around = json!({ "id": "0", "data": "" }).to_string().len();
        let body = json!({ "id": (number % 3).to_string(), "data": "x".repeat(bytes - around) });
        app.send("POST", &path, &token, Some(body.to_string())).await
    };
    let before = recorded(app.log.as_ref()).await;
    for number in 0..100 {
        let taken = signal(number, SIGNAL).await;
        assert_eq!(taken.status, 200, "{}", taken.text);
    }
    let refused = signal(0, SIGNAL + 1).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    // The log has them all, sealed, within the bound of a day; what is worked with has three.
    let grown = recorded(app.log.as_ref()).await - before;
    assert!((100 * SIGNAL..150 * SIGNAL).contains(&grown), "{grown}");
    let (metadata, _) = path.rsplit_once("/signal").unwrap();
    let kept = app.send("GET", &format!("{metadata}/metadata"), &token, None).await;
    assert!((3 * SIGNAL - 100..4 * SIGNAL).contains(&kept.text.len()), "{}", kept.text.len());
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("views.db");
    let views = Views::open(&file, app.log.clone()).await.unwrap();
    views.after(app.log.durable_position()).await.unwrap();
    views.close().await;
    let written = std::fs::metadata(&file).unwrap().len();
    assert!(written < 50 * SIGNAL as u64, "views of {written} bytes");
    app.stop().await;
}

#[actix::test]
async fn an_answer_is_bounded_whatever_it_is_put_together_of() {
    let limits = EngineLimits { enable_stack_abandon: true, ..EngineLimits::default() };
    let setup = SetUp { json_body_size_max: usize::MAX, limits, ..SetUp::default() };
    let app = App::set_up(Arc::new(MemoryLog::new()), setup).await;
    let large = (0..34).map(|number| (number.to_string(), "x".repeat(500_000).into()));
    let mut files: serde_json::Map<String, Value> = large.collect();
    let nested = json!({ "heat_template_version": "2018-08-31" }).to_string();
    files.insert("child.yaml".into(), nested.into());
    let body = json!({
        "stack_name": "web",
        "template": { "heat_template_version": "2018-08-31",
                      "resources": { "child": { "type": "child.yaml" } } },
        "files": files,
    });
    let made = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");
    let stack = format!("/stacks/web/{}", made.json()["stack"]["id"].as_str().unwrap());
    let too_large = |answered: Answered| {
        assert_eq!(answered.status, 400, "{} bytes", answered.text.len());
        let text = "Request limit exceeded: The answer exceeds maximum allowed size (33554432 \
                    bytes).";
        assert_eq!(message(&answered), text);
    };
    // The files of each: the stack's own, and its child's.
    assert_eq!(app.get(&format!("{stack}/files")).await.status, 200);
    too_large(app.get(&format!("{stack}/export")).await);
    too_large(app.ask("DELETE", &format!("{stack}/abandon"), None).await);
    assert_eq!(app.get(&stack).await.status, 200, "it is not abandoned for nothing");
    for name in ["one", "two"] {
        let path = format!("{stack}/snapshots");
        let taken = app.ask("POST", &path, Some(json!({ "name": name }))).await;
        assert_eq!(taken.status, 200, "{}", taken.text);
        app.settled("web").await;
    }
    too_large(app.get(&format!("{stack}/snapshots")).await);
    app.stop().await;
}

#[actix::test]
async fn more_tags_than_anybody_needs_are_refused_and_break_nothing() {
    let app = App::start().await;
    let tags = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>().join(",");
    for parameter in ["tags", "tags_any", "not_tags", "not_tags_any"] {
        let refused = app.get(&format!("/stacks?{parameter}={}", tags(1000))).await;
        assert_eq!(refused.status, 400, "{parameter}: {}", refused.text);
        assert_eq!(message(&refused), "Invalid tags, there are 1000 and may be 200");
        let listed = app.get(&format!("/stacks?{parameter}={}", tags(200))).await;
        assert_eq!(listed.status, 200, "{parameter}: {}", listed.text);
    }
    let create = |tags: String| {
        let template = json!({ "heat_template_version": "2018-08-31" });
        Some(json!({ "stack_name": "web", "template": template, "tags": tags }))
    };
    assert_eq!(app.ask("POST", "/stacks", create(tags(1000))).await.status, 400);
    let long = app.ask("POST", "/stacks", create("t".repeat(81))).await;
    assert!(message(&long).ends_with("is longer than 80 characters"), "{}", long.text);
    assert_eq!(app.ask("POST", "/stacks", create(tags(200))).await.status, 201);
    app.stop().await;
}

#[actix::test]
async fn names_and_reasons_are_no_longer_than_heats_columns() {
    let app = App::start().await;
    let stack = app.create("web", handle()).await;
    let stack = format!("/stacks/web/{}", stack["id"].as_str().unwrap());
    let made = app.ask("POST", "/software_configs", Some(json!({ "name": "c" }))).await;
    let config = made.json()["software_config"]["id"].clone();
    let name = "n".repeat(256);
    let reason = "r".repeat(65_536);
    let deployments = "/software_deployments".to_owned();
    for (verb, path, body, field, most) in [
        ("POST", "/software_configs".to_owned(), json!({ "name": name }), "name", 255),
        ("POST", "/software_configs".to_owned(), json!({ "group": name }), "group", 255),
        ("POST", format!("{stack}/snapshots"), json!({ "name": name }), "name", 255),
        (
            "POST",
            deployments.clone(),
            json!({ "config_id": config, "server_id": name }),
            "server_id",
            255,
        ),
        (
            "POST",
            deployments.clone(),
            json!({ "config_id": config, "server_id": "s", "status": name }),
            "status",
            255,
        ),
        (
            "POST",
            deployments,
            json!({ "config_id": config, "server_id": "s", "status_reason": reason }),
            "status_reason",
            65_535,
        ),
        (
            "PATCH",
            format!("{stack}/resources/handle"),
            json!({ "mark_unhealthy": true, "resource_status_reason": reason }),
            "resource_status_reason",
            65_535,
        ),
    ] {
        let refused = app.ask(verb, &path, Some(body)).await;
        assert_eq!(refused.status, 400, "{field}: {}", refused.text);
        let text = format!(
            "Data supplied was not valid: \"{field}\" should be no more than {most} characters"
        );
        assert_eq!(message(&refused), text);
    }
    app.stop().await;
}

#[actix::test]
async fn files_that_a_patch_adds_to_those_before_do_not_grow_without_end() {
    let app = App::start().await;
    let body =
        json!({ "stack_name": "web", "template": { "heat_template_version": "2018-08-31" } });
    let made = app.ask("POST", "/stacks", Some(body)).await.json();
    let path = format!("/stacks/web/{}", made["stack"]["id"].as_str().unwrap());
    let mut refused = None;
    for number in 0..30 {
        app.settled("web").await;
        let files = json!({ format!("file-{number}"): "x".repeat(1_000_000) });
        let patched = app.ask("PATCH", &path, Some(json!({ "files": files }))).await;
        if patched.status != 202 {
            refused = Some((number, patched));
            break;
        }
    }
    let (number, refused) = refused.unwrap();
    assert_eq!((number, refused.status), (25, 400), "{}", refused.text);
    let text = "Request limit exceeded: Template with environment and files size (";
    assert!(message(&refused).starts_with(text), "{}", refused.text);
    app.stop().await;
}

#[actix::test]
async fn a_project_that_wrote_its_share_of_a_day_writes_no_more_and_still_gives_back() {
    let log = Arc::new(MemoryLog::new());
    let limit = 2_000_000;
    let app = App::writing(log.clone(), limit).await;
    let stack = app.create("web", handle()).await;
    let stack = format!("/stacks/web/{}", stack["id"].as_str().unwrap());
    let config = json!({ "name": "c", "config": "x".repeat(200_000) });
    let mut made = Vec::new();
    let refused = loop {
        let answered = app.ask("POST", "/software_configs", Some(config.clone())).await;
        if answered.status != 200 {
            break answered;
        }
        let id = answered.json()["software_config"]["id"].as_str().unwrap().to_owned();
        // What is deleted was written all the same.
        let path = format!("/software_configs/{id}");
        assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
        made.push(id);
        assert!(made.len() < 60, "the share is never used up");
    };
    assert_eq!(refused.status, 403, "{}", refused.text);
    let text = format!(
        "Request limit exceeded: You have reached the maximum of {limit} bytes that a project may \
         have recorded in a day. Please try again later."
    );
    assert_eq!(message(&refused), text);
    assert!(recorded(log.as_ref()).await < limit + 300_000);
    let template = json!({ "heat_template_version": "2018-08-31" });
    for (verb, path, body) in [
        ("POST", "/stacks".to_owned(), json!({ "stack_name": "more", "template": template })),
        ("PUT", stack.clone(), json!({ "template": handle() })),
        ("PATCH", stack.clone(), json!({})),
        ("POST", format!("{stack}/actions"), json!({ "check": null })),
        ("POST", format!("{stack}/snapshots"), json!({})),
        ("POST", format!("{stack}/resources/handle/signal"), json!({ "id": "1" })),
        ("PATCH", format!("{stack}/resources/handle"), json!({ "mark_unhealthy": true })),
        ("POST", "/software_configs".to_owned(), json!({ "name": "small" })),
    ] {
        let refused = app.ask(verb, &path, Some(body)).await;
        assert_eq!(refused.status, 403, "{verb} {path}: {}", refused.text);
    }
    // Neither views that are made anew count less, nor does it count for others.
    let now = SystemClock.now();
    let counted = async |views: &Views| {
        views.after(log.durable_position()).await.unwrap();
        views.written(&ProjectId::from(app.project.as_str()), now).await.unwrap()
    };
    let anew = Views::in_memory(log.clone()).await.unwrap();
    assert_eq!(counted(&anew).await, counted(&app.views).await);
    assert!(counted(&anew).await >= limit as u64);
    let (token, project) = app.login("admin", "admin").await;
    let path = format!("/v1/{project}/software_configs");
    let headers = [("x-auth-token", token.as_str())];
    let other = app.send("POST", &path, &headers, Some(config.to_string())).await;
    assert_eq!(other.status, 200, "{}", other.text);
    // What was asked for before goes on, and what frees something goes.
    assert_eq!(app.get(&stack).await.status, 200);
    assert_eq!(app.ask("DELETE", &stack, None).await.status, 204);
    app.stop().await;
}
