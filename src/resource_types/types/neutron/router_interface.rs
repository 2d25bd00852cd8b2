//! OS::Neutron::RouterInterface: no object of its own, but a tie between a router and a subnet or
//! a port, which its physical id names.

use serde_json::{Value, json};

use super::text;
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::Stages;

pub(crate) struct RouterInterface;

/// A router and what it is tied to.
struct Tie {
    router: String,
    /// `subnet_id` or `port_id`.
    key: &'static str,
    id: String,
}

impl Tie {
    /// As the properties want it.
    fn wanted(declared: &Declared, cloud: &Asks<'_>, subject: &Subject) -> Result<Self, Failure> {
        let properties = declared.properties(&subject.properties);
        let properties = declared.declaration().resolved(cloud, properties)?;
        let get = |name| text(&properties, name).map(str::to_owned);
        let (key, id) = match get("subnet") {
            Some(subnet) => ("subnet_id", subnet),
            None => ("port_id", get("port").unwrap_or_default()),
        };
        Ok(Self { router: get("router").unwrap_or_default(), key, id })
    }

    /// As a physical id tells it: `ROUTER:subnet_id=SUBNET`, in old data `ROUTER:SUBNET`.
    fn named(physical_id: &str) -> Option<Self> {
        let (router, end) = physical_id.split_once(':')?;
        let (key, id) = match end.split_once('=') {
            Some(("port_id", id)) => ("port_id", id),
            Some((_, id)) => ("subnet_id", id),
            None => ("subnet_id", end),
        };
        Some(Self { router: router.to_owned(), key, id: id.to_owned() })
    }

    fn physical_id(&self) -> String {
        format!("{}:{}={}", self.router, self.key, self.id)
    }

    /// The call that makes or breaks it: `add_router_interface`, `remove_router_interface`.
    fn request(&self, verb: &str) -> Request {
        let path = format!("/v2.0/routers/{}/{verb}", path_segment(&self.router));
        Request::new(Method::Put, Service::Network, path).json(json!({ self.key: self.id }))
    }

    /// Whether the router has the interface already.
    fn exists(&self, cloud: &Asks<'_>) -> Result<bool, Failure> {
        let request =
            Request::get(Service::Network, "/v2.0/ports").query("device_id", &self.router);
        let body = cloud.send(request)?.json()?;
        let ports = body["ports"].as_array().into_iter().flatten();
        Ok(ports.into_iter().any(|port| match self.key {
            "port_id" => port["id"] == self.id.as_str(),
            _ => {
                let is_interface = port["device_owner"]
                    .as_str()
                    .is_some_and(|owner| owner.contains("router_interface"));
                let addresses = port["fixed_ips"].as_array().map_or(&[][..], Vec::as_slice);
                is_interface && addresses.iter().any(|ip| ip["subnet_id"] == self.id.as_str())
            }
        }))
    }
}

impl ResourceType for RouterInterface {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        match PlainStage::of(step) {
            Some(PlainStage::Create) => {
                let tie = Tie::wanted(declared, cloud, subject)?;
                let learned =
                    Learned { physical_id: Some(tie.physical_id()), ..Learned::default() };
                if beating.is_unanswered() && tie.exists(cloud)? {
                    return Ok(Beat::Done { learned });
                }
                match cloud.send(tie.request("add_router_interface")) {
                    Ok(_) => Ok(Beat::Done { learned }),
                    Err(error) => Err(error.into()),
                }
            }
            Some(PlainStage::Find) => {
                let tie = Tie::wanted(declared, cloud, subject);
                match tie {
                    Ok(tie) if tie.exists(cloud)? => {
                        let physical_id = Some(tie.physical_id());
                        let learned = Learned { physical_id, ..Learned::default() };
                        Ok(next(learned, PlainStage::Delete.step()))
                    }
                    Err(error) if error.is_transient() => Err(error),
                    // Without its router or subnet there is no interface either.
                    Ok(_) | Err(_) => Ok(done()),
                }
            }
            Some(PlainStage::Delete) => {
                let Some(tie) = subject.physical_id.as_deref().and_then(Tie::named) else {
                    return Ok(done());
                };
                match cloud.send(tie.request("remove_router_interface")) {
                    Ok(_) => Ok(done()),
                    Err(error) if error.is_not_found() => Ok(done()),
                    Err(error) if error.is_conflict() => {
                        beating
                            .progress()
                            .again(cloud.now(), error.into(), |p| p.to(PlainStage::Delete))
                    }
                    Err(error) => Err(error.into()),
                }
            }
            Some(PlainStage::Check) => {
                let tie = subject.physical_id.as_deref().and_then(Tie::named);
                match tie {
                    Some(tie) if tie.exists(cloud)? => Ok(done()),
                    _ => Err(Failure::Gone("The router has no such interface any longer.")),
                }
            }
            _ => declared.plain_beat(beating),
        }
    }

    fn attribute(
        &self,
        _at: At<'_>,
        _object: &Value,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        Ok((name == "show").then_some(Value::Null))
    }
}
