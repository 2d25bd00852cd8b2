//! AWS::EC2::EIPAssociation: a floating IP for a server or a port. One that is known by its address
//! gets the server's first interface; one that is known by its id gets a port, whose VPC is led
//! outside first.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::text;
use super::vpc::router;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::{Failure, Words};
use crate::resource_types::job::{Beat, Change, Learned, Subject, UpdateKind, Work};
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::{Stages, stages};
use crate::resource_types::types::nova::floating::{first_interface, put, release};

pub(crate) struct ElasticIpAssociation;

stages! {
    /// What an association goes through.
    enum Stage {
        Release = "release" Changes,
        LeadOut = "lead_out" Changes,
        Associate = "associate" Changes,
        Free = "free" Changes,
    }
}

/// What is to have the address.
enum Target<'a> {
    Server(&'a str),
    Port(&'a str),
}

impl ResourceType for ElasticIpAssociation {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create => PlainStage::NoteOthers.step(),
            Work::Update { changed, .. } if is_other_address(changed) => Stage::Release.step(),
            Work::Update { .. } => onwards(&subject.properties),
            Work::Delete => Stage::Free.step(),
            Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let properties = &subject.properties;
        match Stage::of(step) {
            Some(Stage::Release) => {
                if let Work::Update { before, .. } = work
                    && named(before).is_some_and(|it| !Declared::is_others(subject, it))
                {
                    free(cloud, before)?;
                }
                Ok(next(Learned::default(), onwards(properties)))
            }
            Some(Stage::LeadOut) => {
                let port = port(cloud, target(work, properties))?;
                let network = port["network_id"].as_str().unwrap_or_default();
                if let Some(router) = router::of_network(cloud, network)? {
                    let address = shown(cloud, &floating_ip(cloud, properties)?)?;
                    router::lead_out(cloud, router::id(&router), &address["floating_network_id"])?;
                }
                Ok(next(Learned::default(), Stage::Associate.step()))
            }
            Some(Stage::Associate) => {
                let id = floating_ip(cloud, properties)?;
                put(cloud, &id, interface(cloud, work, properties)?)?;
                let physical_id = named(properties).map(str::to_owned);
                let learned = match work {
                    Work::Create => Declared::put(subject, physical_id),
                    // What it is from now on, nobody else has made it.
                    _ => Declared::made(subject, physical_id),
                };
                Ok(Beat::Done { learned })
            }
            Some(Stage::Free) => {
                // Without a physical id the association may have been made and its answer lost.
                let is_ours = match &subject.physical_id {
                    _ if named(properties).is_some_and(|it| Declared::is_others(subject, it)) => {
                        false
                    }
                    Some(_) => true,
                    None if !Declared::may_be_sent(subject) => false,
                    None => match is_associated(beating) {
                        Err(error) if error.is_transient() => return Err(error),
                        is_ours => is_ours.unwrap_or_default(),
                    },
                };
                match is_ours.then(|| free(cloud, properties)) {
                    Some(Err(error)) if !error.is_not_found() => Err(error),
                    _ => Ok(done()),
                }
            }
            None if PlainStage::of(step) == Some(PlainStage::NoteOthers) => {
                let is_there = is_associated(beating)?;
                let there =
                    named(properties).filter(|_| is_there).into_iter().map(str::to_owned).collect();
                Ok(Declared::noted(subject, there, onwards(properties)))
            }
            None => declared.plain_beat(beating),
        }
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        let is_other =
            |name: &str| changed.contains(name) && text(&subject.properties, name).is_some();
        match is_other_address(changed)
            && (is_other("InstanceId") || is_other("NetworkInterfaceId"))
        {
            true => declared.replaced_by_class(subject),
            false => declared.plain_on_change(subject, changed),
        }
    }

    fn reference(&self, declared: &Declared, subject: &Subject) -> Value {
        match &subject.physical_id {
            Some(_) => subject.physical_name.as_str().into(),
            None => declared.plain_reference(subject),
        }
    }
}

fn is_other_address(changed: &BTreeSet<String>) -> bool {
    changed.contains("EIP") || changed.contains("AllocationId")
}

/// The address, or the id of the floating IP.
fn named(properties: &JsonMap) -> Option<&str> {
    text(properties, "EIP").or_else(|| text(properties, "AllocationId"))
}

/// The step that makes the association.
fn onwards(properties: &JsonMap) -> Step {
    match text(properties, "EIP") {
        Some(_) => Stage::Associate.step(),
        None => Stage::LeadOut.step(),
    }
}

/// What gets the address: of several the port, and in an update what has changed.
fn target<'a>(work: &Work, properties: &'a JsonMap) -> Target<'a> {
    let given = |name: &str| text(properties, name);
    let (server, port) = (given("InstanceId"), given("NetworkInterfaceId"));
    let is_new_server = match work {
        Work::Update { changed, .. } => {
            !is_other_address(changed)
                && changed.contains("InstanceId")
                && !changed.contains("NetworkInterfaceId")
        }
        Work::Create | Work::Delete | Work::Act(_) => false,
    };
    match (server, port) {
        (Some(server), _) if is_new_server => Target::Server(server),
        (_, Some(port)) => Target::Port(port),
        (server, None) => Target::Server(server.unwrap_or_default()),
    }
}

/// The id of the floating IP.
fn floating_ip(cloud: &Asks<'_>, properties: &JsonMap) -> Result<String, Failure> {
    let Some(address) = text(properties, "EIP") else {
        return Ok(text(properties, "AllocationId").unwrap_or_default().to_owned());
    };
    let request = Request::get(Service::Network, "/v2.0/floatingips");
    let listed = cloud.send(request.query("floating_ip_address", address))?.json()?;
    let id = listed["floatingips"][0]["id"].as_str().map(str::to_owned);
    id.ok_or_else(|| Failure::Missing {
        entity: "floatingip".to_owned(),
        wanted: address.to_owned(),
        words: Words::Address,
    })
}

/// The floating IP as Neutron shows it.
fn shown(cloud: &Asks<'_>, id: &str) -> Result<Value, Failure> {
    let path = format!("/v2.0/floatingips/{}", path_segment(id));
    Ok(cloud.send(Request::get(Service::Network, path))?.json()?["floatingip"].take())
}

/// The port that gets the address.
fn port(cloud: &Asks<'_>, target: Target<'_>) -> Result<Value, Failure> {
    let (filter, value) = match target {
        Target::Server(server) => ("device_id", server),
        Target::Port(port) => ("id", port),
    };
    let request = Request::get(Service::Network, "/v2.0/ports").query(filter, value);
    let mut listed = cloud.send(request)?.json()?;
    match listed["ports"][0].take() {
        Value::Null => Err(Failure::NotFound(format!("There is no port with {filter} {value}."))),
        port => Ok(port),
    }
}

/// What the floating IP is told of the port.
fn interface(cloud: &Asks<'_>, work: &Work, properties: &JsonMap) -> Result<Value, Failure> {
    match text(properties, "EIP") {
        Some(_) => first_interface(cloud, text(properties, "InstanceId").unwrap_or_default()),
        None => Ok(json!({ "port_id": port(cloud, target(work, properties))?["id"] })),
    }
}

/// Whether the floating IP has the port.
fn is_associated(beating: &Beating<'_>) -> Result<bool, Failure> {
    let Beating { cloud, work, subject, .. } = *beating;
    let address = shown(cloud, &floating_ip(cloud, &subject.properties)?)?;
    let interface = interface(cloud, work, &subject.properties)?;
    Ok(address["port_id"] == interface["port_id"])
}

/// Takes the floating IP from whatever has it.
fn free(cloud: &Asks<'_>, properties: &JsonMap) -> Result<(), Failure> {
    let id = floating_ip(cloud, properties)?;
    match text(properties, "EIP") {
        Some(_) => release(cloud, Some(&id)),
        None => Ok(put(cloud, &id, json!({ "port_id": null }))?),
    }
}
