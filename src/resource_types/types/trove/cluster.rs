//! OS::Trove::Cluster: what is at work is not deleted before it is done.

use serde_json::{Value, json};

use super::{nics, write_datastore};
use crate::model::{JsonMap, Refusal};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject};
use crate::resource_types::resource_type::{Purpose, ResourceType};
use crate::resource_types::stage::Stages;

pub(in crate::resource_types::types) struct Cluster;

impl ResourceType for Cluster {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        if PlainStage::of(beating.step) != Some(PlainStage::Delete) {
            return declared.plain_beat(beating);
        }
        let Some(cluster) = declared.look(beating.cloud, beating.subject)? else {
            return Ok(done());
        };
        match cluster["task"]["name"].as_str().unwrap_or("NONE") {
            "NONE" => declared.plain_beat(beating),
            "DELETING" => Ok(next(Learned::default(), beating.progress().to(PlainStage::Gone))),
            _ => Ok(Beat::Wait { after: None }),
        }
    }

    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        write_datastore(body);
        let Some(Value::Array(instances)) = body.get_mut("instances") else { return };
        for instance in instances.iter_mut().filter_map(Value::as_object_mut) {
            let mut member = JsonMap::new();
            let size = instance.shift_remove("volume_size").unwrap_or_default();
            member.extend(instance.shift_remove("flavor").map(|it| ("flavorRef".to_owned(), it)));
            member.insert("volume".to_owned(), json!({ "size": size }));
            let nics = nics(instance.shift_remove("networks"));
            if !nics.is_empty() {
                member.insert("nics".to_owned(), nics.into());
            }
            if let Some(zone) = instance.shift_remove("availability_zone")
                && !zone.is_null()
                && zone != ""
            {
                member.insert("availability_zone".to_owned(), zone);
            }
            *instance = member;
        }
    }

    fn asked_of_cloud(&self, properties: &JsonMap) -> Option<JsonMap> {
        super::asked_of_cloud(properties)
    }

    fn validate_in_cloud(&self, cloud: &Asks<'_>, asked: &JsonMap) -> Result<(), Refusal> {
        super::validate_in_cloud(cloud, asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_said_in_the_services_words() {
        let body = json!({
            "datastore_type": "mongodb", "datastore_version": "4.2",
            "instances": [
                { "flavor": "f", "volume_size": 1, "networks": [{ "port": "p" }] },
                { "flavor": "f", "volume_size": 2, "networks": [], "availability_zone": "nova" },
            ],
        });
        let Value::Object(mut body) = body else { unreachable!() };
        Cluster.body(Purpose::Create, &Subject::default(), &mut body);
        let wanted = json!({
            "datastore": { "type": "mongodb", "version": "4.2" },
            "instances": [
                { "flavorRef": "f", "volume": { "size": 1 }, "nics": [{ "port-id": "p" }] },
                { "flavorRef": "f", "volume": { "size": 2 }, "availability_zone": "nova" },
            ],
        });
        assert_eq!(Value::Object(body), wanted);
    }
}
