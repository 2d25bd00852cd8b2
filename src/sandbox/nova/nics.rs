//! The network side of making a server: its security groups and ports.

use serde_json::Value;

use super::super::answer::{self, Answer};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::super::neutron::{self, Binding, NETWORKS, SECURITY_GROUPS};
use super::bad;
use super::interfaces::{self, Unmade};
use super::state::Nic;
use super::version::Version;
use crate::model::JsonMap;

/// The security groups that a server asks for, as it names them.
pub(super) fn security_group_names(given: &JsonMap) -> Option<Vec<String>> {
    given.get("security_groups")?;
    let groups = given.list("security_groups").iter().filter_map(Value::as_object);
    Some(groups.map(|group| group.text("name").to_owned()).collect())
}

/// The ids of the security groups asked for, by name or id.
fn security_group_ids(
    cloud: &Cloud,
    scope: &Scope,
    given: &JsonMap,
) -> Result<Option<Vec<String>>, Answer> {
    let Some(names) = security_group_names(given) else { return Ok(None) };
    let mut ids = Vec::new();
    for name in names {
        let by_id = cloud.collections.table(SECURITY_GROUPS).get(&name);
        let by_id =
            by_id.filter(|group| scope.sees(group.text("project_id"))).map(|_| name.clone());
        let found = by_id.or_else(|| neutron::find_security_group(cloud, &scope.project_id, &name));
        ids.push(found.ok_or_else(|| {
            bad(format!("Unable to find security_group with name or id '{name}'"))
        })?);
    }
    Ok(Some(ids))
}

/// The ports that were made or taken, and why there are no more.
pub(super) struct Nics {
    pub(super) nics: Vec<Nic>,
    /// What the server's build fails with.
    pub(super) failure: Option<String>,
}

/// Makes or takes the ports that a server asks for.
pub(super) fn make(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    version: Version,
    given: &JsonMap,
    server_id: &str,
) -> Result<Nics, Answer> {
    let groups = security_group_ids(cloud, scope, given)?;
    let asked: Vec<JsonMap> = match given.get("networks") {
        Some(Value::String(word)) if word == "none" => {
            return Ok(Nics { nics: Vec::new(), failure: None });
        }
        Some(Value::Array(networks)) if !networks.is_empty() => {
            networks.iter().filter_map(Value::as_object).cloned().collect()
        }
        None if version >= Version(37) => {
            return Err(bad(
                "Invalid input for field/attribute server. 'networks' is a required property",
            ));
        }
        // `auto`, an empty list, or nothing at all.
        _ => only_network(cloud, scope)?.into_iter().collect(),
    };
    let mut nics = Vec::new();
    for network in &asked {
        let tag = network.get("tag").and_then(Value::as_str).map(str::to_owned);
        let port = network.text("port");
        if !port.is_empty() {
            interfaces::take_port(cloud, scope, port, server_id, ask.at, 400)?;
            nics.push(Nic { port_id: port.to_owned(), ours: false, tag });
            continue;
        }
        let wish = Binding {
            network_id: network.text("uuid").to_owned(),
            fixed_ip: network.get("fixed_ip").and_then(Value::as_str).map(str::to_owned),
            security_groups: groups.clone(),
        };
        match interfaces::make_port(cloud, scope, &wish, server_id, ask.at) {
            Ok(port_id) => nics.push(Nic { port_id, ours: true, tag }),
            Err(Unmade::Refused(answer)) => return Err(answer),
            Err(Unmade::Fails(text)) => {
                // The host finds out, and gives back what it had by then.
                for nic in nics.drain(..) {
                    neutron::unbind(cloud, &nic.port_id, nic.ours, ask.at);
                }
                return Ok(Nics { nics, failure: Some(text) });
            }
        }
    }
    Ok(Nics { nics, failure: None })
}

/// The one network that a server gets when it names none.
fn only_network(cloud: &Cloud, scope: &Scope) -> Result<Option<JsonMap>, Answer> {
    let networks: Vec<&JsonMap> = cloud
        .collections
        .table(NETWORKS)
        .values()
        .filter(|network| network.text("project_id") == scope.project_id || network.is("shared"))
        .filter(|network| !network.is("router:external"))
        .collect();
    match networks.as_slice() {
        [] => Ok(None),
        [one] => {
            let mut network = JsonMap::new();
            network.set("uuid", one.text("id"));
            Ok(Some(network))
        }
        _ => Err(answer::nova(
            409,
            "Multiple possible networks found, use a Network ID to be more specific.",
        )),
    }
}
