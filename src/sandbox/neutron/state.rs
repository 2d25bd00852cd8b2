//! What Neutron holds.

use super::super::store::{Rows, Table};
use super::kind::Kind;
use crate::model::JsonMap;

/// What Neutron holds. A row is the object as its API shows it to an administrator.
#[derive(Clone)]
pub(in crate::sandbox) struct Neutron {
    pub(in crate::sandbox) networks: Table<JsonMap>,
    pub(in crate::sandbox) subnets: Table<JsonMap>,
    pub(in crate::sandbox) ports: Table<JsonMap>,
    pub(in crate::sandbox) routers: Table<JsonMap>,
    pub(in crate::sandbox) floating_ips: Table<JsonMap>,
    pub(in crate::sandbox) security_groups: Table<JsonMap>,
    pub(in crate::sandbox) security_rules: Table<JsonMap>,
}

impl Neutron {
    pub(in crate::sandbox) fn new() -> Self {
        Self {
            networks: Table::new("networks"),
            subnets: Table::new("subnets"),
            ports: Table::new("ports"),
            routers: Table::new("routers"),
            floating_ips: Table::new("floatingips"),
            security_groups: Table::new("security_groups"),
            security_rules: Table::new("security_group_rules"),
        }
    }

    pub(in crate::sandbox) fn tables(&mut self) -> [&mut dyn Rows; 7] {
        [
            &mut self.networks,
            &mut self.subnets,
            &mut self.ports,
            &mut self.routers,
            &mut self.floating_ips,
            &mut self.security_groups,
            &mut self.security_rules,
        ]
    }

    pub(in crate::sandbox) fn table(&self, kind: Kind) -> &Table<JsonMap> {
        match kind {
            Kind::Network => &self.networks,
            Kind::Subnet => &self.subnets,
            Kind::Port => &self.ports,
            Kind::Router => &self.routers,
            Kind::FloatingIp => &self.floating_ips,
            Kind::SecurityGroup => &self.security_groups,
            Kind::SecurityRule => &self.security_rules,
        }
    }

    pub(in crate::sandbox) fn table_mut(&mut self, kind: Kind) -> &mut Table<JsonMap> {
        match kind {
            Kind::Network => &mut self.networks,
            Kind::Subnet => &mut self.subnets,
            Kind::Port => &mut self.ports,
            Kind::Router => &mut self.routers,
            Kind::FloatingIp => &mut self.floating_ips,
            Kind::SecurityGroup => &mut self.security_groups,
            Kind::SecurityRule => &mut self.security_rules,
        }
    }
}
