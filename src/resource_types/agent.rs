//! What the agent in a server is told of its software configurations: where it asks for them, and
//! as whom. Where it looks for them in an object or a queue, somebody fills these as the
//! configurations change (`outlets::agents`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::Method;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::Beating;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, StackUser, Subject, Work};
use crate::resource_types::presigned;
use crate::resource_types::stack_user::{self, Key, Proof};
use crate::resource_types::stage::{Stages, stages};
use crate::resource_types::types::heat::{signal_queue, temp_url};

/// The part of the metadata that is the agent's.
const AGENT: &str = "os-collect-config";

/// The parts of it that say where the configurations are, one for each way.
const WAYS: [&str; 4] = ["heat", "zaqar", "cfn", "request"];

/// The transport by which the agent reads an object in Swift, and the one by which it takes messages
/// from a queue in Zaqar.
const TEMP_URL: &str = "POLL_TEMP_URL";
const ZAQAR: &str = "ZAQAR_MESSAGE";

/// Resource data: the object, or the queue, that is to be filled.
const CONTAINER: &str = "metadata_container";
const OBJECT: &str = "metadata_object_name";
const QUEUE: &str = "metadata_queue_id";

/// How long a message lives, in seconds.
const TTL_SECS: u32 = 3_600;

stages! {
    /// How the place comes and goes that an agent is told things at.
    enum Stage {
        Note = "agent_note" Looks,
        Container = "agent_container" Changes,
        Withdraw = "agent_withdraw" Changes,
    }
}

fn transport(properties: &JsonMap) -> &str {
    properties.get("software_config_transport").and_then(Value::as_str).unwrap_or_default()
}

/// By what the agent is let in as a user of the stack's, where it asks as one.
pub(crate) fn proof(properties: &JsonMap) -> Option<Proof> {
    match transport(properties) {
        "POLL_SERVER_HEAT" | ZAQAR => Some(Proof::Password),
        "POLL_SERVER_CFN" => Some(Proof::Key),
        _ => None,
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
    let (way, told) = match (transport(properties), proof(properties)) {
        (ZAQAR, _) => ("zaqar", by_messages(cloud, subject)?),
        (TEMP_URL, _) => {
            let (container, object) = object(subject, properties);
            let address = temp_url::address_of(cloud, Method::Get, &container, &object)?;
            ("request", Some(json!({ "metadata_url": address })))
        }
        (_, Some(Proof::Password)) => ("heat", as_user(cloud, subject)?),
        (_, Some(Proof::Key)) => ("cfn", Some(by_cloudformation(cloud, subject)?)),
        (_, None) => ("", None),
    };
    agent.extend(told.map(|told| (way.to_owned(), told)));
    if !way.is_empty() {
        collectors.push(way);
    }
    collectors.push("local");
    agent.insert("collectors".to_owned(), json!(collectors));
    Ok(JsonMap::from_iter([
        ("deployments".to_owned(), json!([])),
        (AGENT.to_owned(), Value::Object(agent)),
    ]))
}

fn as_user(cloud: &Asks<'_>, subject: &Subject) -> Result<Option<Value>, Failure> {
    let Some(user) = StackUser::made(subject) else { return Ok(None) };
    let known = stack_user::credentials(cloud, subject, &user)?;
    let stack = subject.stack_name.as_ref().map(ToString::to_string).unwrap_or_default();
    let id = subject.stack_id.map(|id| id.to_string()).unwrap_or_default();
    Ok(Some(json!({
        "user_id": known["user_id"],
        "password": known["password"],
        "auth_url": known["auth_url"],
        "project_id": known["project_id"],
        "stack_id": format!("{stack}/{id}"),
        "resource_name": subject.name,
        "region_name": known["region_name"],
    })))
}

fn by_messages(cloud: &Asks<'_>, subject: &Subject) -> Result<Option<Value>, Failure> {
    let Some(queue) = signal_queue::of(subject) else { return Ok(None) };
    let known = stack_user::credentials(cloud, subject, &queue.user)?;
    Ok(Some(json!({
        "user_id": known["user_id"],
        "password": known["password"],
        "auth_url": known["auth_url"],
        "project_id": known["project_id"],
        "queue_id": queue.name,
        "region_name": known["region_name"],
    })))
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

/// The container and the object of an agent that reads one.
fn object(subject: &Subject, properties: &JsonMap) -> (String, String) {
    let given = |part: &str| {
        let given = properties.get("deployment_swift_data")?.get(part)?.as_str()?;
        Some(given.to_owned())
    };
    let own = || subject.resource_id.map(|id| id.0.simple().to_string()).unwrap_or_default();
    let container = given("container").unwrap_or_else(|| subject.physical_name.clone());
    (container, given("object").unwrap_or_else(own))
}

fn text<'a>(subject: &'a Subject, name: &str) -> Option<&'a str> {
    subject.data.get(name).and_then(Value::as_str)
}

/// Whether the agent looks for what it is told at a place that is filled for it.
pub(crate) fn is_placed(subject: &Subject) -> bool {
    [OBJECT, QUEUE].iter().any(|name| text(subject, name).is_some())
}

/// The first step to a transport, from none or from another; `None` where nothing is to be done.
pub(crate) fn first(subject: &Subject, properties: &JsonMap) -> Option<Step> {
    removal(subject).or_else(|| due(properties))
}

/// The step that takes the place away, where there is one.
pub(crate) fn removal(subject: &Subject) -> Option<Step> {
    is_placed(subject).then(|| Stage::Withdraw.step())
}

/// Whether the place is being taken away in a step of this name.
pub(crate) fn withdraws(step: &str) -> bool {
    step == Stage::Withdraw.step().name
}

/// What a transport asks for: a user, a place, or both.
fn due(properties: &JsonMap) -> Option<Step> {
    match proof(properties) {
        Some(_) => Some(stack_user::first(Value::Null)),
        None if transport(properties) == TEMP_URL => Some(Stage::Note.step()),
        None => None,
    }
}

/// Makes the beats of these steps; `then` follows. `None`: the step is no such beat.
pub(crate) fn beat(
    beating: &Beating<'_>,
    properties: &JsonMap,
    then: &dyn Fn() -> Step,
) -> Option<Result<Beat, Failure>> {
    let Beating { cloud, work, subject, step, .. } = *beating;
    let noted = || match transport(properties) {
        ZAQAR => Stage::Note.step(),
        _ => then(),
    };
    if let Some(proof) = proof(properties)
        && let Some(beat) = stack_user::make(cloud, subject, step, proof, noted)
    {
        return Some(beat);
    }
    let next = |data: BTreeMap<String, Value>, next: Step| Beat::Next {
        learned: Learned { data, ..Learned::default() },
        next,
    };
    Some(match Stage::of(step)? {
        Stage::Note if transport(properties) == ZAQAR => {
            let queue = signal_queue::of(subject).map(|queue| queue.name);
            Ok(next(BTreeMap::from([(QUEUE.to_owned(), queue.into())]), then()))
        }
        Stage::Note => {
            let (container, object) = object(subject, properties);
            let known =
                [(CONTAINER.to_owned(), container.into()), (OBJECT.to_owned(), object.into())];
            Ok(next(known.into(), Stage::Container.step()))
        }
        Stage::Container => {
            let container = text(subject, CONTAINER).unwrap_or_default();
            temp_url::make_container(cloud, container).map(|()| next(BTreeMap::new(), then()))
        }
        Stage::Withdraw => withdraw(cloud, subject).map(|()| {
            let gone = [CONTAINER, OBJECT, QUEUE].map(|name| (name.to_owned(), Value::Null));
            let due = if *work == Work::Delete { None } else { due(properties) };
            next(gone.into(), due.unwrap_or_else(then))
        }),
    })
}

fn withdraw(cloud: &Asks<'_>, subject: &Subject) -> Result<(), Failure> {
    if text(subject, QUEUE).is_some() {
        signal_queue::remove(cloud, subject)?;
    }
    match (text(subject, CONTAINER), text(subject, OBJECT)) {
        (Some(container), Some(object)) => temp_url::drop_object(cloud, container, object),
        _ => Ok(()),
    }
}

/// Tells the agent its metadata at the place that is filled for it, where there is one. Who comes
/// after it was taken away finds nothing to fill.
pub(crate) fn publish(
    cloud: &Asks<'_>,
    subject: &Subject,
    metadata: &JsonMap,
) -> Result<(), Failure> {
    if let (Some(queue), true) = (signal_queue::of(subject), text(subject, QUEUE).is_some()) {
        let message = json!({ "body": metadata, "ttl": TTL_SECS });
        signal_queue::post(cloud, &queue, message)?;
    }
    match (text(subject, CONTAINER), text(subject, OBJECT)) {
        (Some(container), Some(object)) => temp_url::fill(cloud, container, object, metadata),
        _ => Ok(()),
    }
}
