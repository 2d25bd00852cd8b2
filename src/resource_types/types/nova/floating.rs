//! OS::Nova::FloatingIP and its association, which are Neutron's in all but name: the pool is a
//! network outside, and a server stands for its first interface.

use serde_json::{Value, json};

use super::text;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::{Purpose, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct FloatingIp;
pub(crate) struct FloatingIpAssociation;

impl ResourceType for FloatingIp {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let has_pool = text(&beating.subject.properties, "pool").is_some();
        if PlainStage::of(beating.step) != Some(PlainStage::Create) || has_pool {
            return declared.plain_beat(beating);
        }
        declared.created(beating, &made_outside(declared, beating, "pool")?)
    }
}

/// The floating IP of the only network outside, which a property named `network` stands for.
pub(in crate::resource_types::types) fn made_outside(
    declared: &Declared,
    beating: &Beating<'_>,
    network: &str,
) -> Result<Value, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    if beating.is_unanswered()
        && let Some(made) = declared.find(cloud, subject)?
    {
        return Ok(made);
    }
    let properties = JsonMap::from_iter([(network.to_owned(), only_pool(cloud)?)]);
    let body = declared.body(Purpose::Create, subject, properties);
    let made = cloud.send(Request::post(Service::Network, "/v2.0/floatingips").json(body))?;
    Ok(made.json()?["floatingip"].take())
}

/// The network outside where there is no other.
pub(in crate::resource_types::types) fn only_pool(cloud: &Asks<'_>) -> Result<Value, Failure> {
    let request = Request::get(Service::Network, "/v2.0/networks").query("router:external", "True");
    let listed = cloud.send(request)?.json()?;
    match listed["networks"].as_array().map_or(&[][..], Vec::as_slice) {
        [network] => Ok(network["id"].clone()),
        networks => {
            let text = format!("Expected 1 external network, found {}", networks.len());
            Err(Failure::Failed(text))
        }
    }
}

stages! {
    /// What an association goes through.
    enum Stage {
        Associate = "associate" Changes,
        Release = "release" Changes,
        Free = "free" Changes,
    }
}

impl ResourceType for FloatingIpAssociation {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create => PlainStage::NoteOthers.step(),
            Work::Update { changed, .. } if changed.contains("floating_ip") => {
                Stage::Release.step()
            }
            Work::Update { .. } => Stage::Associate.step(),
            Work::Delete => Stage::Free.step(),
            Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let is_others = |address: &&str| Declared::is_others(subject, address);
        match Stage::of(step) {
            Some(Stage::Associate) => {
                let (ours, interface) = wanted(declared, beating)?;
                put(cloud, &ours, interface)?;
                let id = subject.resource_id.map(|id| id.to_string());
                let physical_id = Some(id.unwrap_or_else(|| subject.physical_name.clone()));
                let learned = match work {
                    Work::Create => Declared::put(subject, physical_id),
                    // What it is from now on, nobody else has made it.
                    _ => Declared::made(subject, physical_id),
                };
                Ok(Beat::Done { learned })
            }
            Some(Stage::Release) => {
                if let Work::Update { before, .. } = work {
                    let former = text(before, "floating_ip");
                    release(cloud, former.filter(|former| !is_others(former)))?;
                }
                Ok(next(Learned::default(), Stage::Associate.step()))
            }
            Some(Stage::Free) => {
                let ours = text(&subject.properties, "floating_ip").filter(|it| !is_others(it));
                // Without a physical id the association may have been made and its answer lost.
                let is_ours = match &subject.physical_id {
                    Some(_) => true,
                    None if !Declared::may_be_sent(subject) => false,
                    None => match is_associated(declared, beating) {
                        Err(error) if error.is_transient() => return Err(error),
                        is_ours => is_ours.unwrap_or_default(),
                    },
                };
                release(cloud, ours.filter(|_| is_ours))?;
                Ok(done())
            }
            None if PlainStage::of(step) == Some(PlainStage::NoteOthers) => {
                let ours = text(&subject.properties, "floating_ip");
                let is_there = is_associated(declared, beating)?;
                let there = ours.filter(|_| is_there).into_iter().map(str::to_owned).collect();
                Ok(Declared::noted(subject, there, Stage::Associate.step()))
            }
            None => declared.plain_beat(beating),
        }
    }
}

/// The floating IP, and the port and address that it is to have.
fn wanted(declared: &Declared, beating: &Beating<'_>) -> Result<(String, Value), Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let given = declared.properties(&subject.properties);
    let given = declared.declaration().resolved(cloud, given)?;
    let server = text(&given, "server_id").unwrap_or_default();
    let ours = text(&given, "floating_ip").unwrap_or_default().to_owned();
    Ok((ours, first_interface(cloud, server)?))
}

/// Whether the floating IP has the server's port.
fn is_associated(declared: &Declared, beating: &Beating<'_>) -> Result<bool, Failure> {
    let (ours, interface) = wanted(declared, beating)?;
    let path = format!("/v2.0/floatingips/{}", path_segment(&ours));
    let shown = beating.cloud.send(Request::get(Service::Network, path))?.json()?;
    Ok(shown["floatingip"]["port_id"] == interface["port_id"])
}

/// The port of a server's first interface, and its first address of IPv4.
pub(in crate::resource_types::types) fn first_interface(
    cloud: &Asks<'_>,
    server: &str,
) -> Result<Value, Failure> {
    let path = format!("/servers/{}/os-interface", path_segment(server));
    let listed = cloud.send(Request::get(Service::Compute, path))?.json()?;
    let Some(interface) = listed["interfaceAttachments"].as_array().and_then(|all| all.first())
    else {
        return Err(Failure::NoInterface(server.to_owned()));
    };
    let addresses = interface["fixed_ips"].as_array().into_iter().flatten();
    let mut addresses = addresses.filter_map(|address| address["ip_address"].as_str());
    let is_v4 = |address: &&str| address.parse::<std::net::Ipv4Addr>().is_ok();
    Ok(json!({ "port_id": interface["port_id"], "fixed_ip_address": addresses.find(is_v4) }))
}

/// Frees the floating IP; one that is gone is free.
pub(in crate::resource_types::types) fn release(
    cloud: &Asks<'_>,
    floating_ip: Option<&str>,
) -> Result<(), Failure> {
    let Some(floating_ip) = floating_ip else { return Ok(()) };
    match put(cloud, floating_ip, json!({ "port_id": null, "fixed_ip_address": null })) {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(()),
    }
}

pub(in crate::resource_types::types) fn put(
    cloud: &Asks<'_>,
    floating_ip: &str,
    fields: Value,
) -> Result<(), crate::openstack::CloudError> {
    let path = format!("/v2.0/floatingips/{}", path_segment(floating_ip));
    let request = Request::put(Service::Network, path).json(json!({ "floatingip": fields }));
    cloud.send(request).map(drop)
}
