//! Key pairs: a user's public keys, and the private ones that older microversions make.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::{Ask, stamp_micros};
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::state::KeyPair;
use super::version::Version;
use super::{bad, limits, nowhere, policy, rsa};

pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    version: Version,
    path: &[&str],
) -> Reply {
    let asked = ask.query("user_id").filter(|_| version >= Version(10));
    let user = asked.unwrap_or(&scope.user_id).to_owned();
    if user != scope.user_id && !scope.is_admin {
        return Err(policy("os-keypairs:index"));
    }
    match (ask.method.as_str(), path) {
        ("GET", []) => {
            version.accept_only(ask, &["user_id", "limit", "marker"])?;
            let pairs: Vec<Value> = cloud
                .nova
                .key_pairs
                .values()
                .filter(|pair| pair.user_id == user)
                .map(|pair| json!({"keypair": brief(version, pair)}))
                .collect();
            Ok(Answer::json(200, &json!({"keypairs": pairs})))
        }
        ("POST", []) => create(cloud, ask, scope, version),
        ("GET", [name]) => {
            let pair = cloud.nova.key_pairs.get(&key(&user, name));
            let pair = pair.ok_or_else(|| missing(&user, name))?;
            let mut view = brief(version, pair);
            view["user_id"] = pair.user_id.as_str().into();
            view["created_at"] = pair.created_at.as_str().into();
            view["deleted"] = false.into();
            view["deleted_at"] = Value::Null;
            view["updated_at"] = Value::Null;
            view["id"] = 1.into();
            Ok(Answer::json(200, &json!({"keypair": view})))
        }
        ("DELETE", [name]) => match cloud.nova.key_pairs.remove(&key(&user, name)) {
            Some(_) => Ok(Answer::empty(if version >= Version(2) { 204 } else { 202 })),
            None => Err(missing(&user, name)),
        },
        _ => Err(nowhere()),
    }
}

/// Whether a user has a key pair of this name.
pub(super) fn exists(cloud: &Cloud, user: &str, name: &str) -> bool {
    cloud.nova.key_pairs.contains(&key(user, name))
}

fn key(user: &str, name: &str) -> String {
    format!("{user} {name}")
}

fn missing(user: &str, name: &str) -> Answer {
    answer::nova(404, format!("Keypair {name} not found for user {user}"))
}

fn create(cloud: &mut Cloud, ask: &Ask, scope: &Scope, version: Version) -> Reply {
    let given = ask.wrapped("keypair", answer::nova)?;
    let name = given.text("name").trim();
    if name.is_empty() || name.len() > 255 {
        return Err(bad(
            "Keypair data is invalid: Keypair name must be string and between 1 and 255 characters long",
        ));
    }
    let user = match given.get("user_id").and_then(Value::as_str).filter(|_| version >= Version(10))
    {
        Some(user) if user != scope.user_id && !scope.is_admin => {
            return Err(policy("os-keypairs:create"));
        }
        Some(user) => user.to_owned(),
        None => scope.user_id.clone(),
    };
    limits::allow_key_pair(cloud, &user)?;
    if exists(cloud, &user, name) {
        return Err(answer::nova(409, format!("Key pair '{name}' already exists.")));
    }
    let kind = match given.text("type") {
        "" => "ssh",
        kind @ ("ssh" | "x509") if version >= Version(2) => kind,
        other => {
            return Err(bad(format!("Invalid input for field/attribute type. Value: {other}.")));
        }
    };
    let (public_key, private_key) = match given.get("public_key").and_then(Value::as_str) {
        Some(public_key) => (public_key.to_owned(), None),
        None if version >= Version(92) => {
            return Err(bad(
                "Invalid input for field/attribute keypair. 'public_key' is a required property",
            ));
        }
        None if kind == "x509" => {
            return Err(bad("Keypair data is invalid: the sandbox signs no certificates"));
        }
        None => {
            let made = rsa::generate().ok_or_else(|| answer::nova(500, "No key could be made."))?;
            (made.public, Some(made.private))
        }
    };
    let fingerprint = fingerprint(kind, &public_key)
        .ok_or_else(|| bad("Keypair data is invalid: failed to generate fingerprint"))?;
    let pair = KeyPair {
        name: name.to_owned(),
        user_id: user,
        project_id: scope.project_id.clone(),
        kind: kind.to_owned(),
        public_key,
        fingerprint,
        created_at: stamp_micros(ask.at),
    };
    let mut view = brief(version, &pair);
    view["user_id"] = pair.user_id.as_str().into();
    if let Some(private_key) = private_key {
        view["private_key"] = private_key.into();
    }
    cloud.nova.key_pairs.insert(&key(&pair.user_id, &pair.name), pair);
    let status = if version >= Version(2) { 201 } else { 200 };
    Ok(Answer::json(status, &json!({"keypair": view})))
}

/// MD5 over what the key's text encodes, in pairs of hex digits.
fn fingerprint(kind: &str, public_key: &str) -> Option<String> {
    let encoded: String = match kind {
        "x509" => public_key.lines().filter(|line| !line.starts_with("-----")).collect(),
        _ => public_key.split_whitespace().nth(1)?.to_owned(),
    };
    let bytes = STANDARD.decode(encoded).ok().filter(|bytes| !bytes.is_empty())?;
    let digest = Md5::digest(bytes);
    Some(digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"))
}

fn brief(version: Version, pair: &KeyPair) -> Value {
    let mut view = json!({
        "name": pair.name,
        "public_key": pair.public_key,
        "fingerprint": pair.fingerprint,
    });
    if version >= Version(2) {
        view["type"] = pair.kind.as_str().into();
    }
    view
}
