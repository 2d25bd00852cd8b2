//! Users and projects by their ids, or by their names in a domain.

use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::state::User;
use crate::model::JsonMap;

/// The user of an id, or of a name in a domain.
pub(super) fn find_user<'a>(cloud: &'a Cloud, asked: &JsonMap) -> Option<&'a User> {
    let domain = asked.object("domain");
    cloud.keystone.users.values().find(|user| match asked.get("id") {
        Some(id) => id == user.id.as_str(),
        None => user.name == asked.text("name") && in_domain(cloud, domain, &user.domain_id),
    })
}

/// The id of a project.
pub(super) fn find_project(cloud: &Cloud, asked: &JsonMap) -> Option<String> {
    let domain = asked.object("domain");
    cloud
        .keystone
        .projects
        .values()
        .find(|project| match asked.get("id") {
            Some(id) => id == project.id.as_str(),
            None => {
                project.name == asked.text("name") && in_domain(cloud, domain, &project.domain_id)
            }
        })
        .map(|project| project.id.clone())
}

/// Whether a domain is the one that is asked for.
pub(super) fn in_domain(cloud: &Cloud, asked: Option<&JsonMap>, domain_id: &str) -> bool {
    let Some(asked) = asked else { return false };
    match asked.get("id") {
        Some(id) => id == domain_id,
        None => cloud
            .keystone
            .domains
            .get(domain_id)
            .is_some_and(|domain| domain.name == asked.text("name")),
    }
}
