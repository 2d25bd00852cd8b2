//! Compute v2.1: servers and what belongs to them.

mod actions;
mod attachments;
mod create;
mod ends;
mod flavors;
mod groups;
mod interfaces;
mod keypairs;
mod limits;
mod nics;
mod parts;
mod rsa;
mod server;
mod servers;
pub(super) mod state;
mod version;

use std::collections::BTreeMap;

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::keystone;

pub(super) use attachments::ends as attachment_ends;
pub(super) use ends::ends as server_ends;
pub(super) use flavors::plant as plant_flavor;

use state::Server;
use version::Version;

/// The servers that run, with their user data: as many at most, those of the lowest ids.
pub(super) fn active(cloud: &Cloud, max: usize) -> BTreeMap<String, String> {
    let active = cloud.nova.servers.iter().filter(|(_, server)| server.status == "ACTIVE");
    let told = |(id, server): (&str, &Server)| {
        (id.to_owned(), server.user_data.clone().unwrap_or_default())
    };
    active.take(max).map(told).collect()
}

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    match path {
        [] => return Ok(version::list(ask)),
        ["v2.1"] => return Ok(version::show(ask)),
        _ => {}
    }
    let ["v2.1", path @ ..] = path else { return Err(nowhere()) };
    let scope = keystone::scope(cloud, ask)?;
    let version = Version::of(ask)?;
    // Older clients name their project in the path.
    let path = match path {
        [project, rest @ ..] if *project == scope.project_id => rest,
        path => path,
    };
    let reply = match path {
        ["servers", rest @ ..] => servers::answer(cloud, ask, &scope, version, rest),
        ["flavors", rest @ ..] => flavors::answer(cloud, ask, &scope, version, rest),
        ["os-keypairs", rest @ ..] => keypairs::answer(cloud, ask, &scope, version, rest),
        ["os-server-groups", rest @ ..] => groups::answer(cloud, ask, &scope, version, rest),
        rest => limits::answer(cloud, ask, &scope, rest),
    };
    let mark = |answer: Answer| {
        answer
            .header("openstack-api-version", format!("compute {version}"))
            .header("x-openstack-nova-api-version", version.to_string())
            .header("vary", "OpenStack-API-Version, X-OpenStack-Nova-API-Version")
    };
    reply.map(mark).map_err(mark)
}

fn policy(rule: &str) -> Answer {
    answer::nova(403, format!("Policy doesn't allow os_compute_api:{rule} to be performed."))
}

fn nowhere() -> Answer {
    answer::nova(404, "The resource could not be found.")
}

fn bad(text: impl Into<String>) -> Answer {
    answer::nova(400, text)
}
