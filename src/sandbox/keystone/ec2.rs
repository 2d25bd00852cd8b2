//! Keys for requests that are signed instead of carrying a token (`/credentials` of the type `ec2`,
//! and `OS-EC2`, its older face), and `ec2tokens`, which tells whose key signed a request.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::{Credential, Scope, forbidden, not_found, signature, tokens, unauthorized};
use crate::model::{JsonMap, hex};

/// The only type whose content Keystone itself understands.
const EC2: &str = "ec2";

/// `/credentials`.
pub(super) fn credentials(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("POST", []) => {
            let given = ask.wrapped("credential", answer::keystone)?;
            let credential = Credential {
                id: String::new(),
                kind: given.text("type").to_owned(),
                blob: given.text("blob").to_owned(),
                user_id: given.text("user_id").to_owned(),
                project_id: given.get("project_id").and_then(Value::as_str).map(str::to_owned),
            };
            if !cloud.keystone.users.contains(&credential.user_id) {
                return Err(not_found("user", &credential.user_id));
            }
            let credential = keep(cloud, scope, credential)?;
            Ok(Answer::json(201, &json!({"credential": view(ask, &credential)})))
        }
        ("GET", []) => {
            let is = |key: &str, value: &str| ask.query(key).is_none_or(|asked| asked == value);
            let all = cloud.keystone.credentials.values();
            let all = all.filter(|it| is("type", &it.kind) && is("user_id", &it.user_id));
            let all = all.filter(|it| may(scope, &it.user_id));
            let all: Vec<Value> = all.map(|it| view(ask, it)).collect();
            Ok(Answer::json(200, &json!({"credentials": all, "links": {}})))
        }
        ("GET", [id]) => {
            let found = find(cloud, scope, id)?;
            Ok(Answer::json(200, &json!({"credential": view(ask, &found)})))
        }
        ("DELETE", [id]) => {
            find(cloud, scope, id)?;
            cloud.keystone.credentials.remove(id);
            Ok(Answer::empty(204))
        }
        _ => Err(answer::keystone(404, "The resource could not be found.")),
    }
}

/// `/users/{user}/credentials/OS-EC2`.
pub(super) fn of_user(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    (user, path): (&str, &[&str]),
) -> Reply {
    if !may(scope, user) {
        return Err(forbidden("identity:ec2_list_credentials"));
    }
    let own = |cloud: &Cloud, access: &str| {
        let found = find(cloud, scope, &id_of(access)).ok();
        let found = found.filter(|it| it.user_id == user);
        found.ok_or_else(|| not_found("credential", access))
    };
    match (ask.method.as_str(), path) {
        ("POST", []) => {
            let given = ask.object(answer::keystone)?;
            let project = given.text("tenant_id");
            if cloud.keystone.role_ids(user, project).is_empty() {
                return Err(not_found("project", project));
            }
            let (access, secret) = (cloud.fresh_hex(), cloud.fresh_hex());
            let credential = Credential {
                id: String::new(),
                kind: EC2.to_owned(),
                blob: json!({"access": access, "secret": secret}).to_string(),
                user_id: user.to_owned(),
                project_id: Some(project.to_owned()),
            };
            let credential = keep(cloud, scope, credential)?;
            Ok(Answer::json(201, &json!({"credential": view_of_user(ask, &credential)})))
        }
        ("GET", []) => {
            let own = cloud.keystone.credentials.values();
            let own = own.filter(|it| it.user_id == user && it.kind == EC2);
            let own: Vec<Value> = own.map(|it| view_of_user(ask, it)).collect();
            Ok(Answer::json(200, &json!({"credentials": own, "links": {}})))
        }
        ("GET", [access]) => {
            let found = own(cloud, access)?;
            Ok(Answer::json(200, &json!({"credential": view_of_user(ask, &found)})))
        }
        ("DELETE", [access]) => {
            let found = own(cloud, access)?;
            cloud.keystone.credentials.remove(&found.id);
            Ok(Answer::empty(204))
        }
        _ => Err(answer::keystone(404, "The resource could not be found.")),
    }
}

/// `POST /ec2tokens`: a token for whoever signed a request, asked for by the service that got it.
pub(super) fn token(cloud: &mut Cloud, ask: &Ask) -> Reply {
    let signed = ask.object(answer::keystone)?;
    let signed = signed.object("ec2Credentials").or(signed.object("credentials"));
    let signed = signed.cloned().ok_or_else(unauthorized)?;
    let access = signed.text("access");
    let found = cloud.keystone.credentials.get(&id_of(access)).cloned();
    let found = found.ok_or_else(|| not_found("credential", &id_of(access)))?;
    let secret = secret_of(&found).ok_or_else(unauthorized)?;
    if !signature::is_good(&signed, &secret, ask.at) {
        return Err(answer::keystone(401, "Invalid EC2 signature."));
    }
    let project = found.project_id.clone().unwrap_or_default();
    tokens::issue_for(cloud, ask, &found.user_id, project, "ec2credential")
}

fn keep(cloud: &mut Cloud, scope: &Scope, given: Credential) -> Result<Credential, Answer> {
    if !may(scope, &given.user_id) {
        return Err(forbidden("identity:create_credential"));
    }
    let id = match given.kind.as_str() {
        EC2 => {
            let blob: JsonMap = serde_json::from_str(&given.blob).unwrap_or_default();
            if given.project_id.is_none() || blob.text("access").is_empty() {
                return Err(answer::keystone(400, "Invalid blob in credential"));
            }
            id_of(blob.text("access"))
        }
        _ => cloud.fresh_hex(),
    };
    if cloud.keystone.credentials.contains(&id) {
        let text = "Conflict occurred attempting to store credential - Duplicate entry found.";
        return Err(answer::keystone(409, text));
    }
    let credential = Credential { id: id.clone(), ..given };
    cloud.keystone.credentials.insert(&id, credential.clone());
    Ok(credential)
}

fn find(cloud: &Cloud, scope: &Scope, id: &str) -> Result<Credential, Answer> {
    let found = cloud.keystone.credentials.get(id).filter(|it| may(scope, &it.user_id));
    found.cloned().ok_or_else(|| not_found("credential", id))
}

fn may(scope: &Scope, user: &str) -> bool {
    scope.is_admin || scope.user_id == user
}

/// A key's credential is known by the key.
fn id_of(access: &str) -> String {
    hex(&Sha256::digest(access.as_bytes()))
}

fn secret_of(credential: &Credential) -> Option<String> {
    let blob: JsonMap = serde_json::from_str(&credential.blob).ok()?;
    Some(blob.text("secret").to_owned()).filter(|secret| !secret.is_empty())
}

fn view(ask: &Ask, credential: &Credential) -> Value {
    json!({
        "id": credential.id,
        "type": credential.kind,
        "blob": credential.blob,
        "user_id": credential.user_id,
        "project_id": credential.project_id,
        "links": {"self": format!("{}/v3/credentials/{}", ask.base, credential.id)},
    })
}

fn view_of_user(ask: &Ask, credential: &Credential) -> Value {
    let blob: JsonMap = serde_json::from_str(&credential.blob).unwrap_or_default();
    let (user, access) = (&credential.user_id, blob.text("access"));
    json!({
        "access": access,
        "secret": blob.text("secret"),
        "user_id": user,
        "tenant_id": credential.project_id,
        "trust_id": null,
        "links": {"self": format!("{}/v3/users/{user}/credentials/OS-EC2/{access}", ask.base)},
    })
}
