//! Heat's other types: their schemas are known, so that templates with them can be looked over,
//! but nothing makes them yet.

use std::sync::Arc;

use super::{BuiltIn, Runs};
use crate::resource_types::declared::Plain;

macro_rules! known {
    ($($file:literal),* $(,)?) => {
        &[$(BuiltIn {
            file: $file,
            yaml: include_str!($file),
            runs: Runs::Declared(|| Arc::new(Plain)),
            is_made: false,
        }),*]
    };
}

/// Every type that is known and cannot be made.
pub(super) const KNOWN: &[BuiltIn] = known![
    "aws/ec2_eip.yaml",
    "aws/ec2_eip_association.yaml",
    "aws/ec2_instance.yaml",
    "aws/ec2_internet_gateway.yaml",
    "aws/ec2_network_interface.yaml",
    "aws/ec2_route_table.yaml",
    "aws/ec2_security_group.yaml",
    "aws/ec2_subnet.yaml",
    "aws/ec2_subnet_route_table_association.yaml",
    "aws/ec2_volume.yaml",
    "aws/ec2_volume_attachment.yaml",
    "aws/ec2_vpc.yaml",
    "aws/ec2_vpc_gateway_attachment.yaml",
    "aws/elastic_load_balancing_load_balancer.yaml",
    "aws/iam_access_key.yaml",
    "aws/iam_user.yaml",
    "aws/s3_bucket.yaml",
    "barbican/order.yaml",
    "barbican/secret.yaml",
    "blazar/lease.yaml",
    "ironic/port.yaml",
    "manila/share.yaml",
    "manila/share_network.yaml",
    "mistral/external_resource.yaml",
    "mistral/workflow.yaml",
    "trove/cluster.yaml",
    "trove/instance.yaml",
    "zun/container.yaml",
];
