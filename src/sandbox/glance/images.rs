//! The images' routes: list, show, make, delete, tags.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::{Ask, stamp};
use super::super::cloud::Cloud;
use super::super::doc::{Doc, flag_text, shown, uuid_like};
use super::super::keystone::Scope;
use super::super::listing;
use super::rules::{READ_ONLY, check, mismatch, publicize};
use super::{data, find, members, missing, nowhere, own, patch};
use crate::model::JsonMap;

/// Longest page of a list, and what it is when none is asked for.
const PAGE_MAX: usize = 1000;
const PAGE: usize = 25;

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", []) => list(cloud, ask, scope),
        ("POST", []) => {
            let given = ask.object(answer::glance)?;
            let image = make(cloud, scope, given, ask.at)?;
            let location = format!("{}/image/v2/images/{}", ask.base, image.text("id"));
            Ok(Answer::json(201, &Value::Object(image)).header("location", location))
        }
        ("GET", [id]) => {
            let image = find(cloud, scope, id).ok_or_else(|| missing(id))?;
            Ok(Answer::json(200, &Value::Object(image.clone())))
        }
        ("PATCH", [id]) => patch::apply(cloud, ask, scope, id),
        ("DELETE", [id]) => {
            if find(cloud, scope, id).is_none() {
                return Err(answer::glance(404, format!("Failed to find image {id} to delete")));
            }
            let image = own(cloud, scope, id)?;
            if image.is("protected") {
                return Err(answer::glance(
                    403,
                    format!("Image {id} is protected and cannot be deleted."),
                ));
            }
            cloud.glance.images.remove(id);
            cloud.glance.data.remove(id);
            members::forget(cloud, id);
            Ok(Answer::empty(204))
        }
        (method @ ("PUT" | "DELETE"), [id, "tags", tag]) => {
            let mut tags = own(cloud, scope, id)?.list("tags").to_vec();
            let held = tags.iter().any(|found| found == tag);
            if method == "DELETE" && !held {
                return Err(answer::glance(404, "The resource could not be found."));
            }
            tags.retain(|found| found != tag);
            if method == "PUT" {
                tags.push(Value::from(*tag));
            }
            if let Some(image) = cloud.glance.images.edit(id) {
                image.set("tags", tags);
                image.set("updated_at", ask.moment());
            }
            Ok(Answer::empty(204))
        }
        _ => Err(nowhere()),
    }
}

fn list(cloud: &Cloud, ask: &Ask, scope: &Scope) -> Reply {
    let rows: Vec<JsonMap> = cloud
        .glance
        .images
        .values()
        .rev()
        .filter(|image| listed(cloud, scope, image, ask))
        .filter(|image| wanted(image, ask))
        .cloned()
        .collect();
    let limit = if ask.query("limit").is_some() { PAGE_MAX } else { PAGE };
    let page = listing::page(rows, ask, limit).ok_or_else(|| {
        let marker = ask.query("marker").unwrap_or_default();
        answer::glance(400, format!("Image marker {marker} could not be found."))
    })?;
    let mut body = JsonMap::new();
    let next = page.rows.last().filter(|_| page.more).map(|last| {
        // Glance's links have no host.
        listing::next_link(ask, "/v2/images", last).replace(&ask.base, "")
    });
    body.set("images", page.rows.into_iter().map(Value::Object).collect::<Vec<_>>());
    if let Some(next) = next {
        body.set("next", next);
    }
    let query = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(ask.query.iter().filter(|(key, _)| key != "marker"))
        .finish();
    let first =
        if query.is_empty() { "/v2/images".to_owned() } else { format!("/v2/images?{query}") };
    body.set("first", first);
    body.set("schema", "/v2/schemas/images");
    Ok(Answer::json(200, &Value::Object(body)))
}

/// A list shows less than can be used by id: community images only when asked for, shared ones
/// once they are accepted.
fn listed(cloud: &Cloud, scope: &Scope, image: &JsonMap, ask: &Ask) -> bool {
    let mine = image.text("owner") == scope.project_id;
    let visibility = image.text("visibility");
    match ask.query("visibility") {
        Some("community") => visibility == "community",
        Some("all") => find(cloud, scope, image.text("id")).is_some(),
        _ if mine || scope.is_admin || visibility == "public" => true,
        _ => {
            let status = ask.query("member_status").unwrap_or("accepted");
            let held = members::status(cloud, image.text("id"), &scope.project_id);
            visibility == "shared" && held.is_some_and(|held| status == "all" || status == held)
        }
    }
}

fn wanted(image: &JsonMap, ask: &Ask) -> bool {
    ask.query.iter().all(|(key, asked)| match key.as_str() {
        "limit" | "marker" | "sort_key" | "sort_dir" | "sort" | "member_status" => true,
        "visibility" => asked == "all" || image.text("visibility") == asked,
        "tag" => image.list("tags").iter().any(|tag| tag == asked),
        "size_min" => image.int("size") >= asked.parse().ok(),
        "size_max" => image.int("size") <= asked.parse().ok(),
        "protected" | "os_hidden" => flag_text(asked) == Some(image.is(key)),
        key => {
            let asked = match asked.split_once(':') {
                Some(("in", list)) => list,
                _ => asked,
            };
            let value = image.get(key).map(shown).unwrap_or_default();
            asked.split(',').any(|one| one.trim_matches('"') == value)
        }
    })
}

/// Makes an image without data.
fn make(
    cloud: &mut Cloud,
    scope: &Scope,
    mut given: JsonMap,
    at: DateTime<Utc>,
) -> Result<JsonMap, Answer> {
    if let Some(field) = READ_ONLY.iter().find(|field| given.contains_key(**field)) {
        return Err(answer::glance(403, format!("Attribute '{field}' is read-only.")));
    }
    let id = match given.remove("id") {
        None | Some(Value::Null) => cloud.fresh_id(),
        Some(Value::String(id)) if uuid_like(&id) => id,
        Some(other) => return Err(mismatch(&format!("{} does not match a UUID", shown(&other)))),
    };
    if cloud.glance.images.contains(&id) {
        return Err(answer::glance(409, format!("Image ID {id} already exists!")));
    }
    let owner = match given.remove("owner") {
        Some(Value::String(owner)) if owner != scope.project_id && !scope.is_admin => {
            let text = format!("You are not permitted to create images owned by '{owner}'.");
            return Err(answer::glance(403, text));
        }
        Some(Value::String(owner)) => owner,
        _ => scope.project_id.clone(),
    };
    let mut image = JsonMap::new();
    image.set("name", given.remove("name").unwrap_or_default());
    image.set("disk_format", given.remove("disk_format").unwrap_or_default());
    image.set("container_format", given.remove("container_format").unwrap_or_default());
    image.set("visibility", given.remove("visibility").unwrap_or("shared".into()));
    for field in ["size", "virtual_size", "checksum", "os_hash_algo", "os_hash_value"] {
        image.set(field, Value::Null);
    }
    image.set("status", "queued");
    image.set("protected", given.remove("protected").unwrap_or(false.into()));
    image.set("min_ram", given.remove("min_ram").unwrap_or(0.into()));
    image.set("min_disk", given.remove("min_disk").unwrap_or(0.into()));
    image.set("os_hidden", given.remove("os_hidden").unwrap_or(false.into()));
    image.set("owner", owner.as_str());
    image.set("tags", given.remove("tags").unwrap_or(json!([])));
    image.set("created_at", stamp(at));
    image.set("updated_at", stamp(at));
    image.set("file", format!("/v2/images/{id}/file"));
    image.set("self", format!("/v2/images/{id}"));
    image.set("schema", "/v2/schemas/image");
    image.set("id", id.as_str());
    image.append(&mut given);
    check(&image)?;
    publicize(scope, image.text("visibility"))?;
    cloud.glance.images.insert(&id, image.clone());
    Ok(image)
}

/// Makes an image of a server; its id.
pub(in crate::sandbox) fn create_from_server(
    cloud: &mut Cloud,
    scope: &Scope,
    name: &str,
    metadata: Option<&JsonMap>,
    server: &str,
    at: DateTime<Utc>,
) -> String {
    let mut given = metadata.cloned().unwrap_or_default();
    given.set("name", name);
    given.set("disk_format", "raw");
    given.set("container_format", "bare");
    given.set("visibility", "private");
    given.set("instance_uuid", server);
    given.set("image_type", "snapshot");
    match make(cloud, scope, given, at) {
        Ok(image) => {
            let id = image.text("id").to_owned();
            data::store(cloud, &id, b"sandbox snapshot", at);
            id
        }
        Err(_) => String::new(),
    }
}

/// Makes one of the usual public images.
pub(in crate::sandbox) fn plant(cloud: &mut Cloud, owner: &str, name: &str, distro: &str) {
    let scope = Scope::of_service(owner);
    let mut given = JsonMap::new();
    given.set("name", name);
    given.set("disk_format", "raw");
    given.set("container_format", "bare");
    given.set("visibility", "public");
    given.set("os_distro", distro);
    let at = cloud.clock.now();
    if let Ok(image) = make(cloud, &scope, given, at) {
        let mut bytes = b"sandbox".to_vec();
        bytes.resize(4096, 0);
        data::store(cloud, image.text("id"), &bytes, at);
    }
}
