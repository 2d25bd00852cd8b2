//! Validations through HTTP, beside what the real Heat answers: `tests/data/template/validate`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::app::App;

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
