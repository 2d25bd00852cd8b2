//! Changing an image by a JSON patch.

use serde_json::Value;

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::own;
use super::rules::{READ_ONLY, check, publicize};

pub(super) fn apply(cloud: &mut Cloud, ask: &Ask, scope: &Scope, id: &str) -> Reply {
    let operations: Vec<Value> = serde_json::from_slice(&ask.body).map_err(|_| {
        answer::glance(400, "Request body must be a JSON array of operation objects.")
    })?;
    let before = own(cloud, scope, id)?.clone();
    let mut image = before.clone();
    for operation in operations.iter().filter_map(Value::as_object) {
        let path = operation.text("path").trim_start_matches('/');
        let field = path.replace("~1", "/").replace("~0", "~");
        if READ_ONLY.contains(&field.as_str()) || field == "id" {
            return Err(answer::glance(403, format!("Attribute '{field}' is read-only.")));
        }
        let value = || operation.get("value").cloned().unwrap_or_default();
        match operation.text("op") {
            "add" => image.set(&field, value()),
            "replace" if image.contains_key(&field) => image.set(&field, value()),
            "remove" if image.contains_key(&field) => {
                image.remove(&field);
            }
            "replace" | "remove" => {
                return Err(answer::glance(409, format!("Property {field} does not exist.")));
            }
            other => {
                return Err(answer::glance(400, format!("Unable to find '{other}' operation")));
            }
        }
    }
    check(&image)?;
    if image.text("visibility") != before.text("visibility") {
        publicize(scope, image.text("visibility"))?;
    }
    if image.text("owner") != before.text("owner") && !scope.is_admin {
        return Err(answer::glance(403, "You are not permitted to modify 'owner' on this image."));
    }
    image.set("updated_at", ask.moment());
    cloud.glance.images.insert(id, image.clone());
    Ok(Answer::json(200, &Value::Object(image)))
}
