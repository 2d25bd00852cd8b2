//! The programs that the files of types may name: those of Heat's own types, which are nothing in a
//! service, and those that do some things otherwise than calls in a file can say.

use std::sync::Arc;

use serde::Deserialize;

use super::heat::scaling_policy::{PolicyNames, ScalingPolicy};
use super::heat::software_config::{ConfigKind, Kept};
use super::heat::software_deployment::{Deployed, DeploymentKind};
use super::heat::wait_handle::{HandleKind, WaitHandle};
use super::zaqar::{self, subscription::Subscription};
use super::{aodh, aws, cinder, designate, glance, heat, keystone, mistral, neutron, nova, swift};
use crate::resource_types::child::{Nested, Nesting};
use crate::resource_types::declared::{Declaration, Declared, Plain, Special};
use crate::resource_types::driver::Driver;
use crate::resource_types::groups::{
    DeploymentGroup, ResourceChain, ResourceGroup, Scaling, ScalingGroup,
};

/// A program, with what tells the types apart that it runs. A file of an operator's own may name
/// [`Program::Nothing`] alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Program {
    Nothing,

    // Resources that Hearth keeps.
    Delay,
    LaunchConfiguration,
    RandomString,
    ScalingPolicy(PolicyNames),
    SoftwareConfig(ConfigKind),
    SoftwareDeployment(DeploymentKind),
    SwiftSignal,
    SwiftSignalHandle,
    TestResource,
    /// Its properties are all there is.
    PropertiesAlone,
    Value,
    WaitCondition,
    WaitHandle(HandleKind),

    // Stacks of their own.
    /// The type of the members.
    DeploymentGroup(String),
    ResourceChain,
    ResourceGroup,
    ScalingGroup(Scaling),
    StackBelow,
    StackBeside,

    // Objects of services.
    /// Aodh's name of the kind.
    Alarm(String),
    BlockQuota,
    Container,
    CronTrigger,
    DeployedServer,
    FloatingIp,
    FloatingIpAssociation,
    KeyPair,
    Port,
    Project,
    Queue,
    RecordSet,
    RouterInterface,
    SecurityGroup,
    Server,
    SignedUrl,
    Subscription(Subscription),
    Volume,
    VolumeAttachment,
    WebImage,
}

/// What a type's file says, and what runs the type.
type Run = (Arc<Declared>, Arc<dyn Driver>);

/// What runs a type: its program, or the interpreter alone.
pub(in crate::resource_types) fn run(declaration: Declaration) -> Run {
    let Some(program) = declaration.program.clone() else { return declared(declaration, Plain) };
    let it = declaration;
    match program {
        Program::Nothing => own(it, |_| heat::none::Nothing),

        Program::Delay => own(it, heat::delay::Delay),
        Program::LaunchConfiguration => own(it, aws::launch_configuration::LaunchConfiguration),
        Program::RandomString => own(it, heat::random_string::RandomString),
        Program::ScalingPolicy(names) => own(it, |declared| ScalingPolicy(declared, names)),
        Program::SoftwareConfig(kind) => own(it, |declared| Kept { declared, kind }),
        Program::SoftwareDeployment(kind) => own(it, |declared| Deployed::new(declared, kind)),
        Program::SwiftSignal => own(it, heat::swift_signal::SwiftSignal),
        Program::SwiftSignalHandle => own(it, heat::swift_signal::SwiftHandle),
        Program::TestResource => own(it, heat::test_resource::TestResource),
        Program::PropertiesAlone => declared(it, heat::none::PropertiesAlone),
        Program::Value => own(it, heat::value::StoredValue),
        Program::WaitCondition => own(it, heat::wait_condition::WaitCondition),
        Program::WaitHandle(kind) => own(it, |declared| WaitHandle::new(declared, kind)),

        Program::DeploymentGroup(of) => nesting(it, DeploymentGroup(of)),
        Program::ResourceChain => nesting(it, ResourceChain),
        Program::ResourceGroup => nesting(it, ResourceGroup),
        Program::ScalingGroup(kind) => nesting(it, ScalingGroup(kind)),
        Program::StackBelow => nesting(it, aws::cloud_formation_stack::NestedStack),
        Program::StackBeside => nesting(it, heat::stack::RemoteStack),

        Program::Alarm(kind) => declared(it, aodh::alarm::Alarm(kind)),
        Program::BlockQuota => declared(it, cinder::quota::Quota),
        Program::Container => declared(it, swift::container::Container),
        Program::CronTrigger => declared(it, mistral::cron_trigger::CronTrigger),
        Program::DeployedServer => declared(it, heat::deployed_server::DeployedServer),
        Program::FloatingIp => declared(it, nova::floating::FloatingIp),
        Program::FloatingIpAssociation => declared(it, nova::floating::FloatingIpAssociation),
        Program::KeyPair => declared(it, nova::key_pair::KeyPair),
        Program::Port => declared(it, neutron::port::Port),
        Program::Project => declared(it, keystone::project::Project),
        Program::Queue => declared(it, zaqar::queue::Queue),
        Program::RecordSet => declared(it, designate::record_set::RecordSet),
        Program::RouterInterface => declared(it, neutron::router_interface::RouterInterface),
        Program::SecurityGroup => declared(it, neutron::security_group::SecurityGroup),
        Program::Server => declared(it, nova::server::Server),
        Program::SignedUrl => declared(it, zaqar::signed_url::SignedUrl),
        Program::Subscription(kind) => declared(it, kind),
        Program::Volume => declared(it, cinder::volume::Volume),
        Program::VolumeAttachment => declared(it, cinder::volume_attachment::VolumeAttachment),
        Program::WebImage => declared(it, glance::web_image::WebImage),
    }
}

/// The interpreter, with what the type does otherwise.
fn declared(declaration: Declaration, special: impl Special) -> Run {
    let declared = Arc::new(Declared::with(declaration, Arc::new(special)));
    (Arc::clone(&declared), declared)
}

/// A driver of its own.
fn own<D: Driver>(declaration: Declaration, driver: impl FnOnce(Arc<Declared>) -> D) -> Run {
    let declared = Arc::new(Declared::new(declaration));
    (Arc::clone(&declared), Arc::new(driver(declared)))
}

/// A driver whose work is a stack.
fn nesting<N: Nested>(declaration: Declaration, nested: N) -> Run {
    own(declaration, |declared| Nesting { declared: Some(declared), nested })
}
