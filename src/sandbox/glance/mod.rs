//! Image v2: images, their data, members, tags and schemas.

mod data;
mod images;
mod members;
mod patch;
mod rules;
mod schemas;
pub(super) mod state;

use chrono::{DateTime, Utc};
use serde_json::json;

use super::answer::{self, Answer, Reply};
use super::ask::{Ask, stamp};
use super::cloud::Cloud;
use super::doc::Doc;
use super::keystone::{self, Scope};
use crate::model::JsonMap;

pub(super) use data::ends as image_ends;
pub(super) use images::{create_from_server, plant};

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    let ["v2", path @ ..] = path else {
        return match path {
            [] => Ok(versions(ask, 300)),
            ["versions"] => Ok(versions(ask, 200)),
            _ => Err(nowhere()),
        };
    };
    let scope = keystone::scope(cloud, ask)?;
    match (ask.method.as_str(), path) {
        ("GET", ["schemas", name]) => schemas::show(name),
        ("GET", ["info", "import"]) => {
            let methods = json!({
                "description": "Import methods available.",
                "type": "array",
                "value": ["glance-direct", "web-download"],
            });
            Ok(Answer::json(200, &json!({"import-methods": methods})))
        }
        ("GET", ["info", "stores"]) => {
            Ok(Answer::json(200, &json!({"stores": [{"id": "file", "default": "true"}]})))
        }
        (_, ["images", id, "members", rest @ ..]) => members::answer(cloud, ask, &scope, id, rest),
        (_, ["images", id, part @ ("file" | "stage" | "import" | "actions"), rest @ ..]) => {
            data::answer(cloud, ask, &scope, id, part, rest)
        }
        (_, ["images", rest @ ..]) => images::answer(cloud, ask, &scope, rest),
        _ => Err(nowhere()),
    }
}

/// The image of this id, if the caller may use it.
pub(super) fn find<'a>(cloud: &'a Cloud, scope: &Scope, id: &str) -> Option<&'a JsonMap> {
    cloud.glance.images.get(id).filter(|image| visible(cloud, scope, image))
}

/// The first image of this name that the caller may use.
pub(super) fn find_by_name<'a>(cloud: &'a Cloud, scope: &Scope, name: &str) -> Option<&'a JsonMap> {
    cloud
        .glance
        .images
        .values()
        .find(|image| image.text("name") == name && visible(cloud, scope, image))
}

fn visible(cloud: &Cloud, scope: &Scope, image: &JsonMap) -> bool {
    if scope.sees(image.text("owner")) {
        return true;
    }
    match image.text("visibility") {
        "public" | "community" => true,
        "shared" => members::has(cloud, image.text("id"), &scope.project_id),
        _ => false,
    }
}

/// The image, if the caller may change it.
fn own<'a>(cloud: &'a Cloud, scope: &Scope, id: &str) -> Result<&'a JsonMap, Answer> {
    let image = find(cloud, scope, id).ok_or_else(|| missing(id))?;
    if scope.sees(image.text("owner")) {
        return Ok(image);
    }
    Err(answer::glance(403, "You do not own this image"))
}

fn set_status(cloud: &mut Cloud, id: &str, status: &str, at: DateTime<Utc>) {
    if let Some(image) = cloud.glance.images.edit(id) {
        image.set("status", status);
        image.set("updated_at", stamp(at));
    }
}

fn missing(id: &str) -> Answer {
    answer::glance(404, format!("No image found with ID {id}"))
}

fn nowhere() -> Answer {
    answer::glance(404, "The resource could not be found.")
}

fn versions(ask: &Ask, status: u16) -> Answer {
    let entry = |id: &str, status: &str| {
        let href = format!("{}/image/v2/", ask.base);
        json!({"id": id, "status": status, "links": [{"rel": "self", "href": href}]})
    };
    let versions =
        [entry("v2.16", "CURRENT"), entry("v2.9", "SUPPORTED"), entry("v2.0", "SUPPORTED")];
    Answer::json(status, &json!({"versions": versions}))
}
