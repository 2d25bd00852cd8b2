//! AWS::*: CloudFormation's types.

pub(super) mod access_key;
pub(super) mod iam_user;
pub(super) mod launch_configuration;
pub(super) mod security_group;
