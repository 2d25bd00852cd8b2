//! What the schema of a server cannot say: something to boot from, and networks that make sense.

use serde_json::Value;

use super::networks::get;
use crate::model::{JsonMap, Refusal};
use crate::resource_types::agent;
use crate::resource_types::rules::conflict;

/// Refuses properties that make no server.
pub(super) fn properties(name: &str, properties: &JsonMap) -> Result<(), Refusal> {
    agent::check(properties)?;
    boot_sources(name, properties)?;
    networks(name, properties)?;
    if properties.get("personality").and_then(Value::as_object).is_some_and(|it| !it.is_empty()) {
        return Err(Refusal::validation(
            "Cannot use the personality parameter as nova no longer supports it. Use user_data \
             instead.",
        ));
    }
    Ok(())
}

fn list<'a>(properties: &'a JsonMap, name: &str) -> &'a [Value] {
    properties.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn boot_sources(name: &str, properties: &JsonMap) -> Result<(), Refusal> {
    let old = list(properties, "block_device_mapping");
    let new = list(properties, "block_device_mapping_v2");
    if !old.is_empty() && !new.is_empty() {
        return Err(conflict(&["block_device_mapping", "block_device_mapping_v2"]));
    }
    let has_image = properties.get("image").is_some_and(|image| !image.is_null());
    let mut bootable = has_image;
    for device in old {
        bootable |= device["device_name"] == "vda";
        match (device.get("volume_id"), device.get("snapshot_id")) {
            (Some(_), Some(_)) => return Err(conflict(&["volume_id", "snapshot_id"])),
            (None, None) => {
                let name = device["device_name"].as_str().unwrap_or_default();
                return Err(Refusal::validation(format!(
                    "Either volume_id or snapshot_id must be specified for device mapping {name}"
                )));
            }
            _ => {}
        }
    }
    let mut sources = usize::from(has_image);
    for device in new {
        let has = |name: &str| device.get(name).is_some_and(|value| !value.is_null());
        let ephemeral = has("ephemeral_size") || has("ephemeral_format");
        let disks = ["volume_id", "snapshot_id", "image"].map(|name| usize::from(has(name)));
        let disks: usize = disks.iter().sum();
        let kinds = disks + usize::from(has("swap_size")) + usize::from(ephemeral);
        match kinds {
            0 => {
                return Err(Refusal::validation(
                    "Either volume_id, snapshot_id, image_id, swap_size, ephemeral_size or \
                     ephemeral_format must be specified.",
                ));
            }
            1 => {}
            _ => {
                return Err(conflict(&[
                    "volume_id",
                    "snapshot_id",
                    "image",
                    "swap_size",
                    "ephemeral_size",
                    "ephemeral_format",
                ]));
            }
        }
        let boots = device.get("boot_index").is_none_or(|index| index.is_null() || *index == 0);
        if disks > 0 && boots {
            bootable = true;
            sources += 1;
        }
    }
    if !bootable {
        return Err(Refusal::validation(format!(
            "Neither image nor bootable volume is specified for instance {name}"
        )));
    }
    if !new.is_empty() && sources != 1 {
        return Err(Refusal::validation(format!("Multiple bootable sources for instance {name}.")));
    }
    Ok(())
}

/// As in Heat a text that comes of what is not there yet is empty, and yet given.
fn networks(name: &str, properties: &JsonMap) -> Result<(), Refusal> {
    let networks = list(properties, "networks");
    for entry in networks {
        let has = |key: &str| entry.get(key).is_some_and(|value| !value.is_null());
        let allocates = get(entry, "allocate_network").is_some();
        if !["network", "port", "subnet"].into_iter().any(has) && !allocates {
            return Err(Refusal::validation(format!(
                "One of the properties \"network\", \"port\", \"allocate_network\" or \"subnet\" \
                 should be set for the specified network of server \"{name}\".",
            )));
        }
        let given = entry.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        if allocates && given.count() != 1 {
            return Err(Refusal::validation(
                "Can not specify \"allocate_network\" with other keys of networks at the same time.",
            ));
        }
        if get(entry, "fixed_ip").is_some() && has("port") {
            return Err(conflict(&["networks/fixed_ip", "networks/port"]));
        }
        let finds_port = ["port", "subnet", "port_extra_properties"].into_iter().any(has);
        if has("floating_ip") && has("network") && !finds_port {
            return Err(Refusal::validation(
                "Property \"floating_ip\" is not supported if only \"network\" is specified, \
                 because the corresponding port can not be retrieved.",
            ));
        }
    }
    if networks.len() > 1 && networks.iter().any(|entry| get(entry, "allocate_network").is_some()) {
        return Err(Refusal::validation(
            "Property \"allocate_network\" can not be specified if multiple network interfaces set \
             for server.",
        ));
    }
    let has_port = networks.iter().any(|entry| !entry["port"].is_null());
    if has_port && !list(properties, "security_groups").is_empty() {
        return Err(conflict(&["security_groups", "networks/port"]));
    }
    Ok(())
}
