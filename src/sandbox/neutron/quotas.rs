//! How much a project may have of each kind.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::{Doc, whole};
use super::super::keystone::Scope;
use super::{Kind, forbidden, nowhere};
use crate::model::JsonMap;

/// Refuses what would be one too many.
pub(super) fn allow_one_more(cloud: &Cloud, kind: Kind, project: &str) -> Result<(), Answer> {
    let limit = limit(cloud, kind, project);
    if limit < 0 || used(cloud, kind, project) < limit {
        return Ok(());
    }
    let text = format!("Quota exceeded for resources: ['{}'].", kind.singular());
    Err(answer::neutron(409, "OverQuota", text))
}

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", []) => {
            let rows: Vec<Value> =
                cloud.neutron.quotas.values().map(|row| Value::Object(row.clone())).collect();
            Ok(Answer::json(200, &json!({"quotas": rows})))
        }
        (_, [project, ..]) if !scope.sees(project) => Err(forbidden("get_quota")),
        ("GET", [_, "default"]) => Ok(Answer::json(200, &json!({"quota": shown(cloud, "")}))),
        ("GET", [project]) => Ok(Answer::json(200, &json!({"quota": shown(cloud, project)}))),
        ("GET", [project, "details"]) => {
            let mut details = JsonMap::new();
            for kind in Kind::ALL {
                let detail = json!({
                    "limit": limit(cloud, kind, project),
                    "used": used(cloud, kind, project),
                    "reserved": 0,
                });
                details.set(kind.singular(), detail);
            }
            Ok(Answer::json(200, &json!({"quota": details})))
        }
        ("PUT", [project]) => {
            if !scope.is_admin {
                return Err(forbidden("update_quota"));
            }
            let given =
                ask.wrapped("quota", |code, text| answer::neutron(code, "HTTPBadRequest", text))?;
            let mut row = cloud.neutron.quotas.get(project).cloned().unwrap_or_default();
            row.set("project_id", *project);
            for kind in Kind::ALL {
                if let Some(limit) = given.get(kind.singular()).and_then(whole) {
                    row.set(kind.singular(), limit);
                }
            }
            cloud.neutron.quotas.insert(project, row);
            Ok(Answer::json(200, &json!({"quota": shown(cloud, project)})))
        }
        ("DELETE", [project]) if scope.is_admin => {
            cloud.neutron.quotas.remove(project);
            Ok(Answer::empty(204))
        }
        ("DELETE", [_]) => Err(forbidden("delete_quota")),
        _ => Err(nowhere()),
    }
}

fn shown(cloud: &Cloud, project: &str) -> JsonMap {
    let mut quota = JsonMap::new();
    for kind in Kind::ALL {
        quota.set(kind.singular(), limit(cloud, kind, project));
    }
    quota.set("subnetpool", -1);
    quota.set("rbac_policy", 10);
    quota
}

fn limit(cloud: &Cloud, kind: Kind, project: &str) -> i64 {
    let defaults = &cloud.config.quotas;
    let set = cloud.neutron.quotas.get(project).and_then(|row| row.int(kind.singular()));
    set.unwrap_or(match kind {
        Kind::Network => defaults.networks,
        Kind::Subnet => defaults.subnets,
        Kind::Port => defaults.ports,
        Kind::Router => defaults.routers,
        Kind::FloatingIp => defaults.floating_ips,
        Kind::SecurityGroup => defaults.security_groups,
        Kind::SecurityRule => defaults.security_group_rules,
    })
}

fn used(cloud: &Cloud, kind: Kind, project: &str) -> i64 {
    let rows = cloud.neutron.table(kind).values();
    let count = rows.filter(|row| row.text("project_id") == project).count();
    i64::try_from(count).unwrap_or(i64::MAX)
}
