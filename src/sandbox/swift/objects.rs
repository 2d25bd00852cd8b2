//! Objects.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::entries::{http_date, of};
use super::state::{Headers, Object};
use super::{containers, keep_headers};
use crate::model::hex;

/// Headers that are kept beside the metadata.
const KEPT: [&str; 5] = [
    "content-encoding",
    "content-disposition",
    "x-delete-at",
    "x-object-manifest",
    "x-delete-after",
];

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    project: &str,
    container: &str,
    name: &str,
) -> Reply {
    if !containers::exists(cloud, project, container) {
        return Err(answer::swift(404));
    }
    let key = format!("{project}/{container}/{name}");
    let known = cloud.swift.objects.get(&key).cloned();
    match (ask.method.as_str(), known) {
        ("PUT", known) => {
            let etag = hex(&Md5::digest(&ask.body));
            let asked = ask.header("etag").map(|etag| etag.trim_matches('"'));
            if asked.is_some_and(|asked| !asked.eq_ignore_ascii_case(&etag)) {
                return Err(answer::swift(422));
            }
            let mut object = Object {
                project_id: project.to_owned(),
                container: container.to_owned(),
                name: name.to_owned(),
                content_type: content_type(ask),
                etag: etag.clone(),
                bytes: ask.body.len() as u64,
                data: STANDARD.encode(&ask.body),
                headers: Headers::new(),
                modified_at: ask.at,
            };
            keep_headers(&mut object.headers, ask, &["x-object-meta-"], &KEPT);
            if let Some(former) = known {
                archive(cloud, former);
            }
            cloud.swift.objects.insert(&key, object);
            Ok(Answer::empty(201).header("etag", etag).header("last-modified", http_date(ask.at)))
        }
        (_, None) => Err(answer::swift(404)),
        ("POST", Some(mut object)) => {
            // The new metadata takes the place of the old, all of it.
            object.headers.clear();
            keep_headers(&mut object.headers, ask, &["x-object-meta-"], &KEPT);
            object.modified_at = ask.at;
            cloud.swift.objects.insert(&key, object);
            Ok(Answer::empty(202))
        }
        ("DELETE", Some(object)) => {
            match former_version(cloud, &object) {
                Some((place, former)) => {
                    cloud.swift.objects.remove(&place);
                    let former =
                        Object { container: object.container, name: object.name, ..former };
                    cloud.swift.objects.insert(&key, former);
                }
                None => drop(cloud.swift.objects.remove(&key)),
            }
            Ok(Answer::empty(204))
        }
        ("GET" | "HEAD", Some(object)) => {
            let bytes = STANDARD.decode(&object.data).unwrap_or_default();
            let mut answer = Answer::text(200, &object.content_type, bytes);
            answer.headers.extend(object.headers.clone());
            Ok(answer
                .header("etag", object.etag)
                .header("accept-ranges", "bytes")
                .header("last-modified", http_date(object.modified_at)))
        }
        _ => Err(answer::swift(405)),
    }
}

/// Where former versions of an object are kept, where its container keeps them
/// (`X-Versions-Location`), and what their names begin with.
fn versions(cloud: &Cloud, object: &Object) -> Option<(String, String)> {
    let headers = containers::headers(cloud, &object.project_id, &object.container)?;
    let location = headers.get("x-versions-location")?.clone();
    let is_there = containers::exists(cloud, &object.project_id, &location);
    is_there.then(|| (location, format!("{:03x}{}/", object.name.len(), object.name)))
}

/// Keeps what is about to be overwritten.
fn archive(cloud: &mut Cloud, object: Object) {
    let Some((location, prefix)) = versions(cloud, &object) else { return };
    let name = format!("{prefix}{:.5}", object.modified_at.timestamp_micros() as f64 / 1e6);
    let key = format!("{}/{location}/{name}", object.project_id);
    cloud.swift.objects.insert(&key, Object { container: location, name, ..object });
}

/// The last version before this one, and where it is kept.
fn former_version(cloud: &Cloud, object: &Object) -> Option<(String, Object)> {
    let (location, prefix) = versions(cloud, object)?;
    let kept = of(cloud, &object.project_id, &location).filter(|it| it.name.starts_with(&prefix));
    let last = kept.max_by(|one, other| one.name.cmp(&other.name))?.clone();
    Some((format!("{}/{location}/{}", object.project_id, last.name), last))
}

fn content_type(ask: &Ask) -> String {
    ask.header("content-type").unwrap_or("application/octet-stream").to_owned()
}
