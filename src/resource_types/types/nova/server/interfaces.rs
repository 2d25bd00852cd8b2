//! The interfaces of a server that is there: what there are, and how they become the wanted ones.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::entries::{self, get};
use super::networks::{self, delete_port, key, made, remembered, wants_port};
use super::server_request;
use crate::model::JsonMap;
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::Declared;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Learned, Subject};

/// Resource data: the port that Nova was told to detach.
const DETACHING: &str = "detaching";

/// What an entry says of its port beside where it is.
const EXTRA: &str = "port_extra_properties";

/// The port that is being detached and shows still.
pub(super) fn detaching(cloud: &Asks<'_>, subject: &Subject) -> Result<Option<String>, Failure> {
    let Some(port) = subject.data.get(DETACHING).and_then(Value::as_str) else { return Ok(None) };
    let is_there = live(cloud, subject)?.iter().any(|it| it["port_id"] == port);
    Ok(is_there.then(|| port.to_owned()))
}

/// What is learned once it is gone.
pub(super) fn detached() -> Learned {
    Learned { data: BTreeMap::from([(DETACHING.to_owned(), Value::Null)]), ..Learned::default() }
}

/// The port stays.
pub(super) fn not_detached(subject: &Subject, port: &str) -> Failure {
    let server = subject.physical_id.clone().unwrap_or_default();
    Failure::NotDetached { port: port.to_owned(), server }
}

/// The server's interfaces as they are.
pub(super) fn live(cloud: &Asks<'_>, subject: &Subject) -> Result<Vec<Value>, Failure> {
    let request = server_request(Method::Get, subject, "/os-interface");
    let mut body = cloud.send(request)?.json()?;
    match body["interfaceAttachments"].take() {
        Value::Array(list) => Ok(list),
        _ => Ok(Vec::new()),
    }
}

/// The property as the server has it: as it is wanted where nothing is to be done about it.
pub(super) fn compared(
    declared: &Declared,
    cloud: &Asks<'_>,
    subject: &Subject,
    wanted: &Value,
) -> Result<Value, Failure> {
    let given = declared.properties(&subject.properties);
    let resolved = declared.declaration().resolved(cloud, given.clone())?;
    let live = live(cloud, subject)?;
    let shown = live.iter().map(|interface| {
        json!({
            "network": interface["net_id"],
            "port": interface["port_id"],
            "fixed_ip": interface["fixed_ips"][0]["ip_address"],
        })
    });
    let shown = shown.collect();
    Ok(match plan(cloud, subject, live, [&given, &given], &resolved)? {
        Plan::Nothing => wanted.clone(),
        _ => shown,
    })
}

/// The next thing to do about a server's interfaces.
pub(super) enum Plan {
    /// A port that was made for an entry serves a changed one from now on.
    Keep {
        from: String,
        to: String,
        port: String,
        fields: JsonMap,
    },
    Detach {
        port: String,
    },
    /// A port that was made for an entry that there no longer is, and is not at the server.
    Drop {
        made_for: String,
        port: String,
    },
    MakePort {
        index: usize,
    },
    Attach {
        body: Value,
    },
    Nothing,
}

/// Compares the interfaces with the wanted networks. Each wanted entry takes one interface that
/// fits, whatever that was made for; what is left over goes, what is missing comes.
pub(super) fn plan(
    cloud: &Asks<'_>,
    subject: &Subject,
    mut live: Vec<Value>,
    [before, given]: [&JsonMap; 2],
    resolved: &JsonMap,
) -> Result<Plan, Failure> {
    let made = made(subject);
    if let Some(plan) = kept(&made, before, given, &live) {
        return Ok(plan);
    }
    let left_behind = left_behind(&made, given, &live);
    let (entries, no_network) = match networks::word(resolved) {
        Some(word) => (&[][..], word == "none"),
        None => (entries::entries(resolved), false),
    };
    let port_of = |(index, entry): (usize, &Value)| made.get(&key(index, entry)).cloned();
    let own: Vec<_> = entries::entries(given).iter().enumerate().map(port_of).collect();
    let own = |index: usize| own.get(index).cloned().flatten();
    let former = entries::entries(before);
    // The ports that differ in more than their addresses serve their own entries alone.
    let special = former.iter().enumerate().filter(|(_, entry)| is_special(entry));
    let special: Vec<String> = special.filter_map(port_of).collect();
    // First the ports that are named or were made for an entry: no other entry takes them.
    let mut missing = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let port = get(entry, "port").map(str::to_owned).or_else(|| own(index));
        let place =
            live.iter().position(|it| port.as_deref().is_some_and(|id| it["port_id"] == id));
        match place {
            Some(place) => drop(live.remove(place)),
            None => missing.push((index, entry, port)),
        }
    }
    let mut left = Vec::new();
    for (index, entry, port) in missing {
        let network = networks::network_of(cloud, entry)?;
        let is_special_port =
            |interface: &Value| special.iter().any(|port| interface["port_id"] == port.as_str());
        let fits = |interface: &Value| {
            let has = |key: &str, wanted: Option<&str>| {
                let addresses = interface["fixed_ips"].as_array().into_iter().flatten();
                wanted.is_none_or(|wanted| addresses.clone().any(|it| it[key] == wanted))
            };
            port.is_none()
                && !is_special(entry)
                && !is_special_port(interface)
                && has("ip_address", get(entry, "fixed_ip"))
                && has("subnet_id", get(entry, "subnet"))
                && network.as_deref().is_none_or(|network| interface["net_id"] == network)
        };
        match live.iter().position(fits) {
            Some(place) => drop(live.remove(place)),
            None => left.push((index, network, port)),
        }
    }
    let missing = left;
    // An empty list asks for one network of the cloud's choice, which any interface is but those
    // with a port of a former entry.
    let wants_any = entries.is_empty() && !no_network;
    if wants_any && former.is_empty() && !live.is_empty() {
        return Ok(Plan::Nothing);
    }
    let is_chosen = |interface: &Value| {
        let is_port = |id: &str| interface["port_id"] == id;
        let mut named = former.iter().filter_map(|entry| get(entry, "port"));
        !named.any(is_port) && !made.values().any(|id| is_port(id))
    };
    let chosen = live.iter().position(is_chosen).filter(|_| wants_any);
    let has_chosen = chosen.map(|place| live.remove(place)).is_some();
    if let Some(surplus) = live.first() {
        let port = surplus["port_id"].as_str().unwrap_or_default().to_owned();
        return Ok(Plan::Detach { port });
    }
    if let Some((made_for, port)) = left_behind {
        return Ok(Plan::Drop { made_for, port });
    }
    let Some((index, network, port)) = missing.into_iter().next() else {
        return Ok(match wants_any && !has_chosen {
            true => Plan::Attach { body: json!({}) },
            false => Plan::Nothing,
        });
    };
    let entry = entries.get(index).unwrap_or(&Value::Null);
    Ok(match port {
        Some(port) => Plan::Attach { body: json!({ "port_id": port }) },
        None if wants_port(entry) => Plan::MakePort { index },
        None => {
            let mut body = json!({ "net_id": network });
            if let Some(ip) = get(entry, "fixed_ip") {
                body["fixed_ips"] = json!([{ "ip_address": ip }]);
            }
            Plan::Attach { body }
        }
    })
}

/// Gives the interfaces whose ports Nova made the server's security groups: where it attaches one
/// later on it does not do so itself.
pub(super) fn secure(
    cloud: &Asks<'_>,
    subject: &Subject,
    resolved: &JsonMap,
    interfaces: &[Value],
) -> Result<(), Failure> {
    let made = made(subject);
    let named: Vec<&str> =
        entries::entries(resolved).iter().filter_map(|entry| get(entry, "port")).collect();
    let ports = interfaces.iter().filter_map(|interface| interface["port_id"].as_str());
    let ports: Vec<&str> =
        ports.filter(|port| !named.contains(port) && !made.values().any(|id| id == port)).collect();
    if ports.is_empty() {
        return Ok(());
    }
    let groups = networks::groups(cloud, resolved)?;
    if groups.is_empty() {
        return Ok(());
    }
    for port in ports {
        let body = json!({ "port": { "security_groups": groups } });
        let path = format!("/v2.0/ports/{}", path_segment(port));
        cloud.send(Request::put(Service::Network, path).json(body))?;
    }
    Ok(())
}

/// The port of a former entry that an entry without one takes over: they say the same of where it
/// is, and what they say otherwise may change in place.
fn kept(
    made: &BTreeMap<String, String>,
    before: &JsonMap,
    given: &JsonMap,
    live: &[Value],
) -> Option<Plan> {
    let keyed = |(index, entry)| (key(index, entry), entry);
    let wanted: Vec<_> = entries::entries(given).iter().enumerate().map(keyed).collect();
    let is_wanted = |key: &String| wanted.iter().any(|(wanted, _)| wanted == key);
    let former = entries::entries(before).iter().enumerate().map(keyed);
    let mut free = former.filter_map(|(key, entry)| {
        let port = made.get(&key).filter(|_| !is_wanted(&key))?;
        live.iter().any(|it| it["port_id"] == port.as_str()).then_some((key, entry, port))
    });
    let alone = wanted.iter().filter(|(key, entry)| wants_port(entry) && !made.contains_key(key));
    let alone: Vec<_> = alone.collect();
    free.find_map(|(from, former, port)| {
        let (to, entry) = alone.iter().find(|(_, entry)| may_become(former, entry))?;
        let mut fields = JsonMap::new();
        if former[EXTRA] != entry[EXTRA] {
            fields = networks::extra_fields(&entry[EXTRA]);
            // Where a port is, it stays.
            fields.shift_remove("fixed_ips");
        }
        Some(Plan::Keep { from, to: to.clone(), port: port.clone(), fields })
    })
}

/// Whether Neutron lets the port of an entry become that of another one.
fn may_become(former: &Value, entry: &Value) -> bool {
    let is_same = |name: &str| former[name] == entry[name];
    let [old, new] = [&former[EXTRA], &entry[EXTRA]];
    ["network", "subnet", "fixed_ip"].into_iter().all(is_same)
        && old["mac_address"] == new["mac_address"]
        && (old == new || !new.is_null())
}

/// A port made for an entry that there no longer is, and not at the server: its detaching is over.
fn left_behind(
    made: &BTreeMap<String, String>,
    given: &JsonMap,
    live: &[Value],
) -> Option<(String, String)> {
    let entries = entries::entries(given).iter().enumerate();
    let wanted: BTreeSet<String> = entries.map(|(index, entry)| key(index, entry)).collect();
    let mut left = made.iter().filter(|(key, id)| {
        !wanted.contains(*key) && !live.iter().any(|it| it["port_id"] == id.as_str())
    });
    left.next().map(|(key, id)| (key.clone(), id.clone()))
}

/// Whether the entry says more of its port than where it is.
fn is_special(entry: &Value) -> bool {
    entry[EXTRA].as_object().is_some_and(|it| !it.is_empty())
}

pub(super) fn carry_out(
    cloud: &Asks<'_>,
    subject: &Subject,
    resolved: &JsonMap,
    plan: Plan,
) -> Result<Learned, Failure> {
    match plan {
        Plan::Keep { from, to, port, fields } => {
            if !fields.is_empty() {
                let path = format!("/v2.0/ports/{}", path_segment(&port));
                let request = Request::put(Service::Network, path);
                cloud.send(request.json(json!({ "port": fields })))?;
            }
            let mut ports = made(subject);
            ports.remove(&from);
            ports.insert(to, port);
            Ok(remembered(&ports))
        }
        Plan::Detach { port } => {
            let path = format!("/os-interface/{}", path_segment(&port));
            match cloud.send(server_request(Method::Delete, subject, &path)) {
                Ok(_) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
            let data = BTreeMap::from([(DETACHING.to_owned(), port.into())]);
            Ok(Learned { data, ..Learned::default() })
        }
        Plan::Drop { made_for, port } => {
            delete_port(cloud, &port)?;
            let mut ports = made(subject);
            ports.remove(&made_for);
            Ok(remembered(&ports))
        }
        Plan::Attach { body } => {
            let body = json!({ "interfaceAttachment": body });
            let request = server_request(Method::Post, subject, "/os-interface").json(body);
            let attached = cloud.send(request)?.json()?["interfaceAttachment"].take();
            // A look at what is attached finds the interface from now on: all is done again.
            secure(cloud, subject, resolved, &[attached])
                .map_err(|failure| Failure::InDoubt(Box::new(failure)))?;
            Ok(Learned::default())
        }
        Plan::MakePort { .. } | Plan::Nothing => Ok(Learned::default()),
    }
}
