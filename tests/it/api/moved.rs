//! Sealed values that somebody who can write the log puts in another place, where their own stack
//! or project would show them.

use hearth::clock::{Clock, SystemClock};
use hearth::events::log::Filter;
use hearth::events::software::{ConfigCreated, DeploymentChange, DeploymentUpdated};
use hearth::events::stack::{OutputResolved, OutputsChanged};
use hearth::events::{ConfigEvent, DeploymentEvent, Position, StackEvent, StreamId};
use hearth::model::{ConfigId, DeploymentId, ProjectId, StackId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::app::App;
use super::story::Story;

const SECRET: &str = "hunter2-of-another-place";

/// The body of the first event of a type in a stream.
async fn body(app: &App, stream: &StreamId, event_type: &str) -> Value {
    let events = app.log.read_all(Position(0), &Filter::default(), 10_000).await.unwrap();
    let mut events = events.iter();
    let found = events.find(|it| it.stream == *stream && &*it.event_type == event_type).unwrap();
    serde_json::from_str(&found.body).unwrap()
}

async fn made(app: &App, path: &str, kind: &str, body: Value) -> Uuid {
    let made = app.ask("POST", path, Some(body)).await;
    assert_eq!(made.status, 200, "{}", made.text);
    made.json()[kind]["id"].as_str().unwrap().parse().unwrap()
}

#[actix::test]
async fn a_hidden_parameter_put_in_the_place_of_an_output_is_not_shown() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "password": { "type": "string", "hidden": true, "default": SECRET },
                        "other": { "type": "string", "hidden": true, "default": "0ther-secret" } },
        "outputs": { "told": { "value": { "get_param": "other" } } },
    });
    let body_of = json!({ "stack_name": "web", "template": template,
                          "parameters": { "password": SECRET } });
    assert_eq!(app.ask("POST", "/stacks", Some(body_of)).await.status, 201);
    let shown = app.settled("web").await;
    let id: Uuid = shown["id"].as_str().unwrap().parse().unwrap();
    let (stream, path) = (StreamId::stack(StackId(id)), format!("/stacks/web/{id}"));
    let output = app.get(&format!("{path}/outputs/told")).await.json()["output"].clone();
    assert_eq!(output["output_value"], "0ther-secret");

    let sealed = body(&app, &stream, "RevisionAccepted").await["parameters"]["password"].clone();
    assert!(sealed["at"].as_str().unwrap().ends_with("/parameters/password"), "{sealed}");
    let story = Story::of(app.log.clone(), &app.project, 3);
    let told = OutputResolved {
        key: "told".into(),
        description: String::new(),
        value: json!({ "pw": sealed }),
        error: None,
    };
    let moved = StackEvent::from(OutputsChanged { outputs: vec![told] });
    let written = story.write(stream, moved).await;
    app.views.after(written.position).await.unwrap();
    for rest in ["", "/outputs/told", "/export", "/events"] {
        let answer = app.get(&format!("{path}{rest}")).await;
        assert!(!answer.text.contains(SECRET), "{rest} {}", answer.text);
    }
    let output = app.get(&format!("{path}/outputs/told")).await.json()["output"].clone();
    assert_eq!(output["output_value"], Value::Null);
    assert_eq!(output["output_error"], "The value is no longer readable.");
    app.stop().await;
}

#[actix::test]
async fn what_a_configuration_holds_is_not_shown_as_what_another_or_a_deployment_does() {
    let app = App::start().await;
    let asked = json!({ "name": "one", "config": SECRET });
    let one = made(&app, "/software_configs", "software_config", asked).await;
    let asked = json!({ "server_id": "s1", "config_id": one, "status": "IN_PROGRESS",
                        "input_values": { "a": "given" } });
    let deployment = made(&app, "/software_deployments", "software_deployment", asked).await;
    let stream = StreamId::config(ConfigId(one));
    let content = body(&app, &stream, "ConfigCreated").await["content"].clone();
    assert!(content["sealed"].is_string(), "{content}");

    let story = Story::of(app.log.clone(), &app.project, 3);
    let other = ConfigId(SystemClock.fresh_id());
    let copied = ConfigEvent::from(ConfigCreated {
        config_id: other,
        project_id: ProjectId::from(app.project.as_str()),
        name: None,
        group: None,
        content: content.clone(),
    });
    story.write(StreamId::config(other), copied).await;
    let change = DeploymentChange { output_values: Some(content), ..DeploymentChange::default() };
    let copied = DeploymentEvent::from(DeploymentUpdated { change });
    let written = story.write(StreamId::deployment(DeploymentId(deployment)), copied).await;
    app.views.after(written.position).await.unwrap();
    for path in [
        format!("/software_configs/{}", other.0),
        format!("/software_deployments/{deployment}"),
        "/software_deployments".to_owned(),
    ] {
        let answer = app.get(&path).await;
        assert!(!answer.text.contains(SECRET), "{path} {}", answer.text);
        assert_eq!(answer.status, 500, "{path}");
    }
    assert!(app.get(&format!("/software_configs/{one}")).await.text.contains(SECRET));
    app.stop().await;
}
