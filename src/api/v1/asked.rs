//! What the body of an action says, be it done or planned.

use serde_json::Value;

use crate::api::ApiState;
use crate::api::error::Fault;
use crate::api::past::revision_then;
use crate::model::{JsonMap, StackRevision};
use crate::projections::StackRow;

/// What the action rollback takes.
const ROLLBACK: &[&str] = &["to", "at", "plan"];

/// The one action that a body names, and what it says of it.
pub(in crate::api::v1) fn only(asked: &JsonMap) -> Result<(&str, &Value), Fault> {
    let mut actions = asked.iter();
    let (name, arguments) =
        actions.next().ok_or_else(|| Fault::bad_request("No action specified"))?;
    match actions.next() {
        Some(_) => Err(Fault::bad_request("Multiple actions specified")),
        None => Ok((name, arguments)),
    }
}

/// The revision to go back to, by its number or by when it was the newest.
pub(in crate::api::v1) async fn destination(
    state: &ApiState,
    stack: &StackRow,
    arguments: &Value,
) -> Result<StackRevision, Fault> {
    let mut members = arguments.as_object().into_iter().flatten();
    if let Some((unknown, _)) = members.find(|(name, _)| !ROLLBACK.contains(&name.as_str())) {
        return Err(Fault::bad_request(format!("The action rollback has no \"{unknown}\".")));
    }
    let number = arguments["to"].as_u64().and_then(|number| u32::try_from(number).ok());
    let number = number.filter(|number| *number > 0).map(StackRevision);
    let at = match &arguments["at"] {
        Value::String(text) => Some(text.clone()),
        Value::Number(position) => Some(position.to_string()),
        _ => None,
    };
    match (number, at) {
        (Some(number), None) => Ok(number),
        (None, Some(at)) => revision_then(state, stack, &at).await,
        _ => {
            let message = "The action rollback needs the number of a revision, {\"to\": 1}, or a \
                           position of the log or a time, {\"at\": \"2026-01-31T12:00:00Z\"}";
            Err(Fault::bad_request(message))
        }
    }
}
