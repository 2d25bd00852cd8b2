//! AWS::*: CloudFormation's types.

pub(super) mod iam_user;
pub(super) mod launch_configuration;
