//! OS::Zun::Container: its command is given as words, and networks come and go by calls of their own.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::words::words;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Method, Request, Service};
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, Purpose, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(in crate::resource_types::types) struct Container;

const NETWORKS: &str = "networks";

stages! {
    /// What a container does otherwise.
    enum Stage {
        Networks = "networks" Changes,
    }
}

impl ResourceType for Container {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        let first = declared.first_step(work, subject);
        match PlainStage::of(&first) {
            Some(PlainStage::Done) if moves(work) => Stage::Networks.step(),
            _ => first,
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        if Stage::of(beating.step).is_some() {
            return networks(declared, beating);
        }
        match PlainStage::of(beating.step) {
            Some(PlainStage::Ready) => ready(declared, beating),
            Some(PlainStage::Update) if moves(beating.work) => {
                match declared.plain_beat(beating)? {
                    Beat::Done { learned } => Ok(next(learned, Stage::Networks.step())),
                    beat => Ok(beat),
                }
            }
            _ => declared.plain_beat(beating),
        }
    }

    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        if let Some(policy) = body.shift_remove("restart_policy") {
            let policy = python::text(&policy);
            let (name, count) = policy.split_once(':').unwrap_or((&policy, ""));
            let count = if count.is_empty() { "0" } else { count };
            if !name.is_empty() {
                let policy = json!({ "Name": name, "MaximumRetryCount": count });
                body.insert("restart_policy".to_owned(), policy);
            }
        }
        rewrite(body, "mounts", "mounts", mount);
        rewrite(body, NETWORKS, "nets", net);
        if let Some(command) = body.shift_remove("command") {
            let command = python::text(&command);
            // What has no end is one word: the service says what it thinks of it.
            let words = words(&command).unwrap_or_else(|| vec![command]);
            if !words.is_empty() {
                body.insert("command".to_owned(), words.into());
            }
        }
    }

    fn attribute(&self, at: At<'_>, object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let Some(addresses) = object["addresses"].as_object().filter(|_| name == "addresses")
        else {
            return Ok(None);
        };
        let all = at.cloud.send(Request::get(Service::Network, "/v2.0/networks"))?.json()?;
        let all = all["networks"].as_array().into_iter().flatten();
        let names: BTreeMap<&str, &str> =
            all.filter_map(|net| Some((net["id"].as_str()?, net["name"].as_str()?))).collect();
        let mut shown = addresses.clone();
        for (network, list) in addresses {
            let Some(name) = names.get(network.as_str()).filter(|name| !name.is_empty()) else {
                continue;
            };
            let under = shown.entry((*name).to_owned()).or_insert_with(|| json!([]));
            if let (Value::Array(under), Value::Array(list)) = (under, list) {
                under.extend(list.iter().cloned());
            }
        }
        Ok(Some(shown.into()))
    }

    fn live(
        &self,
        at: At<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        // What networks there are says nothing of which were asked for.
        match name {
            NETWORKS => Ok(None),
            _ => Ok(at.declared.plain_live(object, name, wanted)),
        }
    }
}

/// Whether an update changes the networks.
fn moves(work: &Work) -> bool {
    matches!(work, Work::Update { changed, .. } if changed.contains(NETWORKS))
}

/// Puts a list of a body under another name, each entry rewritten; nothing where it is empty.
fn rewrite(body: &mut JsonMap, from: &str, to: &str, entry: impl Fn(&Value) -> Value) {
    if let Some(Value::Array(list)) = body.shift_remove(from)
        && !list.is_empty()
    {
        body.insert(to.to_owned(), list.iter().map(entry).collect());
    }
}

fn mount(mount: &Value) -> Value {
    let fields = [("destination", "mount_path"), ("source", "volume_id"), ("size", "volume_size")];
    renamed(mount, &fields)
}

fn net(net: &Value) -> Value {
    renamed(net, &[("v4-fixed-ip", "fixed_ip"), ("network", "network"), ("port", "port")])
}

/// What is said of an entry, under the service's names.
fn renamed(entry: &Value, fields: &[(&str, &str)]) -> Value {
    let said = |name: &str| entry.get(name).filter(|value| !value.is_null() && *value != "");
    let fields =
        fields.iter().filter_map(|(to, from)| Some(((*to).to_owned(), said(from)?.clone())));
    fields.collect::<JsonMap>().into()
}

/// One look at a container that is to run.
fn ready(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let container = declared.show(cloud, subject)?;
    let name = subject.name.as_ref().map(ToString::to_string).unwrap_or_default();
    let status = container["status"].as_str().unwrap_or_default();
    let reason = python::text(&container["status_reason"]);
    match status {
        "Creating" | "Created" => Ok(Beat::Wait { after: None }),
        "Running" => Ok(done()),
        "Stopped" if container["interactive"] != true => Ok(done()),
        "Stopped" => {
            let text = format!(
                "Error in creating container '{name}' - interactive mode was enabled but the \
                 container has stopped running"
            );
            Err(Failure::in_error(status, text))
        }
        "Error" => {
            let text = format!("Error in creating container '{name}' - {reason}");
            Err(Failure::in_error(status, text))
        }
        _ => {
            let text = format!("Unknown status Container '{name}' - {reason}");
            Err(Failure::unknown_status(text, status))
        }
    }
}

/// Takes the container out of networks, and puts it into others.
fn networks(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, .. } = *beating;
    let Work::Update { before, .. } = work else { return Ok(done()) };
    let entries = |properties: &JsonMap| -> Result<Vec<Value>, Failure> {
        let mut properties = declared.properties(properties);
        properties.retain(|name, _| name == NETWORKS);
        let mut properties = declared.declaration().resolved(cloud, properties)?;
        match properties.shift_remove(NETWORKS) {
            Some(Value::Array(entries)) => Ok(entries),
            _ => Ok(Vec::new()),
        }
    };
    let (before, after) = (entries(before)?, entries(&subject.properties)?);
    let request = |method: Method, name: &str| {
        let path = format!("/v1/containers/{{id}}/{name}");
        declared.request(cloud, method, &path, subject, None)
    };
    let shown = cloud.send(request(Method::Get, "network_list")?)?.json()?;
    let shown = shown["networks"].as_array().cloned().unwrap_or_default();
    let (leaves, joins) = changes(&before, &after, shown, beating.is_unanswered());
    for port in leaves {
        match cloud.send(request(Method::Post, "network_detach")?.query("port", port)) {
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    for entry in joins {
        let mut attach = request(Method::Post, "network_attach")?;
        for name in ["port", "network", "fixed_ip"] {
            if let Some(text) = entry[name].as_str().filter(|text| !text.is_empty()) {
                attach = attach.query(name, text);
            }
        }
        cloud.send(attach)?;
    }
    Ok(Beat::Done { learned: Learned::default() })
}

/// The ports that are to go, and the entries that are to come; of the latter some may be there
/// already where an earlier attempt is in doubt.
fn changes(
    before: &[Value],
    after: &[Value],
    mut shown: Vec<Value>,
    is_unanswered: bool,
) -> (Vec<String>, Vec<Value>) {
    let mut take = |entry: &Value| {
        let index = shown.iter().position(|interface| stands_for(entry, interface))?;
        Some(python::text(&shown.remove(index)["port_id"]))
    };
    for kept in after.iter().filter(|entry| before.contains(entry)) {
        take(kept);
    }
    let gone = before.iter().filter(|entry| !after.contains(entry));
    let leaves = gone.filter_map(&mut take).collect();
    let come = after.iter().filter(|entry| !before.contains(entry));
    let joins = come.filter(|entry| !(is_unanswered && take(entry).is_some())).cloned().collect();
    (leaves, joins)
}

/// Whether an interface is what an entry asks for.
fn stands_for(entry: &Value, interface: &Value) -> bool {
    let said = |name: &str| entry[name].as_str().filter(|text| !text.is_empty());
    if let Some(port) = said("port") {
        return interface["port_id"] == port;
    }
    let mut addresses = interface["fixed_ips"].as_array().into_iter().flatten();
    let has = |wanted: &str| addresses.any(|address| address["ip_address"] == wanted);
    said("network").is_some_and(|network| interface["net_id"] == network)
        && said("fixed_ip").is_none_or(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_says_it_in_the_services_words() {
        let body = json!({
            "image": "cirros", "command": "sleep 9", "restart_policy": "on-failure:",
            "mounts": [{ "mount_path": "/data", "volume_size": 1, "volume_id": null }],
            "networks": [{ "network": "n", "fixed_ip": null }],
        });
        let Value::Object(mut body) = body else { unreachable!() };
        Container.body(Purpose::Create, &Subject::default(), &mut body);
        let wanted = json!({
            "image": "cirros", "command": ["sleep", "9"],
            "restart_policy": { "Name": "on-failure", "MaximumRetryCount": "0" },
            "mounts": [{ "destination": "/data", "size": 1 }],
            "nets": [{ "network": "n" }],
        });
        assert_eq!(Value::Object(body), wanted);
    }

    #[test]
    fn what_is_left_is_left_once_and_what_is_there_is_not_joined_again() {
        let interface = |net: &str, port: &str| json!({ "net_id": net, "port_id": port });
        let entry = |net: &str| json!({ "network": net });
        let (before, after) = ([entry("a"), entry("b")], [entry("b"), entry("c")]);
        let shown = vec![interface("a", "1"), interface("b", "2")];
        let wanted = (vec!["1".to_owned()], vec![entry("c")]);
        assert_eq!(changes(&before, &after, shown, false), wanted);
        let shown = vec![interface("b", "2"), interface("c", "3")];
        assert_eq!(changes(&before, &after, shown, true), (Vec::new(), Vec::new()));
    }
}
