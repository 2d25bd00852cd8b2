//! AWS::ElasticLoadBalancing::LoadBalancer: a stack with a server that runs haproxy, of a template
//! that the operator may give another for.

mod haproxy;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::JsonMap;
use crate::model::taint::plain;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::child::{ChildAsk, ChildSeen, ChildWanted, Nested};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;
use crate::template::{NestedTemplate, template_map_text};

pub(crate) struct LoadBalancer;

/// The template, and Heat's option that names another.
const TEMPLATE: &str = include_str!("template.yaml");
const OPTION: &str = "loadbalancer_template";

/// The resource of the template that shares requests out, and the parameters that the template gets
/// of those of the stack around it.
const SERVER: &str = "LB_instance";
const PASSED_ON: [&str; 4] = ["KeyName", "LbFlavor", "LBTimeout", "LbImageId"];

/// The file that says how.
const CONFIG: &str = "/etc/haproxy/haproxy.cfg";

/// Resource data: the addresses of the instances, by their ids.
const ADDRESSES: &str = "addresses";

impl Nested for LoadBalancer {
    fn looks(&self, _subject: &Subject) -> bool {
        true
    }

    /// Where the instances are.
    fn look(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        let found = addresses(cloud, subject)?;
        let found = if found.is_empty() { Value::Null } else { found.into() };
        Ok(BTreeMap::from([(ADDRESSES.to_owned(), found)]))
    }

    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, Failure> {
        let text = ask.templates.get(OPTION).map_or(TEMPLATE, String::as_str);
        let template = template_map_text(text).map_err(Failure::BadFile)?;
        let mut template = Value::Object(template);
        let mut parameters = JsonMap::new();
        for name in PASSED_ON {
            if let Some(value) = ask.definition.parameter(name) {
                parameters.insert(name.to_owned(), value);
            }
        }
        if !parameters.contains_key("KeyName") {
            forget(&mut template, "KeyName");
        }
        match ask.subject.properties.get("SecurityGroups") {
            None | Some(Value::Null) => forget(&mut template, "SecurityGroups"),
            Some(groups) => drop(parameters.insert("SecurityGroups".to_owned(), groups.clone())),
        }
        let metadata = template["Resources"][SERVER].get_mut("Metadata");
        let files =
            metadata.and_then(|it| it.pointer_mut("/AWS::CloudFormation::Init/config/files"));
        let file = files.and_then(|files| files.get_mut(CONFIG)).and_then(Value::as_object_mut);
        let missing = || {
            let text = format!("The template of load balancers has no {CONFIG} at {SERVER}");
            Failure::BadFile(text)
        };
        let properties = &ask.subject.properties;
        let kept = match properties.get("Instances") {
            // A group may have told who they are.
            None | Some(Value::Null) => ask.child.and_then(|child| told(&child.template)),
            Some(_) => None,
        };
        let addresses = ask.subject.data.get(ADDRESSES).unwrap_or(&Value::Null);
        let content = kept.unwrap_or_else(|| haproxy::config(properties, addresses).into());
        file.ok_or_else(missing)?.insert("content".to_owned(), content);
        Ok(ChildWanted {
            template: NestedTemplate::Made(template),
            parameters,
            timeout_mins: None,
            keeps_files: false,
        })
    }

    fn with_members(&self, subject: &Subject, members: &[Value]) -> Option<Subject> {
        let mut subject = subject.clone();
        subject.properties.insert("Instances".to_owned(), members.into());
        Some(subject)
    }

    fn reference(&self, subject: &Subject) -> Value {
        subject.name.as_ref().map(|name| name.as_str()).into()
    }

    /// There is nothing behind all but the address.
    fn attribute(&self, _subject: &Subject, child: &ChildSeen, name: &str) -> Option<Value> {
        match name {
            "DNSName" => child.outputs.get("PublicIp").cloned(),
            name => ATTRIBUTES.contains(&name).then(|| "".into()),
        }
    }

    fn attribute_names(&self, _child: &ChildSeen) -> Vec<String> {
        ["DNSName"].into_iter().chain(ATTRIBUTES).map(str::to_owned).collect()
    }
}

/// Attributes without a value.
const ATTRIBUTES: [&str; 4] = [
    "CanonicalHostedZoneName",
    "CanonicalHostedZoneNameID",
    "SourceSecurityGroup.GroupName",
    "SourceSecurityGroup.OwnerAlias",
];

/// What haproxy is told by a template.
fn told(template: &Value) -> Option<Value> {
    let metadata = &template["Resources"][SERVER]["Metadata"];
    let files = metadata.pointer("/AWS::CloudFormation::Init/config/files")?;
    Some(plain(files[CONFIG]["content"].clone())).filter(Value::is_string)
}

/// Takes a parameter out of the template, and the property of the server that has it.
fn forget(template: &mut Value, parameter: &str) {
    for path in ["/Parameters".to_owned(), format!("/Resources/{SERVER}/Properties")] {
        if let Some(Value::Object(map)) = template.pointer_mut(&path) {
            map.shift_remove(parameter);
        }
    }
}

/// The first address of each instance, as the template's own server shows its own.
fn addresses(cloud: &Asks<'_>, subject: &Subject) -> Result<JsonMap, Failure> {
    let mut addresses = JsonMap::new();
    for id in haproxy::instances(&subject.properties) {
        let path = format!("/servers/{}", path_segment(id));
        let server = match cloud.send(Request::get(Service::Compute, path)) {
            Ok(answer) => answer.json()?["server"].take(),
            Err(error) if error.is_not_found() => Value::Null,
            Err(error) => return Err(error.into()),
        };
        let mut networks: Vec<_> = server["addresses"].as_object().into_iter().flatten().collect();
        networks.sort_by(|left, right| right.0.cmp(left.0));
        let mut known = networks.iter().filter_map(|(_, list)| list[0]["addr"].as_str());
        if let Some(address) = known.next() {
            addresses.insert(id.to_owned(), json!(address));
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource_types::{Registry, TreeBounds};
    use crate::template::{PseudoParameters, StackDefinition, StackSource};

    /// The parameters of the load balancer's stack, by what a validation says of them.
    fn parameters(registry: &Registry, own: Value) -> Result<Value, String> {
        let properties = json!({
            "AvailabilityZones": ["nova"],
            "Listeners": [{ "LoadBalancerPort": 80, "InstancePort": 80, "Protocol": "TCP" }],
        });
        let template = json!({
            "heat_template_version": "2018-08-31",
            "parameters": own,
            "resources": { "lb": { "type": "AWS::ElasticLoadBalancing::LoadBalancer",
                                   "properties": properties } },
        });
        let pseudo = PseudoParameters { stack_name: "web".into(), ..PseudoParameters::default() };
        let source = StackSource { template, ..StackSource::default() };
        let definition =
            StackDefinition::load(&source, &pseudo, registry).map_err(|it| it.message)?;
        registry.validate(&definition).map_err(|it| it.message)?;
        let nested =
            registry.nested_parameters(&definition, TreeBounds::LOOSE).map_err(|it| it.message)?;
        Ok(nested["lb"]["Parameters"].clone())
    }

    fn names(parameters: &Value) -> Vec<&String> {
        parameters.as_object().unwrap().keys().collect()
    }

    #[test]
    fn parameters_are_passed_on_where_the_stack_around_has_them() {
        let registry = Registry::built_in().unwrap();
        let none = parameters(&registry, json!({})).unwrap();
        assert_eq!(names(&none), ["LbImageId", "LbFlavor", "LBTimeout"]);
        let own = json!({ "KeyName": { "type": "string", "default": "mine" },
                          "LBTimeout": { "type": "string", "default": "7" } });
        let passed = parameters(&registry, own).unwrap();
        assert_eq!(names(&passed), ["KeyName", "LbImageId", "LbFlavor", "LBTimeout"]);
        assert_eq!(
            (&passed["KeyName"]["Value"], &passed["LBTimeout"]["Value"]),
            (&json!("mine"), &json!("7"))
        );
    }

    #[test]
    fn an_operators_template_takes_the_place_of_the_built_in_one() {
        let mut registry = Registry::built_in().unwrap();
        let own =
            TEMPLATE.replace("LBTimeout: {", "Extra: { Type: String, Default: x }\n  LBTimeout: {");
        registry.set_template(OPTION, own);
        let shown = parameters(&registry, json!({})).unwrap();
        assert_eq!(names(&shown), ["LbImageId", "LbFlavor", "Extra", "LBTimeout"]);
        registry.set_template(OPTION, TEMPLATE.replace(SERVER, "other"));
        let refused = parameters(&registry, json!({})).unwrap_err();
        assert!(refused.ends_with("has no /etc/haproxy/haproxy.cfg at LB_instance"), "{refused}");
    }
}
