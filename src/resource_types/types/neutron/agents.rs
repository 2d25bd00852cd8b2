//! Agents that are chosen by hand, for networks and routers alike.

use serde_json::{Value, json};

use super::{fixed_ips, text};
use crate::events::resource::Step;
use crate::model::{JsonMap, Refusal};
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, Progress, Special, next};
use crate::resource_types::driver::{Beat, DriverError, Learned, Subject, Work};
use crate::resource_types::rules::conflict;

/// How Neutron lists and moves agents of one kind.
struct Kind {
    /// The properties that name agents.
    properties: &'static [&'static str],
    /// The path of the object's agents: `…/{id}/l3-agents`.
    list: &'static str,
    /// The objects of an agent, as its path ends: `l3-routers`.
    objects: &'static str,
    /// The field of the object's id in a body.
    field: &'static str,
}

const L3: Kind = Kind {
    properties: &["l3_agent_ids", "l3_agent_id"],
    list: "/v2.0/routers/{id}/l3-agents",
    objects: "l3-routers",
    field: "router_id",
};

const DHCP: Kind = Kind {
    properties: &["dhcp_agent_ids"],
    list: "/v2.0/networks/{id}/dhcp-agents",
    objects: "dhcp-networks",
    field: "network_id",
};

/// OS::Neutron::Router.
pub(crate) struct Router;

/// OS::Neutron::Net.
pub(crate) struct Net;

impl Special for Router {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        L3.first(declared, work, subject)
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        L3.beat(declared, beating)
    }

    fn live(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, DriverError> {
        match name {
            "l3_agent_ids" => L3.live(cloud, object),
            "external_gateway_info" => Ok(Some(gateway(object, wanted))),
            _ => Ok(declared.plain_live(object, name, wanted)),
        }
    }

    fn validate(&self, properties: &JsonMap) -> Result<(), Refusal> {
        let holds = |name| properties.get(name) == Some(&Value::Bool(true));
        let agents = L3.wanted(properties);
        if holds("distributed") && !agents.is_empty() {
            return Err(conflict(&["distributed", "l3_agent_id/l3_agent_ids"]));
        }
        if holds("ha") && holds("distributed") {
            return Err(conflict(&["distributed", "ha"]));
        }
        if !holds("ha") && agents.len() > 1 {
            return Err(Refusal::validation("Non HA routers can only have one L3 agent."));
        }
        Ok(())
    }
}

impl Special for Net {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        DHCP.first(declared, work, subject)
    }

    /// Sharing is seen to by others too.
    fn observes(&self, _subject: &Subject, name: &str, update_allowed: bool) -> bool {
        update_allowed && name != "shared"
    }

    fn live(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, DriverError> {
        match name {
            "dhcp_agent_ids" => DHCP.live(cloud, object),
            _ => Ok(declared.plain_live(object, name, wanted)),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        DHCP.beat(declared, beating)
    }
}

/// The way out as the property has it, as far as that says anything.
fn gateway(object: &Value, wanted: &Value) -> Value {
    let live = &object["external_gateway_info"];
    let shown = [
        ("network", live["network_id"].clone()),
        ("enable_snat", live["enable_snat"].clone()),
        ("external_fixed_ips", fixed_ips(&live["external_fixed_ips"])),
    ];
    let is_said = |name: &str| wanted.get(name).is_some_and(|value| !value.is_null());
    if live.is_null() {
        return Value::Null;
    }
    shown.into_iter().filter(|(name, _)| is_said(name)).collect()
}

impl Kind {
    /// The agents that an object has now, where the user may know them.
    fn live(&self, cloud: &Asks<'_>, object: &Value) -> Result<Option<Value>, DriverError> {
        let id = path_segment(object["id"].as_str().unwrap_or_default());
        let request = Request::new(Method::Get, Service::Network, self.list.replace("{id}", &id));
        match cloud.send(request) {
            Ok(response) => {
                let listed = response.json()?;
                let agents = listed["agents"].as_array().into_iter().flatten();
                Ok(Some(agents.map(|agent| agent["id"].clone()).collect()))
            }
            Err(error) if error.status() == Some(403) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Update { changed, .. }
                if self.properties.iter().any(|name| changed.contains(*name)) =>
            {
                Progress::default().change("agents")
            }
            Work::Create | Work::Update { .. } | Work::Delete | Work::Act(_) => {
                declared.first_step(work, subject)
            }
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let Beating { cloud, subject, work, step, .. } = *beating;
        match step.name.as_str() {
            "create" => match declared.plain_beat(beating)? {
                // The agents come before all that would follow.
                Beat::Next { learned, .. } | Beat::Done { learned }
                    if learned.physical_id.is_some()
                        && !self.wanted(&subject.properties).is_empty() =>
                {
                    Ok(next(learned, beating.progress().change("agents")))
                }
                other => Ok(other),
            },
            // What is to be done is looked up, so that a repetition does what is left of it.
            "agents" | "agent" => {
                self.moved(declared, cloud, subject)?;
                let following = match work {
                    Work::Create => declared.after_creation(subject),
                    Work::Update { .. } | Work::Delete | Work::Act(_) => {
                        declared.first_step(work, subject)
                    }
                };
                Ok(next(Learned::default(), following))
            }
            _ => declared.plain_beat(beating),
        }
    }

    /// The agents that are asked for.
    fn wanted(&self, properties: &JsonMap) -> Vec<String> {
        let mut wanted = Vec::new();
        for name in self.properties {
            let listed = properties.get(*name).and_then(Value::as_array).into_iter().flatten();
            wanted.extend(listed.filter_map(Value::as_str).map(str::to_owned));
            wanted.extend(text(properties, name).map(str::to_owned));
        }
        wanted
    }

    /// Moves the object to the agents that are asked for.
    fn moved(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<(), DriverError> {
        let wanted = self.wanted(&subject.properties);
        let request = declared.request(cloud, Method::Get, self.list, subject, None)?;
        let body = cloud.send(request)?.json()?;
        let agents = body["agents"].as_array().into_iter().flatten();
        let present: Vec<&str> = agents.filter_map(|agent| agent["id"].as_str()).collect();
        let surplus = present.iter().filter(|agent| !wanted.iter().any(|want| want == *agent));
        let missing = wanted.iter().filter(|agent| !present.contains(&agent.as_str()));
        // Removals first: a router that is not highly available has room for one.
        let removals = surplus.map(|agent| self.leave(subject, agent));
        let calls = removals.chain(missing.map(|agent| self.join(subject, agent)));
        for request in calls {
            match cloud.send(request) {
                Ok(_) => {}
                // Neutron has moved it itself.
                Err(error) if error.is_conflict() || error.is_not_found() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn join(&self, subject: &Subject, agent: &str) -> Request {
        let path = format!("/v2.0/agents/{}/{}", path_segment(agent), self.objects);
        let body = json!({ self.field: subject.physical_id });
        Request::post(Service::Network, path).json(body)
    }

    fn leave(&self, subject: &Subject, agent: &str) -> Request {
        let id = path_segment(subject.physical_id.as_deref().unwrap_or_default());
        let path = format!("/v2.0/agents/{}/{}/{id}", path_segment(agent), self.objects);
        Request::delete(Service::Network, path)
    }
}
