//! What the registry says of whole stacks: refusals in Heat's words, and the order of resources
//! that nothing but their types tells.

use hearth::model::ResourceName;
use hearth::resource_types::Registry;
use hearth::template::{PseudoParameters, StackDefinition, StackSource};

fn definition(registry: &Registry, resources: &str) -> StackDefinition {
    let template = format!("heat_template_version: 2021-04-16\nresources:\n{resources}");
    let source = StackSource { template: template.into(), ..StackSource::default() };
    StackDefinition::load(&source, &PseudoParameters::default(), registry).unwrap()
}

fn check(resources: &str, expected: &str) {
    let registry = Registry::built_in().unwrap();
    let outcome = registry.validate(&definition(&registry, resources));
    let text = outcome.map_or_else(|refusal| refusal.message, |()| "accepted".to_owned());
    assert_eq!(text, expected, "{resources}");
}

#[test]
fn properties_are_refused_in_heats_words() {
    check(
        "  a: {type: OS::Heat::TestResource, properties: {nope: 1}}",
        "Property error: : resources.a.properties: : Unknown Property nope",
    );
    check(
        "  a: {type: OS::Heat::TestResource, properties: {fail: [1]}}",
        "Property error: : resources.a.properties.fail: : \"[1]\" is not a valid boolean",
    );
    check(
        "  a: {type: OS::Neutron::Subnet, properties: {cidr: 10.0.0.0/24}}",
        "Property error: : resources.a.properties: : Property network not assigned",
    );
    check(
        "  a: {type: OS::Neutron::Subnet, properties: {network: n, cidr: 10.0.0.0/24, ip_version: 5}}",
        "Property error: : resources.a.properties.ip_version: : 5 is not an allowed value [4, 6]",
    );
    check(
        "  a: {type: OS::Neutron::Port, properties: {network: n, fixed_ips: [{ip_address: x}]}}",
        "Property error: : resources.a.properties.fixed_ips[0].ip_address: : \
         Error validating value 'x': Invalid IP address",
    );
    check(
        "  a: {type: OS::Neutron::RouterInterface, properties: {router: r}}",
        "At least one of the following properties must be specified: subnet, port.",
    );
    check(
        "  a: {type: OS::Neutron::Subnet, properties: {network_id: n, cidr: 10.0.0.0/24}}",
        "accepted",
    );
}

#[test]
fn a_value_that_depends_on_a_resource_is_not_held_to_constraints() {
    check(
        "  a: {type: OS::Heat::TestResource}\n  b: {type: OS::Neutron::Port, properties: {network: \
         n, mac_address: {get_attr: [a, output]}}}",
        "accepted",
    );
}

#[test]
fn resources_wait_for_what_only_their_types_tell() {
    let registry = Registry::built_in().unwrap();
    let definition = definition(
        &registry,
        "  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  other: {type: OS::Neutron::Subnet, properties: {network: elsewhere, cidr: 10.1.0.0/24}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  link:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  server:
    type: OS::Nova::Server
    properties: {flavor: f, image: i, networks: [{network: {get_resource: net}}]}
  address:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, port_id: {get_resource: port}}
",
    );
    let pair =
        |user: &str, required: &str| (ResourceName::from(user), ResourceName::from(required));
    assert_eq!(
        registry.implicit_dependencies(&definition),
        [
            pair("address", "link"),
            pair("address", "router"),
            pair("port", "subnet"),
            pair("server", "subnet"),
        ]
    );
}

#[test]
fn a_type_without_calls_is_looked_over_and_cannot_be_made() {
    let registry = Registry::built_in().unwrap();
    let definition =
        definition(&registry, "  box: {type: OS::Zun::Container, properties: {image: a}}");
    registry.validate(&definition).unwrap();
    assert_eq!(
        registry.check_made(&definition).unwrap_err().message,
        "Hearth cannot make resources of the type OS::Zun::Container yet (resource box)"
    );
}
