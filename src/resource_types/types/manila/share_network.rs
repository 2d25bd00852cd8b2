//! OS::Manila::ShareNetwork: where no network is said it is that of the subnet.

use serde_json::Value;

use crate::model::{JsonMap, Refusal};
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage};
use crate::resource_types::failure::Failure;
use crate::resource_types::finders::find;
use crate::resource_types::job::{Beat, Subject, Work};
use crate::resource_types::resource_type::{Purpose, ResourceType};
use crate::resource_types::stage::Stages;

pub(in crate::resource_types::types) struct ShareNetwork;

const NETWORK: &str = "neutron_network";
const SUBNET: &str = "neutron_subnet";
/// Where a beat tells the body of the network that it has found.
const FOUND: &str = "network_of_subnet";

impl ResourceType for ShareNetwork {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let is_meant = match (PlainStage::of(step), work) {
            (Some(PlainStage::Create), _) => text(&subject.properties, NETWORK).is_none(),
            // Another subnet has its own network, whatever was said of the former one.
            (Some(PlainStage::Update), Work::Update { changed, .. }) => {
                changed.contains(SUBNET) && !changed.contains(NETWORK)
            }
            _ => false,
        };
        let subnet = text(&subject.properties, SUBNET).filter(|_| is_meant);
        let Some(subnet) = subnet else { return declared.plain_beat(beating) };
        let mut subject = subject.clone();
        subject.data.insert(FOUND.to_owned(), network_of(cloud, subnet)?.into());
        declared.plain_beat(&Beating { subject: &subject, ..*beating })
    }

    fn body(&self, _purpose: Purpose, subject: &Subject, body: &mut JsonMap) {
        if let Some(network) = subject.data.get(FOUND) {
            body.insert("neutron_net_id".to_owned(), network.clone());
        }
    }

    fn validate(&self, _name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        match text(properties, "nova_network") {
            Some(_) => Err(Refusal::validation("Nova network is no longer supported".to_owned())),
            None => Ok(()),
        }
    }

    fn asked_of_cloud(&self, properties: &JsonMap) -> Option<JsonMap> {
        let both = [NETWORK, SUBNET].map(|name| Some((name, text(properties, name)?)));
        let both = both.into_iter().collect::<Option<Vec<_>>>()?;
        Some(both.into_iter().map(|(name, said)| (name.to_owned(), said.into())).collect())
    }

    fn validate_in_cloud(&self, cloud: &Asks<'_>, asked: &JsonMap) -> Result<(), Refusal> {
        match is_within(cloud, asked) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::validation(format!(
                "Provided {SUBNET} does not belong to provided {NETWORK}."
            ))),
            Err(failure) if failure.is_transient() => {
                Err(Refusal::unavailable(failure.to_string()))
            }
            // The same stack may make it.
            Err(failure) if failure.is_not_found() => Ok(()),
            Err(failure) => Err(Refusal::validation(failure.to_string())),
        }
    }
}

/// Whether the subnet is one of the network's.
fn is_within(cloud: &Asks<'_>, asked: &JsonMap) -> Result<bool, Failure> {
    let (Some(network), Some(subnet)) = (text(asked, NETWORK), text(asked, SUBNET)) else {
        return Ok(true);
    };
    Ok(network_of(cloud, subnet)? == find(cloud, "neutron.network", network)?)
}

/// The network of a subnet, by its name or id.
fn network_of(cloud: &Asks<'_>, subnet: &str) -> Result<String, Failure> {
    let id = find(cloud, "neutron.subnet", subnet)?;
    let path = format!("/v2.0/subnets/{}", path_segment(&id));
    let shown = cloud.send(Request::get(Service::Network, path))?.json()?;
    Ok(shown["subnet"]["network_id"].as_str().unwrap_or_default().to_owned())
}

fn text<'a>(properties: &'a JsonMap, name: &str) -> Option<&'a str> {
    properties.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}
