//! `GET …/export`, `DELETE …/abandon`, and what a stack is adopted from.

use actix_web::web;
use serde_json::Value;

use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::v1::{Answer, StackPath, State, answer, living_stack, requester, seen};
use crate::model::JsonMap;
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
    body.insert("environment".into(), Value::Object(environment));
    let mut files = data.get("files").and_then(Value::as_object).cloned().unwrap_or_default();
    files.extend(body.get("files").and_then(Value::as_object).cloned().unwrap_or_default());
    body.insert("files".into(), Value::Object(files));
    let resources = data.get("resources").and_then(Value::as_object).cloned();
    Ok(Some((body, resources.unwrap_or_default())))
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
