//! Making servers: what they refer to is checked, then their ports and disks are made or taken.

use base64::Engine;
use serde_json::Value;

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cinder;
use super::super::cloud::Cloud;
use super::super::doc::{Doc, shown, uuid_like, whole};
use super::super::glance;
use super::super::keystone::Scope;
use super::server::created;
use super::state::{Disk, Flavor, Server};
use super::version::Version;
use super::{attachments, bad, ends, flavors, groups, keypairs, limits, nics};
use crate::model::JsonMap;

/// Longest user data, in base64.
const USER_DATA_MAX: usize = 65_535;

pub(super) fn create(cloud: &mut Cloud, ask: &Ask, scope: &Scope, version: Version) -> Reply {
    let body = ask.object(answer::nova)?;
    let Some(given) = body.object("server") else {
        return Err(bad(
            "Invalid input for field/attribute server. 'server' is a required property",
        ));
    };
    let name = given.text("name").trim();
    if name.is_empty() || name.len() > 255 {
        let shown = given.get("name").map(shown).unwrap_or_default();
        let why = if name.is_empty() { "too short" } else { "too long" };
        return Err(bad(format!(
            "Invalid input for field/attribute name. Value: {shown}. '{shown}' is {why}"
        )));
    }
    let flavor = chosen_flavor(cloud, scope, given)?;
    limits::allow_server(cloud, scope, &flavor)?;
    let image = chosen_image(cloud, scope, given, &flavor)?;
    let key_name = chosen_key(cloud, scope, given)?;
    let hints = body.object("OS-SCH-HNT:scheduler_hints").or(body.object("os:scheduler_hints"));
    let group_id = groups::chosen(cloud, scope, hints)?;
    let user_data = given.get("user_data").and_then(Value::as_str).map(str::to_owned);
    if user_data.as_ref().is_some_and(|data| data.len() > USER_DATA_MAX) {
        return Err(bad(
            "User data too large. User data must be no larger than 64KB once base64 encoded.",
        ));
    }
    let metadata = given.object("metadata").cloned().unwrap_or_default();
    let zone = match given.text("availability_zone") {
        "" | "nova" => "nova".to_owned(),
        _ => return Err(bad("The requested availability zone is not available")),
    };
    let asked_groups = nics::security_group_names(given);
    let id = cloud.fresh_id();
    let mut server = Server {
        id: id.clone(),
        name: name.to_owned(),
        description: match version >= Version(19) {
            true => given.get("description").and_then(Value::as_str).map(str::to_owned),
            false => Some(name.to_owned()),
        },
        project_id: scope.project_id.clone(),
        user_id: scope.user_id.clone(),
        status: "BUILD".to_owned(),
        task: Some("spawning".to_owned()),
        flavor,
        flavor_next: None,
        flavor_before: None,
        image_id: image,
        key_name,
        availability_zone: zone,
        metadata,
        user_data,
        config_drive: given.get("config_drive").is_some_and(|value| shown(value) == "true"),
        disk_config: match given.text("OS-DCF:diskConfig") {
            "" => "MANUAL".to_owned(),
            config => config.to_owned(),
        },
        tags: given.list("tags").iter().map(shown).collect(),
        group_id,
        locked: false,
        ports: Vec::new(),
        volumes: Vec::new(),
        created_at: ask.at,
        updated_at: ask.at,
        launched_at: None,
        fault: None,
    };
    let nics::Nics { nics, failure } = nics::make(cloud, ask, scope, version, given, &id)?;
    server.ports = nics;
    cloud.nova.servers.insert(&id, server);
    disks(cloud, ask, scope, given, &id)?;
    let server = cloud.nova.servers.get(&id).cloned().ok_or_else(super::nowhere)?;
    groups::join(cloud, &server);
    ends::plan_build(cloud, &server, failure, ask.at);
    let password = match given.text("adminPass") {
        "" => password(cloud),
        given => given.to_owned(),
    };
    let names = asked_groups.unwrap_or_else(|| vec!["default".to_owned()]);
    let location = format!("{}/compute/v2.1/servers/{id}", ask.base);
    Ok(Answer::json(202, &created(ask, &server, &password, &names)).header("location", location))
}

fn chosen_flavor(cloud: &Cloud, scope: &Scope, given: &JsonMap) -> Result<Flavor, Answer> {
    let asked = given.get("flavorRef").map(shown).unwrap_or_default();
    // A reference may be a whole address.
    let id = asked.rsplit('/').next().unwrap_or_default();
    flavors::find(cloud, scope, id)
        .cloned()
        .map_err(|_| bad(format!("Flavor {id} could not be found.")))
}

fn chosen_image(
    cloud: &Cloud,
    scope: &Scope,
    given: &JsonMap,
    flavor: &Flavor,
) -> Result<Option<String>, Answer> {
    let boots_otherwise = given
        .list("block_device_mapping_v2")
        .iter()
        .any(|device| device.get("boot_index").and_then(whole) == Some(0))
        || !given.list("block_device_mapping").is_empty();
    let id = given.text("imageRef").rsplit('/').next().unwrap_or_default();
    if id.is_empty() {
        return match boots_otherwise {
            true => Ok(None),
            false => Err(bad("Missing imageRef attribute")),
        };
    }
    if !uuid_like(id) {
        return Err(bad(format!(
            "Invalid input for field/attribute imageRef. Value: {id}. '{id}' is not valid under any of the given schemas"
        )));
    }
    let image =
        glance::find(cloud, scope, id).ok_or_else(|| bad("Can not find requested image"))?;
    if image.text("status") != "active" {
        return Err(bad(format!("Image {id} is not active.")));
    }
    if image.int("min_ram").unwrap_or_default() > flavor.ram {
        return Err(bad("Flavor's memory is too small for requested image."));
    }
    let min_disk = image.int("min_disk").unwrap_or_default();
    if flavor.disk > 0 && min_disk > flavor.disk {
        return Err(bad(format!(
            "Flavor's disk is smaller than the minimum size specified in image metadata. Flavor disk is {} bytes, minimum size is {} bytes.",
            flavor.disk << 30,
            min_disk << 30
        )));
    }
    Ok(Some(id.to_owned()))
}

fn chosen_key(cloud: &Cloud, scope: &Scope, given: &JsonMap) -> Result<Option<String>, Answer> {
    match given.text("key_name") {
        "" => Ok(None),
        name if keypairs::exists(cloud, &scope.user_id, name) => Ok(Some(name.to_owned())),
        _ => Err(bad("Invalid key_name provided.")),
    }
}

/// Takes or makes the volumes that the server brings.
fn disks(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    given: &JsonMap,
    server_id: &str,
) -> Result<(), Answer> {
    for device in given.list("block_device_mapping_v2").iter().filter_map(Value::as_object) {
        let boot = device.int("boot_index") == Some(0);
        let source = device.text("source_type");
        let to_volume = device.text("destination_type") == "volume" || source == "volume";
        if !to_volume {
            continue; // The server's own disks are not modeled.
        }
        let volume_id = match source {
            "volume" => device.text("uuid").to_owned(),
            _ => {
                let size = device.int("volume_size").unwrap_or_default();
                if size <= 0 && source != "snapshot" {
                    return Err(bad(
                        "Block Device Mapping is Invalid: When using image or blank source with volume destination, size is required.",
                    ));
                }
                let wish = cinder::Wish {
                    size,
                    image_id: (source == "image").then(|| device.text("uuid").to_owned()),
                    snapshot_id: (source == "snapshot").then(|| device.text("uuid").to_owned()),
                };
                cinder::create_for_server(cloud, scope, &wish, ask.at)?
            }
        };
        let disk = Disk {
            volume_id: volume_id.clone(),
            attachment_id: cloud.fresh_id(),
            device: device.text("device_name").to_owned(),
            delete_on_termination: device.is("delete_on_termination"),
            tag: device.get("tag").and_then(Value::as_str).map(str::to_owned),
            boot,
        };
        // The volume is attached while the server is built.
        attachments::attach(cloud, scope, server_id, disk, source != "volume", ask.at)?;
    }
    Ok(())
}

fn password(cloud: &Cloud) -> String {
    let mut bytes = [0; 9];
    cloud.clock.fill(&mut bytes);
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}
