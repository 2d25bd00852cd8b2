//! What the registry says of whole stacks: refusals in Heat's words, and the order of resources
//! that nothing but their types tells.

use hearth::model::ResourceName;
use hearth::resource_types::Registry;
use hearth::template::{PseudoParameters, StackDefinition, StackSource};

fn definition(registry: &Registry, resources: &str) -> StackDefinition {
    let template = format!("heat_template_version: 2021-04-16\nresources:\n{resources}");
    let source = StackSource { template: template.into(), ..StackSource::default() };
    let pseudo = PseudoParameters { stack_name: "web".to_owned(), ..PseudoParameters::default() };
    StackDefinition::load(&source, &pseudo, registry).unwrap()
}

fn check(resources: &str, expected: &str) {
    let registry = Registry::built_in().unwrap();
    let outcome = registry.validate(&definition(&registry, resources));
    let text = outcome.map_or_else(|refusal| refusal.message, |()| "accepted".to_owned());
    assert_eq!(text, expected, "{resources}");
}

#[test]
fn a_subnet_may_be_without_a_gateway() {
    let subnet = |gateway| {
        format!(
            "  n: {{type: OS::Neutron::Net}}\n  a: {{type: OS::Neutron::Subnet, properties: \
             {{network: {{get_resource: n}}, cidr: 10.0.0.0/24, gateway_ip: {gateway}}}}}"
        )
    };
    check(&subnet("\"\""), "accepted");
    check(&subnet("x"), "Gateway IP address \"x\" is in invalid format.");
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
fn a_server_has_no_deployments_in_its_metadata_where_it_is_told_of_them_there() {
    let server = |format: &str, metadata: &str| {
        format!(
            "  a: {{type: OS::Nova::Server, metadata: {metadata}, properties: \
             {{image: i, flavor: f, user_data_format: {format}}}}}"
        )
    };
    let refused = "deployments key not allowed in resource metadata with user_data_format of \
                   SOFTWARE_CONFIG";
    check(&server("SOFTWARE_CONFIG", "{deployments: []}"), refused);
    let made = "{map_merge: [{a: 1}, {deployments: {}}]}";
    check(&server("SOFTWARE_CONFIG", made), refused);
    check(&server("SOFTWARE_CONFIG", "{a: {deployments: []}}"), "accepted");
    check(&server("HEAT_CFNTOOLS", "{deployments: []}"), "accepted");
}

#[test]
fn rules_of_types_are_refused_in_heats_words() {
    let of = |type_name: &str, properties: &str, expected: &str| {
        check(&format!("  r: {{type: {type_name}, properties: {{{properties}}}}}"), expected);
    };
    let segment = |properties: &str, expected: &str| {
        of("OS::Neutron::Segment", &format!("network: n, {properties}"), expected);
    };
    segment("network_type: flat", "physical_network is required for flat provider network.");
    segment(
        "network_type: vlan, physical_network: p",
        "segmentation_id is required for vlan provider network.",
    );
    segment(
        "network_type: vlan, physical_network: p, segmentation_id: 5000",
        "Up to 4094 VLAN network segments can exist on each physical_network.",
    );
    segment("network_type: vlan, physical_network: p, segmentation_id: 4094", "accepted");
    segment(
        "network_type: vxlan, physical_network: p",
        "physical_network is prohibited for vxlan provider network.",
    );
    of(
        "OS::Neutron::SubnetPool",
        "prefixes: [10.0.0.0/8], min_prefixlen: 28, max_prefixlen: 24",
        "Illegal prefix bounds: max_prefixlen=24, min_prefixlen=28.",
    );
    of(
        "OS::Neutron::NetworkGateway",
        "devices: [{id: a, interface_name: b}], connections: [{network: n, segmentation_id: 3}]",
        "segmentation_id cannot be specified except 0 for using flat",
    );
    of(
        "OS::Keystone::User",
        "roles: [{role: r}]",
        "Either project or domain must be specified for role r",
    );
    of(
        "OS::Keystone::GroupRoleAssignment",
        "group: g, roles: [{role: r, project: p, domain: d}]",
        "Cannot define the following properties at the same time: project, domain.",
    );
    let server = |networks: &str, expected: &str| {
        of("OS::Nova::Server", &format!("flavor: f, image: i, networks: [{networks}]"), expected);
    };
    server(
        "{fixed_ip: 10.0.0.9}",
        "One of the properties \"network\", \"port\", \"allocate_network\" or \"subnet\" should be \
         set for the specified network of server \"r\".",
    );
    server(
        "{allocate_network: none, tag: t}",
        "Can not specify \"allocate_network\" with other keys of networks at the same time.",
    );
    server(
        "{network: n, floating_ip: f}",
        "Property \"floating_ip\" is not supported if only \"network\" is specified, because the \
         corresponding port can not be retrieved.",
    );
    let subnet = |properties: &str, expected: &str| {
        of("OS::Neutron::Subnet", &format!("network: n, {properties}"), expected);
    };
    subnet(
        "cidr: 10.0.0.0/24, prefixlen: 24",
        "Cannot define the following properties at the same time: prefixlen, cidr.",
    );
    subnet("cidr: 10.0.0.0/24, prefixlen: 0", "accepted");
    subnet(
        "cidr: 10.0.0.0/24, ipv6_address_mode: slaac",
        "ipv6_ra_mode and ipv6_address_mode are not supported for ipv4.",
    );
    subnet(
        "cidr: 'fd00::/64', ip_version: 6, ipv6_ra_mode: slaac, ipv6_address_mode: dhcpv6-stateful",
        "When both ipv6_ra_mode and ipv6_address_mode are set, they must be equal.",
    );
}

#[test]
fn a_value_that_depends_on_a_resource_is_not_held_to_constraints() {
    check(
        "  a: {type: OS::Heat::TestResource}\n  b: {type: OS::Neutron::Port, properties: {network: \
         n, mac_address: {get_attr: [a, output]}}}",
        "accepted",
    );
    check(
        "  a: {type: OS::Heat::TestResource}\n  b: {type: OS::Nova::Server, properties: {flavor: f, \
         image: i, networks: [{port: {get_attr: [a, output]}}]}}",
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
  gateway:
    type: OS::Neutron::RouterGateway
    properties: {router: elsewhere, network: public}
  fixed:
    type: OS::Neutron::Port
    properties: {network: n, fixed_ips: [{subnet: {get_resource: subnet}}]}
  forward:
    type: OS::Neutron::FloatingIPPortForward
    properties:
      floating_ip: elsewhere
      internal_port: {get_resource: fixed}
      internal_ip_address: 10.0.0.9
      external_port: 80
      protocol: tcp
",
    );
    let pair =
        |user: &str, required: &str| (ResourceName::from(user), ResourceName::from(required));
    assert_eq!(
        registry.implicit_dependencies(&definition),
        [
            pair("address", "gateway"),
            pair("address", "link"),
            pair("address", "router"),
            pair("forward", "link"),
            pair("port", "subnet"),
            pair("server", "subnet"),
        ]
    );
}

#[test]
fn groups_that_scale_are_held_to_their_own_rules_before_their_schemas() {
    let heat = |properties: &str| {
        format!("  r: {{type: OS::Heat::AutoScalingGroup, properties: {{{properties}}}}}")
    };
    let bound = "resource: {type: OS::Heat::None}, max_size: 1";
    for (sizes, expected) in [
        ("min_size: -1", "The size of AutoScalingGroup can not be less than zero"),
        ("min_size: 2, nope: 1", "MinSize can not be greater than MaxSize"),
        ("min_size: x, nope: 1", "ValueError: : resources.r: : Value 'x' is not an integer"),
        ("nope: 1", "ValueError: : resources.r: : Property min_size not assigned"),
        (
            "min_size: 1, desired_capacity: x, nope: 1",
            "ValueError: : resources.r: : Value 'x' is not an integer",
        ),
        (
            "min_size: 1, desired_capacity: 2, nope: 1",
            "DesiredCapacity must be between MinSize and MaxSize",
        ),
        (
            "min_size: 1, nope: 1",
            "Property error: : resources.r.properties: : Unknown Property nope",
        ),
    ] {
        check(&heat(&format!("{bound}, {sizes}")), expected);
    }
    for (kind, size) in [
        ("AWS::AutoScaling::AutoScalingGroup", "MinSize: 1, MaxSize: 1"),
        ("OS::Heat::InstanceGroup", "Size: x"),
    ] {
        for (of, expected) in [
            (
                "x",
                "ValueError: : resources.r: : LaunchConfigurationName (x) reference can not be found.",
            ),
            ("[x]", "ValueError: : resources.r: : Value must be a string; got ['x']"),
        ] {
            let properties = format!("{size}, LaunchConfigurationName: {of}, nope: 1");
            check(&format!("  r: {{type: {kind}, properties: {{{properties}}}}}"), expected);
        }
    }
}
