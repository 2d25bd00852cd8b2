//! OS::Neutron::SecurityGroup: its rules are objects of their own, kept as the property says.

use serde_json::{Value, json};

use crate::events::resource::Step;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct SecurityGroup;

/// The fields by which a rule of the property and a live one are the same.
const COMPARED: [&str; 7] = [
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_group_id",
];

pub(in crate::resource_types::types) const RULES: &str = "/v2.0/security-group-rules";

stages! {
    /// What a security group does otherwise.
    enum Stage {
        Create = "create" Changes,
        Update = "update" Changes,
        Rules = "rules" Changes,
    }
}

impl ResourceType for SecurityGroup {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        let plain = declared.first_step(work, subject);
        match work {
            Work::Update { changed, .. }
                if PlainStage::of(&plain) == Some(PlainStage::Done)
                    && changed.contains("rules") =>
            {
                Stage::Rules.step()
            }
            Work::Create | Work::Update { .. } | Work::Delete | Work::Act(_) => plain,
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        match Stage::of(step) {
            Some(Stage::Create | Stage::Update) => match declared.plain_beat(beating)? {
                Beat::Done { learned } if has_rules(work, subject) => {
                    Ok(next(learned, Stage::Rules.step()))
                }
                other => Ok(other),
            },
            // What is to be done is looked up, so that a repetition does what is left of it.
            Some(Stage::Rules) => {
                let wanted = wanted(declared, subject);
                let Difference { surplus, missing } = difference(declared, beating, wanted)?;
                delete(cloud, &surplus)?;
                if !missing.is_empty() {
                    let request = Request::post(Service::Network, RULES)
                        .json(json!({ "security_group_rules": missing }));
                    cloud.send(request)?;
                }
                Ok(done())
            }
            _ => declared.plain_beat(beating),
        }
    }
}

fn has_rules(work: &Work, subject: &Subject) -> bool {
    match work {
        Work::Update { changed, .. } => changed.contains("rules"),
        Work::Create | Work::Delete | Work::Act(_) => {
            subject.properties.get("rules").and_then(Value::as_array).is_some_and(|r| !r.is_empty())
        }
    }
}

/// What the group has too much and too little of.
pub(in crate::resource_types::types) struct Difference {
    pub(in crate::resource_types::types) surplus: Vec<String>,
    pub(in crate::resource_types::types) missing: Vec<Value>,
}

/// A new group keeps what the cloud begins it with, but for rules about egress where the template
/// has one. A changed one has the template's rules alone, and where none is about egress, two that
/// allow all of it.
pub(in crate::resource_types::types) fn difference(
    declared: &Declared,
    beating: &Beating<'_>,
    mut wanted: Vec<Value>,
) -> Result<Difference, Failure> {
    let Beating { cloud, work, subject, .. } = *beating;
    let is_new = *work == Work::Create;
    let is_egress = |rule: &Value| rule["direction"] == "egress";
    let says_egress = wanted.iter().any(is_egress);
    if !is_new && !says_egress {
        let group = subject.physical_id.as_deref().unwrap_or_default();
        let any = |version| json!({ "direction": "egress", "ethertype": version, "security_group_id": group });
        wanted.extend(["IPv4", "IPv6"].map(any));
    }
    let may_go = |rule: &&Value| !is_new || says_egress && is_egress(rule);
    let group = declared.show(cloud, subject)?;
    let live = group["security_group_rules"].as_array().map_or(&[][..], Vec::as_slice);
    let same = |left: &Value, right: &Value| {
        COMPARED.iter().all(|field| comparable(&left[*field]) == comparable(&right[*field]))
    };
    let surplus = live.iter().filter(may_go);
    let surplus = surplus.filter(|rule| !wanted.iter().any(|want| same(rule, want)));
    let missing = wanted.iter().filter(|want| !live.iter().any(|rule| same(rule, want)));
    Ok(Difference {
        surplus: surplus.filter_map(|rule| rule["id"].as_str().map(str::to_owned)).collect(),
        missing: missing.cloned().collect(),
    })
}

/// Deletes rules; one that is gone already is no error.
pub(in crate::resource_types::types) fn delete(
    cloud: &Asks<'_>,
    rules: &[String],
) -> Result<(), Failure> {
    for rule in rules {
        let path = format!("{RULES}/{}", path_segment(rule));
        match cloud.send(Request::delete(Service::Network, path)) {
            Ok(_) => {}
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Numbers and texts compare as texts; what stands for "any" is nothing.
fn comparable(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text == "0.0.0.0/0" || text == "::/0" || text.is_empty() => None,
        other => Some(python::text(other)),
    }
}

/// The rules as bodies.
fn wanted(declared: &Declared, subject: &Subject) -> Vec<Value> {
    let group = subject.physical_id.as_deref().unwrap_or_default();
    let properties = declared.properties(&subject.properties);
    let rules = properties.get("rules").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    rules.iter().map(|rule| body(rule, group)).collect()
}

fn body(rule: &Value, group: &str) -> Value {
    let text = |name: &str| match &rule[name] {
        Value::Null => Value::Null,
        Value::String(text) if text.is_empty() => Value::Null,
        other => python::text(other).into(),
    };
    let by_group = rule["remote_mode"] == "remote_group_id";
    let remote_group = match (by_group, text("remote_group_id")) {
        (true, Value::Null) => group.into(),
        (true, other) => other,
        (false, _) => Value::Null,
    };
    let remote_prefix = if by_group { Value::Null } else { text("remote_ip_prefix") };
    let mut body = json!({
        "direction": rule["direction"],
        "ethertype": rule["ethertype"],
        "protocol": text("protocol"),
        "port_range_min": text("port_range_min"),
        "port_range_max": text("port_range_max"),
        "remote_ip_prefix": remote_prefix,
        "remote_group_id": remote_group,
        "security_group_id": group,
    });
    if let (Value::Object(body), description @ Value::String(_)) = (&mut body, text("description"))
    {
        body.insert("description".into(), description);
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SimulatedClock};
    use crate::model::JsonMap;
    use crate::openstack::{Body, answered};
    use crate::resource_types::asks::{Answer, Ask, Facts, Run};
    use crate::resource_types::job::Attempt;
    use crate::resource_types::registry::Registry;

    /// What is sent to bring the rules of a group to what the property says, where the cloud has a
    /// rule about ICMP in it.
    fn sent(work: &Work, rules: Value) -> Vec<String> {
        let driver = Registry::built_in().unwrap().driver("OS::Neutron::SecurityGroup").unwrap();
        let subject = Subject {
            physical_id: Some("g-1".to_owned()),
            properties: JsonMap::from_iter([("rules".to_owned(), rules)]),
            ..Subject::default()
        };
        let mut run = Run::new(Facts::at(SimulatedClock::new(1).now()));
        let mut sent = Vec::new();
        let step = Stage::Rules.step();
        while let Err(ask) =
            run.go_on(|cloud| driver.beat(cloud, work, &subject, &step, Attempt::First))
        {
            let Ask::Call(request) = &*ask else { panic!("{ask:?}") };
            match (&request.body, request.path.as_str()) {
                (Body::Json(body), _) => {
                    let rules = body["security_group_rules"].as_array().into_iter().flatten();
                    let short =
                        |rule: &Value| format!("{} {}", rule["direction"], rule["protocol"]);
                    sent.extend(rules.map(short));
                }
                (_, "/v2.0/security-groups/g-1") => {}
                (_, path) => sent.push(format!("{} {path}", request.method.as_str())),
            }
            let icmp = json!({ "id": "r-1", "direction": "ingress", "protocol": "icmp" });
            let body = json!({ "security_group": { "security_group_rules": [icmp] } });
            let answer = answered(request, "http://neutron", 200, &[], body.to_string().into());
            run.answered(ask, answer.map(Answer::Response));
        }
        sent
    }

    #[test]
    fn a_new_group_keeps_what_the_cloud_begins_it_with_and_a_changed_one_has_the_rules_alone() {
        let rules = json!([{ "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp" }]);
        assert_eq!(sent(&Work::Create, rules.clone()), [r#""ingress" "tcp""#]);
        let work = Work::Update { before: JsonMap::new(), changed: ["rules".to_owned()].into() };
        assert_eq!(
            sent(&work, rules),
            [
                "DELETE /v2.0/security-group-rules/r-1",
                r#""ingress" "tcp""#,
                r#""egress" null"#,
                r#""egress" null"#,
            ]
        );
    }
}
