//! Updates of a server: each stage that a changed property asks for, one after the other.
//!
//! ```text
//! (`agent`) ─▶ (finish ─▶ finished) ─▶ metadata ─▶ tags ─▶ name
//!   ─▶ networks (detach*, port*, attach*) ─▶ (refloat) ─▶ resize ─▶ resized ─▶ confirm ─▶ confirmed
//!   ─▶ rebuild ─▶ rebuilt ─▶ password ─▶ told ─▶ done
//! ```

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::text;
use super::Stage;
use super::interfaces::{self, Plan};
use super::{action, config, floating, poll, server_request, status, told, user_data};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::agent;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, Progress, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::stage::Stages;

/// By what way a server is told of its configurations.
const TRANSPORT: &str = "software_config_transport";

/// The stages in Heat's order, and the properties that ask for them.
const STAGES: [(Stage, &[&str]); 8] = [
    (Stage::Metadata, &["metadata"]),
    (Stage::Tags, &["tags"]),
    (Stage::Name, &["name"]),
    (Stage::Networks, &["networks"]),
    (Stage::Resize, &["flavor"]),
    (Stage::Rebuild, &["image", "user_data"]),
    (Stage::Password, &["admin_pass"]),
    (Stage::Told, &[TRANSPORT]),
];

/// Before the first stage: who is told otherwise may need another user, or another place.
pub(super) fn first(subject: &Subject, properties: JsonMap, changed: &BTreeSet<String>) -> Step {
    let is_told_otherwise = changed.contains(TRANSPORT);
    let of_agent = || agent::first(subject, &config::of_agent(properties));
    is_told_otherwise.then(of_agent).flatten().unwrap_or_else(|| Stage::Stages.step())
}

/// What follows a stage.
pub(super) fn after(stage: Stage, changed: &BTreeSet<String>) -> Beat {
    let passed = STAGES.iter().position(|(passed, _)| *passed == stage);
    let mut left = STAGES.iter().skip(passed.map_or(0, |index| index + 1));
    let is_due = |stage: Stage, asks: &[&str]| {
        // A rebuild with a new image sets the password as well.
        let is_done = stage == Stage::Password && changed.contains("image");
        !is_done && asks.iter().any(|name| changed.contains(*name))
    };
    match left.find(|(stage, asks)| is_due(*stage, asks)) {
        Some((stage, _)) => next(Learned::default(), stage.step()),
        None => done(),
    }
}

/// The values of a server's metadata are texts; others become JSON.
pub(super) fn metadata_texts(metadata: &Value) -> Value {
    let pairs = metadata.as_object().into_iter().flatten().map(|(key, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            other => python::json(other),
        };
        (key.clone(), Value::from(text))
    });
    Value::Object(pairs.collect())
}

/// One beat of an update.
pub(super) fn beat(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, step, .. } = *beating;
    let Work::Update { before, changed } = work else {
        return declared.plain_beat(beating);
    };
    let given = declared.properties(&subject.properties);
    let all_before = || declared.properties(before);
    let done_with = |stage: Stage| after(stage, changed);
    match Stage::of(step) {
        // A resize that somebody began, such as an update that ran out of time, comes first: until
        // its end Nova shows a flavor that is not to last, and then allows little.
        Some(Stage::Stages) if changed.contains("flavor") => match poll(cloud, subject)? {
            Some(server) if status(&server) == "VERIFY_RESIZE" => {
                Ok(next(Learned::default(), Stage::Finish.step()))
            }
            Some(server) if status(&server) != "RESIZE" => Ok(after(Stage::Stages, changed)),
            _ => Ok(Beat::Wait { after: None }),
        },
        Some(Stage::Stages) => Ok(after(Stage::Stages, changed)),
        Some(Stage::Metadata) => {
            metadata(declared, beating, &given)?;
            Ok(done_with(Stage::Metadata))
        }
        Some(Stage::Name) => {
            let name = text(&given, "name").unwrap_or(&subject.physical_name);
            let body = json!({ "server": { "name": name } });
            cloud.send(server_request(Method::Put, subject, "").json(body))?;
            Ok(done_with(Stage::Name))
        }
        Some(Stage::Networks) => {
            let resolved = declared.declaration().resolved(cloud, given.clone())?;
            let live = interfaces::live(cloud, subject)?;
            let plan = interfaces::plan(cloud, subject, live, [&all_before(), &given], &resolved)?;
            Ok(match plan {
                Plan::Detach { .. } | Plan::Drop { .. } | Plan::Keep { .. } => {
                    next(Learned::default(), Stage::Detach.step())
                }
                Plan::MakePort { index } => next(
                    Learned::default(),
                    Progress { index: index as u32, ..Progress::default() }.to(Stage::Port),
                ),
                Plan::Attach { .. } => next(Learned::default(), Stage::Attach.step()),
                Plan::Nothing if floating::are_named([&all_before(), &given]) => {
                    next(Learned::default(), Stage::Refloat.step())
                }
                Plan::Nothing => done_with(Stage::Networks),
            })
        }
        Some(Stage::Detach | Stage::Attach) => {
            // The plan is made from what is live, so that a repetition does what is left to do.
            let resolved = declared.declaration().resolved(cloud, given.clone())?;
            if beating.is_unanswered() && Stage::of(step) == Some(Stage::Attach) {
                // What was attached and never heard of may have the default groups.
                let live = interfaces::live(cloud, subject)?;
                interfaces::secure(cloud, subject, &resolved, &live)?;
            }
            let live = interfaces::live(cloud, subject)?;
            let plan = interfaces::plan(cloud, subject, live, [&all_before(), &given], &resolved)?;
            let settles = matches!(plan, Plan::Detach { .. } | Plan::Attach { .. });
            let learned = interfaces::carry_out(cloud, subject, &resolved, plan)?;
            let then = if settles { Stage::Settling } else { Stage::Networks };
            Ok(next(learned, then.step()))
        }
        // Nova detaches and attaches behind its answer; a short wait saves a wrong look.
        Some(Stage::Settling) => match poll(cloud, subject)? {
            Some(server) if server["OS-EXT-STS:task_state"].is_null() => {
                match interfaces::detaching(cloud, subject)? {
                    Some(port) => beating.progress().again_to_go(
                        cloud.now(),
                        interfaces::not_detached(subject, &port),
                        |progress| progress.to(Stage::Settling),
                    ),
                    None => Ok(next(interfaces::detached(), Stage::Networks.step())),
                }
            }
            _ => Ok(Beat::Wait { after: None }),
        },
        Some(Stage::Refloat) => {
            let resolved = declared.declaration().resolved(cloud, given.clone())?;
            floating::refloat(cloud, subject, &all_before(), &given, &resolved)?;
            Ok(done_with(Stage::Networks))
        }
        Some(Stage::Resize) => {
            if beating.is_unanswered() {
                let server = declared.show(cloud, subject)?;
                if matches!(status(&server), "RESIZE" | "VERIFY_RESIZE") {
                    return Ok(next(Learned::default(), Stage::Resized.step()));
                }
            }
            let is_doubtful = was_given(before, &given, "flavor");
            if is_doubtful
                && let Some(server) = poll(cloud, subject)?
                && has_flavor(declared, cloud, given.clone(), &server)?
            {
                return Ok(done_with(Stage::Resize));
            }
            let resolved = declared.declaration().resolved(cloud, given.clone())?;
            let body = json!({ "resize": { "flavorRef": resolved.get("flavor") } });
            match cloud.send(action(subject, body)) {
                Ok(_) => {}
                // Nova's word for a server that has the flavor by now.
                Err(error) if beating.is_unanswered() && error.status() == Some(400) => {}
                Err(error) if error.status() == Some(400) => {
                    let server = declared.show(cloud, subject)?;
                    if !has_flavor(declared, cloud, given, &server)? {
                        return Err(error.into());
                    }
                    return Ok(done_with(Stage::Resize));
                }
                Err(error) => return Err(error.into()),
            }
            Ok(next(Learned::default(), Stage::Resized.step()))
        }
        Some(Stage::Resized) => {
            let Some(server) = poll(cloud, subject)? else {
                return Ok(Beat::Wait { after: None });
            };
            match status(&server) {
                "VERIFY_RESIZE" => Ok(next(Learned::default(), Stage::Confirm.step())),
                "RESIZE" => Ok(Beat::Wait { after: None }),
                // It may not have begun, or may have confirmed itself.
                "ACTIVE" if has_flavor(declared, cloud, given.clone(), &server)? => {
                    Ok(done_with(Stage::Resize))
                }
                "ACTIVE" => Ok(Beat::Wait { after: None }),
                other => {
                    let flavor = text(&given, "flavor").unwrap_or_default();
                    let text = format!("Resizing to '{flavor}' failed, status '{other}'");
                    Err(Failure::Failed(text))
                }
            }
        }
        Some(Stage::Confirm | Stage::Finish) => {
            match cloud.send(action(subject, json!({ "confirmResize": null }))) {
                Ok(_) => {}
                // It is being confirmed, which does not show.
                Err(error) if error.status() == Some(400) => {}
                Err(error) if beating.is_unanswered() && error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
            let finishes = Stage::of(step) == Some(Stage::Finish);
            let ends = if finishes { Stage::Finished } else { Stage::Confirmed };
            Ok(next(Learned::default(), ends.step()))
        }
        Some(Stage::Confirmed | Stage::Finished) => {
            let Some(server) = poll(cloud, subject)? else {
                return Ok(Beat::Wait { after: None });
            };
            let task = server["OS-EXT-STS:task_state"].as_str().unwrap_or_default();
            match status(&server) {
                "VERIFY_RESIZE" => Ok(Beat::Wait { after: None }),
                _ if task.contains("resize") => Ok(Beat::Wait { after: None }),
                _ if Stage::of(step) == Some(Stage::Finished) => {
                    Ok(next(Learned::default(), Stage::Stages.step()))
                }
                "ACTIVE" => Ok(done_with(Stage::Resize)),
                other => {
                    let id = subject.physical_id.as_deref().unwrap_or_default();
                    Err(Failure::unknown_status(
                        format!("Confirm resize for server {id} failed"),
                        other,
                    ))
                }
            }
        }
        Some(Stage::Rebuild) => rebuild(declared, beating, given, before, changed),
        Some(Stage::Rebuilt) => match poll(cloud, subject)? {
            None => Ok(Beat::Wait { after: None }),
            Some(server) => match status(&server) {
                "REBUILD" => Ok(Beat::Wait { after: None }),
                "ERROR" => {
                    let text = "Rebuilding server failed, status 'ERROR'";
                    Err(Failure::Failed(text.to_owned()))
                }
                _ => Ok(done_with(Stage::Rebuild)),
            },
        },
        Some(Stage::Password) => {
            let password = given.get("admin_pass").cloned().unwrap_or_default();
            let body = json!({ "changePassword": { "adminPass": password } });
            cloud.send(action(subject, body))?;
            Ok(done_with(Stage::Password))
        }
        Some(Stage::Told) => told(declared, beating),
        _ => declared.plain_beat(beating),
    }
}

/// Whether a property is as it was when an update was last through: then a later one, which failed,
/// may have changed it, and may not have come to it.
fn was_given(before: &JsonMap, given: &JsonMap, name: &str) -> bool {
    before.get(name) == given.get(name)
}

/// Removes the keys that are no longer wanted and sets the others.
fn metadata(
    declared: &Declared,
    beating: &Beating<'_>,
    properties: &JsonMap,
) -> Result<(), Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let wanted = metadata_texts(properties.get("metadata").unwrap_or(&Value::Null));
    let server = declared.show(cloud, subject)?;
    for key in server["metadata"].as_object().into_iter().flat_map(JsonMap::keys) {
        if wanted.get(key).is_none() {
            let path = format!("/metadata/{}", path_segment(key));
            match cloud.send(server_request(Method::Delete, subject, &path)) {
                Ok(_) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let body = json!({ "metadata": wanted });
    cloud.send(server_request(Method::Post, subject, "/metadata").json(body))?;
    Ok(())
}

/// Whether the server has the wanted flavor. Nova shows a flavor by its name.
fn has_flavor(
    declared: &Declared,
    cloud: &Asks<'_>,
    given: JsonMap,
    server: &Value,
) -> Result<bool, Failure> {
    let resolved = declared.declaration().resolved(cloud, given)?;
    let id = text(&resolved, "flavor").unwrap_or_default();
    if server["flavor"]["id"] == id {
        return Ok(true);
    }
    let request = Request::get(Service::Compute, format!("/flavors/{}", path_segment(id)));
    let flavor = cloud.send(request)?.json()?;
    Ok(flavor["flavor"]["name"] == server["flavor"]["original_name"])
}

fn rebuild(
    declared: &Declared,
    beating: &Beating<'_>,
    given: JsonMap,
    before: &JsonMap,
    changed: &BTreeSet<String>,
) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let is_doubtful = changed.contains("image") && was_given(before, &given, "image");
    let renews_data =
        changed.contains("user_data") && text(&given, "user_data_update_policy") == Some("REBUILD");
    if !changed.contains("image") && !renews_data {
        return Ok(after(Stage::Rebuild, changed));
    }
    let data = config::user_data(cloud, subject, &given)?;
    let metadata = config::metadata(cloud, subject, &given)?;
    let encoded = user_data::encoded(cloud, None, &given, &data, &metadata)?;
    let resolved = declared.declaration().resolved(cloud, given)?;
    // A rebuild of what has the image already would only wipe it.
    if is_doubtful
        && let Some(server) = poll(cloud, subject)?
        && server["image"].get("id") == resolved.get("image")
    {
        return Ok(after(Stage::Rebuild, changed));
    }
    let mut body = json!({ "imageRef": resolved.get("image") });
    if changed.contains("image") {
        if text(&resolved, "image_update_policy") == Some("REBUILD_PRESERVE_EPHEMERAL") {
            body["preserve_ephemeral"] = true.into();
        }
        if let Some(password) = text(&resolved, "admin_pass") {
            body["adminPass"] = password.into();
        }
        body["metadata"] = metadata_texts(resolved.get("metadata").unwrap_or(&Value::Null));
    }
    if renews_data {
        body["user_data"] = encoded.map_or(Value::Null, Value::from);
    }
    match cloud.send(action(subject, json!({ "rebuild": body }))) {
        Ok(_) => {}
        // It is at it already.
        Err(error) if beating.is_unanswered() && error.is_conflict() => {}
        Err(error) => return Err(error.into()),
    }
    Ok(next(Learned::default(), Stage::Rebuilt.step()))
}
