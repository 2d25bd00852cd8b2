//! OS::Nova::Server: ports and floating IPs before it, block devices, user data, tags after it,
//! and updates that are a chain of calls.
//!
//! ```text
//! create: (`claim`) ─▶ (`agent`) ─▶ port* ─▶ float* ─▶ create ─▶ ready ─▶ tags ─▶ done
//! delete: (`agent`) ─▶ drop_user ─▶ delete ─▶ gone ─▶ drop_port* ─▶ (`claim`) ─▶ done
//! snapshot: see `image`
//! update: see `update`
//! ```

mod addresses;
mod block_devices;
mod claim;
mod config;
mod entries;
mod floating;
mod image;
mod interfaces;
mod networks;
mod rest;
#[cfg(test)]
mod tests;
mod update;
mod user_data;
mod validate;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::text;
use crate::events::resource::Step;
use crate::model::{Action, JsonMap, Refusal};
use crate::openstack::{Collection, Method, Request, Service, path_segment};
use crate::resource_types::agent;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Change, Learned, Subject, UpdateKind, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stack_user;
use crate::resource_types::stage::{Stages, stages};

/// The program of a server.
pub(crate) struct Server {
    /// The user whom the tools in the image are to know; none is the image's own.
    pub(crate) user: Option<&'static str>,
}

/// Transient states, after which a server is active.
const TRANSIENT: [&str; 10] = [
    "BUILD",
    "HARD_REBOOT",
    "PASSWORD",
    "REBOOT",
    "RESCUE",
    "RESIZE",
    "REVERT_RESIZE",
    "SHUTOFF",
    "SUSPENDED",
    "VERIFY_RESIZE",
];

/// All servers, for those who wait for one.
const SERVERS: Collection = Collection {
    service: Service::Compute,
    list: Cow::Borrowed("/servers/detail"),
    items: Cow::Borrowed("/servers"),
    member: Some(Cow::Borrowed("server")),
    id: Cow::Borrowed("id"),
    members: Cow::Borrowed("servers"),
};

stages! {
    /// What a server goes through.
    enum Stage {
        Claim = "claim" Looks,
        Release = "release" Changes,
        Released = "released" Looks,
        Prepare = "prepare" Looks,
        Port = "port" Changes,
        Float = "float" Changes,
        Create = "create" Changes,
        Ready = "ready" Looks,
        Tags = "tags" Changes,
        DropUser = "drop_user" Changes,
        Find = "find" Looks,
        LostPorts = "lost_ports" Looks,
        Delete = "delete" Changes,
        ForceDelete = "force_delete" Changes,
        Gone = "gone" Looks,
        DropPort = "drop_port" Changes,
        GiveBack = "give_back" Changes,
        Check = "check" Looks,
        Suspend = "suspend" Changes,
        Suspended = "suspended" Looks,
        Resume = "resume" Changes,
        Resumed = "resumed" Looks,
        Image = "image" Changes,
        Imaged = "imaged" Looks,
        Stages = "stages" Looks,
        Finish = "finish" Changes,
        Finished = "finished" Looks,
        Metadata = "metadata" Changes,
        Name = "name" Changes,
        Networks = "networks" Looks,
        Detach = "detach" Changes,
        Attach = "attach" Changes,
        Settling = "settling" Looks,
        Refloat = "refloat" Changes,
        Resize = "resize" Changes,
        Resized = "resized" Looks,
        Confirm = "confirm" Changes,
        Confirmed = "confirmed" Looks,
        Rebuild = "rebuild" Changes,
        Rebuilt = "rebuilt" Looks,
        Password = "password" Changes,
        Told = "told" Looks,
        Pause = "pause" Looks,
    }
}

impl ResourceType for Server {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Delete => {
                agent::removal(subject).unwrap_or_else(|| after_agent(declared, work, subject))
            }
            Work::Create | Work::Update { .. } | Work::Act(_) => first(declared, work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, work, .. } = *beating;
        let then = || after_agent(declared, work, subject);
        let of_agent = config::of_agent(declared.properties(&subject.properties));
        if let Some(beat) = agent::beat(beating, &of_agent, &then) {
            return beat;
        }
        match Stage::of(step) {
            Some(Stage::Prepare) => {
                let following = agent::first(subject, &of_agent).unwrap_or_else(then);
                Ok(next(Learned::default(), following))
            }
            Some(Stage::DropUser) => {
                let learned = stack_user::remove(cloud, subject)?;
                Ok(next(learned, first(declared, work, subject)))
            }
            Some(Stage::Claim | Stage::Release | Stage::Released) => {
                let given = declared.properties(&subject.properties);
                let resolved = declared.declaration().resolved(cloud, given)?;
                claim::beat(beating, &resolved)
            }
            Some(Stage::GiveBack) => claim::give_back(beating),
            Some(Stage::Port) => networks::make_port(declared, beating),
            Some(Stage::Float) => floating::associate(declared, beating),
            Some(Stage::Create) => create(self.user, declared, beating),
            Some(Stage::Ready) => match poll(cloud, subject)? {
                None => Ok(Beat::Wait { after: None }),
                Some(server) => match readiness(&server, "Server is not active") {
                    Ok(true) if has_tags(subject) => {
                        Ok(next(Learned::default(), Stage::Tags.step()))
                    }
                    Ok(true) => told(declared, beating),
                    Ok(false) => Ok(Beat::Wait { after: None }),
                    Err(error) => Err(error),
                },
            },
            Some(Stage::Tags) => {
                let tags = subject.properties.get("tags").cloned().unwrap_or(json!([]));
                cloud.send(
                    server_request(Method::Put, subject, "/tags").json(json!({ "tags": tags })),
                )?;
                match work {
                    Work::Update { changed, .. } => Ok(update::after(Stage::Tags, changed)),
                    Work::Create | Work::Delete | Work::Act(_) => told(declared, beating),
                }
            }
            Some(Stage::Find) if !declared.may_be_made(subject) => {
                Ok(next(Learned::default(), Stage::LostPorts.step()))
            }
            Some(Stage::Find) => match declared.find(cloud, subject)? {
                Some(server) => {
                    let physical_id = declared.declaration().id_of(&server);
                    let learned = Learned { physical_id, ..Learned::default() };
                    Ok(next(learned, Stage::Delete.step()))
                }
                None => Ok(next(Learned::default(), Stage::LostPorts.step())),
            },
            Some(Stage::LostPorts) => networks::find_lost(declared, beating),
            Some(Stage::Gone) => gone(beating),
            Some(Stage::Delete) => match declared.plain_beat(beating)? {
                // The server was gone already; its ports may not be.
                Beat::Done { .. } => Ok(networks::drop_ports(subject)),
                other => Ok(other),
            },
            Some(Stage::ForceDelete) => {
                let request = action(subject, json!({ "forceDelete": null }));
                match cloud.send(request) {
                    Ok(_) => {}
                    Err(error) if error.is_not_found() || error.is_conflict() => {}
                    Err(error) => return Err(error.into()),
                }
                Ok(next(Learned::default(), beating.progress().to(Stage::Gone)))
            }
            Some(Stage::DropPort) => networks::drop_port(beating),
            Some(Stage::Check) => {
                let server = declared.show(cloud, subject)?;
                match status(&server) {
                    "ACTIVE" => Ok(done()),
                    other => {
                        let expected = "ACTIVE".to_owned();
                        Err(Failure::Unhealthy { expected, status: other.to_owned() })
                    }
                }
            }
            Some(Stage::Suspend | Stage::Suspended | Stage::Resume | Stage::Resumed) => {
                rest::beat(beating)
            }
            Some(Stage::Image | Stage::Imaged) => image::beat(beating),
            Some(Stage::Pause) => declared.plain_beat(beating),
            _ => update::beat(declared, beating),
        }
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        let after = declared.properties(&subject.properties);
        let replaces = |name: &str| {
            changed.contains(name)
                && text(&after, &format!("{name}_update_policy")) == Some("REPLACE")
        };
        if ["flavor", "image", "user_data"].into_iter().any(replaces) {
            return declared.replaced_by_class(subject);
        }
        declared.plain_on_change(subject, changed)
    }

    fn delete_snapshot(
        &self,
        cloud: &Asks<'_>,
        data: &BTreeMap<String, Value>,
    ) -> Result<bool, Failure> {
        image::delete(cloud, data)
    }

    fn restored(&self, properties: &JsonMap, data: &BTreeMap<String, Value>) -> JsonMap {
        let Some(image) = data.get(image::SNAPSHOT).filter(|image| !image.is_null()) else {
            return JsonMap::new();
        };
        let mut restored = block_devices::without_boot(properties);
        restored.insert("image".to_owned(), image.clone());
        restored
    }

    fn attribute(&self, at: At<'_>, object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let At { cloud, subject, .. } = at;
        addresses::attribute(cloud, subject, object, name)
    }

    fn observes(&self, _subject: &Subject, name: &str, _update_allowed: bool) -> bool {
        matches!(name, "name" | "flavor" | "image" | "metadata" | "tags" | "networks")
    }

    /// A server that is not at rest tells nothing.
    fn object(&self, at: At<'_>) -> Result<Option<Value>, Failure> {
        let At { declared, cloud, subject, .. } = at;
        let server = declared.look(cloud, subject)?;
        match server.as_ref().map(status) {
            // Nova shows for a while what it has deleted.
            None | Some("DELETED") => Ok(None),
            Some("" | "ACTIVE") => Ok(server),
            Some(_) => {
                let name = subject.name.clone().unwrap_or_default();
                Err(Failure::Failed(format!("Server {name} is not in ACTIVE state")))
            }
        }
    }

    fn live(
        &self,
        at: At<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        let At { declared, cloud, subject } = at;
        match name {
            "image" => Ok(object["image"].get("id").cloned()),
            "flavor" => flavor(cloud, object, wanted),
            "networks" => interfaces::compared(declared, cloud, subject, wanted).map(Some),
            _ => Ok(declared.plain_live(object, name, wanted)),
        }
    }

    fn validate(&self, name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        validate::properties(name, properties)
    }

    fn validate_metadata(&self, metadata: &JsonMap, properties: &JsonMap) -> Result<(), Refusal> {
        validate::metadata(metadata, properties)
    }

    fn asked_of_cloud(&self, properties: &JsonMap) -> Option<JsonMap> {
        validate::asked_of_cloud(properties)
    }

    fn validate_in_cloud(&self, cloud: &Asks<'_>, asked: &JsonMap) -> Result<(), Refusal> {
        validate::in_cloud(cloud, asked)
    }
}

/// What follows once the way is there, or gone, by which the agent is told things.
fn after_agent(declared: &Declared, work: &Work, subject: &Subject) -> Step {
    let had_user = || {
        let of_agent = config::of_agent(declared.properties(&subject.properties));
        agent::proof(&of_agent).is_some() || stack_user::may_be_there(subject)
    };
    match work {
        Work::Create => networks::next_preparation(declared, subject, 0),
        Work::Delete if had_user() => Stage::DropUser.step(),
        Work::Update { .. } => Stage::Stages.step(),
        Work::Delete | Work::Act(_) => first(declared, work, subject),
    }
}

/// The first step, once a user of the server's is dealt with.
fn first(declared: &Declared, work: &Work, subject: &Subject) -> Step {
    match work {
        Work::Create if claim::is_due(subject, &declared.properties(&subject.properties)) => {
            Stage::Claim.step()
        }
        Work::Create => Stage::Prepare.step(),
        Work::Update { changed, .. } => {
            update::first(subject, declared.properties(&subject.properties), changed)
        }
        Work::Act(action @ (Action::Suspend | Action::Resume)) => rest::first(*action),
        Work::Act(Action::Snapshot) => image::first(work, subject),
        Work::Delete if subject.kept_first && subject.physical_id.is_some() => {
            image::first(work, subject)
        }
        Work::Delete | Work::Act(_) => declared.first_step(work, subject),
    }
}

/// The last beat: the server's metadata say what it is told.
fn told(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let properties = declared.properties(&subject.properties);
    let metadata = config::told(cloud, subject, &properties)?;
    Ok(Beat::Done { learned: Learned { metadata, ..Learned::default() } })
}

/// The server's flavor: newer clouds tell its name alone, so the one that is wanted is looked up.
fn flavor(cloud: &Asks<'_>, server: &Value, wanted: &Value) -> Result<Option<Value>, Failure> {
    let live = &server["flavor"];
    if let Some(id) = live.get("id") {
        return Ok(Some(id.clone()));
    }
    let path = format!("/flavors/{}", path_segment(wanted.as_str().unwrap_or_default()));
    let known = cloud.send(Request::get(Service::Compute, path))?.json()?;
    let is_same = known["flavor"]["name"] == live["original_name"];
    Ok(Some(if is_same { wanted.clone() } else { live["original_name"].clone() }))
}

/// A request about the server itself.
fn server_request(method: Method, subject: &Subject, rest: &str) -> Request {
    let id = path_segment(subject.physical_id.as_deref().unwrap_or_default());
    Request::new(method, Service::Compute, format!("/servers/{id}{rest}"))
}

fn action(subject: &Subject, body: Value) -> Request {
    server_request(Method::Post, subject, "/action").json(body)
}

/// The server as it is now; none while Nova does not answer well.
fn poll(cloud: &Asks<'_>, subject: &Subject) -> Result<Option<Value>, Failure> {
    let id = subject.physical_id.as_deref().unwrap_or_default();
    match cloud.poll_one(&SERVERS, id) {
        Ok(server) => Ok(Some(server)),
        // Heat rides these out where it only looks.
        Err(error) if matches!(error.status(), Some(413 | 500 | 503)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The status without what some clouds add in brackets.
fn status(server: &Value) -> &str {
    let status = server["status"].as_str().unwrap_or_default();
    status.split('(').next().unwrap_or_default()
}

/// Whether the server can be used; an error when it never will be.
fn readiness(server: &Value, otherwise: &str) -> Result<bool, Failure> {
    match status(server) {
        "ACTIVE" => Ok(true),
        "ERROR" => {
            let fault = &server["fault"];
            let message = fault["message"].as_str().unwrap_or("Unknown");
            let code = match &fault["code"] {
                Value::Null => "Unknown".to_owned(),
                code => code.to_string(),
            };
            Err(Failure::in_error("ERROR", format!("Message: {message}, Code: {code}")))
        }
        transient if TRANSIENT.contains(&transient) => Ok(false),
        other => Err(Failure::unknown_status(otherwise, other)),
    }
}

fn has_tags(subject: &Subject) -> bool {
    subject.properties.get("tags").and_then(Value::as_array).is_some_and(|tags| !tags.is_empty())
}

fn create(user: Option<&str>, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let created = |server: &Value| -> Result<Beat, Failure> {
        let physical_id = declared.declaration().id_of(server);
        let learned = Declared::made(subject, physical_id);
        Ok(next(learned, beating.progress().at(0).to(Stage::Ready)))
    };
    if beating.is_unanswered()
        && let Some(server) = declared.find(cloud, subject)?
    {
        return created(&server);
    }
    let properties = declared.properties(&subject.properties);
    let mut properties = declared.declaration().resolved(cloud, properties)?;
    let nics = networks::nics(cloud, subject, &properties)?;
    let devices = block_devices::devices(&properties);
    let data = config::user_data(cloud, subject, &properties)?;
    let metadata = config::metadata(cloud, subject, &properties)?;
    let user_data = user_data::encoded(cloud, user, &properties, &data, &metadata)?;
    properties.retain(|_, value| !value.is_null());
    properties.insert("networks".into(), nics);
    properties.shift_remove("block_device_mapping");
    properties.shift_remove("block_device_mapping_v2");
    if let Some(devices) = devices {
        properties.insert("block_device_mapping_v2".into(), devices);
    }
    properties.shift_remove("user_data");
    if let Some(user_data) = user_data {
        properties.insert("user_data".into(), user_data.into());
    }
    if let Some(groups) = properties.get_mut("security_groups")
        && let Value::Array(list) = groups
    {
        *groups = list.iter().map(|group| json!({ "name": group })).collect();
    }
    if let Some(metadata) = properties.get_mut("metadata") {
        *metadata = update::metadata_texts(metadata);
    }
    properties.entry("image").or_insert("".into());
    let body =
        declared.body(crate::resource_types::resource_type::Purpose::Create, subject, properties);
    let request = Request::post(Service::Compute, "/servers").json(body);
    match cloud.send(request) {
        Ok(response) => created(&declared.declaration().unwrapped(response.json()?)),
        Err(error) => Err(error.into()),
    }
}

fn gone(beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let id = subject.physical_id.as_deref().unwrap_or_default();
    let progress = beating.progress();
    let server = match cloud.poll_one(&SERVERS, id) {
        Ok(server) => server,
        Err(error) if error.is_not_found() => Value::Null,
        Err(error) if matches!(error.status(), Some(413 | 500 | 503)) => {
            return Ok(Beat::Wait { after: None });
        }
        Err(error) => return Err(error.into()),
    };
    match status(&server) {
        "" | "DELETED" => Ok(networks::drop_ports(subject)),
        "SOFT_DELETED" => Ok(next(Learned::default(), progress.to(Stage::ForceDelete))),
        "ERROR" if server["OS-EXT-STS:task_state"] != "deleting" => {
            let fault = &server["fault"];
            let name = server["name"].as_str().unwrap_or_default();
            let message = fault["message"].as_str().unwrap_or("Unknown");
            let code = &fault["code"];
            let reason = format!("Server {name} delete failed: ({code}) {message}");
            Err(Failure::in_error("ERROR", &reason))
        }
        _ => Ok(Beat::Wait { after: None }),
    }
}
