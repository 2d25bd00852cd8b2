//! The ports of a server that replaces another: a port that the template names is taken from the
//! former server before the new one is made, and goes back to it if the new one goes first.
//!
//! ```text
//! create: claim ─▶ (release ─▶ released)* ─▶ prepare
//! delete: … ─▶ give_back* ─▶ done
//! ```

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Stage;
use super::entries::{entries, get};
use crate::model::JsonMap;
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject};
use crate::resource_types::stage::Stages;

/// Resource data: the former server by the port that was taken from it.
const CLAIMED: &str = "claimed_ports";

/// Whether there may be anything to take.
pub(super) fn is_due(subject: &Subject, properties: &JsonMap) -> bool {
    let mut entries = entries(properties).iter();
    !subject.replaces.is_empty() && entries.any(|entry| get(entry, "port").is_some())
}

fn claimed(subject: &Subject) -> BTreeMap<String, String> {
    let claimed = subject.data.get(CLAIMED).and_then(Value::as_object).into_iter().flatten();
    claimed.filter_map(|(port, server)| Some((port.clone(), server.as_str()?.to_owned()))).collect()
}

fn remembered(claimed: &BTreeMap<String, String>) -> Learned {
    let claimed = if claimed.is_empty() { Value::Null } else { json!(claimed) };
    Learned { data: BTreeMap::from([(CLAIMED.to_owned(), claimed)]), ..Learned::default() }
}

/// The first port of the new server that a former one has, and which.
fn held(
    cloud: &Asks<'_>,
    subject: &Subject,
    resolved: &JsonMap,
) -> Result<Option<(String, String)>, Failure> {
    for port in entries(resolved).iter().filter_map(|entry| get(entry, "port")) {
        let path = format!("/v2.0/ports/{}", path_segment(port));
        let shown = match cloud.send(Request::get(Service::Network, path)) {
            Ok(response) => response.json()?,
            Err(error) if error.is_not_found() => continue,
            Err(error) => return Err(error.into()),
        };
        let holder = shown["port"]["device_id"].as_str().unwrap_or_default();
        if subject.replaces.iter().any(|former| former == holder) {
            return Ok(Some((port.to_owned(), holder.to_owned())));
        }
    }
    Ok(None)
}

/// One beat before the server is made.
pub(super) fn beat(beating: &Beating<'_>, resolved: &JsonMap) -> Result<Beat, Failure> {
    let Beating { cloud, subject, step, .. } = *beating;
    let prepare = || next(Learned::default(), Stage::Prepare.step());
    let Some((port, server)) = held(cloud, subject, resolved)? else { return Ok(prepare()) };
    match Stage::of(step) {
        Some(Stage::Claim) => {
            let mut claimed = claimed(subject);
            claimed.insert(port, server);
            Ok(next(remembered(&claimed), Stage::Release.step()))
        }
        Some(Stage::Release) => {
            let (server, port) = (path_segment(&server), path_segment(&port));
            let path = format!("/servers/{server}/os-interface/{port}");
            match cloud.send(Request::new(Method::Delete, Service::Compute, path)) {
                Ok(_) => Ok(next(Learned::default(), Stage::Released.step())),
                // In the middle of something it cannot give it yet.
                Err(error) if error.is_transient() => Err(error.into()),
                // Who cannot give it keeps it; what that means for the new server Nova says.
                Err(error) if error.is_not_found() || error.is_conflict() => Ok(prepare()),
                Err(error) => Err(error.into()),
            }
        }
        // The next one is looked for once this one is free.
        _ if claimed(subject).contains_key(&port) => Ok(Beat::Wait { after: None }),
        _ => Ok(next(Learned::default(), Stage::Claim.step())),
    }
}

/// What follows when a server and all that was made for it are gone.
pub(super) fn then_give_back(subject: &Subject, learned: Learned) -> Beat {
    match claimed(subject).is_empty() {
        true => Beat::Done { learned },
        false => next(learned, Stage::GiveBack.step()),
    }
}

/// Gives one port back to the server that it was taken from, if that is still there.
pub(super) fn give_back(beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let mut claimed = claimed(subject);
    let Some((port, server)) = claimed.pop_first() else { return Ok(done()) };
    let path = format!("/servers/{}/os-interface", path_segment(&server));
    let body = json!({ "interfaceAttachment": { "port_id": port } });
    match cloud.send(Request::post(Service::Compute, path).json(body)) {
        Ok(_) => {}
        Err(error) if error.is_transient() => return Err(error.into()),
        // The former server went as well, has the port again, or another one does.
        Err(error) if matches!(error.status(), Some(400 | 404 | 409)) => {}
        Err(error) => return Err(error.into()),
    }
    let learned = remembered(&claimed);
    Ok(match claimed.is_empty() {
        true => Beat::Done { learned },
        false => next(learned, Stage::GiveBack.step()),
    })
}
