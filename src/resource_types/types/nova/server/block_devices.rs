//! Block devices of a server, in the form that Nova has for them today.

use serde_json::{Value, json};

use crate::model::JsonMap;

/// The devices of either property; none without devices.
pub(super) fn devices(properties: &JsonMap) -> Option<Value> {
    let list =
        |name: &str| properties.get(name).and_then(Value::as_array).filter(|list| !list.is_empty());
    if let Some(devices) = list("block_device_mapping_v2") {
        return Some(devices.iter().map(device).collect());
    }
    let devices = list("block_device_mapping")?;
    let image = properties.get("image").and_then(Value::as_str).filter(|id| !id.is_empty());
    let mut all: Vec<Value> = Vec::new();
    // In the older form the image is understood to be the first disk.
    if let Some(image) = image {
        all.push(json!({
            "uuid": image,
            "source_type": "image",
            "destination_type": "local",
            "boot_index": 0,
            "delete_on_termination": true,
        }));
    }
    for old in devices {
        let is_boot_disk = image.is_none() && all.is_empty();
        all.push(older(old, is_boot_disk));
    }
    Some(all.into())
}

/// What becomes of the properties where the server is to start from an image: the disk that it
/// starts from now is left out. What the template computes is left as it is.
pub(super) fn without_boot(properties: &JsonMap) -> JsonMap {
    let is_disk = |entry: &Value| {
        ["volume_id", "snapshot_id", "image"].iter().any(|name| entry.get(name).is_some())
    };
    let is_first = |entry: &Value| match entry.get("boot_index") {
        None | Some(Value::Null) => true,
        Some(index) => *index == 0 || *index == "0",
    };
    let starts = |name: &str, entry: &Value| match name {
        "block_device_mapping" => entry["device_name"] == "vda",
        _ => is_disk(entry) && is_first(entry),
    };
    let without = |name: &str| {
        let given = properties.get(name)?.as_array()?;
        let left: Vec<Value> = given.iter().filter(|it| !starts(name, it)).cloned().collect();
        let left = if left.is_empty() { Value::Null } else { left.into() };
        Some((name.to_owned(), left))
    };
    ["block_device_mapping", "block_device_mapping_v2"].into_iter().filter_map(without).collect()
}

fn device(entry: &Value) -> Value {
    let id = |name: &str| entry[name].as_str().filter(|id| !id.is_empty());
    let from = |uuid: &str, source: &str| {
        json!({
            "uuid": uuid,
            "source_type": source,
            "destination_type": "volume",
            "boot_index": 0,
            "delete_on_termination": false,
        })
    };
    let blank = || {
        json!({
            "source_type": "blank",
            "destination_type": "local",
            "boot_index": -1,
            "delete_on_termination": true,
        })
    };
    let mut device = match (id("volume_id"), id("snapshot_id"), id("image")) {
        (Some(volume), _, _) => from(volume, "volume"),
        (None, Some(snapshot), _) => from(snapshot, "snapshot"),
        (None, None, Some(image)) => from(image, "image"),
        (None, None, None) => {
            let mut device = blank();
            if let Some(size) = entry["swap_size"].as_i64().filter(|size| *size != 0) {
                device["guest_format"] = "swap".into();
                device["volume_size"] = size.into();
            } else {
                if let Some(size) = entry["ephemeral_size"].as_i64() {
                    device["volume_size"] = size.into();
                }
                if let Some(format) = id("ephemeral_format") {
                    device["guest_format"] = format.into();
                }
            }
            device
        }
    };
    if let Some(name) = id("device_name") {
        device["device_name"] = name.into();
    }
    for name in [
        "device_type",
        "disk_bus",
        "boot_index",
        "volume_size",
        "delete_on_termination",
        "volume_type",
    ] {
        if !entry[name].is_null() {
            device[name] = entry[name].clone();
        }
    }
    device
}

fn older(entry: &Value, is_boot_disk: bool) -> Value {
    let (source, uuid) = match entry["snapshot_id"].as_str().filter(|id| !id.is_empty()) {
        Some(snapshot) => ("snapshot", snapshot),
        None => ("volume", entry["volume_id"].as_str().unwrap_or_default()),
    };
    let mut device = json!({
        "uuid": uuid,
        "source_type": source,
        "destination_type": "volume",
        "device_name": entry["device_name"],
        "delete_on_termination": entry["delete_on_termination"].as_bool().unwrap_or(false),
    });
    if !entry["volume_size"].is_null() {
        device["volume_size"] = entry["volume_size"].clone();
    }
    if is_boot_disk {
        device["boot_index"] = 0.into();
    }
    device
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_boots_unless_it_is_told_else() {
        let entry = json!({"volume_id": "v", "delete_on_termination": true});
        assert_eq!(
            device(&entry),
            json!({
                "uuid": "v", "source_type": "volume", "destination_type": "volume",
                "boot_index": 0, "delete_on_termination": true,
            })
        );
    }

    #[test]
    fn swap_is_a_blank_local_disk() {
        let device = device(&json!({"swap_size": 512}));
        assert_eq!(
            (device["guest_format"].as_str(), device["volume_size"].as_i64()),
            (Some("swap"), Some(512))
        );
    }
}
