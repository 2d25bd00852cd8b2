//! What the members of groups of instances are made of: a launch configuration, and the group's
//! own tags.

use serde_json::{Value, json};

use super::member_stack::Group;
use super::scaling_group::{Scaled, Scaling};
use crate::resource_types::child::ResourceUsed;

/// The data of a launch configuration that has what was taken from an instance.
pub(crate) const FROM_INSTANCE: &str = "from_instance";

/// The definition of an instance: what the launch configuration says, and the group's tags.
pub(crate) fn instance(
    group: &Group<'_>,
    scaled: &Scaled,
    configuration: &ResourceUsed,
    reference: &str,
) -> Value {
    let mut properties = configuration.properties.clone();
    properties.remove("InstanceId");
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
    use crate::model::JsonMap;

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
