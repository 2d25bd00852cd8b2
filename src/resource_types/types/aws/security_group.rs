//! AWS::EC2::SecurityGroup: its rules are objects of Neutron's, kept as two properties say.

use serde_json::{Value, json};

use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Request, Service};
use crate::resource_types::declared::{Beating, Declared, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::{Stages, stages};
use crate::resource_types::types::neutron::security_group::{
    Difference, RULES, delete, difference,
};

pub(crate) struct SecurityGroup;

const INGRESS: &str = "SecurityGroupIngress";
const EGRESS: &str = "SecurityGroupEgress";

stages! {
    /// What a security group does otherwise.
    enum Stage {
        Create = "create" Changes,
        Rules = "rules" Changes,
    }
}

impl ResourceType for SecurityGroup {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Update { .. } => Stage::Rules.step(),
            Work::Create | Work::Delete | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        match Stage::of(step) {
            Some(Stage::Create) => match declared.plain_beat(beating)? {
                Beat::Done { learned } if !rules(&subject.properties).is_empty() => {
                    Ok(next(learned, Stage::Rules.step()))
                }
                other => Ok(other),
            },
            // What is to be done is looked up, so that a repetition does what is left of it.
            Some(Stage::Rules) => {
                let wanted = wanted(subject)?;
                let Difference { surplus, missing } = difference(declared, beating, wanted)?;
                delete(cloud, &surplus)?;
                for rule in missing {
                    let body = json!({ "security_group_rule": rule });
                    match cloud.send(Request::post(Service::Network, RULES).json(body)) {
                        Ok(_) => {}
                        // The same rule twice.
                        Err(error) if error.is_conflict() => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(done())
            }
            None => declared.plain_beat(beating),
        }
    }
}

/// The rules of a group with their directions.
fn rules(properties: &JsonMap) -> Vec<(&'static str, &Value)> {
    let of = |name: &str, direction| {
        let rules = properties.get(name).and_then(Value::as_array).into_iter().flatten();
        rules.map(move |rule| (direction, rule)).collect::<Vec<_>>()
    };
    [of(INGRESS, "ingress"), of(EGRESS, "egress")].concat()
}

/// The rules as bodies.
fn wanted(subject: &Subject) -> Result<Vec<Value>, Failure> {
    let group = subject.physical_id.as_deref().unwrap_or_default();
    let rules = rules(&subject.properties);
    rules.into_iter().map(|(direction, rule)| body(direction, rule, group)).collect()
}

fn body(direction: &str, rule: &Value, group: &str) -> Result<Value, Failure> {
    let given = |name: &str| rule[name].as_str().filter(|text| !text.is_empty());
    let remote = given("SourceSecurityGroupId").or_else(|| given("SourceSecurityGroupName"));
    Ok(json!({
        "direction": direction,
        "ethertype": "IPv4",
        // Heat leaves it out where there are no ports, so that whoever likes may come.
        "remote_ip_prefix": rule["CidrIp"],
        "port_range_min": port(&rule["FromPort"])?,
        "port_range_max": port(&rule["ToPort"])?,
        "protocol": rule["IpProtocol"],
        "remote_group_id": remote,
        "security_group_id": group,
    }))
}

/// A port as a number; one below zero stands for any.
fn port(text: &Value) -> Result<Option<i64>, Failure> {
    let Some(text) = text.as_str() else { return Ok(None) };
    let invalid = || {
        let text =
            format!("invalid literal for int() with base 10: {}", python::repr(&text.into()));
        Failure::Invalid(text)
    };
    let port: i64 = text.trim().parse().map_err(|_| invalid())?;
    Ok(Some(port).filter(|port| *port >= 0))
}
