//! Networks: who sees them, and when they may go.

use chrono::{DateTime, Utc};

use super::super::answer::{self, Answer};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections::Rules;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::{NETWORKS, PORTS, quotas};
use crate::model::JsonMap;

pub(super) struct Networks;

impl Rules for Networks {
    fn is_seen(&self, _: &Cloud, _: &Scope, row: &JsonMap) -> bool {
        row.is("router:external")
    }

    fn made(&self, cloud: &mut Cloud, _: (&Ask, &Scope), row: &mut JsonMap) -> Result<(), Answer> {
        quotas::allow_one_more(cloud, NETWORKS, row)?;
        // Only an external network can be the default one.
        if row.is("router:external") && !row.contains_key("is_default") {
            row.set("is_default", false);
        }
        Ok(())
    }

    fn dropping(&self, cloud: &mut Cloud, _: DateTime<Utc>, row: &JsonMap) -> Result<(), Answer> {
        let id = row.text("id");
        let ports = cloud.collections.table(PORTS).ids_where(|port| port.text("network_id") == id);
        if ports.is_empty() {
            return Ok(());
        }
        let text = format!(
            "Unable to complete operation on network {id}. There are one or more ports still in use on the network, id for these ports is: {}.",
            ports.join(",")
        );
        Err(answer::neutron(409, "NetworkInUse", text))
    }
}
