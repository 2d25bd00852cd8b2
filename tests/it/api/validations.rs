//! Validations through HTTP, beside what the real Heat answers: `tests/data/template/validate`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::app::App;
use crate::support::shelf::Shelf;

/// A request, and what the real Heat makes of it.
#[derive(Deserialize)]
struct Case {
    id: String,
    template: Value,
    #[serde(default)]
    environments: Vec<String>,
    #[serde(default)]
    parameters: Map<String, Value>,
    #[serde(default)]
    files: Map<String, Value>,
    #[serde(default)]
    show_nested: bool,
    answer: Answer,
}

#[derive(Deserialize)]
struct Answer {
    body: Option<Value>,
    #[serde(rename = "type")]
    class: Option<String>,
    /// Heat falls over some requests without a word; any refusal is as good then.
    error: Option<String>,
    code: Option<u16>,
}

impl Case {
    fn body(&self) -> Value {
        let mut files = self.files.clone();
        let mut names = Vec::new();
        for (number, text) in self.environments.iter().enumerate() {
            names.push(format!("env-{number}.yaml"));
            files.insert(format!("env-{number}.yaml"), text.as_str().into());
        }
        json!({
            "template": self.template,
            "parameters": self.parameters,
            "files": files,
            "environment_files": names,
        })
    }
}

#[actix::test]
async fn a_validation_answers_as_heat_does() {
    let app = App::start().await;
    let cases = include_str!("../../data/template/validate/cases.jsonl");
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let path = format!("/validate?show_nested={}", case.show_nested);
        let found = app.ask("POST", &path, Some(case.body())).await;
        let error = &found.json()["error"];
        let is_same = match (&case.answer.body, &case.answer.error) {
            (Some(body), _) => found.status == 200 && found.json() == *body,
            (None, None) => found.status >= 400,
            (None, Some(text)) => {
                Some(found.status) == case.answer.code
                    && error["type"].as_str() == case.answer.class.as_deref()
                    && error["message"] == text.as_str()
            }
        };
        if !is_same {
            wrong.push(format!("{}: {}\n  case {line}", case.id, found.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    app.stop().await;
}

#[actix::test]
async fn codes_of_errors_to_pass_over_must_be_known() {
    let app = App::start().await;
    let body = json!({ "template": { "heat_template_version": "2018-08-31" } });
    let known = app.ask("POST", "/validate?ignore_errors=99001", Some(body.clone())).await;
    assert_eq!(known.status, 200, "{}", known.text);
    let unknown = app.ask("POST", "/validate?ignore_errors=99001,1", Some(body)).await;
    assert_eq!(unknown.status, 400);
    assert_eq!(unknown.json()["error"]["message"], "Invalid codes in ignore_errors : ['1']");
    app.stop().await;
}

#[actix::test]
async fn a_template_may_stand_at_a_url() {
    let app = App::start().await;
    let shelf = Shelf::new().await;
    let text = "heat_template_version: 2018-08-31\ndescription: from afar\n";
    let url = shelf.lay("/main.yaml", text);
    let body = |url: &str| Some(json!({ "template_url": url, "stack_name": "far" }));
    let validated = app.ask("POST", "/validate", body(&url)).await;
    assert_eq!(validated.json()["Description"], "from afar", "{}", validated.text);
    let created = app.ask("POST", "/stacks", body(&url)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    shelf.lay("/main.yaml", text.replace("afar", "nearby"));
    let path = created.json()["stack"]["id"].as_str().unwrap().to_owned();
    let path = format!("/stacks/far/{path}");
    app.settled("far").await;
    let asked = shelf.asked();
    let updated = app.ask("PATCH", &path, Some(json!({ "template_url": url }))).await;
    assert_eq!(updated.status, 202, "{}", updated.text);
    assert_eq!(shelf.asked(), asked + 1);
    app.settled("far").await;
    assert_eq!(app.get(&path).await.json()["stack"]["description"], "from nearby");

    for (url, reason) in [
        ("ftp://h/x.yaml", "Invalid URL scheme ftp".to_owned()),
        (&*url.replace("main", "gone"), String::new()),
    ] {
        let refused = app.ask("POST", "/stacks", body(url)).await;
        let retrieved = format!("Failed to retrieve template from {url}");
        let reason = if reason.is_empty() { retrieved } else { reason };
        assert_eq!(refused.status, 400);
        let text = format!("Could not retrieve template: {reason}");
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with(&text), "{message}");
    }
    app.stop().await;
}
