//! Who has which role where, and who is in which group.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::entries::{Entry, singular};
use super::refer::refer;
use super::{Grant, Membership, SYSTEM, not_found};

/// A role that is given, asked for or taken: a project, a domain or the system, and a user or a
/// group of the path.
pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    (place, actors, actor): (&str, &str, &str),
    role: Option<&str>,
) -> Reply {
    refer(cloud, singular(actors), actor)?;
    let is_there = place == SYSTEM
        || cloud.keystone.projects.contains(place)
        || cloud.keystone.domains.contains(place);
    if !is_there {
        return Err(not_found("project", place));
    }
    let Some(role) = role else {
        let held = cloud.keystone.grants.values().filter(|grant| is_of(grant, place, actor));
        let roles = held.filter_map(|grant| cloud.keystone.roles.get(&grant.role_id));
        let roles: Vec<Value> = roles.map(|role| role.view(ask)).collect();
        return Ok(Answer::json(200, &json!({"roles": roles, "links": {}})));
    };
    refer(cloud, "role", role)?;
    let id = format!("{actor} {place} {role}");
    let known = cloud.keystone.grants.contains(&id);
    match ask.method.as_str() {
        "PUT" => {
            let is_group = actors == "groups";
            let grant = Grant {
                user_id: if is_group { String::new() } else { actor.to_owned() },
                group_id: is_group.then(|| actor.to_owned()),
                project_id: place.to_owned(),
                role_id: role.to_owned(),
            };
            cloud.keystone.grants.insert(&id, grant);
        }
        "GET" | "HEAD" if known => {}
        "DELETE" if known => {
            cloud.keystone.grants.remove(&id);
        }
        _ => {
            return Err(answer::keystone(
                404,
                format!(
                    "Could not find role assignment with role: {role}, user or group: {actor}, project, domain, or system: {place}."
                ),
            ));
        }
    }
    Ok(Answer::empty(204))
}

fn is_of(grant: &Grant, place: &str, actor: &str) -> bool {
    grant.project_id == place
        && (grant.user_id == actor || grant.group_id.as_deref() == Some(actor))
}

/// A user joins a group, is looked for in it, or leaves it.
pub(super) fn membership(cloud: &mut Cloud, ask: &Ask, group: &str, user: &str) -> Reply {
    refer(cloud, "group", group)?;
    refer(cloud, "user", user)?;
    let id = format!("{group} {user}");
    let known = cloud.keystone.memberships.contains(&id);
    match ask.method.as_str() {
        "PUT" => {
            let (group_id, user_id) = (group.to_owned(), user.to_owned());
            let row = Membership { group_id, user_id, vouched: None };
            cloud.keystone.memberships.insert(&id, row);
        }
        "GET" | "HEAD" if known => {}
        "DELETE" if known => {
            cloud.keystone.memberships.remove(&id);
        }
        _ => return Err(not_found("user in group", user)),
    }
    Ok(Answer::empty(204))
}

/// Grants as role assignments.
pub(super) fn assignments(cloud: &Cloud) -> Vec<Value> {
    let keystone = &cloud.keystone;
    let view = |grant: &Grant| {
        let scope = match grant.project_id.as_str() {
            SYSTEM => json!({"system": {"all": true}}),
            id if keystone.domains.contains(id) => json!({"domain": {"id": id}}),
            id => json!({"project": {"id": id}}),
        };
        let role = json!({"id": grant.role_id});
        match &grant.group_id {
            Some(group) => json!({"role": role, "group": {"id": group}, "scope": scope}),
            None => json!({"role": role, "user": {"id": grant.user_id}, "scope": scope}),
        }
    };
    keystone.grants.values().map(view).collect()
}

/// Forgets what goes with something that is gone.
pub(super) fn forget(cloud: &mut Cloud, id: &str) {
    let grants = cloud.keystone.grants.ids_where(|grant| {
        grant.role_id == id || grant.project_id == id || is_of(grant, &grant.project_id, id)
    });
    for grant in grants {
        cloud.keystone.grants.remove(&grant);
    }
    let memberships =
        cloud.keystone.memberships.ids_where(|row| row.user_id == id || row.group_id == id);
    for row in memberships {
        cloud.keystone.memberships.remove(&row);
    }
    let credentials = &cloud.keystone.credentials;
    let credentials =
        credentials.ids_where(|it| it.user_id == id || it.project_id.as_deref() == Some(id));
    for credential in credentials {
        cloud.keystone.credentials.remove(&credential);
    }
}
