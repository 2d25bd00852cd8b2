//! The JSON schemas that clients read before they speak of images.

use serde_json::{Value, json};

use super::super::answer::{Answer, Reply};
use super::nowhere;

pub(super) fn show(name: &str) -> Reply {
    let schema = match name {
        "image" => image(),
        "images" => json!({
            "name": "images",
            "properties": {
                "images": {"type": "array", "items": image()},
                "first": {"type": "string"},
                "next": {"type": "string"},
                "schema": {"type": "string"},
            },
        }),
        "member" => member(),
        "members" => json!({
            "name": "members",
            "properties": {
                "members": {"type": "array", "items": member()},
                "schema": {"type": "string"},
            },
        }),
        _ => return Err(nowhere()),
    };
    Ok(Answer::json(200, &schema))
}

fn image() -> Value {
    let text = || json!({"type": ["null", "string"]});
    let fixed = || json!({"type": ["null", "string"], "readOnly": true});
    let number = || json!({"type": "integer"});
    json!({
        "name": "image",
        // The properties of a user's own are texts.
        "additionalProperties": {"type": "string"},
        "properties": {
            "id": {"type": "string"},
            "name": text(),
            "status": fixed(),
            "visibility": {"type": "string", "enum": super::rules::VISIBILITIES},
            "protected": {"type": "boolean"},
            "os_hidden": {"type": "boolean"},
            "checksum": fixed(),
            "os_hash_algo": fixed(),
            "os_hash_value": fixed(),
            "owner": text(),
            "size": {"type": ["null", "integer"], "readOnly": true},
            "virtual_size": {"type": ["null", "integer"], "readOnly": true},
            "container_format": text(),
            "disk_format": text(),
            "created_at": fixed(),
            "updated_at": fixed(),
            "tags": {"type": "array", "items": {"type": "string"}},
            "min_ram": number(),
            "min_disk": number(),
            "self": fixed(),
            "file": fixed(),
            "schema": fixed(),
            "architecture": text(),
            "kernel_id": text(),
            "ramdisk_id": text(),
            "os_distro": text(),
            "os_version": text(),
            "instance_uuid": text(),
        },
        "links": [
            {"rel": "self", "href": "{self}"},
            {"rel": "enclosure", "href": "{file}"},
            {"rel": "describedby", "href": "{schema}"},
        ],
    })
}

fn member() -> Value {
    let text = || json!({"type": "string"});
    json!({
        "name": "member",
        "properties": {
            "image_id": text(),
            "member_id": text(),
            "status": {"type": "string", "enum": ["pending", "accepted", "rejected"]},
            "created_at": text(),
            "updated_at": text(),
            "schema": text(),
        },
    })
}
