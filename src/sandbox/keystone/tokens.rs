//! Giving out, checking and revoking tokens: by password, by token, by an application credential,
//! and within a trust.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::entries::Entry;
use super::lookup::{find_project, find_user, in_domain};
use super::scope::live;
use super::state::Federated;
use super::{
    SYSTEM, Token, Trust, User, app_credentials, catalog, checked, forbidden, unauthorized,
};
use crate::model::JsonMap;

/// How many outdated tokens are kept until they are swept.
const TOKENS_SWEPT_ABOVE: usize = 1000;

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("POST", ["tokens"]) => issue(cloud, ask),
        ("GET" | "HEAD", ["tokens"]) => {
            let scope = checked(cloud, ask)?;
            let id = subject(ask)?;
            let token = live(cloud, &id, ask.at)
                .filter(|token| scope.is_admin || token.user_id == scope.user_id || own(ask, &id))
                .ok_or_else(|| answer::keystone(404, "Could not recognize Fernet token"))?;
            Ok(Answer::json(200, &json!({"token": view(cloud, ask, token)}))
                .header("x-subject-token", id)
                .header("vary", "X-Auth-Token"))
        }
        ("DELETE", ["tokens"]) => {
            checked(cloud, ask)?;
            let id = subject(ask)?;
            match cloud.keystone.tokens.remove(&id) {
                Some(_) => Ok(Answer::empty(204)),
                None => Err(answer::keystone(404, "Could not find token.")),
            }
        }
        ("GET", ["catalog"]) => {
            let scope = checked(cloud, ask)?;
            if scope.project_id.is_empty() {
                let text = "You are not authorized to perform the requested action.";
                return Err(answer::keystone(403, text));
            }
            let catalog = catalog::entries(cloud, ask, Some(&scope.project_id));
            Ok(Answer::json(200, &json!({"catalog": catalog, "links": {"self": ask.base}})))
        }
        ("GET", ["projects"]) => projects(cloud, ask),
        ("GET", ["domains"]) => {
            let scope = checked(cloud, ask)?;
            let keystone = &cloud.keystone;
            let own = keystone.domains.values();
            let own = own.filter(|it| !keystone.role_ids(&scope.user_id, &it.id).is_empty());
            let own: Vec<Value> = own.map(|domain| domain.view(ask)).collect();
            Ok(Answer::json(200, &json!({"domains": own, "links": {}})))
        }
        ("GET", ["system"]) => {
            let scope = checked(cloud, ask)?;
            let has = !cloud.keystone.role_ids(&scope.user_id, SYSTEM).is_empty();
            let all = if has { vec![json!({"all": true})] } else { Vec::new() };
            Ok(Answer::json(200, &json!({"system": all, "links": {}})))
        }
        _ => Err(answer::keystone(404, "The resource could not be found.")),
    }
}

/// The projects that the token's user may have a token for.
pub(super) fn projects(cloud: &Cloud, ask: &Ask) -> Reply {
    let token = ask.header("x-auth-token").and_then(|id| live(cloud, id, ask.at));
    let token = token.ok_or_else(unauthorized)?;
    let projects: Vec<Value> = cloud
        .keystone
        .projects
        .values()
        .filter(|project| !held(cloud, token, &project.id).is_empty())
        .map(|project| project.view(ask))
        .collect();
    Ok(Answer::json(200, &json!({"projects": projects, "links": {}})))
}

/// The roles that a token's user has in a project, also by the token's groups.
fn held(cloud: &Cloud, token: &Token, project: &str) -> Vec<String> {
    let more = token.federated.as_ref().map_or(&[][..], |it| &it.group_ids);
    cloud.keystone.role_ids_with(&token.user_id, more, project)
}

fn subject(ask: &Ask) -> Result<String, Answer> {
    ask.header("x-subject-token")
        .map(str::to_owned)
        .ok_or_else(|| answer::keystone(400, "The request has no X-Subject-Token header."))
}

fn own(ask: &Ask, id: &str) -> bool {
    ask.header("x-auth-token") == Some(id)
}

fn issue(cloud: &mut Cloud, ask: &Ask) -> Reply {
    let auth = ask.wrapped("auth", answer::keystone)?;
    let identity = auth
        .object("identity")
        .ok_or_else(|| answer::keystone(400, "'identity' is a required property"))?;
    let empty = JsonMap::new();
    let mut token = fresh(cloud, ask);
    let mut former = None;
    let mut user = None;
    for method in identity.list("methods").iter().filter_map(Value::as_str) {
        let given = identity.object(method).unwrap_or(&empty);
        let found = match method {
            "password" => by_password(cloud, given)?,
            "token" => {
                let token = live(cloud, given.text("id"), ask.at).ok_or_else(unauthorized)?;
                former = Some(token.clone());
                cloud.keystone.users.get(&token.user_id).cloned().ok_or_else(unauthorized)?
            }
            "application_credential" => app_credentials::by_credential(cloud, given, &mut token)?,
            other => {
                let text =
                    format!("Attempted to authenticate with an unsupported method: {other}.");
                return Err(answer::keystone(401, text));
            }
        };
        token.methods.push(method.to_owned());
        user = Some(found);
    }
    let user = user.ok_or_else(unauthorized)?;
    token.user_id.clone_from(&user.id);
    if let Some(former) = &former {
        // A token made from a token lives no longer, and names its whole ancestry.
        token.expires_at = former.expires_at;
        token.federated.clone_from(&former.federated);
        token.audit_ids.extend(former.audit_ids.last().cloned());
        for method in &former.methods {
            if !token.methods.contains(method) {
                token.methods.push(method.clone());
            }
        }
    }
    let unscoped = auth.get("scope").is_some_and(|scope| scope == "unscoped");
    match auth.object("scope") {
        Some(_) if token.app_credential_id.is_some() => {
            return Err(answer::keystone(401, "Application credentials cannot request a scope."));
        }
        Some(scope) => {
            if let Some(trust) = scope.object("OS-TRUST:trust") {
                within_trust(cloud, &mut token, trust.text("id"))?;
            } else if let Some(project) = scope.object("project") {
                let id = find_project(cloud, project).ok_or_else(unauthorized)?;
                within_project(cloud, &mut token, id)?;
            } else if let Some(domain) = scope.object("domain") {
                within_domain(cloud, &mut token, domain)?;
            } else if scope.contains_key("system") {
                within_system(cloud, &mut token)?;
            } else {
                let text = "Expecting to find system, project, domain, OS-TRUST:trust or unscoped \
                            in scope. The server could not comply with the request since it is \
                            either malformed or otherwise incorrect. The client is assumed to be \
                            in error.";
                return Err(answer::keystone(400, text));
            }
        }
        None if token.app_credential_id.is_some() => {}
        None => {
            if let Some(project) = user.default_project_id.filter(|_| !unscoped) {
                within_project(cloud, &mut token, project)?;
            }
        }
    }
    Ok(give_out(cloud, ask, 201, token))
}

/// A token for a user in a project, who proved himself in another way.
pub(super) fn issue_for(
    cloud: &mut Cloud,
    ask: &Ask,
    user: &str,
    project: String,
    method: &str,
) -> Reply {
    let is_let_in = cloud.keystone.users.get(user).is_some_and(|user| user.enabled);
    if !is_let_in {
        return Err(unauthorized());
    }
    let mut token = fresh(cloud, ask);
    token.user_id = user.to_owned();
    token.methods.push(method.to_owned());
    within_project(cloud, &mut token, project)?;
    Ok(give_out(cloud, ask, 200, token))
}

/// A token for nothing, for a user whom an identity provider lets in.
pub(super) fn issue_to(cloud: &mut Cloud, ask: &Ask, user: String, by: Federated) -> Answer {
    let mut token = fresh(cloud, ask);
    token.user_id = user;
    token.methods.push("mapped".to_owned());
    token.federated = Some(by);
    give_out(cloud, ask, 201, token)
}

fn give_out(cloud: &mut Cloud, ask: &Ask, status: u16, token: Token) -> Answer {
    let id = token_id(cloud);
    sweep(cloud, ask.at);
    let body = json!({"token": view(cloud, ask, &token)});
    cloud.keystone.tokens.insert(&id, token);
    Answer::json(status, &body).header("x-subject-token", id).header("vary", "X-Auth-Token")
}

/// A token that is nobody's yet.
fn fresh(cloud: &Cloud, ask: &Ask) -> Token {
    Token {
        user_id: String::new(),
        project_id: None,
        domain_id: None,
        is_system: false,
        role_ids: Vec::new(),
        methods: Vec::new(),
        audit_ids: vec![audit_id(cloud)],
        trust_id: None,
        app_credential_id: None,
        federated: None,
        issued_at: ask.at,
        expires_at: ask.at + life(cloud),
    }
}

fn by_password(cloud: &Cloud, given: &JsonMap) -> Result<User, Answer> {
    let given = given.object("user").ok_or_else(unauthorized)?;
    find_user(cloud, given)
        // One without a password is not let in by any.
        .filter(|user| !user.password.is_empty())
        .filter(|user| user.enabled && user.password == given.text("password"))
        .cloned()
        .ok_or_else(unauthorized)
}

fn within_project(cloud: &Cloud, token: &mut Token, project: String) -> Result<(), Answer> {
    if token.trust_id.is_some() {
        return Err(forbidden("a trust's token keeps its scope"));
    }
    token.role_ids = held(cloud, token, &project);
    if token.role_ids.is_empty() {
        return Err(unauthorized());
    }
    token.project_id = Some(project);
    Ok(())
}

fn within_domain(cloud: &Cloud, token: &mut Token, asked: &JsonMap) -> Result<(), Answer> {
    let domains = &cloud.keystone.domains;
    let domain = domains.values().find(|domain| in_domain(cloud, Some(asked), &domain.id));
    let domain = domain.ok_or_else(unauthorized)?.id.clone();
    token.role_ids = cloud.keystone.role_ids(&token.user_id, &domain);
    if token.role_ids.is_empty() {
        return Err(unauthorized());
    }
    token.domain_id = Some(domain);
    Ok(())
}

/// Whatever is said of the system, all of it is meant.
fn within_system(cloud: &Cloud, token: &mut Token) -> Result<(), Answer> {
    if token.trust_id.is_some() {
        return Err(forbidden("a trust's token keeps its scope"));
    }
    token.role_ids = cloud.keystone.role_ids(&token.user_id, SYSTEM);
    if token.role_ids.is_empty() {
        return Err(unauthorized());
    }
    token.is_system = true;
    Ok(())
}

fn within_trust(cloud: &mut Cloud, token: &mut Token, id: &str) -> Result<(), Answer> {
    let trust: Trust = cloud.keystone.trusts.get(id).cloned().ok_or_else(unauthorized)?;
    if trust.trustee_user_id != token.user_id {
        let text = "You are not authorized to perform the requested action.";
        return Err(answer::keystone(403, text));
    }
    if trust.remaining_uses == Some(0) {
        return Err(unauthorized());
    }
    if let Some(trust) = cloud.keystone.trusts.edit(id) {
        trust.remaining_uses = trust.remaining_uses.map(|uses| uses.saturating_sub(1));
    }
    // What the trustor has lost since, the trustee has lost too.
    let held = cloud.keystone.role_ids(&trust.trustor_user_id, &trust.project_id);
    if !trust.role_ids.iter().all(|role| held.contains(role)) {
        return Err(forbidden("the trustor no longer has the roles of the trust"));
    }
    if trust.impersonation {
        token.user_id = trust.trustor_user_id;
    }
    token.project_id = Some(trust.project_id);
    token.role_ids = cloud.keystone.with_implied(trust.role_ids);
    token.trust_id = Some(trust.id);
    Ok(())
}

fn view(cloud: &Cloud, ask: &Ask, token: &Token) -> Value {
    let keystone = &cloud.keystone;
    let domain = |id: &str| json!({"id": id, "name": keystone.domains.get(id).map(|domain| domain.name.as_str())});
    let mut body = JsonMap::new();
    body.set("methods", json!(token.methods));
    if let Some(user) = keystone.users.get(&token.user_id) {
        let mut user = json!({
            "domain": domain(&user.domain_id),
            "id": user.id,
            "name": user.name,
        });
        match &token.federated {
            Some(by) => {
                let groups = by.group_ids.iter().map(|id| json!({ "id": id }));
                user["OS-FEDERATION"] = json!({
                    "groups": groups.collect::<Vec<Value>>(),
                    "identity_provider": { "id": by.provider },
                    "protocol": { "id": by.protocol },
                });
            }
            None => user["password_expires_at"] = Value::Null,
        }
        body.set("user", user);
    }
    body.set("audit_ids", json!(token.audit_ids));
    body.set("expires_at", precise(token.expires_at));
    body.set("issued_at", precise(token.issued_at));
    if let Some(project) = token.project_id.as_ref().and_then(|id| keystone.projects.get(id)) {
        let view = json!({
            "domain": domain(&project.domain_id), "id": project.id, "name": project.name,
        });
        body.set("project", view);
        if token.trust_id.is_none() {
            body.set("is_domain", false);
        }
    }
    if let Some(id) = &token.domain_id {
        body.set("domain", domain(id));
    }
    // What is for nothing has no roles.
    if token.project_id.is_some() || token.domain_id.is_some() || token.is_system {
        let roles = token.role_ids.iter().filter_map(|id| keystone.roles.get(id));
        let roles = roles.map(|role| json!({"id": role.id, "name": role.name}));
        body.set("roles", roles.collect::<Vec<Value>>());
        if token.is_system {
            body.set("system", json!({"all": true}));
        }
        if ask.query("nocatalog").is_none() {
            body.set("catalog", catalog::entries(cloud, ask, token.project_id.as_deref()));
        }
    }
    if let Some(trust) = token.trust_id.as_ref().and_then(|id| keystone.trusts.get(id)) {
        let view = json!({
            "id": trust.id,
            "impersonation": trust.impersonation,
            "trustee_user": {"id": trust.trustee_user_id},
            "trustor_user": {"id": trust.trustor_user_id},
        });
        body.set("OS-TRUST:trust", view);
    }
    Value::Object(body)
}

/// Keystone writes microseconds that are always zero.
fn precise(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S.000000Z").to_string()
}

fn life(cloud: &Cloud) -> TimeDelta {
    TimeDelta::from_std(cloud.config.token_life).unwrap_or(TimeDelta::hours(1))
}

/// Shaped like a Fernet token.
fn token_id(cloud: &Cloud) -> String {
    let mut bytes = [0; 96];
    cloud.clock.fill(&mut bytes);
    format!("gAAAAA{}", URL_SAFE_NO_PAD.encode(bytes))
}

fn audit_id(cloud: &Cloud) -> String {
    URL_SAFE_NO_PAD.encode(cloud.fresh_uuid().as_bytes())
}

fn sweep(cloud: &mut Cloud, now: DateTime<Utc>) {
    use super::super::store::Rows;
    if cloud.keystone.tokens.len() < TOKENS_SWEPT_ABOVE {
        return;
    }
    for id in cloud.keystone.tokens.ids_where(|token| token.expires_at <= now) {
        cloud.keystone.tokens.remove(&id);
    }
}
