//! How large may be what somebody has kept: just as large as the table says, and no larger.

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth::actors::EngineLimits;
use hearth::events::log::MemoryLog;
use hearth::model::sizes::{LIMITS, Limit, Unit};
use serde_json::{Value, json};

use super::app::{App, SetUp};

/// An app in which nothing but the limits of the table is in the way.
async fn app() -> App {
    let limits = EngineLimits { max_signal_size: usize::MAX, ..EngineLimits::default() };
    let setup = SetUp { json_body_size_max: usize::MAX, limits, ..SetUp::default() };
    App::set_up(Arc::new(MemoryLog::new()), setup).await
}

/// What there is already, and what is asked for so far.
struct Field {
    app: App,
    stack: String,
    config: Value,
    deployment: String,
    asked: u32,
}

impl Field {
    async fn lay() -> Self {
        let app = app().await;
        let handle = json!({ "type": "OS::Heat::WaitConditionHandle",
            "properties": { "signal_transport": "NO_SIGNAL" } });
        let template =
            json!({ "heat_template_version": "2018-08-31", "resources": { "handle": handle } });
        let stack = app.create("web", template).await;
        let stack = format!("/stacks/web/{}", stack["id"].as_str().unwrap());
        let made = app.ask("POST", "/software_configs", Some(json!({ "name": "c" }))).await;
        let config = made.json()["software_config"]["id"].clone();
        let body = json!({ "config_id": config, "server_id": "s" });
        let made = app.ask("POST", "/software_deployments", Some(body)).await.json();
        let deployment = made["software_deployment"]["id"].as_str().unwrap().to_owned();
        Self { app, stack, config, deployment, asked: 0 }
    }

    /// Asks for something of a size; why it was refused.
    async fn grow(&mut self, of: &str, size: usize) -> Result<(), String> {
        let text = "x".repeat(size);
        let config = |name: &str, value: Value| {
            ("POST", "/software_configs".to_owned(), json!({ name: value }))
        };
        let deployment = |name: &str, value: Value| {
            let mut body = json!({ "config_id": self.config, "server_id": "s" });
            body[name] = value;
            ("POST", "/software_deployments".to_owned(), body)
        };
        self.asked += 1;
        let name = format!("s{}", self.asked);
        let stack = |part: Value| {
            let template = json!({ "heat_template_version": "2018-08-31" });
            let mut body = json!({ "stack_name": name, "template": template });
            body.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            ("POST", "/stacks".to_owned(), body)
        };
        // Twice as long as the parameter, so that this is within its own limit.
        let resolved = |section: &str, inside: &str| {
            let half = json!({ "get_param": "half" });
            let value = json!({ "list_join": ["", [half, half, { "get_param": "odd" }]] });
            let mut resource = json!({ "type": "OS::Heat::Value", "properties": { "value": 1 } });
            resource[section] = json!({ inside: value });
            let declared = json!({ "type": "string" });
            stack(json!({
                "template": { "heat_template_version": "2018-08-31",
                              "parameters": { "half": declared, "odd": declared },
                              "resources": { "a": resource } },
                "parameters": { "half": "x".repeat(size / 2), "odd": "x".repeat(size % 2) },
            }))
        };
        let (verb, path, body) = match of {
            "stack_name" => stack(json!({ "stack_name": text })),
            "tag" => stack(json!({ "tags": text })),
            "tags" => stack(json!({ "tags": vec!["t"; size].join(",") })),
            "name" | "group" => config(of, text.into()),
            "server_id" | "action" | "status" | "status_reason" => deployment(of, text.into()),
            "stack_user_project_id" => deployment(of, text.into()),
            "resource_status_reason" => {
                let body = json!({ "mark_unhealthy": true, of: text });
                ("PATCH", format!("{}/resources/handle", self.stack), body)
            }
            "Software config" => config("config", text.into()),
            "Software config inputs" => config("inputs", json!([{ "name": text }])),
            "Software config outputs" => config("outputs", json!([{ "name": text }])),
            "Software config options" => config("options", json!({ "o": text })),
            "Deployment input_values" => deployment("input_values", json!({ "i": text })),
            "Deployment output_values" => {
                let path = format!("/software_deployments/{}", self.deployment);
                ("PUT", path, json!({ "output_values": { "o": text } }))
            }
            "Template with environment and files" => {
                // Each file is within the bound of a template.
                let parts = text.as_bytes().chunks(500_000).enumerate();
                let file = |(at, part): (usize, &[u8])| (at.to_string(), "x".repeat(part.len()));
                stack(json!({ "files": parts.map(file).collect::<BTreeMap<_, _>>() }))
            }
            "Parameters" => stack(json!({
                "template": { "heat_template_version": "2018-08-31",
                              "parameters": { "p": { "type": "string" } } },
                "parameters": { "p": text },
            })),
            "Resource properties" => resolved("properties", "value"),
            "Resource metadata" => resolved("metadata", "m"),
            "Signals" => {
                let body = json!({ "id": "one", "data": text });
                ("POST", format!("{}/resources/handle/signal", self.stack), body)
            }
            other => panic!("{other} is tested nowhere"),
        };
        let answered = self.app.ask(verb, &path, Some(body)).await;
        let message = || answered.json()["error"]["message"].as_str().unwrap().to_owned();
        match answered.status {
            400 => Err(message()),
            201 if of.starts_with("Resource ") => {
                let settled = self.app.settled(&name).await;
                let reason = settled["stack_status_reason"].as_str().unwrap().to_owned();
                match settled["stack_status"].as_str().unwrap() {
                    "CREATE_COMPLETE" => Ok(()),
                    _ => Err(reason),
                }
            }
            200..300 => Ok(()),
            status => panic!("{of} of {size}: {status} {}", answered.text),
        }
    }
}

/// The bytes that a refusal speaks of.
fn bytes_in(refusal: &str) -> usize {
    let (before, _) = refusal.split_once(" bytes)").unwrap_or_else(|| panic!("{refusal}"));
    before.rsplit_once('(').unwrap().1.parse().unwrap()
}

async fn check(field: &mut Field, limit: Limit) {
    let Limit { of, max, unit } = limit;
    // What stands around a text in JSON counts with it.
    let around = match unit {
        Unit::Bytes => bytes_in(&field.grow(of, max).await.unwrap_err()) - max,
        Unit::Characters | Unit::Items => 0,
    };
    let within = field.grow(of, max - around).await;
    if of == "stack_user_project_id" {
        assert!(within.unwrap_err().ends_with("should be the one of a stack in this project"));
    } else {
        assert_eq!(within, Ok(()), "{of}");
    }
    let over = field.grow(of, max - around + 1).await.expect_err(of);
    assert!(over.contains(&max.to_string()), "{of}: {over}");
    if unit == Unit::Bytes {
        assert_eq!(bytes_in(&over), max + 1, "{over}");
        assert!(over.contains("Request limit exceeded: "), "{over}");
    }
}

#[actix::test]
async fn all_that_is_kept_is_as_large_as_it_may_be_and_no_larger() {
    let mut field = Field::lay().await;
    for limit in LIMITS {
        check(&mut field, limit).await;
    }
    field.app.stop().await;
}

#[actix::test]
async fn parameters_that_patches_add_do_not_grow_without_end() {
    let app = app().await;
    let declared = (0..9).map(|n| (format!("p{n}"), json!({ "type": "string", "default": "" })));
    let template = json!({ "heat_template_version": "2018-08-31",
        "parameters": declared.collect::<serde_json::Map<_, _>>() });
    let stack = app.create("web", template).await;
    let path = format!("/stacks/web/{}", stack["id"].as_str().unwrap());
    let mut answers = Vec::new();
    for number in 0..9 {
        let given = json!({ format!("p{number}"): "x".repeat(500_000) });
        let patched = app.ask("PATCH", &path, Some(json!({ "parameters": given }))).await;
        answers.push(patched.status);
        app.settled("web").await;
    }
    assert_eq!(answers, [202, 202, 202, 202, 202, 202, 202, 202, 400]);
    app.stop().await;
}
