//! `GET …/export`, `DELETE …/abandon`, and what a stack is adopted from.

use actix_web::web;
use serde_json::Value;

use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::v1::{Answer, StackPath, State, answer, living_stack, requester, seen};
use crate::model::JsonMap;
use crate::model::taint::MASK;
use crate::template::{map_text, template_map_text};

pub(in crate::api) async fn export(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("stacks:export").await?;
    let stack = living_stack(&state, &context, &path).await?;
    answer(&state.engine.export_stack(&requester(&state, &context), stack.id).await?)
}

pub(in crate::api) async fn abandon(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("stacks:abandon").await?;
    let stack = living_stack(&state, &context, &path).await?;
    let who = requester(&state, &context);
    let (accepted, document) = state.engine.abandon_stack(&who, stack.id).await?;
    seen(&state, &accepted).await?;
    answer(&document)
}

/// The body of a create with what it adopts in the place of its own definition, and the resources
/// that are adopted; `None` for a create of the usual kind.
pub(super) fn adopted(body: &JsonMap) -> Result<Option<(JsonMap, JsonMap)>, Fault> {
    let data = match body.get("adopt_stack_data") {
        None => return Ok(None),
        Some(Value::String(text)) => template_map_text(text).map_err(invalid)?,
        Some(_) => return Err(Fault::malformed()),
    };
    let template = data.get("template").ok_or_else(|| invalid("'template'".to_owned()))?;
    let is_map = |value: &Value| value.is_object() || value.is_null();
    if !is_map(template) || !data.get("environment").is_none_or(is_map) {
        return Err(Fault::new(
            "AttributeError",
            "what is adopted has a template and an environment",
        ));
    }
    let mut body = body.clone();
    body.shift_remove("adopt_stack_data");
    body.insert("template".into(), template.clone());
    // What is sent beside the data counts more than what they say.
    let kept = data.get("environment").and_then(Value::as_object).cloned().unwrap_or_default();
    let environment = match body.get("environment") {
        Some(Value::Object(sent)) => over(kept, sent.clone()),
        Some(Value::String(text)) if !text.trim().is_empty() => {
            over(kept, map_text(text).map_err(Fault::bad_request)?)
        }
        _ => kept,
    };
    let environment = Value::Object(environment);
    let mut files = data.get("files").and_then(Value::as_object).cloned().unwrap_or_default();
    files.extend(body.get("files").and_then(Value::as_object).cloned().unwrap_or_default());
    // A document is handed on without its secrets; who needs no such file need not send it.
    let is_masked = |(name, text): &(&String, &Value)| {
        *text == MASK && (names(template, name) || names(&environment, name))
    };
    if let Some((name, _)) = files.iter().find(is_masked) {
        return Err(invalid(format!("the file {name} is masked: send it among the files.")));
    }
    body.insert("environment".into(), environment);
    body.insert("files".into(), Value::Object(files));
    let resources = data.get("resources").and_then(Value::as_object).cloned();
    Ok(Some((body, resources.unwrap_or_default())))
}

/// Whether a text stands anywhere in a value.
fn names(value: &Value, name: &str) -> bool {
    match value {
        Value::String(text) => text == name,
        Value::Array(items) => items.iter().any(|item| names(item, name)),
        Value::Object(map) => map.values().any(|item| names(item, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// An environment with another one's entries over its own, section by section.
fn over(mut kept: JsonMap, sent: JsonMap) -> JsonMap {
    for (section, value) in sent {
        match (kept.get_mut(&section), value) {
            (Some(Value::Object(before)), Value::Object(now)) => before.extend(now),
            (_, value) => {
                kept.insert(section, value);
            }
        }
    }
    kept
}

fn invalid(reason: String) -> Fault {
    Fault::bad_request(format!("Invalid adopt data: {reason}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_masked_file_is_not_adopted_where_it_is_needed() {
        let data = json!({
            "template": { "resources": { "a": { "type": "child.yaml" } } },
            "files": { "child.yaml": MASK, "env.yaml": MASK },
        });
        let body = |files: Value| {
            let body = json!({ "adopt_stack_data": data.to_string(), "files": files });
            body.as_object().cloned().unwrap_or_default()
        };
        let refused = adopted(&body(json!({}))).err();
        let text = "Invalid adopt data: the file child.yaml is masked: send it among the files.";
        assert!(refused.is_some_and(|it| it.shown().is_some_and(|shown| shown.contains(text))));
        let (taken, _) = adopted(&body(json!({ "child.yaml": "whole" }))).unwrap().unwrap();
        assert_eq!(taken["files"]["child.yaml"], "whole");
    }
}
