//! What the members of groups of instances are made of: a launch configuration, and the group's
//! own tags.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::member_stack::Group;
use super::scaling_group::{Scaled, Scaling};
use crate::model::JsonMap;
use crate::openstack::{Request, Service};
use crate::resource_types::asks::Asks;
use crate::resource_types::child::ResourceUsed;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;

/// The property that names an instance to take the members' properties from.
pub(super) const INSTANCE: &str = "InstanceId";
/// The data of a resource that has what was taken from an instance.
const FROM_INSTANCE: &str = "from_instance";

/// Whether a property is a text that is not empty.
pub(super) fn is_text(properties: &JsonMap, name: &str) -> bool {
    properties.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

/// Whether a resource names an instance to take properties from.
pub(crate) fn names_instance(subject: &Subject) -> bool {
    is_text(&subject.properties, INSTANCE)
}

/// What the instance that a resource names was made from, as data of the resource.
pub(crate) fn from_instance(
    cloud: &Asks<'_>,
    subject: &Subject,
) -> Result<BTreeMap<String, Value>, Failure> {
    let id = subject.properties.get(INSTANCE).and_then(Value::as_str).unwrap_or_default();
    let path = format!("/servers/{id}");
    let server: Value = cloud.send(Request::get(Service::Compute, path))?.json()?;
    Ok(BTreeMap::from([(FROM_INSTANCE.to_owned(), taken(&server["server"]))]))
}

/// What an instance says of what it was made from.
fn taken(server: &Value) -> Value {
    // From microversion 2.47 on a server tells of its flavor by name.
    let flavor = &server["flavor"];
    let flavor = flavor.get("id").unwrap_or(&flavor["original_name"]);
    let groups = server["security_groups"].as_array();
    let groups: Vec<&Value> = groups.into_iter().flatten().map(|group| &group["name"]).collect();
    json!({
        "ImageId": server["image"]["id"],
        "InstanceType": flavor,
        "KeyName": server["key_name"],
        "SecurityGroups": groups,
    })
}

/// The definition of an instance: what the launch configuration says, and the group's tags.
pub(crate) fn instance(
    group: &Group<'_>,
    scaled: &Scaled,
    configuration: &ResourceUsed,
    reference: &str,
) -> Value {
    let mut properties = configuration.properties.clone();
    properties.remove(INSTANCE);
    let from_instance = configuration.data.get(FROM_INSTANCE).and_then(Value::as_object);
    for (name, value) in from_instance.into_iter().flatten() {
        properties.entry(name.clone()).or_insert_with(|| value.clone());
    }
    properties.insert("Tags".to_owned(), tags(group, scaled.kind, reference));
    let subnets = group.properties.get("VPCZoneIdentifier").and_then(Value::as_array);
    if let Some(subnet) = subnets.and_then(|subnets| subnets.first()) {
        properties.insert("SubnetId".to_owned(), subnet.clone());
    }
    let mut instance = json!({ "Type": scaled.member, "Properties": properties });
    if !configuration.metadata.is_empty() {
        instance["Metadata"] = configuration.metadata.clone().into();
    }
    instance
}

/// The tags of the members: meters know them by the group's name.
fn tags(group: &Group<'_>, scaling: Scaling, reference: &str) -> Value {
    let tag = |key: &str| json!({ "Key": key, "Value": reference });
    let given = group.properties.get("Tags").and_then(Value::as_array);
    let mut tags = given.cloned().unwrap_or_default();
    let is_metered =
        |tag: &Value| tag["Key"].as_str().is_some_and(|key| key.starts_with("metering."));
    if !tags.iter().any(is_metered) {
        tags.push(tag("metering.groupname"));
    }
    if scaling == Scaling::Aws {
        tags.push(tag("metering.AutoScalingGroupName"));
    }
    tags.into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn object(value: Value) -> JsonMap {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn instances_are_what_the_configuration_says() {
        let configuration = ResourceUsed {
            properties: object(json!({ "ImageId": "i", "InstanceId": "x" })),
            data: BTreeMap::from([(
                FROM_INSTANCE.to_owned(),
                json!({ "ImageId": "other", "KeyName": "k" }),
            )]),
            ..ResourceUsed::default()
        };
        let group = Group {
            name: "g",
            properties: &object(json!({ "VPCZoneIdentifier": ["subnet"] })),
            update_policy: &JsonMap::new(),
            data: &BTreeMap::new(),
            reads: &[],
            stack: None,
        };
        let scaled = Scaled {
            kind: Scaling::Aws,
            member: "Sample::Member".to_owned(),
            stands_for: "Sample::Instance".to_owned(),
        };
        let made = instance(&group, &scaled, &configuration, "ref");
        assert_eq!(
            made,
            json!({ "Type": "Sample::Member", "Properties": {
                "ImageId": "i", "KeyName": "k", "SubnetId": "subnet", "Tags": [
                    { "Key": "metering.groupname", "Value": "ref" },
                    { "Key": "metering.AutoScalingGroupName", "Value": "ref" },
                ] } })
        );
    }
}
