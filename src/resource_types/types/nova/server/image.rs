//! Snapshots of a server: an image is made of it, waited for, and deleted with the snapshot.
//!
//! ```text
//! snapshot: image ─▶ imaged ─▶ done
//! delete, by the policy Snapshot: image ─▶ imaged ─▶ delete ─▶ …
//! ```

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Stage;
use super::{action, poll};
use crate::events::resource::Step;
use crate::openstack::{CloudError, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::stage::Stages;

/// Where the id of a snapshot's image is kept.
pub(super) const SNAPSHOT: &str = "snapshot_image_id";
/// Where the id of the image is kept that a deletion makes first.
const DELETION: &str = "deletion_image_id";
/// The property of the image that says which snapshot it belongs to.
const TOKEN: &str = "hearth_snapshot";

/// What Nova does to a server while an image is made of it.
const IMAGING: [&str; 4] =
    ["image_uploading", "image_snapshot_pending", "image_snapshot", "image_pending_upload"];

/// The first step towards the image.
pub(super) fn first(work: &Work, subject: &Subject) -> Step {
    match work == &Work::Delete && subject.data.contains_key(DELETION) {
        true => Stage::Imaged.step(),
        false => Stage::Image.step(),
    }
}

/// One beat.
pub(super) fn beat(beating: &Beating<'_>) -> Result<Beat, Failure> {
    match Stage::of(beating.step) {
        Some(Stage::Image) => make(beating),
        _ => await_image(beating),
    }
}

fn make(beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, .. } = *beating;
    let token = subject.traversal.map(|traversal| traversal.to_string()).unwrap_or_default();
    let found = if beating.is_unanswered() { find(cloud, subject, &token)? } else { None };
    let image = match found {
        Some(image) => image,
        None => {
            let body = json!({ "createImage": {
                "name": subject.physical_name, "metadata": { TOKEN: token } } });
            match cloud.send(action(subject, body)) {
                Ok(response) => {
                    let told = response.json()?["image_id"].as_str().map(str::to_owned);
                    let location = response.header("location");
                    let named = location.and_then(|url| url.rsplit('/').next());
                    told.or(named.map(str::to_owned)).unwrap_or_default()
                }
                Err(error) if error.is_not_found() && *work == Work::Delete => {
                    return Ok(after(work));
                }
                Err(error) => return Err(error.into()),
            }
        }
    };
    let key = if *work == Work::Delete { DELETION } else { SNAPSHOT };
    let data = BTreeMap::from([(key.to_owned(), Value::String(image))]);
    Ok(next(Learned { data, ..Learned::default() }, Stage::Imaged.step()))
}

/// The image that a lost call has made.
fn find(cloud: &Asks<'_>, subject: &Subject, token: &str) -> Result<Option<String>, CloudError> {
    let request =
        Request::get(Service::Image, "/v2/images").query("name", subject.physical_name.as_str());
    let images = cloud.list(request, |mut body| match body["images"].take() {
        Value::Array(images) => images,
        _ => Vec::new(),
    })?;
    let made = images.iter().find(|image| image[TOKEN] == token);
    Ok(made.and_then(|image| image["id"].as_str().map(str::to_owned)))
}

fn await_image(beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, .. } = *beating;
    let key = if *work == Work::Delete { DELETION } else { SNAPSHOT };
    let image = cloud.send(Request::get(Service::Image, path(subject.data.get(key))))?;
    let status = image.json()?["status"].as_str().unwrap_or_default().to_ascii_lowercase();
    match status.as_str() {
        "active" => {}
        "killed" | "error" | "deleted" => return Err(Failure::Failed(status)),
        _ => return Ok(Beat::Wait { after: None }),
    }
    let server = match poll(cloud, subject) {
        Err(error) if error.is_not_found() => return Ok(after(work)),
        polled => polled?.unwrap_or_default(),
    };
    let task = server["OS-EXT-STS:task_state"].as_str().unwrap_or_default();
    match IMAGING.contains(&task) {
        true => Ok(Beat::Wait { after: None }),
        false => Ok(after(work)),
    }
}

fn after(work: &Work) -> Beat {
    match work {
        Work::Delete => next(Learned::default(), Stage::Delete.step()),
        Work::Create | Work::Update { .. } | Work::Act(_) => done(),
    }
}

fn path(image: Option<&Value>) -> String {
    let id = image.and_then(Value::as_str).unwrap_or_default();
    format!("/v2/images/{}", path_segment(id))
}

/// Deletes the image of a snapshot.
pub(super) fn delete(cloud: &Asks<'_>, data: &BTreeMap<String, Value>) -> Result<bool, Failure> {
    let Some(image) = data.get(SNAPSHOT).filter(|image| !image.is_null()) else { return Ok(true) };
    match cloud.send(Request::delete(Service::Image, path(Some(image)))) {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(true),
        Err(error) => Err(error.into()),
    }
}
