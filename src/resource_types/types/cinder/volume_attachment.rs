//! OS::Cinder::VolumeAttachment: made through Nova, awaited at Cinder. Nova knows an attachment by
//! the volume's id, and attaches it to a server once: whether somebody else has is noted first.

use serde_json::Value;

use super::pair::{Hold, Pair};
use super::{VOLUMES, text};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::declared::{Beating, Declared, PlainStage, Progress, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct VolumeAttachment;

/// Resource data: the server that the volume is attached to.
const SERVER: &str = "server";

stages! {
    /// What an attachment goes through.
    enum Stage {
        Attach = "attach" Changes,
        Attached = "attached" Looks,
        Find = "find" Looks,
        Detach = "detach" Changes,
        Detached = "detached" Looks,
        Check = "check" Looks,
    }
}

/// The pair that the properties name.
fn pair(properties: &JsonMap) -> Pair<'_> {
    Pair {
        server: text(properties, "instance_uuid").unwrap_or_default(),
        volume: text(properties, "volume_id").unwrap_or_default(),
    }
}

/// The pair that there is: an update that failed may have made another than the properties name.
fn held<'a>(subject: &'a Subject, properties: &'a JsonMap) -> Pair<'a> {
    let named = pair(properties);
    Pair {
        server: subject.data.get(SERVER).and_then(Value::as_str).unwrap_or(named.server),
        volume: subject.physical_id.as_deref().unwrap_or(named.volume),
    }
}

impl ResourceType for VolumeAttachment {
    fn first(&self, _declared: &Declared, work: &Work, subject: &Subject) -> Step {
        let progress = Progress::default();
        match work {
            Work::Create => PlainStage::NoteOthers.step(),
            Work::Update { .. } => progress.to(Stage::Detach),
            Work::Delete if subject.physical_id.is_none() => progress.to(Stage::Find),
            Work::Delete => progress.to(Stage::Detach),
            Work::Act(_) => progress.to(Stage::Check),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        // An update takes the former pair apart and then makes the new one.
        let leaving = match work {
            Work::Update { before, .. } => held(subject, before),
            Work::Create | Work::Delete | Work::Act(_) => held(subject, &subject.properties),
        };
        let joined = pair(&subject.properties);
        let is_others = |pair: &Pair<'_>| Declared::is_others(subject, pair.volume);
        // What follows when the volume is no longer the server's.
        let left = || match work {
            Work::Update { .. } => next(Learned::default(), PlainStage::NoteOthers.step()),
            Work::Create | Work::Delete | Work::Act(_) => done(),
        };
        if PlainStage::of(step) == Some(PlainStage::NoteOthers) {
            let there = joined.is_attached(cloud)?.then(|| joined.volume.to_owned());
            let there = there.into_iter().collect();
            return Ok(Declared::noted(subject, there, Stage::Attach.step()));
        }
        match Stage::of(step) {
            Some(Stage::Attach) => {
                let mut learned = Declared::made(subject, Some(joined.volume.to_owned()));
                learned.data.insert(SERVER.to_owned(), joined.server.into());
                let attached = next(learned, Stage::Attached.step());
                if beating.is_unanswered() && !is_others(&joined) && joined.is_attached(cloud)? {
                    return Ok(attached);
                }
                let request = joined.attach(text(&subject.properties, "mountpoint"));
                match cloud.send(request) {
                    Ok(_) => Ok(attached),
                    Err(error) if error.is_conflict() => {
                        beating.progress().again(cloud.now(), error.into(), |p| p.to(Stage::Attach))
                    }
                    Err(error) if error.is_transient() || error.is_unanswered() => {
                        Err(error.into())
                    }
                    Err(error) => Err(Failure::Failed(format!(
                        "Failed to attach volume {} to server {} - {error}",
                        joined.volume, joined.server
                    ))),
                }
            }
            Some(Stage::Attached) => {
                let volume = cloud.poll_one(&VOLUMES, joined.volume)?;
                match volume["status"].as_str().unwrap_or_default() {
                    "available" | "attaching" | "reserved" => Ok(Beat::Wait { after: None }),
                    "in-use" => Ok(done()),
                    other => Err(Failure::unknown_status("Volume attachment failed", other)),
                }
            }
            Some(Stage::Find) if is_others(&joined) || !Declared::may_be_sent(subject) => {
                Ok(done())
            }
            Some(Stage::Find) => match joined.is_attached(cloud) {
                Ok(true) => {
                    let learned = Declared::made(subject, Some(joined.volume.to_owned()));
                    Ok(next(learned, Stage::Detach.step()))
                }
                Err(error) if error.is_transient() => Err(error),
                Ok(false) | Err(_) => Ok(done()),
            },
            Some(Stage::Detach) if is_others(&leaving) => Ok(left()),
            Some(Stage::Detach) => match cloud.send(leaving.detach()) {
                Ok(_) => Ok(next(Learned::default(), Stage::Detached.step())),
                // As long as the server is at something else.
                Err(error) if error.is_conflict() => Ok(Beat::Wait { after: None }),
                Err(error) if error.is_not_found() || error.status() == Some(400) => {
                    Ok(next(Learned::default(), Stage::Detached.step()))
                }
                Err(error) => Err(error.into()),
            },
            Some(Stage::Detached) => {
                match leaving.hold(cloud)? {
                    // Nova refused to detach what was still being attached, and now it is.
                    Hold::Firm => {
                        let error = Failure::unknown_status("Volume detachment failed", "in-use");
                        return beating
                            .progress()
                            .again(cloud.now(), error, |p| p.to(Stage::Detach));
                    }
                    Hold::Loosening => return Ok(Beat::Wait { after: None }),
                    Hold::None if leaving.is_attached(cloud)? => {
                        return Ok(Beat::Wait { after: None });
                    }
                    Hold::None => {}
                }
                Ok(left())
            }
            Some(Stage::Check) => match joined.is_attached(cloud)? {
                true => Ok(done()),
                false => Err(Failure::NotFound("The volume is not attached.".to_owned())),
            },
            _ => declared.plain_beat(beating),
        }
    }

    fn attribute(
        &self,
        _at: At<'_>,
        _object: &Value,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        Ok((name == "show").then_some(Value::Null))
    }
}
