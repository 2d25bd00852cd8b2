//! AWS::EC2::Instance: a server in EC2's words. Its properties are put into those of Nova's type,
//! and all that is done is what that type does.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::{metadata, text};
use crate::events::resource::Step;
use crate::model::{JsonMap, Refusal};
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, reader};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::rules::conflict;
use crate::resource_types::types::nova::server::Server;

pub(crate) struct Instance;

/// Nova's type. The tools in the image know the user by this name.
const SERVER: Server = Server { user: Some("ec2-user") };

/// What that type's file says.
static DECLARED: LazyLock<Declared> = LazyLock::new(|| {
    let read = reader::read(include_str!("../nova/server.yaml"));
    let mut read = read.unwrap_or_else(|mistakes| panic!("nova/server.yaml: {mistakes:?}"));
    // Subnets and ports are known by their ids alone.
    read.translation.retain(|rule| !rule.named().is_some_and(|it| it.starts_with("networks.")));
    Declared::new(read)
});

/// The properties that an update may change, and what they are of a server.
const CHANGED: [(&str, &str); 4] = [
    ("InstanceType", "flavor"),
    ("Tags", "metadata"),
    ("NetworkInterfaces", "networks"),
    ("SubnetId", "networks"),
];

/// Where an address is shown that is not known.
const NO_ADDRESS: &str = "0.0.0.0";

impl ResourceType for Instance {
    fn first(&self, _declared: &Declared, work: &Work, subject: &Subject) -> Step {
        SERVER.first(&DECLARED, &work_on_server(work), &as_server(subject))
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let (work, subject) = (work_on_server(beating.work), as_server(beating.subject));
        SERVER.beat(&DECLARED, &Beating { work: &work, subject: &subject, ..*beating })
    }

    fn validate(&self, _name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        if !groups(properties).is_empty() && !list(properties, "NetworkInterfaces").is_empty() {
            return Err(conflict(&["SecurityGroups/SecurityGroupIds", "NetworkInterfaces"]));
        }
        for device in list(properties, "BlockDeviceMappings") {
            let missing = match &device["Ebs"] {
                Value::Object(disk) if text(disk, "SnapshotId").is_some() => continue,
                Value::Object(disk) if !disk.is_empty() => "SnapshotId",
                _ => "Ebs",
            };
            return Err(Refusal::validation(format!(
                "{missing} is missing, this is required when specifying BlockDeviceMappings."
            )));
        }
        Ok(())
    }

    fn attribute(&self, at: At<'_>, object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let subject = as_server(at.subject);
        let at = At { declared: &DECLARED, cloud: at.cloud, subject: &subject };
        let of_server = match name {
            "AvailabilityZone" => match text(&subject.properties, "availability_zone") {
                Some(zone) => Some(zone.into()),
                None => object.get("OS-EXT-AZ:availability_zone").cloned(),
            },
            "PrivateDnsName" | "PublicDnsName" | "PrivateIp" | "PublicIp" => {
                let first = SERVER.attribute(at, object, "first_address")?;
                Some(first.filter(|it| *it != "").unwrap_or_else(|| NO_ADDRESS.into()))
            }
            _ => None,
        };
        Ok(of_server)
    }

    fn object(&self, at: At<'_>) -> Result<Option<Value>, Failure> {
        SERVER.object(At { declared: &DECLARED, ..at })
    }

    fn live(
        &self,
        at: At<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        let subject = as_server(at.subject);
        let at = At { declared: &DECLARED, cloud: at.cloud, subject: &subject };
        match name {
            "InstanceType" => SERVER.live(at, object, "flavor", wanted),
            "Tags"
                if metadata(wanted.as_array().map_or(&[], Vec::as_slice)) == object["metadata"] =>
            {
                Ok(Some(wanted.clone()))
            }
            "Tags" => Ok(Some(tags(&object["metadata"]))),
            // How it is connected is seen as its server's networks are.
            "NetworkInterfaces" | "SubnetId" => {
                let Some(networks) = subject.properties.get("networks") else { return Ok(None) };
                let live = SERVER.live(at, object, "networks", networks)?;
                Ok(match (live, name) {
                    (Some(live), _) if live == *networks => Some(wanted.clone()),
                    (Some(Value::Array(live)), "NetworkInterfaces") => {
                        Some(live.iter().map(|interface| interface["port"].clone()).collect())
                    }
                    (Some(_), _) => Some(subnet(at.cloud, &subject)?),
                    (None, _) => None,
                })
            }
            _ => Ok(None),
        }
    }
}

/// The subnet that the instance is in.
fn subnet(cloud: &Asks<'_>, subject: &Subject) -> Result<Value, Failure> {
    let id = path_segment(subject.physical_id.as_deref().unwrap_or_default());
    let path = format!("/servers/{id}/os-interface");
    let live = cloud.send(Request::get(Service::Compute, path))?.json()?;
    Ok(live["interfaceAttachments"][0]["fixed_ips"][0]["subnet_id"].clone())
}

fn list<'a>(properties: &'a JsonMap, name: &str) -> &'a [Value] {
    properties.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The work as it is to be done on the server.
fn work_on_server(work: &Work) -> Work {
    match work {
        Work::Update { before, changed } => {
            let names = CHANGED.iter().filter(|(name, _)| changed.contains(*name));
            let changed = names.map(|(_, of_server)| (*of_server).to_owned()).collect();
            Work::Update { before: properties(before), changed }
        }
        Work::Create | Work::Delete | Work::Act(_) => work.clone(),
    }
}

fn as_server(subject: &Subject) -> Subject {
    Subject { properties: properties(&subject.properties), ..subject.clone() }
}

/// The properties of the server.
fn properties(of: &JsonMap) -> JsonMap {
    let mut properties = JsonMap::new();
    for (name, of_server) in [
        ("ImageId", "image"),
        ("InstanceType", "flavor"),
        ("KeyName", "key_name"),
        ("AvailabilityZone", "availability_zone"),
        ("UserData", "user_data"),
    ] {
        if let Some(value) = of.get(name).filter(|value| **value != "") {
            properties.insert(of_server.to_owned(), value.clone());
        }
    }
    let mut insert = |name: &str, value: Value| properties.insert(name.to_owned(), value);
    insert("user_data_format", "HEAT_CFNTOOLS".into());
    let networks = networks(of);
    if !networks.is_empty() {
        insert("networks", networks.into());
    }
    let groups = groups(of);
    if !groups.is_empty() {
        insert("security_groups", groups.into());
    }
    let tags = list(of, "Tags");
    if !tags.is_empty() {
        insert("metadata", metadata(tags));
    }
    let hints = list(of, "NovaSchedulerHints");
    if !hints.is_empty() {
        insert("scheduler_hints", scheduler_hints(hints));
    }
    let devices = devices(of);
    if !devices.is_empty() {
        insert("block_device_mapping_v2", devices.into());
    }
    properties
}

/// The ports in their order, or else a port of the subnet.
fn networks(of: &JsonMap) -> Vec<Value> {
    let mut ports: Vec<(i64, &Value)> = Vec::new();
    for (place, interface) in (0..).zip(list(of, "NetworkInterfaces")) {
        ports.push(match interface {
            Value::Object(interface) => {
                let index = interface.get("DeviceIndex");
                let number = index.and_then(Value::as_i64);
                let written = || index.and_then(Value::as_str)?.parse().ok();
                let port = interface.get("NetworkInterfaceId").unwrap_or(&Value::Null);
                (number.or_else(written).unwrap_or(place), port)
            }
            port => (place, port),
        });
    }
    ports.sort_by_key(|(index, _)| *index);
    match text(of, "SubnetId") {
        Some(subnet) if ports.is_empty() => vec![json!({ "subnet": subnet })],
        _ => ports.into_iter().map(|(_, port)| json!({ "port": port })).collect(),
    }
}

/// The groups of both properties.
fn groups(of: &JsonMap) -> Vec<Value> {
    [list(of, "SecurityGroups"), list(of, "SecurityGroupIds")].concat()
}

fn tags(metadata: &Value) -> Value {
    let pairs = metadata.as_object().into_iter().flatten();
    pairs.map(|(key, value)| json!({ "Key": key, "Value": value })).collect()
}

/// The hints; one that is given several times has a list.
fn scheduler_hints(of: &[Value]) -> Value {
    let mut hints = JsonMap::new();
    for hint in of {
        let (key, value) = (hint["Key"].as_str().unwrap_or_default(), hint["Value"].clone());
        match hints.get_mut(key) {
            None => drop(hints.insert(key.to_owned(), value)),
            Some(Value::Array(values)) => values.push(value),
            Some(one) => *one = json!([one, value]),
        }
    }
    Value::Object(hints)
}

/// The disks beside that of the image: what snapshots hold, and volumes that are there.
fn devices(of: &JsonMap) -> Vec<Value> {
    let snapshots = list(of, "BlockDeviceMappings").iter().map(|device| {
        let disk = &device["Ebs"];
        let deletes = disk["DeleteOnTermination"].as_bool().unwrap_or(true);
        json!({ "device_name": device["DeviceName"], "snapshot_id": disk["SnapshotId"],
                "volume_size": disk["VolumeSize"], "delete_on_termination": deletes,
                "boot_index": -1 })
    });
    let volumes = list(of, "Volumes").iter().map(|volume| {
        json!({ "device_name": volume["Device"], "volume_id": volume["VolumeId"],
                "boot_index": -1 })
    });
    snapshots.chain(volumes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(of: Value) -> Value {
        Value::Object(properties(&of.as_object().cloned().unwrap_or_default()))
    }

    #[test]
    fn interfaces_come_in_the_order_of_their_indices_and_before_a_subnet() {
        let interfaces = json!([
            { "NetworkInterfaceId": "second", "DeviceIndex": "1" },
            { "NetworkInterfaceId": "first", "DeviceIndex": 0 },
        ]);
        let both = made(json!({ "NetworkInterfaces": interfaces, "SubnetId": "s" }));
        assert_eq!(both["networks"], json!([{ "port": "first" }, { "port": "second" }]));
        let plain = made(json!({ "NetworkInterfaces": ["b", "a"] }));
        assert_eq!(plain["networks"], json!([{ "port": "b" }, { "port": "a" }]));
        assert_eq!(made(json!({ "SubnetId": "s" }))["networks"], json!([{ "subnet": "s" }]));
        assert_eq!(made(json!({})), json!({ "user_data_format": "HEAT_CFNTOOLS" }));
    }

    #[test]
    fn a_hint_that_is_given_more_than_once_is_a_list() {
        let hint = |key: &str, value: &str| json!({ "Key": key, "Value": value });
        let hints = [hint("a", "1"), hint("b", "2"), hint("a", "3"), hint("a", "4")];
        let made = made(json!({ "NovaSchedulerHints": hints }));
        assert_eq!(made["scheduler_hints"], json!({ "a": ["1", "3", "4"], "b": "2" }));
    }

    #[test]
    fn disks_of_snapshots_go_with_the_instance_and_volumes_stay() {
        let made = made(json!({
            "BlockDeviceMappings": [{ "DeviceName": "vdb", "Ebs": { "SnapshotId": "s" } }],
            "Volumes": [{ "Device": "vdc", "VolumeId": "v" }],
        }));
        let (disk, volume) =
            (&made["block_device_mapping_v2"][0], &made["block_device_mapping_v2"][1]);
        assert_eq!(disk["delete_on_termination"], true);
        assert_eq!(volume["delete_on_termination"], Value::Null);
        assert_eq!((&disk["snapshot_id"], &volume["volume_id"]), (&json!("s"), &json!("v")));
    }
}
