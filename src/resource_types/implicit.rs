//! Dependencies that no reference tells: a port needs the subnets of its network, a floating IP
//! the router that leads to its port.

use std::collections::BTreeMap;

use serde_json::Value;

use super::registry::Registry;
use super::schema::filled;
use crate::model::{JsonMap, ResourceName};
use crate::template::StackDefinition;

/// What is known of a stack's resources before any of them exists.
struct Known<'a> {
    resources: BTreeMap<&'a ResourceName, (&'a str, JsonMap)>,
    definition: &'a StackDefinition,
}

impl Registry {
    /// Pairs of a resource and one that must exist before it.
    pub fn implicit_dependencies(
        &self,
        definition: &StackDefinition,
    ) -> Vec<(ResourceName, ResourceName)> {
        let mut resources = BTreeMap::new();
        for (name, declared) in definition.resources() {
            let Some(schema) = self.schema(&declared.type_name) else { continue };
            // Errors in properties are told by validation.
            let early = self.early(definition, name, schema);
            let properties = filled(&schema.properties, &early.properties);
            resources.insert(name, (declared.type_name.as_str(), properties));
        }
        let known = Known { resources, definition };
        let mut pairs = Vec::new();
        for (name, (type_name, properties)) in &known.resources {
            let required = known.declared(self, type_name, properties);
            let special = match *type_name {
                "OS::Nova::Server" => known.of_server(properties),
                "OS::Neutron::FloatingIP" => known.of_floating_ip(name, false),
                "OS::Neutron::FloatingIPAssociation" => known.of_floating_ip(name, true),
                _ => Vec::new(),
            };
            for required in required.into_iter().chain(special) {
                if required != *name {
                    pairs.push(((*name).clone(), required.clone()));
                }
            }
        }
        pairs.sort();
        pairs.dedup();
        pairs
    }
}

impl<'a> Known<'a> {
    fn of_type(&self, wanted: &str) -> impl Iterator<Item = (&'a ResourceName, &JsonMap)> {
        self.resources
            .iter()
            .filter(move |(_, (type_name, _))| *type_name == wanted)
            .map(|(name, (_, properties))| (*name, properties))
    }

    /// The rules of the type's file.
    fn declared(
        &self,
        registry: &Registry,
        type_name: &str,
        properties: &JsonMap,
    ) -> Vec<&'a ResourceName> {
        let rules = registry.schema(type_name).map_or(&[][..], |schema| &schema.after);
        let mut required = Vec::new();
        for rule in rules {
            let Some(ours) = at(properties, &rule.ours) else { continue };
            for (name, theirs) in self.of_type(&rule.type_name) {
                if at(theirs, &rule.theirs) == Some(ours) {
                    required.push(name);
                }
            }
        }
        required
    }

    /// The subnets of a server's networks; what is not known yet may be any.
    fn of_server(&self, properties: &JsonMap) -> Vec<&'a ResourceName> {
        let networks = properties.get("networks").and_then(Value::as_array);
        let Some(networks) = networks.filter(|networks| !networks.is_empty()) else {
            return Vec::new();
        };
        let fits = |subnet: &JsonMap| match at(subnet, "network") {
            None => true,
            Some(network) => networks.iter().any(|entry| {
                let of_entry = entry.get("network").filter(|it| !it.is_null() && **it != "");
                of_entry.is_none_or(|of_entry| of_entry == network)
            }),
        };
        let subnets = self.of_type("OS::Neutron::Subnet");
        subnets.filter(|(_, subnet)| fits(subnet)).map(|(name, _)| name).collect()
    }

    /// The router interfaces of subnets on which the floating IP's ports are.
    fn of_floating_ip(&self, name: &ResourceName, first_only: bool) -> Vec<&'a ResourceName> {
        let Some(declared) = self.definition.resources().get(name) else { return Vec::new() };
        let ports: Vec<&JsonMap> = self
            .of_type("OS::Neutron::Port")
            .filter(|(port, _)| declared.requires.contains(*port))
            .map(|(_, properties)| properties)
            .collect();
        let reaches = |subnet: &Value| {
            ports.iter().any(|port| {
                let fixed = port.get("fixed_ips").and_then(Value::as_array);
                let fixed = fixed.map_or(&[][..], Vec::as_slice);
                let fixed = if first_only { &fixed[..fixed.len().min(1)] } else { fixed };
                if fixed.is_empty() && !first_only {
                    // Neutron picks a subnet of the port's network.
                    return self.of_type("OS::Neutron::Subnet").any(|(name, other)| {
                        *subnet == *name.as_str() && at(other, "network") == at(port, "network")
                    });
                }
                fixed.iter().any(|ip| ip.get("subnet") == Some(subnet))
            })
        };
        self.of_type("OS::Neutron::RouterInterface")
            .filter(|(_, interface)| at(interface, "subnet").is_some_and(reaches))
            .map(|(name, _)| name)
            .collect()
    }
}

/// The value at a dotted path; null and the empty text are none.
fn at<'v>(properties: &'v JsonMap, path: &str) -> Option<&'v Value> {
    let mut steps = path.split('.');
    let mut value = properties.get(steps.next()?)?;
    for step in steps {
        value = value.get(step)?;
    }
    Some(value).filter(|value| !value.is_null() && **value != "")
}
