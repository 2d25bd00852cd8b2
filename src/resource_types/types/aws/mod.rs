//! AWS::*: CloudFormation's types.

pub(super) mod launch_configuration;
