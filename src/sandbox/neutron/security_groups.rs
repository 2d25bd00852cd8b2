//! Security groups, and the default one that every project has.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer};
use super::super::ask::{Ask, stamp};
use super::super::cloud::Cloud;
use super::super::collections::Rules;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::{PORTS, SECURITY_GROUPS, SECURITY_RULES, quotas};
use crate::model::JsonMap;

pub(super) struct SecurityGroups;

impl Rules for SecurityGroups {
    fn made(
        &self,
        cloud: &mut Cloud,
        (ask, _): (&Ask, &Scope),
        row: &mut JsonMap,
    ) -> Result<(), Answer> {
        quotas::allow_one_more(cloud, SECURITY_GROUPS, row)?;
        if row.text("name") == "default" {
            let text = "Default security group already exists.";
            return Err(answer::neutron(409, "SecurityGroupDefaultAlreadyExists", text));
        }
        let (group, project) = (row.text("id").to_owned(), row.text("project_id").to_owned());
        for ethertype in ["IPv4", "IPv6"] {
            add_rule(cloud, ask.at, &group, &project, "egress", ethertype, None);
        }
        Ok(())
    }

    fn changed(
        &self,
        _: &mut Cloud,
        _: (&Ask, &Scope),
        (before, change): (&JsonMap, &JsonMap),
        _: &mut JsonMap,
    ) -> Result<(), Answer> {
        let renames = change.get("name").is_some_and(|name| name != before.text("name"));
        if before.text("name") == "default" && renames {
            let text = "Updating default security group not allowed.";
            return Err(answer::neutron(409, "SecurityGroupCannotUpdateDefault", text));
        }
        Ok(())
    }

    fn dropping(&self, cloud: &mut Cloud, _: DateTime<Utc>, row: &JsonMap) -> Result<(), Answer> {
        let id = row.text("id");
        if row.text("name") == "default" {
            let text = "Insufficient rights for removing default security group.";
            return Err(answer::neutron(409, "SecurityGroupCannotRemoveDefault", text));
        }
        let used = cloud
            .collections
            .table(PORTS)
            .values()
            .any(|port| port.list("security_groups").iter().any(|group| group == id));
        if used {
            return Err(answer::neutron(
                409,
                "SecurityGroupInUse",
                format!("Security Group {id} in use."),
            ));
        }
        Ok(())
    }
}

/// Makes a project's default group if it has none.
pub(super) fn ensure_default(cloud: &mut Cloud, project: &str, at: DateTime<Utc>) {
    if find_by_name(cloud, project, "default").is_some() {
        return;
    }
    let id = cloud.fresh_id();
    let group = json!({
        "id": id,
        "name": "default",
        "description": "Default security group",
        "stateful": true,
        "shared": false,
        "tenant_id": project,
        "project_id": project,
        "created_at": stamp(at),
        "updated_at": stamp(at),
        "revision_number": 1,
        "tags": [],
    });
    let Value::Object(group) = group else { return };
    cloud.collections.table_mut(SECURITY_GROUPS).insert(&id, group);
    for ethertype in ["IPv4", "IPv6"] {
        add_rule(cloud, at, &id, project, "egress", ethertype, None);
        add_rule(cloud, at, &id, project, "ingress", ethertype, Some(&id));
    }
}

/// The id of a project's default group.
pub(super) fn default_of(cloud: &Cloud, project: &str) -> Value {
    find_by_name(cloud, project, "default").map_or(Value::Null, Value::String)
}

/// The id of a project's group of this name.
pub(in crate::sandbox) fn find_by_name(cloud: &Cloud, project: &str, name: &str) -> Option<String> {
    cloud
        .collections
        .table(SECURITY_GROUPS)
        .values()
        .find(|group| group.text("project_id") == project && group.text("name") == name)
        .map(|group| group.text("id").to_owned())
}

fn add_rule(
    cloud: &mut Cloud,
    at: DateTime<Utc>,
    group: &str,
    project: &str,
    direction: &str,
    ethertype: &str,
    remote_group: Option<&str>,
) {
    let id = cloud.fresh_id();
    let rule = json!({
        "id": id,
        "security_group_id": group,
        "direction": direction,
        "ethertype": ethertype,
        "protocol": null,
        "port_range_min": null,
        "port_range_max": null,
        "remote_group_id": remote_group,
        "remote_address_group_id": null,
        "remote_ip_prefix": null,
        "normalized_cidr": null,
        "description": "",
        "tenant_id": project,
        "project_id": project,
        "created_at": stamp(at),
        "updated_at": stamp(at),
        "revision_number": 0,
        "tags": [],
    });
    if let Value::Object(rule) = rule {
        cloud.collections.table_mut(SECURITY_RULES).insert(&id, rule);
    }
}
