//! Object Storage v1: accounts, containers and objects.

mod containers;
mod entries;
mod listing;
mod objects;
pub(super) mod state;
mod temp_url;

use serde_json::{Value, json};

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::keystone;

use listing::Listing;
use state::Headers;

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    if let ["info"] = path {
        return Ok(info());
    }
    let ["v1", account, path @ ..] = path else { return Err(answer::swift(404)) };
    let Some(project) = account.strip_prefix("AUTH_") else { return Err(answer::swift(404)) };
    let public =
        matches!(path, [container, ..] if containers::is_public(cloud, project, container));
    let reading = matches!(ask.method.as_str(), "GET" | "HEAD");
    if !(public && reading || temp_url::is_signed(cloud, ask, project, path)) {
        let scope = keystone::scope(cloud, ask).map_err(|_| answer::swift(401))?;
        if !scope.sees(project) {
            return Err(answer::swift(403));
        }
    }
    match path {
        [] => account_answer(cloud, ask, project),
        [container] => containers::answer(cloud, ask, project, container),
        // What follows the container is one name, slashes and all.
        [container, name @ ..] => objects::answer(cloud, ask, project, container, &name.join("/")),
    }
}

fn account_answer(cloud: &mut Cloud, ask: &Ask, project: &str) -> Reply {
    match ask.method.as_str() {
        "POST" => {
            let mut account = cloud.swift.accounts.get(project).cloned().unwrap_or_default();
            account.project_id = project.to_owned();
            keep_headers(&mut account.headers, ask, &["x-account-meta-"], &[]);
            cloud.swift.accounts.insert(project, account);
            Ok(Answer::empty(204))
        }
        "GET" | "HEAD" => {
            let entries: Vec<Value> =
                containers::of(cloud, project).map(|c| containers::entry(cloud, c)).collect();
            let bytes: u64 = entries.iter().filter_map(|entry| entry["bytes"].as_u64()).sum();
            let objects: u64 = entries.iter().filter_map(|entry| entry["count"].as_u64()).sum();
            let count = entries.len();
            let mut answer = match ask.method.as_str() {
                "HEAD" => Answer::empty(204),
                _ => Listing::of(ask).answer(entries),
            };
            if let Some(account) = cloud.swift.accounts.get(project) {
                answer.headers.extend(account.headers.clone());
            }
            Ok(answer
                .header("x-account-container-count", count.to_string())
                .header("x-account-object-count", objects.to_string())
                .header("x-account-bytes-used", bytes.to_string())
                .header("accept-ranges", "bytes"))
        }
        _ => Err(answer::swift(405)),
    }
}

/// Keeps the request's headers of these prefixes and names; an empty value removes.
fn keep_headers(kept: &mut Headers, ask: &Ask, prefixes: &[&str], names: &[&str]) {
    for (name, value) in &ask.headers {
        let name = name.as_str();
        // `X-Remove-Container-Meta-Color` is the other way to remove.
        if let Some(rest) = name.strip_prefix("x-remove-") {
            kept.remove(&format!("x-{rest}"));
            continue;
        }
        if !names.contains(&name) && !prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        match value.to_str() {
            Ok("") => {
                kept.remove(name);
            }
            Ok(value) => {
                kept.insert(name.to_owned(), value.to_owned());
            }
            Err(_) => {}
        }
    }
}

fn info() -> Answer {
    Answer::json(
        200,
        &json!({"swift": {
            "version": "2.30.0",
            "max_file_size": 268_435_456,
            "max_meta_name_length": 128,
            "max_meta_value_length": 256,
            "container_listing_limit": listing::PAGE_MAX,
            "account_listing_limit": listing::PAGE_MAX,
        }}),
    )
}
