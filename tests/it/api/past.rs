//! `?at=`: the API answers what it would have answered then.

use std::sync::Arc;
use std::time::Duration;

use hearth::events::log::{EventLog, Filter, MemoryLog};
use hearth::events::stack::{UserProjectDeleted, UserProjectMade};
use hearth::events::{Position, StackEvent, StreamId, StreamRevision};
use hearth::model::{Action, StackId, Status};
use serde_json::{Value, json};

use super::app::App;
use super::story::{Stack, Story};
use crate::support::cut_log::CutLog;
use crate::support::wait::until;

/// What is asked of a stack at each moment; `{}` is its URL.
const QUESTIONS: &[&str] = &[
    "/stacks",
    "/stacks?sort_keys=stack_name&with_count=true",
    "/stacks?show_deleted=true&status=COMPLETE&limit=1",
    "/stacks?tags=green",
    "/stacks?stack_user_project_id=users&show_deleted=true",
    "/stacks/detail",
    "{}?resolve_outputs=false",
    "{}/template",
    "{}/environment",
    "{}/files",
    "{}/resources",
    "{}/resources?status=COMPLETE&nested_depth=2",
    "{}/events",
    "{}/events?sort_dir=asc&limit=3",
    "{}/events?nested_depth=1&resource_status=COMPLETE",
    "{}/resources/net/events",
];

/// The same of a stack at rest: of one that is at work, its actor is asked.
const QUESTIONS_AT_REST: &[&str] = &["{}", "{}/outputs", "{}/outputs/url"];

/// Every answer as the API gives it, with `?at=` where there is one.
async fn answers(
    app: &App,
    stack: &Stack,
    at: Option<&str>,
    at_rest: bool,
) -> Vec<(String, u16, Value)> {
    app.views.after(app.log.durable_position()).await.unwrap();
    let mut answers = Vec::new();
    let more = if at_rest { QUESTIONS_AT_REST } else { &[] };
    for question in QUESTIONS.iter().chain(more) {
        let path = question.replace("{}", &format!("/stacks/{}/{}", stack.name, stack.id));
        let asked = match at {
            None => path.clone(),
            Some(at) if path.contains('?') => format!("{path}&at={at}"),
            Some(at) => format!("{path}?at={at}"),
        };
        let answer = app.get(&asked).await;
        let mut body = if answer.text.is_empty() { Value::Null } else { answer.json() };
        // The page that follows is one of the same moment.
        let next =
            body.get_mut("links").and_then(|links| links[0]["href"].as_str().map(str::to_owned));
        if let (Some(next), Some(at)) = (next, at) {
            assert!(next.contains(&format!("at={at}")), "{next}");
            body["links"][0]["href"] = next.replace(&format!("&at={at}"), "").into();
        }
        answers.push((path, answer.status, body));
    }
    answers
}

#[actix::test]
async fn the_past_is_answered_as_it_was_when_it_was_the_present() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 41);
    story.created("other", &["disk"]).await;
    let (mut web, ids) = story.created("web", &["net", "port"]).await;
    let made = UserProjectMade { project_id: "users".into() };
    let deleted = UserProjectDeleted { project_id: "users".into() };
    let mut moments = Vec::new();
    let moment = async |moments: &mut Vec<_>, web: &Stack, at_rest: bool| {
        let then = answers(&app, web, None, at_rest).await;
        moments.push((app.log.durable_position(), then, at_rest));
    };
    moment(&mut moments, &web, true).await;
    story.write(StreamId::stack(web.id), StackEvent::from(made)).await;
    moment(&mut moments, &web, true).await;
    story.revision(&web, 2, &["green"]).await;
    story.walk(&mut web, Action::Update, &[("net", ids[0]), ("port", ids[1])]).await;
    story.start(&web, "net", ids[0], Action::Update).await;
    moment(&mut moments, &web, false).await;
    story.settle(&web, ids[0], Action::Update, Status::Failed).await;
    let port = story.replace(&web, "port", ids[1]).await;
    story.act(&web, "port", port, Action::Create).await;
    moment(&mut moments, &web, false).await;
    story.act(&web, "port", ids[1], Action::Delete).await;
    story.walked(&web, Action::Update, Status::Failed).await;
    moment(&mut moments, &web, true).await;
    story.walk(&mut web, Action::Delete, &[]).await;
    story.act(&web, "net", ids[0], Action::Delete).await;
    moment(&mut moments, &web, false).await;
    story.act(&web, "port", port, Action::Delete).await;
    story.write(StreamId::stack(web.id), StackEvent::from(deleted)).await;
    story.walked(&web, Action::Delete, Status::Complete).await;
    story.created("later", &["net"]).await;
    moment(&mut moments, &web, true).await;
    // Whoever goes back again finds what was folded on the way.
    for (Position(position), then, at_rest) in moments.iter().chain(moments.iter().rev()) {
        let events = app.log.read_all(Position(position - 1), &Filter::default(), 1).await;
        let time = events.unwrap()[0].at.to_rfc3339();
        let time = url::form_urlencoded::byte_serialize(time.as_bytes()).collect();
        // A clock of a second a step: the time is that of the position.
        for at in [position.to_string(), time] {
            for (was, is) in then.iter().zip(answers(&app, &web, Some(&at), *at_rest).await) {
                assert_eq!(*was, is, "at {at}");
            }
        }
    }
    app.stop().await;
}

#[actix::test]
async fn a_revision_is_a_moment_and_a_name_leads_to_who_had_it_then() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 42);
    let (mut web, ids) = story.created("web", &["net"]).await;
    let first = app.log.durable_position();
    story.revision(&web, 2, &["green"]).await;
    story.walk(&mut web, Action::Update, &[("net", ids[0])]).await;
    story.walked(&web, Action::Update, Status::Complete).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let url = format!("/stacks/web/{}", web.id);
    let tags =
        async |at: &str| app.get(&format!("{url}?at={at}")).await.json()["stack"]["tags"].clone();
    assert_eq!(tags("r1").await, json!(["blue"]));
    assert_eq!(tags("r2").await, json!(["green"]));
    assert_eq!(app.get(&format!("{url}?at=r3")).await.status, 404);
    assert_eq!(app.get(&format!("{url}?at=1995-01-01")).await.status, 404);
    for at in ["yesterday", "-1", "r-1"] {
        assert_eq!(app.get(&format!("{url}?at={at}")).await.status, 400, "{at}");
    }
    assert_eq!(app.get("/stacks?at=r1").await.status, 400);
    story.walk(&mut web, Action::Delete, &[]).await;
    story.walked(&web, Action::Delete, Status::Complete).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    assert_eq!(app.get("/stacks/web").await.status, 404);
    let found = app.get(&format!("/stacks/web/resources?at={}", first.0)).await;
    assert_eq!(found.status, 302);
    let there = format!("{}/v1/{}{url}/resources?at={}", app.url, app.project, first.0);
    assert_eq!(found.header("location"), there);
    app.stop().await;
}

#[actix::test]
async fn what_is_still_to_come_is_no_moment() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 45);
    let (web, _) = story.created("web", &["net"]).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let beyond = app.log.durable_position().0 + 1;
    for at in [beyond.to_string(), "2999-01-01".to_owned()] {
        for path in ["/stacks".to_owned(), format!("/stacks/web/{}", web.id)] {
            let refused = app.get(&format!("{path}?at={at}")).await;
            assert_eq!(refused.status, 400, "{path} at {at}: {}", refused.text);
        }
    }
    app.stop().await;
}

#[actix::test]
async fn what_knows_only_the_present_refuses_another_moment() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 44);
    let (web, _) = story.created("web", &["net"]).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let end = app.log.durable_position();
    let asked = [
        ("POST", "/stacks"),
        ("POST", "/stacks/plan"),
        ("POST", "/stacks/preview"),
        ("PUT", "{}"),
        ("PATCH", "{}"),
        ("DELETE", "{}"),
        ("POST", "{}/actions"),
        ("PATCH", "{}/resources/net"),
        ("PATCH", "{}/resources/plan"),
        ("POST", "{}/resources/net/signal"),
        ("GET", "{}/resources/net/metadata"),
        ("GET", "{}/snapshots"),
        ("GET", "{}/drift"),
        ("GET", "{}/history"),
        ("GET", "{}/export"),
        ("GET", "/software_configs"),
        ("GET", "/software_deployments"),
        ("GET", "/webhooks"),
        ("GET", "/feed"),
        ("GET", "/services"),
        ("GET", "/resource_types"),
    ];
    for (verb, question) in asked {
        let path = question.replace("{}", &format!("/stacks/web/{}", web.id));
        let refused = app.ask(verb, &format!("{path}?at=r1"), Some(json!({}))).await;
        assert_eq!(refused.status, 400, "{verb} {path}");
        assert!(refused.text.contains("nothing of another moment"), "{}", refused.text);
    }
    assert_eq!(app.log.durable_position(), end);
    app.stop().await;
}

#[actix::test]
async fn nothing_of_anothers_past_is_told() {
    let app = App::start().await;
    let other = Story::of(app.log.clone(), "another", 43);
    let (web, _) = other.created("web", &["net"]).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let end = app.log.durable_position();
    let of_stack = QUESTIONS.iter().filter(|question| question.starts_with("{}"));
    for question in of_stack.chain(QUESTIONS_AT_REST) {
        let path = question.replace("{}", &format!("/stacks/web/{}", web.id));
        let and = if path.contains('?') { '&' } else { '?' };
        assert_eq!(app.get(&format!("{path}{and}at={end}")).await.status, 404, "{path}");
    }
    assert_eq!(app.get(&format!("/stacks?at={end}")).await.json(), json!({ "stacks": [] }));
    assert_eq!(app.get(&format!("/stacks/web?at={end}")).await.status, 404);
    app.stop().await;
}

/// A stack that really lives: its attributes and outputs are those that were recorded.
#[actix::test]
async fn attributes_of_the_past_are_those_that_were_recorded() {
    let app = App::start().await;
    let template = |value: &str| {
        json!({
            "heat_template_version": "2018-08-31",
            "resources": {
                "text": { "type": "OS::Heat::Value", "properties": { "value": value } },
                "word": { "type": "OS::Heat::RandomString" },
            },
            "outputs": {
                "said": { "value": { "get_attr": ["text", "value"] } },
                "word": { "value": { "get_attr": ["word", "value"] } },
            },
        })
    };
    let stack = app.create("web", template("first")).await;
    let url = format!("/stacks/web/{}", stack["id"].as_str().unwrap());
    app.settled("web").await;
    let before = app.log.durable_position();
    let update = json!({ "template": template("second") });
    assert_eq!(app.ask("PUT", &url, Some(update)).await.status, 202);
    app.settled("web").await;
    let said = async |query: &str| {
        let output = app.get(&format!("{url}/outputs/said{query}")).await.json();
        let resource = app.get(&format!("{url}/resources/text{query}")).await.json();
        let template = app.get(&format!("{url}/template{query}")).await.json();
        json!([
            output["output"]["output_value"],
            resource["resource"]["attributes"]["value"],
            template["resources"]["text"]["properties"]["value"],
        ])
    };
    assert_eq!(said("").await, json!(["second", "second", "second"]));
    assert_eq!(said(&format!("?at={before}")).await, json!(["first", "first", "first"]));
    assert_eq!(said("?at=r1").await, json!(["first", "first", "first"]));
    // What nothing read was not recorded.
    let asked =
        async |name: &str| app.get(&format!("{url}/resources/text?with_attr={name}&at=r1")).await;
    assert_eq!(asked("value").await.json()["resource"]["attributes"]["value"], "first");
    for unknown in ["show", "never"] {
        let refused = asked(unknown).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text.contains("is not known of that moment"), "{}", refused.text);
    }
    // What was sealed then stays so, but for the output, which its owner reads as he did.
    let word = app.get(&format!("{url}/outputs/word?at=r1")).await.json();
    let word = word["output"]["output_value"].as_str().unwrap();
    let recorded = app.get(&format!("{url}/resources/word?at=r1")).await;
    assert_eq!(recorded.json()["resource"]["attributes"]["value"], "******");
    assert!(word.len() == 32 && !recorded.text.contains(word), "{}", recorded.text);
    app.stop().await;
}

#[actix::test]
async fn a_moment_is_looked_up_in_views_that_have_come_to_it() {
    let beneath: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let log = Arc::new(CutLog::new(beneath.clone(), i64::MAX));
    let app = App::over(log.clone()).await;
    let template = |value: &str| {
        json!({ "heat_template_version": "2021-04-16", "resources": {
            "a": { "type": "OS::Heat::TestResource", "properties": { "value": value } } } })
    };
    let stack = app.create("web", template("one")).await;
    let id: StackId = stack["id"].as_str().unwrap().parse().unwrap();
    let url = format!("/stacks/web/{id}");
    let update = app.ask("PUT", &url, Some(json!({ "template": template("two") })));
    let back = async {
        let silence = log.fall_silent().await;
        let is_settled = async || {
            kinds(&app, id).await.iter().filter(|kind| *kind == "TraversalSettled").count() >= 2
        };
        // The app's own log tells nobody.
        until(&[&beneath], "it is updated", is_settled).await;
        let now = app.log.durable_position().0;
        let asked = json!({ "rollback": { "at": now, "plan": true } });
        let path = format!("{url}/actions");
        let (planned, ()) = futures::join!(app.ask("POST", &path, Some(asked)), async {
            // Nothing says that it waits: it has so long to answer too early.
            tokio::time::sleep(Duration::from_millis(100)).await;
            drop(silence);
        });
        planned.json()["rollback"]["to"].clone()
    };
    let (updated, to) = futures::join!(update, back);
    assert_eq!(updated.status, 202);
    assert_eq!(to, 2, "what is acknowledged would be taken back");
    app.stop().await;
}

/// The kinds of a stack's events.
async fn kinds(app: &App, stack: StackId) -> Vec<String> {
    let slice = app.log.read(&StreamId::stack(stack), StreamRevision(0)).await.unwrap();
    slice.events.iter().map(|event| event.event_type.to_string()).collect()
}

#[actix::test]
async fn a_list_goes_on_behind_no_stack_that_was_not_there_yet() {
    let app = App::start().await;
    let story = Story::of(app.log.clone(), &app.project, 45);
    story.created("web", &["net"]).await;
    let end = app.log.durable_position();
    let (later, _) = story.created("later", &["net"]).await;
    app.views.after(app.log.durable_position()).await.unwrap();
    let listed = app.get(&format!("/stacks?at={end}&sort_dir=asc&marker={}", later.id)).await;
    assert_eq!(listed.json()["stacks"][0]["stack_name"], "web", "{}", listed.text);
    app.stop().await;
}

#[actix::test]
async fn of_the_past_a_resource_has_the_attributes_that_its_type_has() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "resources": {
            "group": { "type": "OS::Heat::ResourceGroup", "properties": {
                "count": 1, "resource_def": { "type": "OS::Heat::TestResource" } } },
        },
        "outputs": { "a": { "value": { "get_attr": ["group", "resource.0.output"] } },
                     "b": { "value": { "get_attr": ["group", "attributes", "output"] } } },
    });
    let stack = app.create("web", template).await;
    let url = format!("/stacks/web/{}/resources/group", stack["id"].as_str().unwrap());
    let names = async |query: &str| {
        let shown = app.get(&format!("{url}{query}")).await.json();
        let attributes = shown["resource"]["attributes"].as_object().unwrap().clone();
        let mut names: Vec<String> = attributes.keys().cloned().collect();
        names.sort();
        names
    };
    let declared = names("").await;
    assert_eq!(names("?at=r1").await, declared);
    let mut more = declared.clone();
    more.push("resource.0.output".to_owned());
    more.sort();
    assert_eq!(names("?at=r1&with_attr=resource.0.output").await, more);
    app.stop().await;
}
