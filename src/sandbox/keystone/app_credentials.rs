//! Application credentials: a user's leave for a program to act for him in one project.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::lookup::find_user;
use super::{AppCredential, Scope, Token, User, forbidden, not_found, unauthorized};
use crate::model::JsonMap;

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    (user, path): (&str, &[&str]),
) -> Reply {
    if scope.user_id != user && !scope.is_admin {
        return Err(forbidden("identity:list_application_credentials"));
    }
    let find = |cloud: &Cloud, id: &str| {
        let found = cloud.keystone.app_credentials.get(id).filter(|it| it.user_id == user);
        found.cloned().ok_or_else(|| not_found("Application Credential", id))
    };
    match (ask.method.as_str(), path) {
        ("POST" | "DELETE", _) if scope.is_restricted => Err(forbidden(
            "Using method 'application_credential' is not allowed for managing additional \
             application credentials.",
        )),
        ("POST", []) => create(cloud, ask, scope),
        ("GET", []) => {
            let credentials = cloud.keystone.app_credentials.values();
            let named = |name: &str| ask.query("name").is_none_or(|asked| asked == name);
            let own = credentials.filter(|it| it.user_id == user && named(&it.name));
            let own: Vec<Value> = own.map(|it| view(cloud, ask, it)).collect();
            Ok(Answer::json(200, &json!({"application_credentials": own, "links": {}})))
        }
        ("GET", [id]) => {
            let credential = find(cloud, id)?;
            let view = view(cloud, ask, &credential);
            Ok(Answer::json(200, &json!({"application_credential": view})))
        }
        ("DELETE", [id]) => {
            find(cloud, id)?;
            cloud.keystone.app_credentials.remove(id);
            Ok(Answer::empty(204))
        }
        _ => Err(answer::keystone(404, "The resource could not be found.")),
    }
}

fn create(cloud: &mut Cloud, ask: &Ask, scope: &Scope) -> Reply {
    let given = ask.wrapped("application_credential", answer::keystone)?;
    let name = given.text("name");
    if name.is_empty() {
        return Err(answer::keystone(400, "'name' is a required property"));
    }
    let known = &cloud.keystone.app_credentials;
    if known.values().any(|it| it.user_id == scope.user_id && it.name == name) {
        let text = "Conflict occurred attempting to store application_credential - Duplicate \
                    entry found with name.";
        return Err(answer::keystone(409, text));
    }
    let mut secret = [0; 64];
    cloud.clock.fill(&mut secret);
    let secret = match given.text("secret") {
        "" => URL_SAFE_NO_PAD.encode(secret),
        chosen => chosen.to_owned(),
    };
    let credential = AppCredential {
        id: cloud.fresh_hex(),
        name: name.to_owned(),
        secret: secret.clone(),
        user_id: scope.user_id.clone(),
        project_id: scope.project_id.clone(),
        role_ids: roles(cloud, scope, given.list("roles"))?,
        said: given,
    };
    let mut view = view(cloud, ask, &credential);
    view["secret"] = secret.into();
    cloud.keystone.app_credentials.insert(&credential.id.clone(), credential);
    Ok(Answer::json(201, &json!({"application_credential": view})))
}

/// The roles that are named, or all that the user has.
fn roles(cloud: &Cloud, scope: &Scope, named: &[Value]) -> Result<Vec<String>, Answer> {
    let held = cloud.keystone.role_ids(&scope.user_id, &scope.project_id);
    let mut ids = Vec::new();
    for role in named {
        let is = |key: &str, of: &str| role[key].as_str() == Some(of);
        let known =
            cloud.keystone.roles.values().find(|it| is("id", &it.id) || is("name", &it.name));
        match known.filter(|role| held.contains(&role.id)) {
            Some(known) => ids.push(known.id.clone()),
            None => {
                let text = "Invalid application credential: Could not find role assignment";
                return Err(answer::keystone(400, text));
            }
        }
    }
    Ok(if ids.is_empty() { held } else { ids })
}

/// Who proves himself by one, and the token that it gives: for its own project alone.
pub(super) fn by_credential(
    cloud: &Cloud,
    given: &JsonMap,
    token: &mut Token,
) -> Result<User, Answer> {
    let credentials = &cloud.keystone.app_credentials;
    let found = match given.get("id") {
        Some(id) => {
            let id = id.as_str().unwrap_or_default();
            let found = credentials.get(id);
            found.ok_or_else(|| not_found("Application Credential", id))?
        }
        None => {
            let text = "Expecting to find user in application credential.";
            let user = given.object("user").filter(|user| !user.is_empty());
            let user = user.ok_or_else(|| answer::keystone(400, text))?;
            let user = find_user(cloud, user).ok_or_else(unauthorized)?;
            let name = given.text("name");
            let mut own = credentials.values();
            own.find(|it| it.name == name && it.user_id == user.id).ok_or_else(unauthorized)?
        }
    };
    if found.secret != given.text("secret") {
        return Err(unauthorized());
    }
    let user = cloud.keystone.users.get(&found.user_id).filter(|user| user.enabled);
    // What the user has lost since, the program has lost too.
    let held = cloud.keystone.role_ids(&found.user_id, &found.project_id);
    if !found.role_ids.iter().all(|role| held.contains(role)) {
        return Err(unauthorized());
    }
    token.project_id = Some(found.project_id.clone());
    token.role_ids.clone_from(&found.role_ids);
    token.app_credential_id = Some(found.id.clone());
    user.cloned().ok_or_else(unauthorized)
}

fn view(cloud: &Cloud, ask: &Ask, credential: &AppCredential) -> Value {
    let said = |key: &str| credential.said.get(key).cloned().unwrap_or_default();
    let roles = credential.role_ids.iter().filter_map(|id| cloud.keystone.roles.get(id));
    let roles: Vec<Value> = roles.map(|role| json!({"id": role.id, "name": role.name})).collect();
    let user = &credential.user_id;
    let link = format!("{}/v3/users/{user}/application_credentials/{}", ask.base, credential.id);
    json!({
        "id": credential.id,
        "name": credential.name,
        "description": said("description"),
        "user_id": user,
        "project_id": credential.project_id,
        "system": null,
        "roles": roles,
        "expires_at": said("expires_at"),
        "unrestricted": credential.said.is("unrestricted"),
        "links": {"self": link},
    })
}
