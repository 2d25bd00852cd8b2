//! OS::Cinder::VolumeAttachment: made through Nova, awaited at Cinder. Nova knows an attachment by
//! the volume's id.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{VOLUMES, text};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Request, Service, Session, path_segment};
use crate::resource_types::declared::{
    Beating, Declared, Progress, Special, done, next, unknown_status,
};
use crate::resource_types::driver::{Beat, DriverError, Learned, Subject, Work};

pub(crate) struct VolumeAttachment;

/// A server and a volume that belong together.
struct Pair<'a> {
    server: &'a str,
    volume: &'a str,
}

impl<'a> Pair<'a> {
    fn of(properties: &'a JsonMap) -> Self {
        Self {
            server: text(properties, "instance_uuid").unwrap_or_default(),
            volume: text(properties, "volume_id").unwrap_or_default(),
        }
    }

    fn list_path(&self) -> String {
        format!("/servers/{}/os-volume_attachments", path_segment(self.server))
    }

    fn path(&self) -> String {
        format!("{}/{}", self.list_path(), path_segment(self.volume))
    }

    async fn is_attached(&self, cloud: &Session) -> Result<bool, DriverError> {
        match cloud.send(Request::get(Service::Compute, self.path())).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[async_trait]
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

    async fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        // An update takes the former pair apart and then makes the new one.
        let leaving = match work {
            Work::Update { before, .. } => Pair::of(before),
            Work::Create | Work::Delete | Work::Act(_) => Pair::of(&subject.properties),
        };
        let pair = Pair::of(&subject.properties);
        match step.name.as_str() {
            "attach" => {
                let learned =
                    Learned { physical_id: Some(pair.volume.to_owned()), ..Learned::default() };
                let attached = next(learned, Progress::default().look("attached"));
                if beating.is_unanswered() && pair.is_attached(cloud).await? {
                    return Ok(attached);
                }
                let mut body = json!({ "volumeId": pair.volume });
                if let Some(device) = text(&subject.properties, "mountpoint") {
                    body["device"] = device.into();
                }
                let request = Request::post(Service::Compute, pair.list_path())
                    .json(json!({ "volumeAttachment": body }));
                match cloud.send(request).await {
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
                            pair.volume, pair.server
                        ),
                    )),
                }
            }
            "attached" => {
                let volume = cloud.poll_one(&VOLUMES, pair.volume).await?;
                match volume["status"].as_str().unwrap_or_default() {
                    "available" | "attaching" | "reserved" => Ok(Beat::Wait { after: None }),
                    "in-use" => Ok(done()),
                    other => Err(unknown_status("Volume attachment failed", other)),
                }
            }
            "find" => match pair.is_attached(cloud).await {
                Ok(true) => {
                    let physical_id = Some(pair.volume.to_owned());
                    let learned = Learned { physical_id, ..Learned::default() };
                    Ok(next(learned, Progress::default().change("detach")))
                }
                Err(error) if error.transient => Err(error),
                Ok(false) | Err(_) => Ok(done()),
            },
            "detach" => match cloud.send(Request::delete(Service::Compute, leaving.path())).await {
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
                match hold(cloud, &leaving).await? {
                    // Nova refused to detach what was still being attached, and now it is.
                    Hold::Firm => {
                        let error = unknown_status("Volume detachment failed", "in-use");
                        return beating
                            .progress()
                            .again(cloud.now(), error, |p| p.change("detach"));
                    }
                    Hold::Loosening => return Ok(Beat::Wait { after: None }),
                    Hold::None if leaving.is_attached(cloud).await? => {
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
            "check" => match pair.is_attached(cloud).await? {
                true => Ok(done()),
                false => Err(DriverError::fatal("NotFound", "The volume is not attached.")),
            },
            _ => declared.plain_beat(beating).await,
        }
    }

    async fn attribute(
        &self,
        _declared: &Declared,
        _cloud: &Session,
        _subject: &Subject,
        _object: &Value,
        name: &str,
    ) -> Result<Option<Value>, DriverError> {
        Ok((name == "show").then_some(Value::Null))
    }
}

/// How a server has a volume.
enum Hold {
    None,
    /// It is letting go of it.
    Loosening,
    Firm,
}

/// Whether the volume is still the server's, by Cinder's word.
async fn hold(cloud: &Session, pair: &Pair<'_>) -> Result<Hold, DriverError> {
    let volume = match cloud.poll_one(&VOLUMES, pair.volume).await {
        Ok(volume) => volume,
        Err(error) if error.is_not_found() => return Ok(Hold::None),
        Err(error) => return Err(error.into()),
    };
    let status = volume["status"].as_str().unwrap_or_default();
    let attachments = volume["attachments"].as_array().map_or(&[][..], Vec::as_slice);
    if !attachments.iter().any(|attachment| attachment["server_id"] == pair.server) {
        // The volume may be on its way though Nova has let go of it.
        return Ok(if status == "detaching" { Hold::Loosening } else { Hold::None });
    }
    match status {
        "in-use" => Ok(Hold::Firm),
        "detaching" | "reserved" => Ok(Hold::Loosening),
        "available" | "deleting" => Ok(Hold::None),
        other => Err(unknown_status("Volume detachment failed", other)),
    }
}
