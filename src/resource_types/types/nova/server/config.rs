//! What a server of the format SOFTWARE_CONFIG is told of its configurations.

use serde_json::Value;
use uuid::Uuid;

use super::super::text;
use crate::model::JsonMap;
use crate::resource_types::agent;
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;

fn is_wanted(properties: &JsonMap) -> bool {
    text(properties, "user_data_format") == Some("SOFTWARE_CONFIG")
}

/// What of the properties is the agent's; nothing where there is none.
pub(super) fn of_agent(properties: JsonMap) -> JsonMap {
    if is_wanted(&properties) { properties } else { JsonMap::new() }
}

/// What the resource's metadata get beside those of the template.
pub(super) fn told(
    cloud: &Asks<'_>,
    subject: &Subject,
    properties: &JsonMap,
) -> Result<JsonMap, Failure> {
    match is_wanted(properties) {
        true => agent::told(cloud, subject, properties, &["ec2"]),
        false => Ok(JsonMap::new()),
    }
}

/// The text that the user has for the server: where it is the id of a software configuration, what
/// that one holds.
pub(super) fn user_data(
    cloud: &Asks<'_>,
    subject: &Subject,
    properties: &JsonMap,
) -> Result<String, Failure> {
    let given = text(properties, "user_data").unwrap_or_default();
    let is_made_up = text(properties, "user_data_format") == Some("HEAT_CFNTOOLS");
    if is_made_up || Uuid::try_parse(given).is_err() {
        return Ok(given.to_owned());
    }
    let project = subject.project_id.clone().unwrap_or_default();
    match cloud.software(&project).config(given) {
        Ok(config) => Ok(match config.content.config {
            Value::String(text) => text,
            Value::Null => String::new(),
            structured => structured.to_string(),
        }),
        Err(refusal) if refusal.class == "NotFound" => Ok(given.to_owned()),
        Err(refusal) => Err(refusal.into()),
    }
}

/// The metadata as the server reads them at its first start.
pub(super) fn metadata(
    cloud: &Asks<'_>,
    subject: &Subject,
    properties: &JsonMap,
) -> Result<JsonMap, Failure> {
    let mut metadata = subject.metadata.clone();
    metadata.extend(told(cloud, subject, properties)?);
    Ok(metadata)
}
