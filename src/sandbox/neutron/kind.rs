//! The collections of Neutron, and what they are called where.

use super::super::answer::{self, Answer};

/// The collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sandbox) enum Kind {
    Network,
    Subnet,
    Port,
    Router,
    FloatingIp,
    SecurityGroup,
    SecurityRule,
}

impl Kind {
    pub(super) fn of(collection: &str) -> Option<Kind> {
        match collection {
            "networks" => Some(Kind::Network),
            "subnets" => Some(Kind::Subnet),
            "ports" => Some(Kind::Port),
            "routers" => Some(Kind::Router),
            "floatingips" => Some(Kind::FloatingIp),
            "security-groups" => Some(Kind::SecurityGroup),
            "security-group-rules" => Some(Kind::SecurityRule),
            _ => None,
        }
    }

    pub(super) const ALL: [Kind; 7] = [
        Kind::Network,
        Kind::Subnet,
        Kind::Port,
        Kind::Router,
        Kind::FloatingIp,
        Kind::SecurityGroup,
        Kind::SecurityRule,
    ];

    pub(super) fn named(singular: &str) -> Option<Kind> {
        Self::ALL.into_iter().find(|kind| kind.singular() == singular)
    }

    /// The key of one object in a body, and the quota's name.
    pub(super) fn singular(self) -> &'static str {
        match self {
            Kind::Network => "network",
            Kind::Subnet => "subnet",
            Kind::Port => "port",
            Kind::Router => "router",
            Kind::FloatingIp => "floatingip",
            Kind::SecurityGroup => "security_group",
            Kind::SecurityRule => "security_group_rule",
        }
    }

    /// The key of a list in a body.
    pub(super) fn plural(self) -> String {
        format!("{}s", self.singular())
    }

    /// What is answered when there is no such object.
    pub(super) fn missing(self, id: &str) -> Answer {
        let (kind, text) = match self {
            Kind::Network => ("NetworkNotFound", format!("Network {id} could not be found.")),
            Kind::Subnet => ("SubnetNotFound", format!("Subnet {id} could not be found.")),
            Kind::Port => ("PortNotFound", format!("Port {id} could not be found.")),
            Kind::Router => ("RouterNotFound", format!("Router {id} could not be found")),
            Kind::FloatingIp => {
                ("FloatingIPNotFound", format!("Floating IP {id} could not be found"))
            }
            Kind::SecurityGroup => {
                ("SecurityGroupNotFound", format!("Security group {id} does not exist"))
            }
            Kind::SecurityRule => {
                ("SecurityGroupRuleNotFound", format!("Security group rule {id} does not exist"))
            }
        };
        answer::neutron(404, kind, text)
    }
}
