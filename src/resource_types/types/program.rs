//! The programs that the files of types may name: those of Heat's own types, which are nothing in a
//! service, and those that do some things otherwise than calls in a file can say.

use std::sync::Arc;

use serde::Deserialize;

use super::heat::scaling_policy::{PolicyNames, ScalingPolicy};
use super::heat::software_deployment::{Deployed, DeploymentKind};
use super::heat::wait_handle::{HandleKind, WaitHandle};
use super::zaqar::{self, subscription::Subscription};
use super::{
    aodh, aws, barbican, blazar, cinder, designate, glance, heat, keystone, manila, mistral,
    neutron, nova, swift, trove, zun,
};
use crate::resource_types::declared::nesting::Nesting;
use crate::resource_types::groups::{
    DeploymentGroup, ResourceChain, ResourceGroup, Scaled, ScalingGroup,
};
use crate::resource_types::resource_type::ResourceType;

/// A program, with what tells the types apart that it runs. A file of an operator's own may name
/// none.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Program {
    // Resources that Hearth keeps.
    AccessKey,
    /// An alarm of CloudWatch's.
    CloudWatchAlarm,
    Delay,
    IamUser,
    LaunchConfiguration,
    RandomString,
    Restarter,
    ScalingPolicy(PolicyNames),
    SoftwareDeployment(DeploymentKind),
    SwiftSignalHandle,
    TestResource,
    /// Its properties are all there is.
    PropertiesAlone,
    WaitHandle(HandleKind),

    // Stacks of their own.
    /// The type of the members.
    DeploymentGroup(String),
    LoadBalancer,
    ResourceChain,
    ResourceGroup,
    ScalingGroup(Scaled),
    /// Whatever template there is.
    Template,

    // Objects of services.
    /// A security group in EC2's words.
    AmazonGroup,
    /// A volume in EC2's words.
    AmazonVolume,
    AmazonVolumeAttachment,
    /// Aodh's name of the kind.
    Alarm(String),
    BlockQuota,
    Bucket,
    Container,
    CronTrigger,
    DatabaseCluster,
    DatabaseInstance,
    DeployedServer,
    /// An address in EC2's words.
    ElasticIp,
    ElasticIpAssociation,
    ExternalResource,
    ExtraRoute,
    ExtraRouteSet,
    FloatingIp,
    FloatingIpAssociation,
    Instance,
    KeyPair,
    /// A port in EC2's words.
    NetworkInterface,
    Lease,
    Order,
    Port,
    Project,
    Queue,
    RecordSet,
    RouteTable,
    RouteTableAssociation,
    Secret,
    SecurityGroup,
    Server,
    ShareNetwork,
    SignedUrl,
    Subscription(Subscription),
    Volume,
    VolumeAttachment,
    Vpc,
    VpcGateway,
    VpcSubnet,
    WebImage,
    Workflow,
    Zone,
    ZunContainer,
}

impl Program {
    /// What runs a type of the program.
    pub(in crate::resource_types) fn start(self) -> Arc<dyn ResourceType> {
        match self {
            Program::AccessKey => Arc::new(aws::access_key::AccessKey),
            Program::CloudWatchAlarm => Arc::new(heat::cw_lite_alarm::CloudWatchAlarm),
            Program::Delay => Arc::new(heat::delay::Delay),
            Program::IamUser => Arc::new(aws::iam_user::IamUser),
            Program::LaunchConfiguration => {
                Arc::new(aws::launch_configuration::LaunchConfiguration)
            }
            Program::RandomString => Arc::new(heat::random_string::RandomString),
            Program::Restarter => Arc::new(heat::ha_restarter::Restarter),
            Program::ScalingPolicy(names) => Arc::new(ScalingPolicy(names)),
            Program::SoftwareDeployment(kind) => Arc::new(Deployed(kind)),
            Program::SwiftSignalHandle => Arc::new(heat::swift_signal::SwiftHandle),
            Program::TestResource => Arc::new(heat::test_resource::TestResource),
            Program::PropertiesAlone => Arc::new(heat::access_policy::PropertiesAlone),
            Program::WaitHandle(kind) => Arc::new(WaitHandle(kind)),

            Program::DeploymentGroup(of) => Arc::new(Nesting(DeploymentGroup(of))),
            Program::LoadBalancer => Arc::new(Nesting(aws::load_balancer::LoadBalancer)),
            Program::ResourceChain => Arc::new(Nesting(ResourceChain)),
            Program::ResourceGroup => Arc::new(Nesting(ResourceGroup)),
            Program::ScalingGroup(kind) => Arc::new(Nesting(ScalingGroup(kind))),
            Program::Template => Arc::new(Nesting(heat::template_resource::TemplateResource)),

            Program::AmazonGroup => Arc::new(aws::security_group::SecurityGroup),
            Program::AmazonVolume => Arc::new(aws::volume::Volume),
            Program::AmazonVolumeAttachment => Arc::new(aws::volume::VolumeAttachment),
            Program::Alarm(kind) => Arc::new(aodh::alarm::Alarm(kind)),
            Program::BlockQuota => Arc::new(cinder::quota::Quota),
            Program::Bucket => Arc::new(aws::bucket::Bucket),
            Program::Container => Arc::new(swift::container::Container),
            Program::CronTrigger => Arc::new(mistral::cron_trigger::CronTrigger),
            Program::DatabaseCluster => Arc::new(trove::cluster::Cluster),
            Program::DatabaseInstance => Arc::new(trove::instance::Instance),
            Program::DeployedServer => Arc::new(heat::deployed_server::DeployedServer),
            Program::ElasticIp => Arc::new(aws::elastic_ip::ElasticIp),
            Program::ElasticIpAssociation => {
                Arc::new(aws::elastic_ip_association::ElasticIpAssociation)
            }
            Program::ExternalResource => Arc::new(mistral::external_resource::ExternalResource),
            Program::ExtraRoute => Arc::new(neutron::extra_routes::ExtraRoute),
            Program::ExtraRouteSet => Arc::new(neutron::extra_routes::ExtraRouteSet),
            Program::FloatingIp => Arc::new(nova::floating::FloatingIp),
            Program::FloatingIpAssociation => Arc::new(nova::floating::FloatingIpAssociation),
            Program::Instance => Arc::new(aws::instance::Instance),
            Program::KeyPair => Arc::new(nova::key_pair::KeyPair),
            Program::NetworkInterface => Arc::new(aws::vpc::network_interface::NetworkInterface),
            Program::Lease => Arc::new(blazar::lease::Lease),
            Program::Order => Arc::new(barbican::order::Order),
            Program::Port => Arc::new(neutron::port::Port),
            Program::Project => Arc::new(keystone::project::Project),
            Program::Queue => Arc::new(zaqar::queue::Queue),
            Program::RecordSet => Arc::new(designate::record_set::RecordSet),
            Program::RouteTable => Arc::new(aws::vpc::route_table::RouteTable),
            Program::RouteTableAssociation => {
                Arc::new(aws::vpc::association::RouteTableAssociation)
            }
            Program::Secret => Arc::new(barbican::secret::Secret),
            Program::SecurityGroup => Arc::new(neutron::security_group::SecurityGroup),
            Program::Server => Arc::new(nova::server::Server { user: None }),
            Program::ShareNetwork => Arc::new(manila::share_network::ShareNetwork),
            Program::SignedUrl => Arc::new(zaqar::signed_url::SignedUrl),
            Program::Subscription(kind) => Arc::new(kind),
            Program::Volume => Arc::new(cinder::volume::Volume),
            Program::VolumeAttachment => Arc::new(cinder::volume_attachment::VolumeAttachment),
            Program::Vpc => Arc::new(aws::vpc::Vpc),
            Program::VpcGateway => Arc::new(aws::vpc::gateway::Gateway),
            Program::VpcSubnet => Arc::new(aws::vpc::subnet::Subnet),
            Program::WebImage => Arc::new(glance::web_image::WebImage),
            Program::Workflow => Arc::new(mistral::workflow::Workflow),
            Program::Zone => Arc::new(designate::zone::Zone),
            Program::ZunContainer => Arc::new(zun::container::Container),
        }
    }
}
