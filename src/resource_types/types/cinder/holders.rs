//! The servers that a volume is taken from while Cinder works on it, and given back to after:
//! Cinder fills no volume that is in use, and does not make one read-only.
//!
//! ```text
//! refill, read_only ─▶ let_go ─▶ going ─▶ … ─▶ the same stage again ─▶ …
//! … the last stage, or a failure ─▶ give_back ─▶ coming ─▶ … ─▶ given_back
//! ```
//!
//! Who they are is resource data until the volume is theirs again, so that an update that is cut
//! short leaves it to the next one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::VOLUMES;
use super::pair::{Hold, Pair};
use super::volume_stage::Stage;
use crate::events::resource::Step;
use crate::resource_types::declared::{Beating, Progress, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject};
use crate::resource_types::stage::Stages;

/// The resource data that names them: a list of [`Holder`].
const HELD_BY: &str = "held_by";

/// A server that had the volume.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Holder {
    server: String,
    /// What the volume was there: `/dev/vdb`.
    device: Option<String>,
}

fn holders(subject: &Subject) -> Vec<Holder> {
    let kept = subject.data.get(HELD_BY).cloned().unwrap_or_default();
    serde_json::from_value(kept).unwrap_or_default()
}

/// Whether some server still waits for the volume.
pub(super) fn is_awaited(subject: &Subject) -> bool {
    !holders(subject).is_empty()
}

/// The first step that gives the volume back.
pub(super) fn first_back() -> Step {
    Stage::GiveBack.step()
}

/// Takes the volume from its servers, where it has some.
pub(super) fn take(subject: &Subject, volume: &Value) -> Option<Beat> {
    let attachments = volume["attachments"].as_array().filter(|them| !them.is_empty())?;
    let mut holders = holders(subject);
    for attachment in attachments {
        let text = |key: &str| attachment[key].as_str().map(str::to_owned);
        let Some(server) = text("server_id") else { continue };
        if !holders.iter().any(|holder| holder.server == server) {
            holders.push(Holder { server, device: text("device") });
        }
    }
    let held_by = serde_json::to_value(holders).unwrap_or_default();
    Some(next(learned(held_by), Stage::LetGo.step()))
}

fn learned(held_by: Value) -> Learned {
    Learned { data: BTreeMap::from([(HELD_BY.to_owned(), held_by)]), ..Learned::default() }
}

/// One beat that lets go or gives back; `stage` wants the volume free.
pub(super) fn beat(beating: &Beating<'_>, stage: Stage) -> Result<Beat, Failure> {
    let Beating { subject, step, .. } = *beating;
    let progress = beating.progress();
    let holders = holders(subject);
    let holder = usize::try_from(progress.index).ok().and_then(|index| holders.get(index));
    match (Stage::of(step), holder) {
        (Some(Stage::LetGo), Some(holder)) => let_go(beating, holder),
        (Some(Stage::Going), Some(holder)) => going(beating, holder),
        (Some(Stage::LetGo | Stage::Going), None) => Ok(next(Learned::default(), stage.step())),
        (Some(Stage::GiveBack), Some(holder)) => give_back(beating, holder),
        (Some(Stage::Coming), Some(holder)) => coming(beating, holder),
        (Some(Stage::GiveBack | Stage::Coming), None) => {
            Ok(next(learned(Value::Null), progress.to(Stage::GivenBack)))
        }
        _ => match progress.ends {
            Some(failure) => Err(failure.into()),
            None => Ok(done()),
        },
    }
}

/// An update that failed gives the volume back before it says so.
pub(super) fn failed(subject: &Subject, error: Failure) -> Result<Beat, Failure> {
    if error.is_transient() || error.is_unanswered() || !is_awaited(subject) {
        return Err(error);
    }
    let progress = Progress { ends: Some((&error).into()), ..Progress::default() };
    Ok(next(Learned::default(), progress.to(Stage::GiveBack)))
}

fn pair<'a>(subject: &'a Subject, holder: &'a Holder) -> Pair<'a> {
    Pair { server: &holder.server, volume: subject.physical_id.as_deref().unwrap_or_default() }
}

/// The memory of the steps for one holder, or for the one after it.
fn at(progress: &Progress, index: u32) -> Progress {
    Progress { index, ends: progress.ends.clone(), ..Progress::default() }
}

fn let_go(beating: &Beating<'_>, holder: &Holder) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let (pair, progress) = (pair(subject, holder), beating.progress());
    let going = at(&progress, progress.index).to(Stage::Going);
    match cloud.send(pair.detach()) {
        Ok(_) => Ok(next(Learned::default(), going)),
        Err(error) if error.is_conflict() => {
            progress.again(cloud.now(), error.into(), |progress| progress.to(Stage::LetGo))
        }
        Err(error) if error.is_not_found() => Ok(next(Learned::default(), going)),
        // Nova refuses what is on its way already, and what it never lets go of.
        Err(error) if error.status() == Some(400) => match pair.hold(cloud)? {
            Hold::Firm => Err(error.into()),
            Hold::None | Hold::Loosening => Ok(next(Learned::default(), going)),
        },
        Err(error) => Err(error.into()),
    }
}

fn going(beating: &Beating<'_>, holder: &Holder) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let (pair, progress) = (pair(subject, holder), beating.progress());
    match pair.hold(cloud)? {
        Hold::Firm => {
            let error = Failure::unknown_status("Volume detachment failed", "in-use");
            progress.again(cloud.now(), error, |progress| progress.to(Stage::LetGo))
        }
        Hold::Loosening => Ok(Beat::Wait { after: None }),
        Hold::None if pair.is_attached(cloud)? => Ok(Beat::Wait { after: None }),
        Hold::None => {
            let index = progress.index + 1;
            Ok(next(Learned::default(), at(&progress, index).to(Stage::LetGo)))
        }
    }
}

fn give_back(beating: &Beating<'_>, holder: &Holder) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let (pair, progress) = (pair(subject, holder), beating.progress());
    let coming = at(&progress, progress.index).to(Stage::Coming);
    if pair.is_attached(cloud)? {
        return Ok(next(Learned::default(), coming));
    }
    match cloud.send(pair.attach(holder.device.as_deref())) {
        Ok(_) => Ok(next(Learned::default(), coming)),
        Err(error) if error.is_conflict() => {
            progress.again(cloud.now(), error.into(), |progress| progress.to(Stage::GiveBack))
        }
        // A server that is gone waits for nothing.
        Err(error) if error.is_not_found() => {
            let index = progress.index + 1;
            Ok(next(Learned::default(), at(&progress, index).to(Stage::GiveBack)))
        }
        Err(error) if error.is_transient() || error.is_unanswered() => Err(error.into()),
        Err(error) => Err(progress.ends.map_or_else(|| error.into(), Failure::from)),
    }
}

fn coming(beating: &Beating<'_>, holder: &Holder) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let progress = beating.progress();
    let volume = cloud.poll_one(&VOLUMES, pair(subject, holder).volume)?;
    let attachments = volume["attachments"].as_array().map_or(&[][..], Vec::as_slice);
    let has_it = attachments.iter().any(|attachment| attachment["server_id"] == *holder.server);
    match volume["status"].as_str().unwrap_or_default() {
        "in-use" if has_it => {
            let index = progress.index + 1;
            Ok(next(Learned::default(), at(&progress, index).to(Stage::GiveBack)))
        }
        "available" | "attaching" | "reserved" | "in-use" => Ok(Beat::Wait { after: None }),
        other => Err(Failure::unknown_status("Volume attachment failed", other)),
    }
}
