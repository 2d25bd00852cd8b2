//! Key-manager v1, as far as stacks in other clouds need it: secrets with their payloads.

pub(super) mod state;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::collections;
use super::doc::Doc;
use super::keystone::{self, Scope};
use crate::model::JsonMap;
use state::{Held, Stored};

/// How many secrets a list has that names no limit, and how many any may have.
const PAGE: (usize, usize) = (10, 100);
/// What a payload may be.
const KINDS: [&str; 5] = [
    "text/plain",
    "text/plain;charset=utf-8",
    "text/plain; charset=utf-8",
    "application/octet-stream",
    "application/pkcs8",
];

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    let path = match path {
        [] => return Ok(Answer::json(300, &json!({"versions": {"values": [version(ask)]}}))),
        ["v1"] => return Ok(Answer::json(200, &json!({"version": version(ask)}))),
        path => path,
    };
    let scope = keystone::scope(cloud, ask)?;
    let ["v1", "secrets", path @ ..] = path else {
        return collections::answer(cloud, ask, &scope, "key-manager", path).unwrap_or_else(|| {
            Err(answer::barbican(404, "Not Found. Sorry but your key is in another castle."))
        });
    };
    match (ask.method.as_str(), path) {
        ("POST", []) => store(cloud, ask, &scope),
        ("GET", []) => list(cloud, ask, &scope),
        ("GET", [id]) => {
            let secret = find(cloud, &scope, id)?;
            Ok(Answer::json(200, &view(ask, id, secret)))
        }
        ("GET", [id, "payload"]) => payload(find(cloud, &scope, id)?, ask),
        ("PUT", [id]) => {
            find(cloud, &scope, id)?;
            let kind = ask.header("content-type").unwrap_or_default().to_owned();
            let payload = ask.body.to_vec();
            if let Some(secret) = cloud.barbican.secrets.edit(id) {
                secret.held = Some(Held { kind: known_kind(&kind)?, payload });
            }
            Ok(Answer::empty(204))
        }
        ("DELETE", [id]) => {
            find(cloud, &scope, id)?;
            cloud.barbican.secrets.remove(id);
            Ok(Answer::empty(204))
        }
        _ => Err(answer::barbican(404, "Not Found. Sorry but your key is in another castle.")),
    }
}

fn version(ask: &Ask) -> Value {
    json!({
        "id": "v1",
        "status": "stable",
        "links": [{"rel": "self", "href": format!("{}/key-manager/v1/", ask.base)}],
        "media-types": [{
            "base": "application/json",
            "type": "application/vnd.openstack.key-manager-v1+json",
        }],
    })
}

fn store(cloud: &mut Cloud, ask: &Ask, scope: &Scope) -> Reply {
    let mut said = ask.object(|status, _| answer::barbican(status, "Malformed JSON"))?;
    let held = match said.shift_remove("payload") {
        None => None,
        Some(Value::String(payload)) => Some(held(&said, payload)?),
        Some(_) => return Err(wrong("it is not of type 'string'", "payload")),
    };
    let id = cloud.fresh_id();
    let secret = Stored {
        project_id: scope.project_id.clone(),
        creator_id: scope.user_id.clone(),
        said,
        held,
        created_at: ask.at,
    };
    cloud.barbican.secrets.insert(&id, secret);
    Ok(Answer::json(201, &json!({"secret_ref": address(ask, &id)})))
}

/// A secret that is made by an order; its address.
pub(super) fn generate(cloud: &mut Cloud, ask: &Ask, scope: &Scope, said: JsonMap) -> String {
    let id = cloud.fresh_id();
    let payload = [cloud.fresh_uuid().into_bytes(), cloud.fresh_uuid().into_bytes()].concat();
    let secret = Stored {
        project_id: scope.project_id.clone(),
        creator_id: scope.user_id.clone(),
        said,
        held: Some(Held { kind: "application/octet-stream".to_owned(), payload }),
        created_at: ask.at,
    };
    cloud.barbican.secrets.insert(&id, secret);
    address(ask, &id)
}

/// What comes with a new secret.
fn held(said: &JsonMap, payload: String) -> Result<Held, Answer> {
    let kind = said.text("payload_content_type");
    if kind.is_empty() || payload.is_empty() {
        let text = "If 'payload' is supplied, 'payload_content_type' must also be supplied.";
        return Err(wrong(text, "payload_content_type"));
    }
    let kind = known_kind(kind)?;
    let payload = match said.text("payload_content_encoding") {
        "base64" => STANDARD.decode(payload.as_bytes()).map_err(|_| {
            wrong("Invalid payload for payload_content_encoding", "payload_content_encoding")
        })?,
        _ if kind.starts_with("text/plain") => payload.into_bytes(),
        _ => {
            let text = "payload_content_encoding is not one of ['base64', 'binary']";
            return Err(wrong(text, "payload_content_encoding"));
        }
    };
    Ok(Held { kind, payload })
}

fn known_kind(kind: &str) -> Result<String, Answer> {
    let known = KINDS.iter().any(|known| kind.eq_ignore_ascii_case(known));
    let unknown = || wrong("payload_content_type is not supported", "payload_content_type");
    known.then(|| kind.to_ascii_lowercase()).ok_or_else(unknown)
}

fn payload(secret: &Stored, ask: &Ask) -> Reply {
    let Some(held) = &secret.held else { return Err(answer::barbican(404, "Not Found.")) };
    match ask.header("accept").unwrap_or("*/*") {
        "application/json" => {
            let text = "Secret payload retrieval issue seen - Wrong payload content-type.";
            Err(answer::barbican(406, text))
        }
        _ => Ok(Answer::text(200, &held.kind, held.payload.clone())),
    }
}

fn list(cloud: &Cloud, ask: &Ask, scope: &Scope) -> Reply {
    let number = |key: &str| ask.query(key).and_then(|number| number.parse::<usize>().ok());
    let (limit, offset) = (number("limit").unwrap_or(PAGE.0).min(PAGE.1), number("offset"));
    let named = |it: &Stored| ask.query("name").is_none_or(|name| it.said.text("name") == name);
    let secrets = cloud.barbican.secrets.iter();
    let own: Vec<_> =
        secrets.filter(|(_, it)| it.project_id == scope.project_id && named(it)).collect();
    let page = own.iter().skip(offset.unwrap_or(0)).take(limit);
    let page: Vec<Value> = page.map(|(id, secret)| view(ask, id, secret)).collect();
    Ok(Answer::json(200, &json!({"secrets": page, "total": own.len()})))
}

fn find<'a>(cloud: &'a Cloud, scope: &Scope, id: &str) -> Result<&'a Stored, Answer> {
    let secret = cloud.barbican.secrets.get(id);
    let secret = secret.ok_or_else(|| answer::barbican(404, "Secret not found."))?;
    match scope.sees(&secret.project_id) {
        true => Ok(secret),
        false => Err(answer::barbican(
            403,
            "Secret retrieval attempt not allowed - please review your user/project privileges",
        )),
    }
}

fn view(ask: &Ask, id: &str, secret: &Stored) -> Value {
    let said = |key: &str| secret.said.get(key).cloned().unwrap_or_default();
    let at = secret.created_at.format("%Y-%m-%dT%H:%M:%S").to_string();
    let mut view = json!({
        "created": at,
        "updated": at,
        "status": "ACTIVE",
        // Without a name it is called by its id.
        "name": secret.said.get("name").filter(|name| !name.is_null()).cloned()
            .unwrap_or_else(|| id.into()),
        "secret_type": secret.said.get("secret_type").cloned().unwrap_or_else(|| "opaque".into()),
        "expiration": said("expiration"),
        "algorithm": said("algorithm"),
        "bit_length": said("bit_length"),
        "mode": said("mode"),
        "creator_id": secret.creator_id,
        "secret_ref": address(ask, id),
    });
    if let Some(held) = &secret.held {
        view["content_types"] = json!({"default": held.kind});
    }
    view
}

fn address(ask: &Ask, id: &str) -> String {
    format!("{}/key-manager/v1/secrets/{id}", ask.base)
}

fn wrong(what: &str, property: &str) -> Answer {
    let text = format!(
        "Provided object does not match schema 'Secret': {what}. Invalid property: '{property}'"
    );
    answer::barbican(400, text)
}
