//! A server and a volume that belong together, as Nova and Cinder have it. Nova knows an attachment
//! by the volume's id.

use serde_json::json;

use super::VOLUMES;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;

pub(super) struct Pair<'a> {
    pub(super) server: &'a str,
    pub(super) volume: &'a str,
}

/// How a server has a volume.
pub(super) enum Hold {
    None,
    /// It is letting go of it.
    Loosening,
    Firm,
}

impl Pair<'_> {
    fn list_path(&self) -> String {
        format!("/servers/{}/os-volume_attachments", path_segment(self.server))
    }

    fn path(&self) -> String {
        format!("{}/{}", self.list_path(), path_segment(self.volume))
    }

    /// Asks Nova to attach, as a device where one is named.
    pub(super) fn attach(&self, device: Option<&str>) -> Request {
        let mut body = json!({ "volumeId": self.volume });
        if let Some(device) = device {
            body["device"] = device.into();
        }
        Request::post(Service::Compute, self.list_path()).json(json!({ "volumeAttachment": body }))
    }

    pub(super) fn detach(&self) -> Request {
        Request::delete(Service::Compute, self.path())
    }

    /// Whether the volume is the server's, by Nova's word.
    pub(super) fn is_attached(&self, cloud: &Asks<'_>) -> Result<bool, Failure> {
        match cloud.send(Request::get(Service::Compute, self.path())) {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the volume is still the server's, by Cinder's word.
    pub(super) fn hold(&self, cloud: &Asks<'_>) -> Result<Hold, Failure> {
        let volume = match cloud.poll_one(&VOLUMES, self.volume) {
            Ok(volume) => volume,
            Err(error) if error.is_not_found() => return Ok(Hold::None),
            Err(error) => return Err(error.into()),
        };
        let status = volume["status"].as_str().unwrap_or_default();
        let attachments = volume["attachments"].as_array().map_or(&[][..], Vec::as_slice);
        if !attachments.iter().any(|attachment| attachment["server_id"] == self.server) {
            // The volume may be on its way though Nova has let go of it.
            return Ok(if status == "detaching" { Hold::Loosening } else { Hold::None });
        }
        match status {
            "in-use" => Ok(Hold::Firm),
            "detaching" | "reserved" => Ok(Hold::Loosening),
            "available" | "deleting" => Ok(Hold::None),
            other => Err(Failure::unknown_status("Volume detachment failed", other)),
        }
    }
}
