//! How much a project may have of each kind. The limits are a collection of `services/network.yaml`.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::cloud::Cloud;
use super::super::collections;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::{Kind, forbidden};
use crate::model::JsonMap;

/// Refuses what would be one too many.
pub(super) fn allow_one_more(cloud: &Cloud, kind: Kind, project: &str) -> Result<(), Answer> {
    let limit = limits(cloud, project).int(kind.singular()).unwrap_or(-1);
    if limit < 0 || used(cloud, kind, project) < limit {
        return Ok(());
    }
    let text = format!("Quota exceeded for resources: ['{}'].", kind.singular());
    Err(answer::neutron(409, "OverQuota", text))
}

/// The limits, and what is used of them.
pub(super) fn details(cloud: &Cloud, scope: &Scope, project: &str) -> Reply {
    if !scope.sees(project) {
        return Err(forbidden("get_quota"));
    }
    let limits = limits(cloud, project);
    let detail = |kind: Kind| {
        let limit = limits.int(kind.singular());
        let used = used(cloud, kind, project);
        (kind.singular().to_owned(), json!({"limit": limit, "used": used, "reserved": 0}))
    };
    let details: JsonMap = Kind::ALL.into_iter().map(detail).collect();
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

fn used(cloud: &Cloud, kind: Kind, project: &str) -> i64 {
    let rows = cloud.neutron.table(kind).values();
    let count = rows.filter(|row| row.text("project_id") == project).count();
    i64::try_from(count).unwrap_or(i64::MAX)
}
