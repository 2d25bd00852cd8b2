//! OS::Cinder::VolumeAttachment: made through Nova, awaited at Cinder. Nova knows an attachment by
//! the volume's id.

use serde_json::Value;

use super::pair::{Hold, Pair};
use super::{VOLUMES, text};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{
    Beating, Declared, Progress, Special, done, next, unknown_status,
};
use crate::resource_types::driver::{Beat, DriverError, Learned, Subject, Work};

pub(crate) struct VolumeAttachment;

/// The pair that the properties name.
fn pair(properties: &JsonMap) -> Pair<'_> {
    Pair {
        server: text(properties, "instance_uuid").unwrap_or_default(),
        volume: text(properties, "volume_id").unwrap_or_default(),
    }
}

impl Special for VolumeAttachment {
    fn first(&self, _declared: &Declared, work: &Work, subject: &Subject) -> Step {
        let progress = Progress::default();
        match work {
            Work::Create => progress.change("attach"),
            Work::Update { .. } => progress.change("detach"),
            Work::Delete if subject.physical_id.is_none() => progress.look("find"),
            Work::Delete => progress.change("detach"),
            Work::Act(_) => progress.look("check"),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        // An update takes the former pair apart and then makes the new one.
        let leaving = match work {
            Work::Update { before, .. } => pair(before),
            Work::Create | Work::Delete | Work::Act(_) => pair(&subject.properties),
        };
        let joined = pair(&subject.properties);
        match step.name.as_str() {
            "attach" => {
                let learned =
                    Learned { physical_id: Some(joined.volume.to_owned()), ..Learned::default() };
                let attached = next(learned, Progress::default().look("attached"));
                if beating.is_unanswered() && joined.is_attached(cloud)? {
                    return Ok(attached);
                }
                let request = joined.attach(text(&subject.properties, "mountpoint"));
                match cloud.send(request) {
                    Ok(_) => Ok(attached),
                    Err(error) if error.is_conflict() => {
                        beating.progress().again(cloud.now(), error.into(), |p| p.change("attach"))
                    }
                    Err(error) if error.is_transient() || error.is_unanswered() => {
                        Err(error.into())
                    }
                    Err(error) => Err(DriverError::fatal(
                        "Error",
                        format!(
                            "Failed to attach volume {} to server {} - {error}",
                            joined.volume, joined.server
                        ),
                    )),
                }
            }
            "attached" => {
                let volume = cloud.poll_one(&VOLUMES, joined.volume)?;
                match volume["status"].as_str().unwrap_or_default() {
                    "available" | "attaching" | "reserved" => Ok(Beat::Wait { after: None }),
                    "in-use" => Ok(done()),
                    other => Err(unknown_status("Volume attachment failed", other)),
                }
            }
            "find" => match joined.is_attached(cloud) {
                Ok(true) => {
                    let physical_id = Some(joined.volume.to_owned());
                    let learned = Learned { physical_id, ..Learned::default() };
                    Ok(next(learned, Progress::default().change("detach")))
                }
                Err(error) if error.transient => Err(error),
                Ok(false) | Err(_) => Ok(done()),
            },
            "detach" => match cloud.send(leaving.detach()) {
                Ok(_) => Ok(next(Learned::default(), Progress::default().look("detached"))),
                Err(error) if error.is_conflict() => {
                    beating.progress().again(cloud.now(), error.into(), |p| p.change("detach"))
                }
                Err(error) if error.is_not_found() || error.status() == Some(400) => {
                    Ok(next(Learned::default(), Progress::default().look("detached")))
                }
                Err(error) => Err(error.into()),
            },
            "detached" => {
                match leaving.hold(cloud)? {
                    // Nova refused to detach what was still being attached, and now it is.
                    Hold::Firm => {
                        let error = unknown_status("Volume detachment failed", "in-use");
                        return beating
                            .progress()
                            .again(cloud.now(), error, |p| p.change("detach"));
                    }
                    Hold::Loosening => return Ok(Beat::Wait { after: None }),
                    Hold::None if leaving.is_attached(cloud)? => {
                        return Ok(Beat::Wait { after: None });
                    }
                    Hold::None => {}
                }
                Ok(match work {
                    Work::Update { .. } => {
                        next(Learned::default(), Progress::default().change("attach"))
                    }
                    Work::Create | Work::Delete | Work::Act(_) => done(),
                })
            }
            "check" => match joined.is_attached(cloud)? {
                true => Ok(done()),
                false => Err(DriverError::fatal("NotFound", "The volume is not attached.")),
            },
            _ => declared.plain_beat(beating),
        }
    }

    fn attribute(
        &self,
        _declared: &Declared,
        _cloud: &Asks<'_>,
        _subject: &Subject,
        _object: &Value,
        name: &str,
    ) -> Result<Option<Value>, DriverError> {
        Ok((name == "show").then_some(Value::Null))
    }
}
