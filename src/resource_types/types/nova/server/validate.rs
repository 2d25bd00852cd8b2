//! What the schema of a server cannot say: something to boot from, networks that make sense, and
//! an image and metadata that Nova will take.

use serde_json::Value;

use super::entries::get;
use super::text;
use crate::model::{JsonMap, Refusal};
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::finders::find;
use crate::resource_types::rules::conflict;

/// Refuses properties that make no server.
pub(super) fn properties(name: &str, properties: &JsonMap) -> Result<(), Refusal> {
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

/// Refuses metadata that take the place of what the server is told of its deployments.
pub(super) fn metadata(metadata: &JsonMap, properties: &JsonMap) -> Result<(), Refusal> {
    let is_told = text(properties, "user_data_format") == Some("SOFTWARE_CONFIG");
    match is_told && metadata.contains_key("deployments") {
        false => Ok(()),
        true => Err(Refusal::validation(
            "deployments key not allowed in resource metadata with user_data_format of \
             SOFTWARE_CONFIG",
        )),
    }
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

/// What the cloud is asked about: the image with the flavor, and how many metadata there are.
pub(super) fn asked_of_cloud(properties: &JsonMap) -> Option<JsonMap> {
    let mut asked = JsonMap::new();
    if let (Some(image), Some(flavor)) = (text(properties, "image"), text(properties, "flavor")) {
        asked.insert("image".to_owned(), image.into());
        asked.insert("flavor".to_owned(), flavor.into());
    }
    let metadata = properties.get("metadata").and_then(Value::as_object);
    if let Some(count) = metadata.map(serde_json::Map::len).filter(|count| *count > 0) {
        asked.insert("metadata".to_owned(), count.into());
    }
    (!asked.is_empty()).then_some(asked)
}

/// Refuses what Nova would refuse when it makes the server. What is not there may be made by the
/// same stack.
pub(super) fn in_cloud(cloud: &Asks<'_>, asked: &JsonMap) -> Result<(), Refusal> {
    let looked_up = looked_up(cloud, asked).or_else(|failure| match failure {
        failure if failure.is_transient() => Err(Refusal::unavailable(failure.to_string())),
        failure if failure.is_not_found() => Ok(Vec::new()),
        failure => Err(Refusal::validation(failure.to_string())),
    })?;
    looked_up.into_iter().next().map_or(Ok(()), |misfit| Err(Refusal::validation(misfit)))
}

/// What does not fit, in Heat's words.
fn looked_up(cloud: &Asks<'_>, asked: &JsonMap) -> Result<Vec<String>, Failure> {
    let mut misfits = Vec::new();
    if let (Some(image), Some(flavor)) = (text(asked, "image"), text(asked, "flavor")) {
        let shown = |service: Service, path: &str, id: &str| {
            cloud.send(Request::get(service, format!("{path}/{}", path_segment(id))))?.json()
        };
        let image_id = find(cloud, "glance.image", image)?;
        let known_image = shown(Service::Image, "/v2/images", &image_id)?;
        let flavor_id = find(cloud, "nova.flavor", flavor)?;
        let known_flavor = &shown(Service::Compute, "/flavors", &flavor_id)?["flavor"];
        let status = known_image["status"].as_str().unwrap_or_default();
        if status.to_lowercase() != "active" {
            misfits.push(format!("Image status is required to be active not {status}."));
        }
        let number = |object: &Value, key: &str| object[key].as_i64().unwrap_or_default();
        let (wanted, has) = (number(&known_image, "min_ram"), number(known_flavor, "ram"));
        if has < wanted {
            misfits.push(format!(
                "Image {image} requires {wanted} minimum ram. Flavor {flavor} has only {has}."
            ));
        }
        let (wanted, has) = (number(&known_image, "min_disk"), number(known_flavor, "disk"));
        if has < wanted {
            misfits.push(format!(
                "Image {image} requires {wanted} GB minimum disk space. Flavor {flavor} has only \
                 {has} GB."
            ));
        }
    }
    if let Some(count) = asked.get("metadata").and_then(Value::as_i64) {
        let limits = cloud.send(Request::get(Service::Compute, "/limits"))?.json()?;
        let most = limits["limits"]["absolute"]["maxServerMeta"].as_i64().unwrap_or(-1);
        if most >= 0 && count > most {
            misfits.push(format!(
                "Instance metadata must not contain greater than {most} entries.  This is the \
                 maximum number allowed by your service provider"
            ));
        }
    }
    Ok(misfits)
}
