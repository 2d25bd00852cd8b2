//! OS-FEDERATION: users whom an identity provider vouches for. What it says of one stands in headers
//! of his request, `X-Fed-…`, as at the Keystone of `tests/cloud`.

use chrono::TimeDelta;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::state::{Federated, Vouched, Vouching};
use super::{Domain, Membership, User, checked, forbidden, not_found, tokens, unauthorized};
use crate::model::JsonMap;

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET" | "POST", ["identity_providers", provider, "protocols", protocol, "auth"]) => {
            log_in(cloud, ask, provider, protocol)
        }
        ("GET", ["projects"]) => tokens::projects(cloud, ask),
        _ if !checked(cloud, ask)?.is_admin => Err(forbidden("identity:create_identity_provider")),
        (_, ["identity_providers", _]) => keep(cloud, ask, path, "identity_provider"),
        (_, ["identity_providers", _, "protocols", _]) => keep(cloud, ask, path, "protocol"),
        (_, ["mappings", _]) => keep(cloud, ask, path, "mapping"),
        _ => Err(answer::keystone(404, "The resource could not be found.")),
    }
}

/// Ends the memberships for which nobody vouches any longer.
pub(super) fn sweep(cloud: &mut Cloud, ask: &Ask) {
    let keystone = &cloud.keystone;
    let is_over = |vouched: &Vouched| {
        let provider = keystone.vouching.get(&format!("identity_providers/{}", vouched.provider));
        let minutes = provider.and_then(|it| it.said.int("authorization_ttl")).unwrap_or_default();
        // What ends after the last time that there is does not end.
        let ends = TimeDelta::try_minutes(minutes).and_then(|it| vouched.at.checked_add_signed(it));
        ends.is_some_and(|ends| ends <= ask.at)
    };
    let over = keystone.memberships.ids_where(|row| row.vouched.as_ref().is_some_and(is_over));
    for row in over {
        cloud.keystone.memberships.remove(&row);
    }
}

/// Makes, changes, shows or removes what is said of a provider, its protocols or a mapping.
fn keep(cloud: &mut Cloud, ask: &Ask, path: &[&str], kind: &str) -> Reply {
    let place = path.join("/");
    let id = path.last().copied().unwrap_or_default();
    let known = cloud.keystone.vouching.get(&place).map(|row| row.said.clone());
    let (status, mut said) = match (ask.method.as_str(), known) {
        ("PUT", Some(_)) => return Err(answer::keystone(409, format!("{kind} {id} is there"))),
        ("PUT", None) => (201, JsonMap::new()),
        (_, None) => return Err(not_found(kind, id)),
        (_, Some(said)) => (200, said),
    };
    match ask.method.as_str() {
        "PUT" | "PATCH" => said.extend(ask.wrapped(kind, answer::keystone)?),
        "DELETE" => {
            let below = format!("{place}/");
            let within = |row: &Vouching| row.path == place || row.path.starts_with(&below);
            for row in cloud.keystone.vouching.ids_where(within) {
                cloud.keystone.vouching.remove(&row);
            }
            return Ok(Answer::empty(204));
        }
        _ => {}
    }
    said.set("id", id);
    if kind == "identity_provider" && said.text("domain_id").is_empty() {
        // Keystone makes one, which is called as its id is.
        let domain = cloud.fresh_hex();
        let (name, description) = (domain.clone(), String::new());
        let made = Domain { id: domain.clone(), name, description, enabled: true };
        cloud.keystone.domains.insert(&domain, made);
        said.set("domain_id", domain);
    }
    let shown = json!({ kind: said });
    cloud.keystone.vouching.insert(&place.clone(), Vouching { path: place, said });
    Ok(Answer::json(status, &shown))
}

/// A token for nothing, for whom the mapping makes of the provider's words.
fn log_in(cloud: &mut Cloud, ask: &Ask, provider: &str, protocol: &str) -> Reply {
    let said = |path: String, kind: &str, id: &str| {
        let found = cloud.keystone.vouching.get(&path).map(|row| row.said.clone());
        found.ok_or_else(|| not_found(kind, id))
    };
    let at = format!("identity_providers/{provider}");
    let trusted = said(at.clone(), "Identity Provider", provider)?;
    let spoken = said(format!("{at}/protocols/{protocol}"), "federation protocol", protocol)?;
    let mapping = spoken.text("mapping_id");
    let mapping = said(format!("mappings/{mapping}"), "mapping", mapping)?;
    let rules = mapping.list("rules").iter().filter_map(Value::as_object);
    let (name, group_ids) =
        rules.filter_map(|rule| mapped(ask, rule)).next().ok_or_else(unauthorized)?;

    let unique = format!("{provider} {protocol} {name}");
    let id: String =
        Sha256::digest(unique.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    if !cloud.keystone.users.contains(&id) {
        let user = User {
            id: id.clone(),
            name,
            domain_id: trusted.text("domain_id").to_owned(),
            password: String::new(),
            email: None,
            description: String::new(),
            default_project_id: None,
            enabled: true,
        };
        cloud.keystone.users.insert(&id, user);
    }
    if trusted.int("authorization_ttl").is_some() {
        for group in &group_ids {
            let row = format!("{group} {id}");
            let lasting =
                cloud.keystone.memberships.get(&row).is_some_and(|row| row.vouched.is_none());
            if !lasting {
                let vouched = Vouched { provider: provider.to_owned(), at: ask.at };
                let (group_id, user_id) = (group.clone(), id.clone());
                let membership = Membership { group_id, user_id, vouched: Some(vouched) };
                cloud.keystone.memberships.insert(&row, membership);
            }
        }
    }
    let (provider, protocol) = (provider.to_owned(), protocol.to_owned());
    Ok(tokens::issue_to(cloud, ask, id, Federated { provider, protocol, group_ids }))
}

/// The user's name and groups by a rule, where it speaks of nothing that was not said.
fn mapped(ask: &Ask, rule: &JsonMap) -> Option<(String, Vec<String>)> {
    let mut values = Vec::new();
    for remote in rule.list("remote").iter().filter_map(Value::as_object) {
        let name = remote.text("type").strip_prefix("HTTP_X_FED_")?;
        let header = format!("x-fed-{}", name.to_ascii_lowercase().replace('_', "-"));
        values.push(ask.header(&header)?.to_owned());
    }
    let (mut user, mut groups) = (String::new(), Vec::new());
    for local in rule.list("local").iter().filter_map(Value::as_object) {
        if let Some(named) = local.object("user") {
            user = named.text("name").to_owned();
        }
        groups.extend(local.object("group").map(|group| group.text("id").to_owned()));
    }
    for (index, value) in values.iter().enumerate() {
        user = user.replace(&format!("{{{index}}}"), value);
    }
    (!user.is_empty()).then_some((user, groups))
}
