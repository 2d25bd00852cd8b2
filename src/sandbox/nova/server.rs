//! A server, and how the API shows it at each microversion.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha224};

use super::super::answer::{self, Answer};
use super::super::ask::{Ask, stamp, stamp_micros};
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::super::neutron::{FLOATING_IPS, NETWORKS, PORTS, SECURITY_GROUPS};
use super::state::{Flavor, Server};
use super::version::Version;
use crate::model::{JsonMap, hex};

impl Server {
    /// Nova's own word for the status.
    pub(super) fn vm_state(&self) -> &'static str {
        vm_state(&self.status)
    }

    fn power_state(&self) -> u8 {
        match self.vm_state() {
            "active" | "resized" => 1,
            "paused" => 3,
            "stopped" | "suspended" | "shelved_offloaded" => 4,
            _ => 0,
        }
    }
}

/// Nova's own word for a status.
pub(super) fn vm_state(status: &str) -> &'static str {
    match status {
        "BUILD" => "building",
        "SHUTOFF" => "stopped",
        "SUSPENDED" => "suspended",
        "PAUSED" => "paused",
        "VERIFY_RESIZE" | "REVERT_RESIZE" => "resized",
        "SHELVED_OFFLOADED" => "shelved_offloaded",
        "ERROR" => "error",
        _ => "active",
    }
}

/// What `POST /servers` answers.
pub(super) fn created(
    ask: &Ask,
    server: &Server,
    password: &str,
    security_groups: &[String],
) -> Value {
    let groups: Vec<Value> = security_groups.iter().map(|name| json!({"name": name})).collect();
    json!({"server": {
        "id": server.id,
        "links": links(ask, "servers", &server.id),
        "OS-DCF:diskConfig": server.disk_config,
        "security_groups": groups,
        "adminPass": password,
    }})
}

/// An entry of the short list.
pub(super) fn brief(ask: &Ask, server: &Server) -> JsonMap {
    let mut view = JsonMap::new();
    view.set("id", server.id.as_str());
    view.set("name", server.name.as_str());
    view.set("links", links(ask, "servers", &server.id));
    view
}

/// The whole server.
pub(super) fn full(
    cloud: &Cloud,
    ask: &Ask,
    scope: &Scope,
    version: Version,
    server: &Server,
) -> JsonMap {
    let mut view = brief(ask, server);
    view.set("status", server.status.as_str());
    view.set("tenant_id", server.project_id.as_str());
    view.set("user_id", server.user_id.as_str());
    view.set("metadata", server.metadata.clone());
    // Nova's marker of one host, which tenants cannot turn into its name.
    view.set("hostId", host_id(server));
    view.set("image", image(ask, server));
    view.set("flavor", flavor(ask, version, &server.flavor));
    view.set("created", stamp(server.created_at));
    view.set("updated", stamp(server.updated_at));
    view.set("addresses", addresses(cloud, server));
    view.set("accessIPv4", "");
    view.set("accessIPv6", "");
    view.set("OS-DCF:diskConfig", server.disk_config.as_str());
    if matches!(server.status.as_str(), "ACTIVE" | "BUILD" | "REBUILD" | "RESIZE" | "VERIFY_RESIZE")
    {
        view.set("progress", 0);
    }
    view.set("OS-EXT-AZ:availability_zone", server.availability_zone.as_str());
    view.set("config_drive", if server.config_drive { "True" } else { "" });
    view.set("key_name", json!(server.key_name));
    view.set("OS-SRV-USG:launched_at", server.launched_at.map(stamp_micros));
    view.set("OS-SRV-USG:terminated_at", Value::Null);
    view.set("security_groups", security_groups(cloud, server));
    view.set("OS-EXT-STS:task_state", json!(server.task));
    view.set("OS-EXT-STS:vm_state", server.vm_state());
    view.set("OS-EXT-STS:power_state", server.power_state());
    view.set("os-extended-volumes:volumes_attached", volumes(version, server));
    if scope.is_admin {
        view.set("OS-EXT-SRV-ATTR:host", "sandbox-1");
        view.set("OS-EXT-SRV-ATTR:hypervisor_hostname", "sandbox-1");
        view.set("OS-EXT-SRV-ATTR:instance_name", instance_name(server));
    }
    if let Some(fault) = &server.fault {
        let fault = json!({"code": 500, "created": stamp(server.updated_at), "message": fault});
        view.set("fault", fault);
    }
    later_fields(&mut view, scope, version, server);
    view
}

/// What later microversions have added.
fn later_fields(view: &mut JsonMap, scope: &Scope, version: Version, server: &Server) {
    if version >= Version(3) && scope.is_admin {
        view.set("OS-EXT-SRV-ATTR:root_device_name", "/dev/vda");
        view.set("OS-EXT-SRV-ATTR:hostname", server.name.to_ascii_lowercase());
        view.set("OS-EXT-SRV-ATTR:user_data", json!(server.user_data));
        view.set("OS-EXT-SRV-ATTR:launch_index", 0);
        view.set("OS-EXT-SRV-ATTR:kernel_id", "");
        view.set("OS-EXT-SRV-ATTR:ramdisk_id", "");
        view.set("OS-EXT-SRV-ATTR:reservation_id", format!("r-{:.8}", server.id));
    }
    if version >= Version(9) {
        view.set("locked", server.locked);
    }
    if version >= Version(16) && scope.is_admin {
        view.set("host_status", "UP");
    }
    if version >= Version(19) {
        view.set("description", json!(server.description));
    }
    if version >= Version(26) {
        view.set("tags", json!(server.tags));
    }
    if version >= Version(63) {
        view.set("trusted_image_certificates", Value::Null);
    }
    if version >= Version(71) {
        view.set("server_groups", json!(server.group_id.iter().collect::<Vec<_>>()));
    }
    if version >= Version(73) {
        view.set("locked_reason", Value::Null);
    }
    if version >= Version(90) {
        view.set("OS-EXT-SRV-ATTR:hostname", server.name.to_ascii_lowercase());
    }
}

fn host_id(server: &Server) -> String {
    hex(&Sha224::digest(format!("{}sandbox-1", server.project_id)))
}

pub(super) fn instance_name(server: &Server) -> String {
    format!("instance-{:.8}", server.id)
}

fn image(ask: &Ask, server: &Server) -> Value {
    match &server.image_id {
        // One that starts from a volume has an empty text instead.
        None => "".into(),
        Some(id) => {
            let href = format!("{}/compute/images/{id}", ask.base);
            json!({"id": id, "links": [{"rel": "bookmark", "href": href}]})
        }
    }
}

fn flavor(ask: &Ask, version: Version, flavor: &Flavor) -> Value {
    if version < Version(47) {
        let href = format!("{}/compute/flavors/{}", ask.base, flavor.id);
        return json!({"id": flavor.id, "links": [{"rel": "bookmark", "href": href}]});
    }
    json!({
        "vcpus": flavor.vcpus,
        "ram": flavor.ram,
        "disk": flavor.disk,
        "ephemeral": flavor.ephemeral,
        "swap": flavor.swap,
        "original_name": flavor.name,
        "extra_specs": flavor.extra_specs,
    })
}

/// By network name, from the ports as Neutron has them now.
pub(super) fn addresses(cloud: &Cloud, server: &Server) -> JsonMap {
    let mut networks: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for nic in &server.ports {
        let Some(port) = cloud.collections.table(PORTS).get(&nic.port_id) else { continue };
        let Some(network) = cloud.collections.table(NETWORKS).get(port.text("network_id")) else {
            continue;
        };
        let list = networks.entry(network.text("name").to_owned()).or_default();
        for fixed in port.list("fixed_ips").iter().filter_map(Value::as_object) {
            let address = fixed.text("ip_address");
            list.push(shown_address(address, port.text("mac_address"), "fixed"));
            for floating in cloud.collections.table(FLOATING_IPS).values() {
                let leads_here = floating.text("port_id") == nic.port_id
                    && floating.text("fixed_ip_address") == address;
                if leads_here {
                    let outer = floating.text("floating_ip_address");
                    list.push(shown_address(outer, port.text("mac_address"), "floating"));
                }
            }
        }
    }
    networks.into_iter().map(|(name, list)| (name, Value::Array(list))).collect()
}

fn shown_address(address: &str, mac: &str, kind: &str) -> Value {
    json!({
        "addr": address,
        "version": if address.contains(':') { 6 } else { 4 },
        "OS-EXT-IPS-MAC:mac_addr": mac,
        "OS-EXT-IPS:type": kind,
    })
}

fn security_groups(cloud: &Cloud, server: &Server) -> Value {
    let mut names = Vec::new();
    for nic in &server.ports {
        let Some(port) = cloud.collections.table(PORTS).get(&nic.port_id) else { continue };
        for id in port.list("security_groups").iter().filter_map(Value::as_str) {
            if let Some(group) = cloud.collections.table(SECURITY_GROUPS).get(id) {
                names.push(json!({"name": group.text("name")}));
            }
        }
    }
    names.into()
}

fn volumes(version: Version, server: &Server) -> Value {
    server
        .volumes
        .iter()
        .map(|disk| {
            let mut view = json!({"id": disk.volume_id});
            if version >= Version(3) {
                view["delete_on_termination"] = disk.delete_on_termination.into();
            }
            view
        })
        .collect()
}

/// The two links that Nova gives for everything.
pub(super) fn links(ask: &Ask, collection: &str, id: &str) -> Value {
    json!([
        {"rel": "self", "href": format!("{}/compute/v2.1/{collection}/{id}", ask.base)},
        {"rel": "bookmark", "href": format!("{}/compute/{collection}/{id}", ask.base)},
    ])
}

/// The server of this id, if the caller may see it.
pub(super) fn find<'a>(cloud: &'a Cloud, scope: &Scope, id: &str) -> Result<&'a Server, Answer> {
    cloud
        .nova
        .servers
        .get(id)
        .filter(|server| scope.sees(&server.project_id))
        .ok_or_else(|| answer::nova(404, format!("Instance {id} could not be found.")))
}

/// Refuses while the server is somewhere else, or busy. Nova looks at where it is first, and at
/// what the action names only then.
pub(super) fn ready(server: &Server, action: &str, from: &[&str]) -> Result<(), Answer> {
    let action = action.trim_start_matches("os-");
    let id = &server.id;
    if server.locked {
        return Err(answer::nova(409, format!("Instance {id} is locked")));
    }
    let is_there = from.iter().any(|status| vm_state(status) == server.vm_state());
    let (kind, state) = match &server.task {
        _ if !is_there => ("vm_state", server.vm_state()),
        Some(task) => ("task_state", task.as_str()),
        None => return Ok(()),
    };
    Err(answer::nova(409, format!("Cannot '{action}' instance {id} while it is in {kind} {state}")))
}
