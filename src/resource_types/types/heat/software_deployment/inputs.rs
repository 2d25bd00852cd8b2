//! What a server is told beside the configuration: the values of its inputs, and how it is to
//! answer.

use serde_json::{Value, json};

use super::{ADDRESS, signal_queue};
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{StackUser, Subject};
use crate::resource_types::presigned::{self, Door};
use crate::resource_types::software::SoftwareConfig;
use crate::resource_types::stack_user::{self, Proof};

/// The transport by which a server answers with an object in Swift.
pub(super) const TEMP_URL: &str = "TEMP_URL_SIGNAL";
/// The transport by which it answers with a message in a queue.
pub(super) const ZAQAR: &str = "ZAQAR_SIGNAL";

pub(super) fn transport(given: &JsonMap) -> &str {
    given.get("signal_transport").and_then(Value::as_str).unwrap_or_default()
}

/// By what whoever answers is let in, where he needs a user to answer as.
pub(super) fn proof(given: &JsonMap) -> Option<Proof> {
    match transport(given) {
        "HEAT_SIGNAL" | ZAQAR => Some(Proof::Password),
        "CFN_SIGNAL" => Some(Proof::Key),
        _ => None,
    }
}

/// The inputs that tell a server as whom to answer.
pub(super) fn credentials(
    cloud: &Asks<'_>,
    subject: &Subject,
    given: &JsonMap,
) -> Result<Vec<JsonMap>, Failure> {
    if transport(given) == TEMP_URL {
        let address = subject.data.get(ADDRESS).cloned().unwrap_or_default();
        return Ok(addressed(address, "PUT"));
    }
    let (Some(proof), Some(user)) = (proof(given), StackUser::made(subject)) else {
        return Ok(Vec::new());
    };
    if proof == Proof::Key {
        let address = presigned::address(cloud, subject, Door::Signal)?;
        return Ok(addressed(address.into(), "POST"));
    }
    let known = stack_user::credentials(cloud, subject, &user)?;
    let inputs = [
        ("deploy_auth_url", "auth_url", "URL for API authentication"),
        ("deploy_username", "username", "Username for API authentication"),
        ("deploy_user_id", "user_id", "User ID for API authentication"),
        ("deploy_password", "password", "Password for API authentication"),
        ("deploy_project_id", "project_id", "ID of project for API authentication"),
        ("deploy_region_name", "region_name", "Region name for API authentication"),
    ];
    let told = inputs.into_iter().filter(|(_, part, _)| !known[*part].is_null());
    let mut told: Vec<JsonMap> =
        told.map(|(name, part, text)| input(name, known[part].clone(), Some(text))).collect();
    if transport(given) == ZAQAR {
        let queue = signal_queue::of(subject).map(|queue| queue.name);
        let text = "ID of queue to use for signaling output values";
        told.push(input("deploy_queue_id", queue.into(), Some(text)));
    }
    Ok(told)
}

/// The inputs that tell a server at which address to answer, and how.
fn addressed(address: Value, verb: &str) -> Vec<JsonMap> {
    let inputs = [
        ("deploy_signal_id", address, "ID of signal to use for signaling output values"),
        ("deploy_signal_verb", verb.into(), "HTTP verb to use for signaling output values"),
    ];
    inputs.map(|(name, value, text)| input(name, value, Some(text))).into()
}

/// An input of a derived configuration.
fn input(name: &str, value: Value, description: Option<&str>) -> JsonMap {
    let mut input = JsonMap::new();
    input.insert("name".to_owned(), name.into());
    input.insert("type".to_owned(), "String".into());
    if let Some(description) = description {
        input.insert("description".to_owned(), description.into());
    }
    input.insert("value".to_owned(), value);
    input
}

/// The inputs of a derived configuration: those declared, further values, and what Heat tells of
/// the deployment itself.
pub(super) fn inputs(
    source: &SoftwareConfig,
    subject: &Subject,
    given: &JsonMap,
    action: &str,
) -> Vec<JsonMap> {
    let mut values =
        given.get("input_values").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut inputs = Vec::new();
    for declared in &source.content.inputs {
        let name = declared.get("name").and_then(Value::as_str).unwrap_or_default();
        let default = declared.get("default").cloned().unwrap_or_default();
        let value = values.shift_remove(name).unwrap_or(default);
        let mut input = declared.clone();
        input.insert("value".to_owned(), value);
        inputs.push(input);
    }
    inputs.extend(values.into_iter().map(|(name, value)| input(&name, value, None)));
    let shown = |part: Option<String>| part.unwrap_or_default();
    let stack = format!(
        "{}/{}",
        shown(subject.stack_name.as_ref().map(ToString::to_string)),
        shown(subject.stack_id.map(|id| id.to_string()))
    );
    let property = |name: &str| given.get(name).cloned().unwrap_or_default();
    let name = shown(subject.name.as_ref().map(ToString::to_string));
    let of_deployment = [
        ("deploy_server_id", property("server"), "ID of the server being deployed to"),
        ("deploy_action", action.into(), "Name of the current action being deployed"),
        ("deploy_stack_id", stack.into(), "ID of the stack this deployment belongs to"),
        ("deploy_resource_name", name.into(), "Name of this deployment resource in the stack"),
        (
            "deploy_signal_transport",
            property("signal_transport"),
            "How the server should signal to heat with the deployment output values.",
        ),
    ];
    inputs.extend(of_deployment.map(|(name, value, text)| input(name, value, Some(text))));
    inputs
}

/// A structured configuration with `{get_input: NAME}` replaced by values.
pub(super) fn filled(
    snippet: &Value,
    inputs: &[JsonMap],
    given: &JsonMap,
) -> Result<Value, Failure> {
    let key = given.get("input_key").and_then(Value::as_str).unwrap_or("get_input");
    let is_strict = given.get("input_values_validate").is_some_and(|mode| mode == "STRICT");
    match snippet {
        Value::Object(map) => {
            if map.len() == 1
                && let Some(Value::String(name)) = map.get(key)
            {
                let of_name = |input: &&JsonMap| input.get("name") == Some(&json!(name));
                return match inputs.iter().find(of_name) {
                    Some(input) => Ok(input.get("value").cloned().unwrap_or_default()),
                    None if is_strict => Err(Failure::NoInput(name.clone())),
                    None => Ok(Value::Null),
                };
            }
            let filled =
                map.iter().map(|(name, value)| Ok((name.clone(), filled(value, inputs, given)?)));
            Ok(Value::Object(filled.collect::<Result<JsonMap, Failure>>()?))
        }
        Value::Array(list) => list.iter().map(|item| filled(item, inputs, given)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(snippet.clone()),
    }
}
