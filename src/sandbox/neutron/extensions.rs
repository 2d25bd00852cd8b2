//! The extensions that are really there, and the one availability zone.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::cloud::Cloud;

pub(super) fn list(cloud: &Cloud) -> Answer {
    let extensions: Vec<Value> = all(cloud).map(|(alias, name)| view(alias, name)).collect();
    Answer::json(200, &json!({"extensions": extensions}))
}

pub(super) fn show(cloud: &Cloud, alias: &str) -> Reply {
    match all(cloud).find(|(known, _)| *known == alias) {
        Some((alias, name)) => Ok(Answer::json(200, &json!({"extension": view(alias, name)}))),
        None => {
            let text = format!("Extension with alias {alias} does not exist");
            Err(answer::neutron(404, "HTTPNotFound", text))
        }
    }
}

/// Those that the collections come with.
fn all(cloud: &Cloud) -> impl Iterator<Item = (&str, &str)> {
    let services = cloud.collections.services().filter(|service| service.kind == "network");
    let extensions = services.flat_map(|service| &service.extensions);
    extensions.map(|(alias, name)| (alias.as_str(), name.as_str()))
}

pub(super) fn zones() -> Answer {
    let zone = |resource: &str| json!({"name": "nova", "resource": resource, "state": "available"});
    Answer::json(200, &json!({"availability_zones": [zone("network"), zone("router")]}))
}

fn view(alias: &str, name: &str) -> Value {
    json!({
        "alias": alias,
        "name": name,
        "description": name,
        "updated": "2020-01-01T00:00:00-00:00",
        "links": [],
    })
}
