//! The types that come with Hearth: one YAML file each, and a driver of its own where a type does
//! something that no call describes.

mod aodh;
mod aws;
mod cinder;
mod designate;
mod glance;
pub(super) mod heat;
mod keystone;
mod known;
mod mistral;
mod neutron;
mod nova;
mod swift;
mod zaqar;

use std::sync::Arc;

use super::child::Nesting;
use super::declared::{Declared, Plain, Special};
use super::driver::Driver;
use super::groups::{DeploymentGroup, ResourceChain, ResourceGroup, Scaling, ScalingGroup};

/// A type file, embedded, and what runs it.
pub(super) struct BuiltIn {
    pub(super) file: &'static str,
    /// Its first line is the type's name.
    pub(super) yaml: &'static str,
    pub(super) runs: Runs,
    /// Whether resources of the type can be made.
    pub(super) is_made: bool,
}

/// What runs a type.
pub(super) enum Runs {
    /// The interpreter, with what the type does otherwise.
    Declared(fn() -> Arc<dyn Special>),
    /// A driver of its own.
    Own(fn(Arc<Declared>) -> Arc<dyn Driver>),
}

macro_rules! built_in {
    ($($file:literal $(+ $special:path)? $(=> $driver:path)? $(> $nested:expr)?),* $(,)?) => {
        &[$(BuiltIn {
            file: $file,
            yaml: include_str!($file),
            runs: built_in!(@ $($special)? $(=> $driver)? $(> $nested)?),
            is_made: true,
        }),*]
    };
    (@ > $nested:expr) => {
        Runs::Own(|declared| Arc::new(Nesting { declared: Some(declared), nested: $nested }))
    };
    (@) => { Runs::Declared(|| Arc::new(Plain)) };
    (@ $special:path) => { Runs::Declared(|| Arc::new($special)) };
    (@ => $driver:path) => { Runs::Own(|declared| Arc::new($driver(declared))) };
}

/// Every built-in type.
pub(super) fn built_in() -> impl Iterator<Item = &'static BuiltIn> {
    MADE.iter().chain(known::KNOWN)
}

/// Those that can be made.
const MADE: &[BuiltIn] = built_in![
    "aodh/alarm.yaml" + aodh::alarm::THRESHOLD,
    "aodh/composite_alarm.yaml" + aodh::alarm::COMPOSITE,
    "aodh/event_alarm.yaml" + aodh::alarm::EVENT,
    "aodh/gnocchi_aggregation_by_metrics_alarm.yaml" + aodh::alarm::METRICS,
    "aodh/gnocchi_aggregation_by_resources_alarm.yaml" + aodh::alarm::RESOURCES,
    "aodh/gnocchi_resources_alarm.yaml" + aodh::alarm::RESOURCE,
    "aodh/lb_member_health_alarm.yaml" + aodh::alarm::MEMBERS,
    "aodh/prometheus_alarm.yaml" + aodh::alarm::PROMETHEUS,
    "aws/auto_scaling_auto_scaling_group.yaml" > ScalingGroup(Scaling::Aws),
    "aws/auto_scaling_launch_configuration.yaml"
        => aws::launch_configuration::LaunchConfiguration,
    "aws/cloud_formation_stack.yaml" > aws::cloud_formation_stack::NestedStack,
    "aws/auto_scaling_scaling_policy.yaml" => heat::scaling_policy::ScalingPolicy,
    "heat/access_policy.yaml" + heat::none::WithoutId,
    "heat/auto_scaling_group.yaml" > ScalingGroup(Scaling::Heat),
    "heat/delay.yaml" => heat::delay::Delay,
    "heat/deployed_server.yaml" + heat::deployed_server::DeployedServer,
    "heat/ha_restarter.yaml" => heat::none::driver,
    "heat/instance_group.yaml" > ScalingGroup(Scaling::Instances),
    "heat/none.yaml" => heat::none::driver,
    "heat/random_string.yaml" => heat::random_string::RandomString,
    "heat/resource_chain.yaml" > ResourceChain,
    "heat/resource_group.yaml" > ResourceGroup,
    "heat/scaling_policy.yaml" => heat::scaling_policy::ScalingPolicy,
    "heat/stack.yaml" > heat::stack::RemoteStack,
    "heat/test_resource.yaml" => heat::test_resource::TestResource,
    "heat/cloud_config.yaml" => heat::software_config::cloud,
    "heat/multipart_mime.yaml" => heat::software_config::multipart,
    "heat/software_component.yaml" => heat::software_config::component,
    "heat/software_config.yaml" => heat::software_config::plain,
    "heat/software_deployment.yaml" => heat::software_deployment::plain,
    "heat/software_deployment_group.yaml" > DeploymentGroup("OS::Heat::SoftwareDeployment"),
    "heat/software_deployments.yaml" > DeploymentGroup("OS::Heat::SoftwareDeployment"),
    "heat/structured_config.yaml" => heat::software_config::plain,
    "heat/structured_deployment.yaml" => heat::software_deployment::structured,
    "heat/structured_deployment_group.yaml"
        > DeploymentGroup("OS::Heat::StructuredDeployment"),
    "heat/structured_deployments.yaml" > DeploymentGroup("OS::Heat::StructuredDeployment"),
    "heat/swift_signal.yaml" => heat::swift_signal::SwiftSignal,
    "heat/swift_signal_handle.yaml" => heat::swift_signal::SwiftHandle,
    "heat/update_wait_condition_handle.yaml" => heat::wait_handle::renewed,
    "heat/wait_condition.yaml" => heat::wait_condition::WaitCondition,
    "heat/wait_condition_handle.yaml" => heat::wait_handle::own,
    "aws/cloud_formation_wait_condition.yaml" => heat::wait_condition::WaitCondition,
    "aws/cloud_formation_wait_condition_handle.yaml" => heat::wait_handle::aws,
    "heat/value.yaml" => heat::value::StoredValue,
    "barbican/certificate_container.yaml",
    "barbican/generic_container.yaml",
    "barbican/rsa_container.yaml",
    "blazar/host.yaml",
    "cinder/encrypted_volume_type.yaml",
    "cinder/qos_association.yaml",
    "cinder/qos_specs.yaml",
    "cinder/quota.yaml" + cinder::quota::Quota,
    "cinder/volume.yaml" + cinder::volume::Volume,
    "cinder/volume_type.yaml",
    "cinder/volume_attachment.yaml" + cinder::volume_attachment::VolumeAttachment,
    "designate/record_set.yaml" + designate::record_set::RecordSet,
    "designate/zone.yaml",
    "manila/security_service.yaml",
    "glance/web_image.yaml" + glance::web_image::WebImage,
    "keystone/domain.yaml",
    "keystone/endpoint.yaml",
    "keystone/group.yaml",
    "keystone/group_role_assignment.yaml",
    "keystone/project.yaml" + keystone::project::Project,
    "keystone/region.yaml",
    "keystone/role.yaml",
    "keystone/service.yaml",
    "keystone/user.yaml",
    "keystone/user_role_assignment.yaml",
    "magnum/bay_model.yaml",
    "magnum/cluster.yaml",
    "magnum/cluster_template.yaml",
    "manila/share_type.yaml",
    "mistral/cron_trigger.yaml" + mistral::cron_trigger::CronTrigger,
    "neutron/address_scope.yaml",
    "neutron/extra_route.yaml",
    "neutron/extra_route_set.yaml",
    "neutron/firewall.yaml",
    "neutron/firewall_policy.yaml",
    "neutron/firewall_rule.yaml" + neutron::firewall_rule::FirewallRule,
    "neutron/floating_ip.yaml",
    "neutron/floating_ip_association.yaml"
        + neutron::floating_ip_association::FloatingIpAssociation,
    "neutron/floating_ip_port_forward.yaml",
    "neutron/flow_classifier.yaml",
    "neutron/ike_policy.yaml",
    "neutron/ipsec_policy.yaml",
    "neutron/ipsec_site_connection.yaml",
    "neutron/l2_gateway.yaml",
    "neutron/l2_gateway_connection.yaml",
    "neutron/metering_label.yaml",
    "neutron/metering_rule.yaml",
    "neutron/net.yaml" + neutron::net::Net,
    "neutron/network_gateway.yaml" + neutron::network_gateway::NetworkGateway,
    "neutron/port.yaml" + neutron::port::Port,
    "neutron/port_chain.yaml",
    "neutron/port_pair.yaml",
    "neutron/port_pair_group.yaml",
    "neutron/provider_net.yaml",
    "neutron/qos_bandwidth_limit_rule.yaml",
    "neutron/qos_dscp_marking_rule.yaml",
    "neutron/qos_minimum_bandwidth_rule.yaml",
    "neutron/qos_minimum_packet_rate_rule.yaml",
    "neutron/qos_policy.yaml",
    "neutron/quota.yaml",
    "neutron/rbac_policy.yaml",
    "neutron/router.yaml" + neutron::router::Router,
    "neutron/router_gateway.yaml",
    "neutron/router_interface.yaml" + neutron::router_interface::RouterInterface,
    "neutron/security_group.yaml" + neutron::security_group::SecurityGroup,
    "neutron/security_group_rule.yaml",
    "neutron/segment.yaml",
    "neutron/subnet.yaml" + neutron::subnet::Subnet,
    "neutron/subnet_pool.yaml",
    "neutron/taas_tap_flow.yaml",
    "neutron/taas_tap_service.yaml",
    "neutron/trunk.yaml",
    "neutron/vpn_service.yaml",
    "nova/flavor.yaml",
    "nova/floating_ip.yaml" + nova::floating::FloatingIp,
    "nova/floating_ip_association.yaml" + nova::floating::FloatingIpAssociation,
    "nova/host_aggregate.yaml",
    "nova/key_pair.yaml" + nova::key_pair::KeyPair,
    "nova/quota.yaml",
    "nova/server.yaml" + nova::server::Server,
    "nova/server_group.yaml",
    "octavia/availability_zone.yaml",
    "octavia/availability_zone_profile.yaml",
    "octavia/flavor.yaml",
    "octavia/flavor_profile.yaml",
    "octavia/health_monitor.yaml",
    "octavia/l7_policy.yaml",
    "octavia/l7_rule.yaml",
    "octavia/listener.yaml",
    "octavia/load_balancer.yaml",
    "octavia/pool.yaml",
    "octavia/pool_member.yaml",
    "octavia/quota.yaml",
    "swift/container.yaml" + swift::container::Container,
    "zaqar/mistral_trigger.yaml" + zaqar::subscription::Subscription::Workflow,
    "zaqar/queue.yaml" + zaqar::queue::Queue,
    "zaqar/signed_queue_url.yaml" + zaqar::signed_url::SignedUrl,
    "zaqar/subscription.yaml" + zaqar::subscription::Subscription::Own,
    // Placeholders of types that were retired.
    "aodh/combination_alarm.yaml" => heat::none::driver,
    "designate/domain.yaml" => heat::none::driver,
    "designate/record.yaml" => heat::none::driver,
    "glance/image.yaml" => heat::none::driver,
    "magnum/bay.yaml" => heat::none::driver,
    "monasca/alarm_definition.yaml" => heat::none::driver,
    "monasca/notification.yaml" => heat::none::driver,
    "neutron/health_monitor.yaml" => heat::none::driver,
    "neutron/lbaas_health_monitor.yaml" => heat::none::driver,
    "neutron/lbaas_l7_policy.yaml" => heat::none::driver,
    "neutron/lbaas_l7_rule.yaml" => heat::none::driver,
    "neutron/lbaas_listener.yaml" => heat::none::driver,
    "neutron/lbaas_load_balancer.yaml" => heat::none::driver,
    "neutron/lbaas_pool.yaml" => heat::none::driver,
    "neutron/lbaas_pool_member.yaml" => heat::none::driver,
    "neutron/load_balancer.yaml" => heat::none::driver,
    "neutron/pool.yaml" => heat::none::driver,
    "neutron/pool_member.yaml" => heat::none::driver,
    "sahara/cluster.yaml" => heat::none::driver,
    "sahara/cluster_template.yaml" => heat::none::driver,
    "sahara/data_source.yaml" => heat::none::driver,
    "sahara/image_registry.yaml" => heat::none::driver,
    "sahara/job.yaml" => heat::none::driver,
    "sahara/job_binary.yaml" => heat::none::driver,
    "sahara/node_group_template.yaml" => heat::none::driver,
    "senlin/cluster.yaml" => heat::none::driver,
    "senlin/node.yaml" => heat::none::driver,
    "senlin/policy.yaml" => heat::none::driver,
    "senlin/profile.yaml" => heat::none::driver,
    "senlin/receiver.yaml" => heat::none::driver,
    "vitrage/template.yaml" => heat::none::driver,
];
