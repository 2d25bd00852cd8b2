//! What a server of the format SOFTWARE_CONFIG is told of its configurations: where the agent in it
//! asks for them, and as whom.

use serde_json::{Value, json};
use uuid::Uuid;

use super::super::text;
use crate::model::JsonMap;
use crate::openstack::Service;
use crate::resource_types::asks::Asks;
use crate::resource_types::driver::{DriverError, Subject};
use crate::resource_types::stack_user::{self, StackUser};

/// The part of the metadata that is the agent's.
pub(super) const AGENT: &str = "os-collect-config";

fn is_wanted(properties: &JsonMap) -> bool {
    text(properties, "user_data_format") == Some("SOFTWARE_CONFIG")
}

/// Whether the agent asks as a user of the stack's.
pub(super) fn has_user(properties: &JsonMap) -> bool {
    is_wanted(properties)
        && text(properties, "software_config_transport") == Some("POLL_SERVER_HEAT")
}

/// What the resource's metadata get beside those of the template.
pub(super) fn told(
    cloud: &Asks<'_>,
    subject: &Subject,
    properties: &JsonMap,
) -> Result<JsonMap, DriverError> {
    if !is_wanted(properties) {
        return Ok(JsonMap::new());
    }
    let given = subject.metadata.get(AGENT).and_then(Value::as_object);
    let mut agent = given.cloned().unwrap_or_default();
    let mut collectors = vec!["ec2"];
    if has_user(properties) {
        if let Some(user) = StackUser::made(subject) {
            agent.insert("heat".to_owned(), as_user(cloud, subject, &user)?);
        }
        collectors.push("heat");
    } else if text(properties, "software_config_transport") == Some("POLL_SERVER_CFN") {
        agent.insert("cfn".to_owned(), by_cloudformation(cloud, subject));
        collectors.push("cfn");
    }
    collectors.push("local");
    agent.insert("collectors".to_owned(), json!(collectors));
    Ok(JsonMap::from_iter([
        ("deployments".to_owned(), json!([])),
        (AGENT.to_owned(), Value::Object(agent)),
    ]))
}

fn as_user(cloud: &Asks<'_>, subject: &Subject, user: &StackUser) -> Result<Value, DriverError> {
    let known = stack_user::credentials(cloud, subject, user)?;
    let stack = subject.stack_name.as_ref().map(ToString::to_string).unwrap_or_default();
    let id = subject.stack_id.map(|id| id.to_string()).unwrap_or_default();
    Ok(json!({
        "user_id": known["user_id"],
        "password": known["password"],
        "auth_url": known["auth_url"],
        "project_id": known["project_id"],
        "stack_id": format!("{stack}/{id}"),
        "resource_name": subject.name,
        "region_name": known["region_name"],
    }))
}

/// The keys for the API of CloudFormation are not there as long as that API is not.
fn by_cloudformation(cloud: &Asks<'_>, subject: &Subject) -> Value {
    let endpoint = cloud.endpoint(&Service::of_type("cloudformation")).ok();
    let name = subject.name.clone().unwrap_or_default();
    json!({
        "metadata_url": endpoint.map(|url| format!("{}/", url.trim_end_matches('/'))),
        "access_key_id": null,
        "secret_access_key": null,
        "stack_name": subject.stack_name,
        "path": format!("{name}.Metadata"),
    })
}

/// The text that the user has for the server: where it is the id of a software configuration, what
/// that one holds.
pub(super) fn user_data(
    cloud: &Asks<'_>,
    subject: &Subject,
    properties: &JsonMap,
) -> Result<String, DriverError> {
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
) -> Result<JsonMap, DriverError> {
    let mut metadata = subject.metadata.clone();
    metadata.extend(told(cloud, subject, properties)?);
    Ok(metadata)
}
