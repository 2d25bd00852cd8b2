//! Routers as VPCs have them: that of a VPC bears the name of its network.

use serde_json::{Value, json};

use crate::openstack::{CloudError, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;

/// What the ports of routers on subnets say of their owner.
const OWNERS: [&str; 3] = [
    "network:router_interface",
    "network:router_interface_distributed",
    "network:ha_router_replicated_interface",
];

/// The router of a VPC; a network that is none has no router of its name.
pub(in super::super) fn of_network(
    cloud: &Asks<'_>,
    network: &str,
) -> Result<Option<Value>, Failure> {
    let path = format!("/v2.0/networks/{}", path_segment(network));
    let shown = cloud.send(Request::get(Service::Network, path))?.json()?;
    named(cloud, shown["network"]["name"].as_str().unwrap_or_default())
}

/// The router of the VPC that a subnet is in.
pub(super) fn of_subnet(cloud: &Asks<'_>, subnet: &str) -> Result<Option<Value>, Failure> {
    of_network(cloud, &network_of(cloud, subnet)?)
}

/// The id of the network that a subnet is in.
pub(super) fn network_of(cloud: &Asks<'_>, subnet: &str) -> Result<String, Failure> {
    let path = format!("/v2.0/subnets/{}", path_segment(subnet));
    let shown = cloud.send(Request::get(Service::Network, path))?.json()?;
    Ok(shown["subnet"]["network_id"].as_str().unwrap_or_default().to_owned())
}

/// The only router of a name.
pub(super) fn named(cloud: &Asks<'_>, name: &str) -> Result<Option<Value>, Failure> {
    let request = Request::get(Service::Network, "/v2.0/routers").query("name", name);
    let mut listed = cloud.send(request)?.json()?;
    let routers = listed["routers"].as_array_mut().into_iter().flatten();
    let mut of_name = routers.filter(|router| router["name"] == name).map(Value::take);
    match (of_name.next(), of_name.next()) {
        (_, Some(_)) => Err(Failure::Failed(format!("Multiple routers found with name {name}"))),
        (router, None) => Ok(router),
    }
}

pub(in super::super) fn id(router: &Value) -> &str {
    router["id"].as_str().unwrap_or_default()
}

/// Gives a router a network outside; null takes it from it.
pub(in super::super) fn lead_out(
    cloud: &Asks<'_>,
    router: &str,
    network: &Value,
) -> Result<(), CloudError> {
    let gateway = match network {
        Value::Null => json!({}),
        network => json!({ "network_id": network }),
    };
    let body = json!({ "router": { "external_gateway_info": gateway } });
    let path = format!("/v2.0/routers/{}", path_segment(router));
    cloud.send(Request::put(Service::Network, path).json(body)).map(drop)
}

/// Connects a subnet to a router.
pub(super) fn join(cloud: &Asks<'_>, router: &str, subnet: &str) -> Result<(), CloudError> {
    change(cloud, router, subnet, "add_router_interface")
}

/// Takes a subnet from a router; one that it does not have is not there.
pub(super) fn part(cloud: &Asks<'_>, router: &str, subnet: &str) -> Result<(), CloudError> {
    match change(cloud, router, subnet, "remove_router_interface") {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

fn change(cloud: &Asks<'_>, router: &str, subnet: &str, how: &str) -> Result<(), CloudError> {
    let path = format!("/v2.0/routers/{}/{how}", path_segment(router));
    let request = Request::put(Service::Network, path).json(json!({ "subnet_id": subnet }));
    cloud.send(request).map(drop)
}

/// Whether a router has a subnet.
pub(super) fn has(cloud: &Asks<'_>, router: &str, subnet: &str) -> Result<bool, Failure> {
    is_routed(cloud, ("device_id", router), subnet)
}

/// Whether a router's port is on a subnet, among the ports that a filter leaves.
pub(super) fn is_routed(
    cloud: &Asks<'_>,
    filter: (&'static str, &str),
    subnet: &str,
) -> Result<bool, Failure> {
    let request = Request::get(Service::Network, "/v2.0/ports").query(filter.0, filter.1);
    let listed = cloud.send(request)?.json()?;
    let mut ports = listed["ports"].as_array().into_iter().flatten();
    Ok(ports.any(|port| {
        let addresses = port["fixed_ips"].as_array().map_or(&[][..], Vec::as_slice);
        let is_routers = port["device_owner"].as_str().is_some_and(|it| OWNERS.contains(&it));
        is_routers && addresses.iter().any(|address| address["subnet_id"] == subnet)
    }))
}
