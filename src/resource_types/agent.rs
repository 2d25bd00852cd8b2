//! What the agent in a server is told of its software configurations: where it asks for them, and
//! as whom.

use serde_json::{Value, json};

use crate::model::{JsonMap, Refusal};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;
use crate::resource_types::presigned;
use crate::resource_types::stack_user::{self, Key, Proof, StackUser};

/// The part of the metadata that is the agent's.
const AGENT: &str = "os-collect-config";

/// The parts of it that say where the configurations are, one for each way.
const WAYS: [&str; 4] = ["heat", "zaqar", "cfn", "request"];

fn transport(properties: &JsonMap) -> &str {
    properties.get("software_config_transport").and_then(Value::as_str).unwrap_or_default()
}

/// By what the agent is let in as a user of the stack's, where it asks as one.
pub(crate) fn proof(properties: &JsonMap) -> Option<Proof> {
    match transport(properties) {
        "POLL_SERVER_HEAT" => Some(Proof::Password),
        "POLL_SERVER_CFN" => Some(Proof::Key),
        _ => None,
    }
}

/// Refuses ways that are not there yet.
pub(crate) fn check(properties: &JsonMap) -> Result<(), Refusal> {
    match transport(properties) {
        transport @ ("POLL_TEMP_URL" | "ZAQAR_MESSAGE") => {
            let text = format!("The software_config_transport {transport} is not supported.");
            Err(Refusal::new("NotSupported", text))
        }
        _ => Ok(()),
    }
}

/// What was told last.
pub(crate) fn known(subject: &Subject) -> Value {
    let told = subject.signals.get(AGENT).or_else(|| subject.metadata.get(AGENT));
    told.cloned().unwrap_or_else(|| json!({}))
}

/// What the resource's metadata get beside those of the template. `collectors` are asked first;
/// ways that were told before and are no longer good are emptied.
pub(crate) fn told(
    cloud: &Asks<'_>,
    subject: &Subject,
    properties: &JsonMap,
    collectors: &[&str],
) -> Result<JsonMap, Failure> {
    let mut agent = known(subject).as_object().cloned().unwrap_or_default();
    for way in WAYS {
        let told = agent.get_mut(way).and_then(Value::as_object_mut);
        told.into_iter().flatten().for_each(|(_, value)| *value = Value::Null);
    }
    let mut collectors = collectors.to_vec();
    match proof(properties) {
        Some(Proof::Password) => {
            if let Some(user) = StackUser::made(subject) {
                agent.insert("heat".to_owned(), as_user(cloud, subject, &user)?);
            }
            collectors.push("heat");
        }
        Some(Proof::Key) => {
            agent.insert("cfn".to_owned(), by_cloudformation(cloud, subject)?);
            collectors.push("cfn");
        }
        None => {}
    }
    collectors.push("local");
    agent.insert("collectors".to_owned(), json!(collectors));
    Ok(JsonMap::from_iter([
        ("deployments".to_owned(), json!([])),
        (AGENT.to_owned(), Value::Object(agent)),
    ]))
}

fn as_user(cloud: &Asks<'_>, subject: &Subject, user: &StackUser) -> Result<Value, Failure> {
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

/// Without a domain for stacks' users there are no keys.
fn by_cloudformation(cloud: &Asks<'_>, subject: &Subject) -> Result<Value, Failure> {
    let name = subject.name.clone().unwrap_or_default();
    let key = Key::made(subject);
    Ok(json!({
        "metadata_url": presigned::metadata_server(cloud)?,
        "access_key_id": key.as_ref().map(|key| &key.access),
        "secret_access_key": key.as_ref().map(|key| key.secret.reveal()),
        "stack_name": subject.stack_name,
        "path": format!("{name}.Metadata"),
    }))
}
