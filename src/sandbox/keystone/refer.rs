//! References to what Keystone keeps.

use super::super::answer::Answer;
use super::super::cloud::Cloud;
use super::super::collections::rows::row_where;
use super::super::doc::Doc;
use super::{catalog, not_found};

/// Whether there are objects of this name here.
pub(in crate::sandbox) fn has_kind(singular: &str) -> bool {
    matches!(singular, "domain" | "project" | "user" | "role")
}

/// Refuses a reference to what is not there.
pub(in crate::sandbox) fn refer(cloud: &Cloud, singular: &str, id: &str) -> Result<(), Answer> {
    let keystone = &cloud.keystone;
    let is_there = match singular {
        "domain" => keystone.domains.contains(id),
        "project" => keystone.projects.contains(id),
        "user" => keystone.users.contains(id),
        "role" => keystone.roles.contains(id),
        "region" => cloud.config.region == id,
        "service" => has_service(cloud, id),
        "group" => row_where(cloud, ("identity", "group"), |it| it.text("id") == id).is_some(),
        _ => false,
    };
    if is_there { Ok(()) } else { Err(not_found(singular, id)) }
}

/// Whether the sandbox itself has a service of this id.
fn has_service(cloud: &Cloud, id: &str) -> bool {
    let services = catalog::services(cloud, "", "");
    services.iter().any(|service| catalog::service_id(&service.kind) == id)
}
