//! Identity v3: tokens, trusts, the catalog, and the users and projects there are.

mod app_credentials;
mod catalog;
mod directory;
mod ec2;
mod entries;
mod federation;
mod grants;
mod lookup;
pub(super) mod refer;
pub(super) mod scope;
mod signature;
pub(super) mod state;
mod tokens;
mod trusts;

use serde_json::json;

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;

pub(super) use scope::{Scope, scope};
pub(super) use state::{Domain, Grant, Project, Role, SYSTEM, User};

use state::{AppCredential, Credential, Keystone, Membership, Token, Trust};

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    route(cloud, ask, path).map_err(|refusal| match refusal.status {
        401 => refusal.header("www-authenticate", format!("Keystone uri=\"{}/v3\"", ask.base)),
        _ => refusal,
    })
}

fn route(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    federation::sweep(cloud, ask);
    match (ask.method.as_str(), path) {
        ("GET" | "HEAD", []) => Ok(Answer::json(200, &json!({"version": version(ask)}))),
        (_, ["auth", rest @ ..]) => tokens::answer(cloud, ask, rest),
        (_, ["OS-FEDERATION", rest @ ..]) => federation::answer(cloud, ask, rest),
        (_, ["OS-TRUST", "trusts", rest @ ..]) => {
            let scope = checked(cloud, ask)?;
            trusts::answer(cloud, ask, &scope, rest)
        }
        (_, ["users", user, "application_credentials", rest @ ..]) => {
            let scope = checked(cloud, ask)?;
            app_credentials::answer(cloud, ask, &scope, (user, rest))
        }
        (_, ["users", user, "credentials", "OS-EC2", rest @ ..]) => {
            let scope = checked(cloud, ask)?;
            ec2::of_user(cloud, ask, &scope, (user, rest))
        }
        (_, ["credentials", rest @ ..]) => {
            let scope = checked(cloud, ask)?;
            ec2::credentials(cloud, ask, &scope, rest)
        }
        ("POST", ["ec2tokens"]) => {
            checked(cloud, ask)?;
            ec2::token(cloud, ask)
        }
        _ => {
            let scope = checked(cloud, ask)?;
            directory::answer(cloud, ask, &scope, path)
        }
    }
}

/// The choice of versions, which is what an address without a version gives.
pub(super) fn versions(ask: &Ask) -> Answer {
    Answer::json(300, &json!({"versions": {"values": [version(ask)]}}))
        .header("location", format!("{}/v3/", ask.base))
}

fn version(ask: &Ask) -> serde_json::Value {
    json!({
        "id": "v3.14",
        "status": "stable",
        "updated": "2020-04-07T00:00:00Z",
        "links": [{"rel": "self", "href": format!("{}/v3/", ask.base)}],
        "media-types": [{
            "base": "application/json",
            "type": "application/vnd.openstack.identity-v3+json",
        }],
    })
}

/// The scope of the token, or Keystone's own refusal.
fn checked(cloud: &Cloud, ask: &Ask) -> Result<Scope, Answer> {
    scope::find_scope(cloud, ask).ok_or_else(unauthorized)
}

fn unauthorized() -> Answer {
    answer::keystone(401, "The request you have made requires authentication.")
}

fn forbidden(action: &str) -> Answer {
    answer::keystone(
        403,
        format!("You are not authorized to perform the requested action: {action}."),
    )
}

fn not_found(kind: &str, id: &str) -> Answer {
    answer::keystone(404, format!("Could not find {kind}: {id}."))
}
