//! AWS::EC2::Volume and AWS::EC2::VolumeAttachment: Cinder's types in EC2's words. Their properties
//! are put into those of Cinder's types, and all that is done is what those do.

use std::sync::LazyLock;

use serde_json::Value;

use super::metadata;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::declared::{Beating, Declared, reader};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject, Work};
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::types::cinder::{volume, volume_attachment};

pub(crate) struct Volume;
pub(crate) struct VolumeAttachment;

/// What the file of Cinder's volume says.
static VOLUME: LazyLock<Declared> =
    LazyLock::new(|| declared("volume", include_str!("../cinder/volume.yaml")));

/// What the file of Cinder's attachment says.
static ATTACHMENT: LazyLock<Declared> = LazyLock::new(|| {
    declared("volume_attachment", include_str!("../cinder/volume_attachment.yaml"))
});

fn declared(name: &str, file: &str) -> Declared {
    let read = reader::read(file);
    Declared::new(read.unwrap_or_else(|mistakes| panic!("cinder/{name}.yaml: {mistakes:?}")))
}

impl ResourceType for Volume {
    fn first(&self, _declared: &Declared, work: &Work, subject: &Subject) -> Step {
        volume::Volume.first(&VOLUME, work, &as_volume(subject))
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let subject = as_volume(beating.subject);
        volume::Volume.beat(&VOLUME, &Beating { subject: &subject, ..*beating })
    }
}

impl ResourceType for VolumeAttachment {
    fn first(&self, _declared: &Declared, work: &Work, subject: &Subject) -> Step {
        volume_attachment::VolumeAttachment.first(&ATTACHMENT, work, &as_attachment(subject))
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let subject = as_attachment(beating.subject);
        let beating = Beating { subject: &subject, ..*beating };
        volume_attachment::VolumeAttachment.beat(&ATTACHMENT, &beating)
    }
}

fn as_volume(subject: &Subject) -> Subject {
    let names =
        [("AvailabilityZone", "availability_zone"), ("Size", "size"), ("SnapshotId", "backup_id")];
    let mut properties = renamed(&subject.properties, &names);
    if let Some(Value::Array(tags)) = subject.properties.get("Tags")
        && !tags.is_empty()
    {
        properties.insert("metadata".to_owned(), metadata(tags));
    }
    Subject { properties, ..subject.clone() }
}

fn as_attachment(subject: &Subject) -> Subject {
    let names =
        [("InstanceId", "instance_uuid"), ("VolumeId", "volume_id"), ("Device", "mountpoint")];
    Subject { properties: renamed(&subject.properties, &names), ..subject.clone() }
}

/// The properties under other names.
fn renamed(properties: &JsonMap, names: &[(&str, &str)]) -> JsonMap {
    let known = names
        .iter()
        .filter_map(|(name, other)| Some(((*other).to_owned(), properties.get(*name)?.clone())));
    known.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_volume_of_a_backup_with_tags_is_one_of_cinders() {
        let properties = json!({
            "AvailabilityZone": "nova", "Size": 2, "SnapshotId": "b",
            "Tags": [{ "Key": "a", "Value": "1" }],
        });
        let Value::Object(properties) = properties else { unreachable!() };
        let subject = as_volume(&Subject { properties, ..Subject::default() });
        let expected = json!({
            "availability_zone": "nova", "size": 2, "backup_id": "b", "metadata": { "a": "1" },
        });
        assert_eq!(Value::Object(subject.properties), expected);
    }
}
