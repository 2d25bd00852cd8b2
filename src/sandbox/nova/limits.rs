//! Quotas and limits, availability zones, and the little that administrators ask of hosts.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::state::Flavor;
use super::{nowhere, policy};
use crate::model::JsonMap;

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", ["limits"]) => {
            let limits = json!({"rate": [], "absolute": absolute(cloud, &scope.project_id)});
            Ok(Answer::json(200, &json!({"limits": limits})))
        }
        ("GET", ["os-quota-sets", project, ..]) if !scope.sees(project) => {
            Err(policy("os-quota-sets:show"))
        }
        ("GET", ["os-quota-sets", project, "defaults"]) => {
            let mut defaults = limits(cloud, "");
            defaults.set("id", *project);
            Ok(Answer::json(200, &json!({"quota_set": defaults})))
        }
        ("GET", ["os-quota-sets", project, "detail"]) => {
            Ok(Answer::json(200, &json!({"quota_set": detail(cloud, project)})))
        }
        ("GET", ["os-availability-zone"] | ["os-availability-zone", "detail"]) => {
            let zone = json!({
                "zoneName": "nova", "zoneState": {"available": true}, "hosts": null,
            });
            Ok(Answer::json(200, &json!({"availabilityZoneInfo": [zone]})))
        }
        ("GET", ["extensions"]) => Ok(Answer::json(200, &json!({"extensions": []}))),
        ("GET", ["os-hypervisors" | "os-services" | "os-aggregates", ..]) if !scope.is_admin => {
            Err(policy(path[0]))
        }
        ("GET", ["os-hypervisors"] | ["os-hypervisors", "detail"]) => {
            let host = json!({
                "id": 1, "hypervisor_hostname": "sandbox-1", "state": "up", "status": "enabled",
            });
            Ok(Answer::json(200, &json!({"hypervisors": [host]})))
        }
        ("GET", ["os-hypervisors", pattern, "search"]) => {
            if !"sandbox-1".contains(pattern) {
                let text = format!("No hypervisor matching '{pattern}' could be found.");
                return Err(answer::nova(404, text));
            }
            let host = json!({"id": 1, "hypervisor_hostname": "sandbox-1"});
            Ok(Answer::json(200, &json!({"hypervisors": [host]})))
        }
        ("GET", ["os-services"]) => {
            let service = json!({
                "id": 1, "binary": "nova-compute", "host": "sandbox-1", "zone": "nova",
                "status": "enabled", "state": "up", "updated_at": ask.moment(),
                "disabled_reason": null,
            });
            Ok(Answer::json(200, &json!({"services": [service]})))
        }
        rest => collections::answer(cloud, ask, scope, "compute", rest.1)
            .unwrap_or_else(|| Err(nowhere())),
    }
}

/// How much a project may have.
fn limits(cloud: &Cloud, project: &str) -> JsonMap {
    collections::standing(cloud, "compute", "quota_set", project)
}

/// What a project uses.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    instances: i64,
    cores: i64,
    ram: i64,
}

fn used(cloud: &Cloud, project: &str) -> Used {
    let mut used = Used::default();
    for server in cloud.nova.servers.values().filter(|server| server.project_id == project) {
        used.instances += 1;
        used.cores += server.flavor.vcpus;
        used.ram += server.flavor.ram;
    }
    used
}

/// Refuses a server that would be too many, or too big.
pub(super) fn allow_server(cloud: &Cloud, scope: &Scope, flavor: &Flavor) -> Result<(), Answer> {
    let used = used(cloud, &scope.project_id);
    let limits = limits(cloud, &scope.project_id);
    for (name, asked, used) in [
        ("instances", 1, used.instances),
        ("cores", flavor.vcpus, used.cores),
        ("ram", flavor.ram, used.ram),
    ] {
        let limit = limits.int(name).unwrap_or(-1);
        if limit >= 0 && used + asked > limit {
            return Err(answer::nova(
                403,
                format!(
                    "Quota exceeded for {name}: Requested {asked}, but already used {used} of {limit} {name}"
                ),
            ));
        }
    }
    Ok(())
}

pub(super) fn allow_key_pair(cloud: &Cloud, user: &str) -> Result<(), Answer> {
    let held = cloud.nova.key_pairs.values().filter(|pair| pair.user_id == user).count();
    under(held, cloud.config.quotas.key_pairs, "Quota exceeded, too many key pairs.")
}

pub(super) fn allow_server_group(cloud: &Cloud, project: &str) -> Result<(), Answer> {
    let held =
        cloud.nova.server_groups.values().filter(|group| group.project_id == project).count();
    under(held, cloud.config.quotas.server_groups, "Quota exceeded, too many server groups.")
}

fn under(held: usize, limit: i64, text: &str) -> Result<(), Answer> {
    match usize::try_from(limit) {
        Ok(limit) if held >= limit => Err(answer::nova(403, text)),
        // A limit below zero is none.
        _ => Ok(()),
    }
}

fn absolute(cloud: &Cloud, project: &str) -> Value {
    let used = used(cloud, project);
    let limits = limits(cloud, project);
    let limit = |name: &str| limits.int(name);
    json!({
        "maxTotalInstances": limit("instances"),
        "maxTotalCores": limit("cores"),
        "maxTotalRAMSize": limit("ram"),
        "maxTotalKeypairs": limit("key_pairs"),
        "maxServerMeta": limit("metadata_items"),
        "maxImageMeta": limit("metadata_items"),
        "maxServerGroups": limit("server_groups"),
        "maxServerGroupMembers": limit("server_group_members"),
        "maxSecurityGroups": -1,
        "maxSecurityGroupRules": -1,
        "maxTotalFloatingIps": -1,
        "totalFloatingIpsUsed": 0,
        "totalSecurityGroupsUsed": 0,
        "maxPersonality": 5,
        "maxPersonalitySize": 10240,
        "totalInstancesUsed": used.instances,
        "totalCoresUsed": used.cores,
        "totalRAMUsed": used.ram,
        "totalServerGroupsUsed": cloud
            .nova
            .server_groups
            .values()
            .filter(|group| group.project_id == project)
            .count(),
    })
}

fn detail(cloud: &Cloud, project: &str) -> JsonMap {
    let used = used(cloud, project);
    let entry = |(name, limit): (String, Value)| {
        let in_use = match name.as_str() {
            "id" => return (name, limit),
            "instances" => used.instances,
            "cores" => used.cores,
            "ram" => used.ram,
            _ => 0,
        };
        (name, json!({"limit": limit, "in_use": in_use, "reserved": 0}))
    };
    limits(cloud, project).into_iter().map(entry).collect()
}
