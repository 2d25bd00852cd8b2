//! AWS::*: CloudFormation's types.

pub(super) mod cloud_formation_stack;
pub(super) mod launch_configuration;
