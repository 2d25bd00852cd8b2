//! OS::Glance::WebImage: made empty, filled by Glance from an address, shared, and described.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::events::resource::Step;
use crate::model::{JsonMap, Refusal};
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::declared::{Beating, Declared, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct WebImage;

/// The media type in which Glance takes changes.
const PATCH: &str = "application/openstack-images-v2.1-json-patch";

stages! {
    /// What an image goes through besides its creation and deletion.
    enum Stage {
        Create = "create" Changes,
        Import = "import" Changes,
        Members = "members" Changes,
        Describe = "describe" Changes,
        Ready = "ready" Looks,
        Deactivate = "deactivate" Changes,
        Tags = "tags" Changes,
        Patch = "patch" Changes,
        Reactivate = "reactivate" Changes,
    }
}

impl ResourceType for WebImage {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Update { changed, .. }
                if changed.contains("active") && !is_active(declared, subject) =>
            {
                Stage::Deactivate.step()
            }
            Work::Update { .. } => Stage::Tags.step(),
            Work::Create | Work::Delete | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    /// What it was filled from, who it is shared with and whether it is in use is not compared.
    fn observes(&self, _subject: &Subject, name: &str, _update_allowed: bool) -> bool {
        !matches!(name, "location" | "members" | "active")
    }

    fn object(&self, at: At<'_>) -> Result<Option<Value>, Failure> {
        let At { declared, cloud, subject, .. } = at;
        let image = declared.look(cloud, subject)?;
        Ok(image.filter(|image| !matches!(image["status"].as_str(), Some("deleted" | "killed"))))
    }

    fn live(
        &self,
        at: At<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        let At { declared, .. } = at;
        if name != "extra_properties" {
            return Ok(declared.plain_live(object, name, wanted));
        }
        let keys = wanted.as_object().into_iter().flat_map(JsonMap::keys);
        let known = keys.filter_map(|key| Some((key.clone(), object.get(key)?.clone())));
        Ok(Some(Value::Object(known.collect())))
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let given = declared.properties(&subject.properties);
        let change = |stage: Stage| Ok(next(Learned::default(), stage.step()));
        match Stage::of(step) {
            Some(Stage::Create) => match declared.plain_beat(beating)? {
                Beat::Next { learned, .. } | Beat::Done { learned }
                    if learned.physical_id.is_some() =>
                {
                    Ok(next(learned, Stage::Import.step()))
                }
                other => Ok(other),
            },
            Some(Stage::Import) => {
                let is_begun =
                    beating.is_unanswered() && declared.show(cloud, subject)?["status"] != "queued";
                if !is_begun {
                    let method = json!({ "name": "web-download", "uri": given.get("location") });
                    let body = json!({ "method": method });
                    cloud.send(request(Method::Post, subject, "/import").json(body))?;
                }
                change(Stage::Members)
            }
            Some(Stage::Members) => {
                members(beating, &given)?;
                match work {
                    Work::Create => change(Stage::Describe),
                    Work::Update { .. } | Work::Delete | Work::Act(_) => {
                        after_update(declared, beating)
                    }
                }
            }
            Some(Stage::Describe) => {
                let names = BTreeSet::from(["extra_properties".to_owned()]);
                patch(declared, beating, &given, &JsonMap::new(), &names)?;
                Ok(next(Learned::default(), Stage::Ready.step()))
            }
            Some(Stage::Ready) => {
                let image = declared.show(cloud, subject)?;
                let failed = image["os_glance_failed_import"].as_str().unwrap_or_default();
                match image["status"].as_str().unwrap_or_default() {
                    "active" if is_active(declared, subject) => Ok(done()),
                    "active" => change(Stage::Deactivate),
                    "deactivated" => Ok(done()),
                    "killed" => Err(Failure::in_error("killed", "Unknown")),
                    // Glance puts an image whose download failed back to where it began.
                    "queued" if !failed.is_empty() => {
                        Err(Failure::in_error("queued", format!("import failed in {failed}")))
                    }
                    _ => Ok(Beat::Wait { after: None }),
                }
            }
            Some(Stage::Deactivate) => {
                cloud.send(request(Method::Post, subject, "/actions/deactivate"))?;
                match work {
                    Work::Create => Ok(done()),
                    Work::Update { .. } | Work::Delete | Work::Act(_) => change(Stage::Tags),
                }
            }
            Some(Stage::Tags) => {
                tags(beating, &given)?;
                change(Stage::Patch)
            }
            Some(Stage::Patch) => {
                if let Work::Update { before, changed } = work {
                    let before = declared.properties(before);
                    patch(declared, beating, &given, &before, changed)?;
                }
                change(Stage::Members)
            }
            Some(Stage::Reactivate) => {
                cloud.send(request(Method::Post, subject, "/actions/reactivate"))?;
                Ok(done())
            }
            _ => declared.plain_beat(beating),
        }
    }

    fn validate(&self, _name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        let get = |name: &str| properties.get(name).and_then(Value::as_str).unwrap_or_default();
        let container = get("container_format");
        if matches!(container, "ami" | "ari" | "aki") && get("disk_format") != container {
            return Err(Refusal::validation(
                "Invalid mix of disk and container formats. When setting a disk or container \
                 format to one of 'aki', 'ari', or 'ami', the container and disk formats must \
                 match.",
            ));
        }
        let shares = properties.get("members").and_then(Value::as_array);
        if shares.is_some_and(|members| !members.is_empty()) && get("visibility") != "shared" {
            return Err(Refusal::new(
                "ResourcePropertyValueDependency",
                "members property should only be specified for visibility with value shared.",
            ));
        }
        Ok(())
    }
}

fn request(method: Method, subject: &Subject, rest: &str) -> Request {
    let id = path_segment(subject.physical_id.as_deref().unwrap_or_default());
    Request::new(method, Service::Image, format!("/v2/images/{id}{rest}"))
}

fn is_active(declared: &Declared, subject: &Subject) -> bool {
    declared.properties(&subject.properties).get("active") != Some(&Value::Bool(false))
}

fn after_update(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Work::Update { changed, .. } = beating.work else { return Ok(done()) };
    if changed.contains("active") && is_active(declared, beating.subject) {
        return Ok(next(Learned::default(), Stage::Reactivate.step()));
    }
    Ok(done())
}

fn texts<'a>(properties: &'a JsonMap, name: &str) -> BTreeSet<&'a str> {
    let list = properties.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Shares the image with the wanted projects and no others.
fn members(beating: &Beating<'_>, given: &JsonMap) -> Result<(), Failure> {
    let Beating { cloud, work, subject, .. } = *beating;
    let wanted = texts(given, "members");
    let empty = JsonMap::new();
    let before = match work {
        Work::Update { before, changed } if changed.contains("members") => before,
        Work::Update { .. } | Work::Delete | Work::Act(_) => return Ok(()),
        Work::Create => &empty,
    };
    for member in wanted.difference(&texts(before, "members")) {
        let body = json!({ "member": member });
        match cloud.send(request(Method::Post, subject, "/members").json(body)) {
            Ok(_) => {}
            // It has access by an earlier call.
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(error.into()),
        }
    }
    for member in texts(before, "members").difference(&wanted) {
        let path = format!("/members/{}", path_segment(member));
        match cloud.send(request(Method::Delete, subject, &path)) {
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn tags(beating: &Beating<'_>, given: &JsonMap) -> Result<(), Failure> {
    let Beating { cloud, work, subject, .. } = *beating;
    let Work::Update { before, changed } = work else { return Ok(()) };
    if !changed.contains("tags") {
        return Ok(());
    }
    let (before, wanted) = (texts(before, "tags"), texts(given, "tags"));
    for tag in wanted.difference(&before) {
        let path = format!("/tags/{}", path_segment(tag));
        cloud.send(request(Method::Put, subject, &path))?;
    }
    for tag in before.difference(&wanted) {
        let path = format!("/tags/{}", path_segment(tag));
        match cloud.send(request(Method::Delete, subject, &path)) {
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Changes fields of the image; extra properties are fields as well.
fn patch(
    declared: &Declared,
    beating: &Beating<'_>,
    given: &JsonMap,
    before: &JsonMap,
    changed: &BTreeSet<String>,
) -> Result<(), Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let image = declared.show(cloud, subject)?;
    let mut fields = JsonMap::new();
    let mut removed = BTreeSet::new();
    for name in changed {
        match name.as_str() {
            "active" | "tags" | "members" | "location" => {}
            "extra_properties" => {
                let former = before.get(name).and_then(Value::as_object);
                for key in former.into_iter().flat_map(JsonMap::keys) {
                    fields.insert(key.clone(), Value::Null);
                    removed.insert(key.clone());
                }
                let extra = given.get(name).and_then(Value::as_object);
                fields.extend(extra.cloned().unwrap_or_default());
            }
            _ => {
                fields.insert(name.clone(), given.get(name).cloned().unwrap_or_default());
            }
        }
    }
    let operations: Vec<Value> = fields
        .into_iter()
        .filter_map(|(name, value)| {
            // A slash and a tilde have other forms in a path of a patch.
            let path = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            match (image.get(&name), value) {
                (None | Some(Value::Null), Value::Null) => None,
                // Glance keeps its own fields, which become null.
                (Some(_), Value::Null) if removed.contains(&name) => {
                    Some(json!({ "op": "remove", "path": path }))
                }
                (Some(_), value) => Some(json!({ "op": "replace", "path": path, "value": value })),
                (None, value) => Some(json!({ "op": "add", "path": path, "value": value })),
            }
        })
        .collect();
    if operations.is_empty() {
        return Ok(());
    }
    let body = Value::from(operations).to_string().into_bytes();
    cloud.send(request(Method::Patch, subject, "").bytes(PATCH, body))?;
    Ok(())
}
