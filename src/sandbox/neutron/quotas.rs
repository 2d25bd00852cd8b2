//! How much a project may have of each kind. The limits are a collection of `services/network.yaml`.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::cloud::Cloud;
use super::super::collections;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::{
    FLOATING_IPS, NETWORKS, PORTS, ROUTERS, SECURITY_GROUPS, SECURITY_RULES, SUBNETS, forbidden,
};
use crate::model::JsonMap;

/// What is limited here.
const KINDS: [(&str, &str); 7] =
    [NETWORKS, SUBNETS, PORTS, ROUTERS, FLOATING_IPS, SECURITY_GROUPS, SECURITY_RULES];

/// Refuses a new object that would be one too many for its project.
pub(super) fn allow_one_more(cloud: &Cloud, of: (&str, &str), row: &JsonMap) -> Result<(), Answer> {
    let project = row.text("project_id");
    let limit = limits(cloud, project).int(of.1).unwrap_or(-1);
    if limit < 0 || used(cloud, of, project) < limit {
        return Ok(());
    }
    let text = format!("Quota exceeded for resources: ['{}'].", of.1);
    Err(answer::neutron(409, "OverQuota", text))
}

/// The limits, and what is used of them.
pub(super) fn details(cloud: &Cloud, scope: &Scope, project: &str) -> Reply {
    if !scope.sees(project) {
        return Err(forbidden("get_quota"));
    }
    let limits = limits(cloud, project);
    let detail = |of: (&str, &str)| {
        let (limit, used) = (limits.int(of.1), used(cloud, of, project));
        (of.1.to_owned(), json!({"limit": limit, "used": used, "reserved": 0}))
    };
    let details: JsonMap = KINDS.into_iter().map(detail).collect();
    Ok(Answer::json(200, &json!({"quota": details})))
}

/// The limits of a project that has none of its own.
pub(super) fn defaults(cloud: &Cloud, scope: &Scope, project: &str) -> Reply {
    if !scope.sees(project) {
        return Err(forbidden("get_quota"));
    }
    let mut limits = limits(cloud, "");
    limits.remove("project_id");
    limits.remove("check_limit");
    Ok(Answer::json(200, &json!({"quota": Value::Object(limits)})))
}

fn limits(cloud: &Cloud, project: &str) -> JsonMap {
    collections::standing(cloud, "network", "quota", project)
}

fn used(cloud: &Cloud, of: (&str, &str), project: &str) -> i64 {
    let rows = cloud.collections.table(of).values();
    let count = rows.filter(|row| row.text("project_id") == project).count();
    i64::try_from(count).unwrap_or(i64::MAX)
}
