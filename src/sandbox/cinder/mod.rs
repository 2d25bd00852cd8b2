//! Block Storage v3: volumes, snapshots, backups, types and quotas.

mod actions;
mod copies;
mod quotas;
pub(super) mod state;
mod types;
mod volume;
mod volumes;

use serde_json::json;

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::keystone;

pub(super) use copies::{Backups, Snapshots, modernize};
pub(super) use state::Attachment;
pub(super) use types::plant as plant_type;
pub(super) use volume::{attached, begin_delete, detached, ends as volume_ends, set_status};
pub(super) use volumes::{Wish, create_for_server};

/// The newest microversion.
const VERSION_LAST: u32 = 70;

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    match path {
        [] => return Ok(versions(ask, 300)),
        ["v3"] => return Ok(versions(ask, 200)),
        _ => {}
    }
    let ["v3", path @ ..] = path else { return Err(nowhere()) };
    let scope = keystone::scope(cloud, ask)?;
    let version = version(ask)?;
    // The project may stand in the path; another one than the token's is refused.
    let path = match path {
        [project, rest @ ..] if *project == scope.project_id => rest,
        [project, rest @ ..] if cloud.keystone.projects.contains(project) => {
            if !scope.is_admin {
                return Err(answer::nova(400, "Malformed request url"));
            }
            rest
        }
        path => path,
    };
    let reply = match path {
        ["volumes", rest @ ..] => volumes::answer(cloud, ask, &scope, version, rest),
        ["backups", id, "restore"] if ask.method == "POST" => {
            copies::restore(cloud, ask, &scope, id)
        }
        ["types", rest @ ..] => types::answer(cloud, ask, &scope, rest),
        rest => quotas::answer(cloud, ask, &scope, rest),
    };
    let mark = |answer: Answer| {
        answer
            .header("openstack-api-version", format!("volume 3.{version}"))
            .header("vary", "OpenStack-API-Version")
    };
    reply.map(mark).map_err(mark)
}

/// The microversion 3.x that a request asks for.
fn version(ask: &Ask) -> Result<u32, Answer> {
    let asked = ask
        .header("openstack-api-version")
        .and_then(|header| header.split(',').find_map(|part| part.trim().strip_prefix("volume ")));
    match asked {
        None => Ok(0),
        Some("latest") => Ok(VERSION_LAST),
        Some(asked) => asked
            .strip_prefix("3.")
            .and_then(|minor| minor.parse().ok())
            .filter(|minor| *minor <= VERSION_LAST)
            .ok_or_else(|| {
                let text = format!("Version {asked} is not supported by the API. Minimum is 3.0 and maximum is 3.{VERSION_LAST}.");
                answer::nova(406, text)
            }),
    }
}

fn versions(ask: &Ask, status: u16) -> Answer {
    let version = json!({
        "id": "v3.0",
        "status": "CURRENT",
        "version": format!("3.{VERSION_LAST}"),
        "min_version": "3.0",
        "updated": "2022-09-01T00:00:00Z",
        "links": [{"rel": "self", "href": format!("{}/volume/v3/", ask.base)}],
        "media-types": [{
            "base": "application/json",
            "type": "application/vnd.openstack.volume+json;version=3",
        }],
    });
    Answer::json(status, &json!({"versions": [version]}))
}

fn policy(rule: &str) -> Answer {
    answer::nova(403, format!("Policy doesn't allow {rule} to be performed."))
}

fn bad(text: impl Into<String>) -> Answer {
    answer::nova(400, text)
}

fn nowhere() -> Answer {
    answer::nova(404, "The resource could not be found.")
}

fn over(text: impl Into<String>) -> Answer {
    let text: String = text.into();
    let body = json!({"overLimit": {"code": 413, "message": text, "retryAfter": "0"}});
    Answer::json(413, &body).header("retry-after", "0")
}
