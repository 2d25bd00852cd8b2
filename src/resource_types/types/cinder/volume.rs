//! OS::Cinder::Volume: made from several sources, grown and retyped in place; its attributes read
//! as texts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::volume_stage::Stage;
use super::{VOLUMES, backup, holders, text};
use crate::events::resource::Step;
use crate::model::python::is_truthy;
use crate::model::{Action, JsonMap, Refusal};
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, Purpose, ResourceType};
use crate::resource_types::stage::Stages;

pub(crate) struct Volume;

/// The stages of an update in their order, and the properties that ask for them.
const STAGES: [(Stage, &[&str]); 6] = [
    (Stage::Describe, &["name", "description"]),
    (Stage::Metadata, &["metadata"]),
    (Stage::Retype, &["volume_type"]),
    (Stage::Refill, &["backup_id"]),
    (Stage::Extend, &["size"]),
    (Stage::ReadOnly, &["read_only"]),
];

/// What follows a stage of an update.
fn after(stage: Option<Stage>, changed: &BTreeSet<String>, subject: &Subject) -> Step {
    let passed = STAGES.iter().position(|(passed, _)| Some(*passed) == stage);
    let passed = passed.map_or(0, |index| index + 1);
    let mut left = STAGES.iter().skip(passed);
    match left.find(|(_, asks)| asks.iter().any(|name| changed.contains(*name))) {
        Some((stage, _)) => stage.step(),
        None if holders::is_awaited(subject) => holders::first_back(),
        None => PlainStage::Done.step(),
    }
}

/// The stage of an update that wants the volume free of servers.
fn freeing(work: &Work) -> Stage {
    match work {
        Work::Update { changed, .. } if changed.contains("backup_id") => Stage::Refill,
        Work::Create | Work::Update { .. } | Work::Delete | Work::Act(_) => Stage::ReadOnly,
    }
}

fn request(method: Method, subject: &Subject, rest: &str) -> Request {
    let id = path_segment(subject.physical_id.as_deref().unwrap_or_default());
    Request::new(method, Service::Volume, format!("/volumes/{id}{rest}"))
}

fn poll(cloud: &Asks<'_>, subject: &Subject) -> Result<Value, Failure> {
    let id = subject.physical_id.as_deref().unwrap_or_default();
    Ok(cloud.poll_one(&VOLUMES, id)?)
}

impl ResourceType for Volume {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Update { changed, .. } => after(None, changed, subject),
            Work::Create if is_restored(subject) => Stage::Restore.step(),
            Work::Act(Action::Snapshot) => backup::first(work, subject),
            Work::Delete if subject.kept_first && subject.physical_id.is_some() => {
                backup::first(work, subject)
            }
            Work::Create | Work::Delete | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn live(
        &self,
        at: At<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        let At { declared, .. } = at;
        Ok(match name {
            // What the volume was filled from says nothing of it now.
            "backup_id" => None,
            "read_only" => object["metadata"].get("readonly").cloned(),
            "metadata" => {
                let mut metadata = object["metadata"].clone();
                if let Some(metadata) = metadata.as_object_mut() {
                    metadata.shift_remove("readonly");
                }
                Some(metadata)
            }
            _ => declared.plain_live(object, name, wanted),
        })
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { work, subject, step, .. } = *beating;
        match Stage::of(step) {
            Some(Stage::LetGo | Stage::Going) => match holders::beat(beating, freeing(work)) {
                Err(error) => holders::failed(subject, error),
                beat => beat,
            },
            Some(Stage::GiveBack | Stage::Coming | Stage::GivenBack) => {
                holders::beat(beating, freeing(work))
            }
            _ => match stage_beat(declared, beating) {
                Err(error) if matches!(work, Work::Update { .. }) => {
                    holders::failed(subject, error)
                }
                beat => beat,
            },
        }
    }

    fn body(&self, purpose: Purpose, subject: &Subject, body: &mut JsonMap) {
        if purpose == Purpose::Create && text(body, "description").is_none() {
            body.insert("description".into(), subject.physical_name.as_str().into());
        }
    }

    fn delete_snapshot(
        &self,
        cloud: &Asks<'_>,
        data: &BTreeMap<String, Value>,
    ) -> Result<bool, Failure> {
        backup::delete(cloud, data)
    }

    fn restored(&self, _properties: &JsonMap, data: &BTreeMap<String, Value>) -> JsonMap {
        let Some(backup) = data.get(backup::SNAPSHOT).filter(|id| !id.is_null()) else {
            return JsonMap::new();
        };
        // What the volume was made of gives way to the backup; the size stays.
        let dropped =
            ["image", "imageRef", "source_volid"].map(|name| (name.to_owned(), Value::Null));
        let backup = ("backup_id".to_owned(), backup.clone());
        dropped.into_iter().chain([backup]).collect()
    }

    fn attribute(&self, _at: At<'_>, object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        Ok(Some(match name {
            "show" => return Ok(None),
            "metadata_values" => object["metadata"].clone(),
            "metadata" => object["metadata"].to_string().into(),
            "attachments_list" => object["attachments"].clone(),
            "display_name" => python::text(&object["name"]).into(),
            "display_description" => python::text(&object["description"]).into(),
            other => python::text(&object[other]).into(),
        }))
    }

    fn warning(&self, before: &JsonMap, after: &JsonMap) -> Option<&'static str> {
        let size = |of: &JsonMap| of.get("size").and_then(Value::as_i64);
        (size(after)? < size(before)?).then_some(NO_SHRINKING)
    }

    fn validate(&self, _name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        let is_set = |name: &&str| properties.get(*name).is_some_and(is_truthy);
        if is_set(&"backup_id") {
            return Ok(());
        }
        let sources: Vec<&str> = ["snapshot_id", "source_volid", "image", "imageRef"]
            .into_iter()
            .filter(is_set)
            .collect();
        let listed: Vec<String> = sources.iter().map(|name| format!("'{name}'")).collect();
        let listed = listed.join(", ");
        let has_size = properties.get("size").is_some_and(|size| !size.is_null());
        match sources.as_slice() {
            ["snapshot_id"] | ["source_volid"] if !has_size => Ok(()),
            _ if !has_size => Err(Refusal::validation(format!(
                "If neither \"backup_id\" nor \"size\" is provided, one and only one of \
                 \"source_volid\", \"snapshot_id\" must be specified, but currently specified \
                 options: [{listed}]."
            ))),
            [_, _, ..] => Err(Refusal::validation(format!(
                "If \"size\" is provided, only one of \"image\", \"imageRef\", \"source_volid\", \
                 \"snapshot_id\" can be specified, but currently specified options: [{listed}]."
            ))),
            _ => Ok(()),
        }
    }
}

/// One beat of a stage.
fn stage_beat(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, step, .. } = *beating;
    let given = declared.properties(&subject.properties);
    let following = |stage: Stage| match work {
        Work::Update { changed, .. } => {
            next(Learned::default(), after(Some(stage), changed, subject))
        }
        Work::Create | Work::Delete | Work::Act(_) => done(),
    };
    match Stage::of(step) {
        Some(Stage::Restore) => restore(declared, beating),
        // What was restored has the token for its name until it is described.
        None if PlainStage::of(step) == Some(PlainStage::Find) && is_restored(subject) => {
            let subject = &unnamed(subject);
            declared.plain_beat(&Beating { subject, ..*beating })
        }
        Some(Stage::Ready) => {
            let volume = poll(cloud, subject)?;
            match volume["status"].as_str().unwrap_or_default() {
                "available" if is_access_said(&given) && *work == Work::Create => {
                    Ok(next(Learned::default(), Stage::ReadOnly.step()))
                }
                "available" => Ok(done()),
                "creating" | "restoring-backup" | "downloading" => Ok(Beat::Wait { after: None }),
                status if status.starts_with("error") => Err(Failure::in_error(status, "Unknown")),
                other => Err(Failure::unknown_status("Volume create failed", other)),
            }
        }
        Some(Stage::Describe) => {
            // What is no longer said stays, as in Heat.
            let former = match work {
                Work::Update { before, .. } => Some(before),
                Work::Create | Work::Delete | Work::Act(_) => None,
            };
            let said = |name: &str| {
                let said = text(&given, name).or_else(|| text(former?, name));
                said.unwrap_or(&subject.physical_name).to_owned()
            };
            let (name, description) = (said("name"), said("description"));
            let body = json!({ "volume": { "name": name, "description": description } });
            cloud.send(request(Method::Put, subject, "").json(body))?;
            Ok(match work {
                Work::Create => next(Learned::default(), Stage::Ready.step()),
                Work::Update { .. } | Work::Delete | Work::Act(_) => following(Stage::Describe),
            })
        }
        Some(Stage::Metadata) => {
            let metadata = given.get("metadata").cloned().unwrap_or_else(|| json!({}));
            let body = json!({ "metadata": metadata });
            cloud.send(request(Method::Put, subject, "/metadata").json(body))?;
            Ok(following(Stage::Metadata))
        }
        Some(Stage::Retype) => {
            let new_type = given.get("volume_type").cloned().unwrap_or_default();
            if !(beating.is_unanswered() && poll(cloud, subject)?["volume_type"] == new_type) {
                let body =
                    json!({ "os-retype": { "new_type": new_type, "migration_policy": "never" } });
                cloud.send(request(Method::Post, subject, "/action").json(body))?;
            }
            Ok(following(Stage::Retype))
        }
        Some(Stage::Refill) => refill(beating, &given),
        Some(Stage::Refilled) => match poll(cloud, subject)?["status"].as_str().unwrap_or_default()
        {
            "restoring-backup" => Ok(Beat::Wait { after: None }),
            "available" | "in-use" => Ok(following(Stage::Refill)),
            other => Err(Failure::unknown_status("Volume restore failed", other)),
        },
        Some(Stage::Extend) => extend(beating, &given),
        Some(Stage::Extended) => {
            let volume = poll(cloud, subject)?;
            match volume["status"].as_str().unwrap_or_default() {
                // It may be on its way from its server still, where an extension came late.
                _ if is_transient(&volume["status"]) => Ok(Beat::Wait { after: None }),
                "available" | "in-use" if volume["size"] != given["size"] => {
                    Ok(Beat::Wait { after: None })
                }
                "available" | "in-use" => Ok(following(Stage::Extend)),
                other => Err(Failure::unknown_status("Volume resize failed", other)),
            }
        }
        Some(Stage::ReadOnly) => {
            if let Work::Update { .. } = work {
                let volume = poll(cloud, subject)?;
                if let Some(beat) = in_the_way(subject, &volume) {
                    return Ok(beat);
                }
            }
            let body =
                json!({ "os-update_readonly_flag": { "readonly": wants_read_only(&given) } });
            cloud.send(request(Method::Post, subject, "/action").json(body))?;
            Ok(following(Stage::ReadOnly))
        }
        Some(Stage::Delete) => match declared.look(cloud, subject)? {
            Some(volume) if volume["status"] == "in-use" => {
                Err(Failure::Failed("Volume in use".to_owned()))
            }
            Some(volume) if volume["status"] == "deleting" => {
                Ok(next(Learned::default(), beating.progress().to(Stage::Gone)))
            }
            // A delete that overtakes the create: Cinder refuses it until the volume is whole.
            Some(volume) if is_transient(&volume["status"]) => Ok(Beat::Wait { after: None }),
            _ => declared.plain_beat(beating),
        },
        Some(Stage::Backup | Stage::BackedUp) => backup::beat(beating),
        Some(Stage::Check) => {
            let volume = declared.show(cloud, subject)?;
            match volume["status"].as_str().unwrap_or_default() {
                "available" | "in-use" => Ok(done()),
                other => Err(Failure::Unhealthy {
                    expected: "['available', 'in-use']".to_owned(),
                    status: other.to_owned(),
                }),
            }
        }
        _ => declared.plain_beat(beating),
    }
}

const NO_SHRINKING: &str = "Shrinking volume is not supported.";

/// Whether Cinder is at work on a volume and will come to an end of it.
fn is_transient(status: &Value) -> bool {
    const STATUSES: [&str; 8] = [
        "creating",
        "downloading",
        "restoring-backup",
        "extending",
        "retyping",
        "uploading",
        "attaching",
        "detaching",
    ];
    status.as_str().is_some_and(|status| STATUSES.contains(&status))
}

/// Whether it is said how the volume may be used: one that is made of another has its access.
fn is_access_said(properties: &JsonMap) -> bool {
    properties.get("read_only").is_some_and(|value| !value.is_null())
}

fn wants_read_only(properties: &JsonMap) -> bool {
    properties.get("read_only") == Some(&Value::Bool(true))
}

/// Whether the volume is made of a backup.
fn is_restored(subject: &Subject) -> bool {
    text(&subject.properties, "backup_id").is_some()
}

/// The volume as it is restored, without the name that it is given afterwards.
fn unnamed(subject: &Subject) -> Subject {
    let mut unnamed = subject.clone();
    unnamed.properties.shift_remove("name");
    unnamed
}

/// Makes a volume of a backup; it bears the token as its name until it is described.
fn restore(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let found =
        if beating.is_unanswered() { declared.find(cloud, &unnamed(subject))? } else { None };
    let id = match found {
        Some(volume) => volume["id"].as_str().map(str::to_owned),
        None => {
            let backup = path_segment(text(&subject.properties, "backup_id").unwrap_or_default());
            let body = json!({ "restore": { "name": subject.physical_name } });
            let request =
                Request::post(Service::Volume, format!("/backups/{backup}/restore")).json(body);
            let restored = cloud.send(request)?.json()?;
            restored["restore"]["volume_id"].as_str().map(str::to_owned)
        }
    };
    let learned = Learned { physical_id: id, ..Learned::default() };
    Ok(next(learned, Stage::Describe.step()))
}

/// Fills the volume from a backup; one that the template no longer names is left as it is.
fn refill(beating: &Beating<'_>, given: &JsonMap) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let Some(backup) = text(given, "backup_id") else {
        return Ok(next(Learned::default(), Stage::Refilled.step()));
    };
    let volume = poll(cloud, subject)?;
    if !(beating.is_unanswered() && volume["status"] == "restoring-backup") {
        if let Some(beat) = in_the_way(subject, &volume) {
            return Ok(beat);
        }
        let body = json!({ "restore": { "volume_id": subject.physical_id } });
        let path = format!("/backups/{}/restore", path_segment(backup));
        cloud.send(Request::post(Service::Volume, path).json(body))?;
    }
    Ok(next(Learned::default(), Stage::Refilled.step()))
}

/// What comes before a call that Cinder takes of a free volume alone.
fn in_the_way(subject: &Subject, volume: &Value) -> Option<Beat> {
    match is_transient(&volume["status"]) {
        true => Some(Beat::Wait { after: None }),
        false => holders::take(subject, volume),
    }
}

fn extend(beating: &Beating<'_>, given: &JsonMap) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let wanted = given.get("size").and_then(Value::as_i64).unwrap_or_default();
    let volume = poll(cloud, subject)?;
    let size = volume["size"].as_i64().unwrap_or_default();
    if wanted < size {
        return Err(Failure::Unsupported(NO_SHRINKING.to_owned()));
    }
    if wanted > size && volume["status"] != "extending" {
        // Such as a change of its type, or a backup of it.
        if is_transient(&volume["status"]) {
            return Ok(Beat::Wait { after: None });
        }
        let body = json!({ "os-extend": { "new_size": wanted } });
        cloud.send(request(Method::Post, subject, "/action").json(body))?;
    }
    Ok(next(Learned::default(), Stage::Extended.step()))
}
