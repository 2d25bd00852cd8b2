//! Types of the database service.

use serde_json::{Value, json};

use crate::model::{JsonMap, Refusal};
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;

pub(super) mod cluster;
pub(super) mod instance;

const TYPE: &str = "datastore_type";
const VERSION: &str = "datastore_version";

fn databases() -> Service {
    Service::of_type("database")
}

fn text<'a>(properties: &'a JsonMap, name: &str) -> Option<&'a str> {
    properties.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Puts the kind of database into a body as one object.
fn write_datastore(body: &mut JsonMap) {
    let parts = [("type", TYPE), ("version", VERSION)];
    let said = parts.map(|(name, property)| Some((name.to_owned(), body.shift_remove(property)?)));
    let datastore: JsonMap = said.into_iter().flatten().collect();
    if !datastore.is_empty() {
        body.insert("datastore".to_owned(), datastore.into());
    }
}

/// Networks as the service has them.
fn nics(networks: Option<Value>) -> Vec<Value> {
    let Some(Value::Array(networks)) = networks else { return Vec::new() };
    let nic = |network: &Value| {
        let fields = [("net-id", "network"), ("port-id", "port"), ("v4-fixed-ip", "fixed_ip")];
        let said = fields.iter().filter_map(|(to, from)| {
            let value =
                network.get(from).filter(|value| !value.is_null() && **value != json!(""))?;
            Some(((*to).to_owned(), value.clone()))
        });
        Value::Object(said.collect())
    };
    networks.iter().map(nic).collect()
}

/// What the service is asked about a kind of database and its version.
fn asked_of_cloud(properties: &JsonMap) -> Option<JsonMap> {
    let said = [TYPE, VERSION].map(|name| Some((name.to_owned(), text(properties, name)?.into())));
    Some(said.into_iter().collect::<Option<Vec<_>>>()?.into_iter().collect())
}

/// Refuses a version that there is not.
fn validate_in_cloud(cloud: &Asks<'_>, asked: &JsonMap) -> Result<(), Refusal> {
    let (Some(kind), Some(version)) = (text(asked, TYPE), text(asked, VERSION)) else {
        return Ok(());
    };
    let path = format!("/datastores/{}/versions", path_segment(kind));
    let listed = match cloud.send(Request::get(databases(), path)).and_then(|it| it.json()) {
        Ok(listed) => listed,
        Err(error) if error.is_transient() => return Err(Refusal::unavailable(error.to_string())),
        Err(error) => return Err(Refusal::validation(error.to_string())),
    };
    let versions = listed["versions"].as_array().into_iter().flatten();
    let names: Vec<&str> = versions.filter_map(|version| version["name"].as_str()).collect();
    if names.contains(&version) {
        return Ok(());
    }
    Err(Refusal::validation(format!(
        "Datastore version {version} for datastore type {kind} is not valid. Allowed versions are \
         {}.",
        names.join(", ")
    )))
}
