//! Ports of servers: attached with them, later, or taken away.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::super::neutron::{self, Binding, NETWORKS, PORTS, SUBNETS};
use super::server::{find, ready};
use super::state::{Nic, Server};
use super::{bad, nowhere};
use crate::model::JsonMap;

/// Where ports may come and go.
const CHANGEABLE: [&str; 3] = ["ACTIVE", "PAUSED", "SHUTOFF"];

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    id: &str,
    path: &[&str],
) -> Reply {
    let server = find(cloud, scope, id)?.clone();
    match (ask.method.as_str(), path) {
        ("GET", []) => {
            let views: Vec<Value> =
                server.ports.iter().filter_map(|nic| view(cloud, &nic.port_id)).collect();
            Ok(Answer::json(200, &json!({"interfaceAttachments": views})))
        }
        ("GET", [port]) => match server.ports.iter().find(|nic| nic.port_id == *port) {
            Some(nic) => {
                let view = view(cloud, &nic.port_id);
                Ok(Answer::json(200, &json!({"interfaceAttachment": view})))
            }
            None => {
                Err(answer::nova(404, format!("Instance {id} does not have a port with id {port}")))
            }
        },
        ("POST", []) => attach(cloud, ask, scope, &server),
        ("DELETE", [port]) => {
            ready(&server, "detach_interface", &CHANGEABLE)?;
            // Nova finds out later that it has no such port, and says nothing.
            let Some(nic) = server.ports.iter().find(|nic| nic.port_id == *port) else {
                return Ok(Answer::empty(202));
            };
            neutron::unbind(cloud, port, nic.ours, ask.at);
            if let Some(server) = cloud.nova.servers.edit(id) {
                server.ports.retain(|nic| nic.port_id != *port);
            }
            Ok(Answer::empty(202))
        }
        _ => Err(nowhere()),
    }
}

fn attach(cloud: &mut Cloud, ask: &Ask, scope: &Scope, server: &Server) -> Reply {
    let given = ask.wrapped("interfaceAttachment", answer::nova)?;
    ready(server, "attach_interface", &CHANGEABLE)?;
    let tag = given.get("tag").and_then(Value::as_str).map(str::to_owned);
    let nic = match given.text("port_id") {
        "" => {
            let fixed_ip = given.list("fixed_ips").first().and_then(Value::as_object);
            let wish = Binding {
                network_id: given.text("net_id").to_owned(),
                fixed_ip: fixed_ip.map(|fixed| fixed.text("ip_address").to_owned()),
                security_groups: None,
            };
            let made = make_port(cloud, scope, &wish, &server.id, ask.at);
            let port_id = made.map_err(|unmade| match unmade {
                Unmade::Refused(answer) => answer,
                Unmade::Fails(text) => bad(text),
            })?;
            Nic { port_id, ours: true, tag }
        }
        port => {
            take_port(cloud, scope, port, &server.id, ask.at, 404)?;
            Nic { port_id: port.to_owned(), ours: false, tag }
        }
    };
    let view = view(cloud, &nic.port_id);
    if let Some(server) = cloud.nova.servers.edit(&server.id) {
        server.ports.push(nic);
    }
    Ok(Answer::json(200, &json!({"interfaceAttachment": view})))
}

/// Gives a user's port to a server; `missing` is the status when there is no such port.
pub(super) fn take_port(
    cloud: &mut Cloud,
    scope: &Scope,
    port: &str,
    server_id: &str,
    at: DateTime<Utc>,
    missing: u16,
) -> Result<(), Answer> {
    let row = collections::seen(cloud, scope, PORTS, port)
        .map_err(|_| answer::nova(missing, format!("Port id {port} could not be found.")))?;
    if !row.text("device_id").is_empty() {
        return Err(answer::nova(409, format!("Port {port} is still in use.")));
    }
    if row.list("fixed_ips").is_empty() {
        return Err(bad(format!("Port {port} requires a FixedIP in order to be used.")));
    }
    neutron::bind(cloud, port, server_id, at);
    Ok(())
}

/// Why a port was not made.
pub(super) enum Unmade {
    /// The request is wrong.
    Refused(Answer),
    /// The request looks right, and its host finds out otherwise.
    Fails(String),
}

/// Makes a port for a server; its id.
pub(super) fn make_port(
    cloud: &mut Cloud,
    scope: &Scope,
    wish: &Binding,
    server_id: &str,
    at: DateTime<Utc>,
) -> Result<String, Unmade> {
    let id = &wish.network_id;
    let refused = |text: String| Unmade::Refused(bad(text));
    let network = collections::seen(cloud, scope, NETWORKS, id)
        .map_err(|_| refused(format!("Network {id} could not be found.")))?;
    let external = network.is("router:external") && !network.is("shared") && !scope.is_admin;
    if !cloud.collections.table(SUBNETS).values().any(|subnet| subnet.text("network_id") == id) {
        let text = format!("Network {id} requires a subnet in order to boot instances on.");
        return Err(refused(text));
    }
    if external {
        let text = format!("It is not allowed to create an interface on external network {id}");
        return Err(Unmade::Fails(text));
    }
    neutron::create_for_server(cloud, scope, wish, server_id, at)
        .map_err(|refusal| in_nova(&refusal))
}

/// Neutron's refusal in Nova's words.
fn in_nova(refusal: &Answer) -> Unmade {
    let body: JsonMap = serde_json::from_slice(&refusal.body).unwrap_or_default();
    let error = body.object("NeutronError").cloned().unwrap_or_default();
    match error.text("type") {
        "OverQuota" => Unmade::Refused(answer::nova(403, "Maximum number of ports exceeded")),
        "IpAddressGenerationFailure" => {
            Unmade::Fails("No more fixed IPs in the network.".to_owned())
        }
        _ => Unmade::Fails(error.text("message").to_owned()),
    }
}

fn view(cloud: &Cloud, port: &str) -> Option<Value> {
    let row = cloud.collections.table(PORTS).get(port)?;
    Some(json!({
        "port_id": port,
        "net_id": row.text("network_id"),
        "mac_addr": row.text("mac_address"),
        "port_state": row.text("status"),
        "fixed_ips": row.list("fixed_ips"),
    }))
}
