//! OS-TRUST: a user lets another act for him in a project.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::entries::Entry;
use super::{Scope, Trust, forbidden, not_found};

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("POST" | "DELETE", _) if scope.is_restricted => {
            Err(forbidden("Delegated tokens cannot manage trusts."))
        }
        ("POST", []) => create(cloud, ask, scope),
        ("GET", []) => {
            let asked = |key: &str, id: &str| ask.query(key).is_none_or(|asked| asked == id);
            let trusts: Vec<Value> = cloud
                .keystone
                .trusts
                .values()
                .filter(|trust| may_see(scope, trust))
                .filter(|trust| asked("trustor_user_id", &trust.trustor_user_id))
                .filter(|trust| asked("trustee_user_id", &trust.trustee_user_id))
                .map(|trust| view(cloud, ask, trust))
                .collect();
            Ok(Answer::json(200, &json!({"trusts": trusts, "links": {}})))
        }
        ("GET", [id]) => {
            let trust = find(cloud, scope, id)?;
            Ok(Answer::json(200, &json!({"trust": view(cloud, ask, trust)})))
        }
        ("GET", [id, "roles"]) => {
            let trust = find(cloud, scope, id)?;
            let roles = roles(cloud, ask, trust);
            Ok(Answer::json(200, &json!({"roles": roles, "links": {}})))
        }
        ("DELETE", [id]) => {
            let trust = cloud.keystone.trusts.get(id).ok_or_else(|| not_found("trust", id))?;
            if trust.trustor_user_id != scope.user_id && !scope.is_admin {
                return Err(forbidden("identity:delete_trust"));
            }
            cloud.keystone.trusts.remove(id);
            Ok(Answer::empty(204))
        }
        _ => Err(answer::keystone(404, "The resource could not be found.")),
    }
}

fn create(cloud: &mut Cloud, ask: &Ask, scope: &Scope) -> Reply {
    let given = ask.wrapped("trust", answer::keystone)?;
    if given.text("trustor_user_id") != scope.user_id {
        return Err(forbidden("The authenticated user should match the trustor"));
    }
    let trustee = given.text("trustee_user_id");
    if !cloud.keystone.users.contains(trustee) {
        return Err(not_found("user", trustee));
    }
    let project = given.text("project_id");
    let held = cloud.keystone.role_ids(&scope.user_id, project);
    let mut role_ids = Vec::new();
    for role in given.list("roles").iter().filter_map(Value::as_object) {
        let found = cloud.keystone.roles.values().find(|known| match role.get("id") {
            Some(id) => id == known.id.as_str(),
            None => known.name == role.text("name"),
        });
        match found.filter(|role| held.contains(&role.id)) {
            Some(found) => role_ids.push(found.id.clone()),
            None => {
                let name = role.get("name").or(role.get("id")).cloned().unwrap_or_default();
                return Err(not_found("role", name.as_str().unwrap_or_default()));
            }
        }
    }
    if role_ids.is_empty() {
        return Err(forbidden("At least one role should be specified"));
    }
    let trust = Trust {
        id: cloud.fresh_hex(),
        trustor_user_id: scope.user_id.clone(),
        trustee_user_id: trustee.to_owned(),
        project_id: project.to_owned(),
        impersonation: given.is("impersonation"),
        role_ids,
        expires_at: given.get("expires_at").and_then(Value::as_str).map(str::to_owned),
        remaining_uses: given.get("remaining_uses").and_then(Value::as_u64),
        allow_redelegation: given.is("allow_redelegation"),
    };
    let body = json!({"trust": view(cloud, ask, &trust)});
    let id = trust.id.clone();
    cloud.keystone.trusts.insert(&id, trust);
    Ok(Answer::json(201, &body))
}

fn find<'a>(cloud: &'a Cloud, scope: &Scope, id: &str) -> Result<&'a Trust, Answer> {
    let trust = cloud.keystone.trusts.get(id).ok_or_else(|| not_found("trust", id))?;
    if may_see(scope, trust) { Ok(trust) } else { Err(forbidden("identity:get_trust")) }
}

fn may_see(scope: &Scope, trust: &Trust) -> bool {
    scope.is_admin
        || trust.trustor_user_id == scope.user_id
        || trust.trustee_user_id == scope.user_id
}

fn roles(cloud: &Cloud, ask: &Ask, trust: &Trust) -> Vec<Value> {
    trust
        .role_ids
        .iter()
        .filter_map(|id| cloud.keystone.roles.get(id))
        .map(|role| role.view(ask))
        .collect()
}

fn view(cloud: &Cloud, ask: &Ask, trust: &Trust) -> Value {
    let link = format!("{}/v3/OS-TRUST/trusts/{}", ask.base, trust.id);
    json!({
        "id": trust.id,
        "trustor_user_id": trust.trustor_user_id,
        "trustee_user_id": trust.trustee_user_id,
        "project_id": trust.project_id,
        "impersonation": trust.impersonation,
        "expires_at": trust.expires_at,
        "remaining_uses": trust.remaining_uses,
        "redelegation_count": 0,
        "redelegated_trust_id": null,
        "deleted_at": null,
        "roles": roles(cloud, ask, trust),
        "roles_links": {"self": format!("{link}/roles"), "next": null, "previous": null},
        "links": {"self": link},
    })
}
