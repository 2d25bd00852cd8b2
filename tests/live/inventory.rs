//! What a project holds in the cloud, so that a test can show that it left nothing behind.

use std::collections::{BTreeMap, BTreeSet};

use hearth::openstack::{Request, Service, Session};
use serde_json::Value;

/// Ids by kind.
pub(crate) type Inventory = BTreeMap<&'static str, BTreeSet<String>>;

/// Everything that resource types make, in the project of the session.
pub(crate) async fn inventory(session: &Session) -> Inventory {
    let caller = session.caller().await.unwrap();
    let project = caller.project_id.as_str();
    let trusts = format!("/v3/OS-TRUST/trusts?trustor_user_id={}", caller.user_id);
    let mut found = Inventory::new();
    for (kind, service, path, key) in [
        ("networks", Service::Network, "/v2.0/networks", "id"),
        ("subnets", Service::Network, "/v2.0/subnets", "id"),
        ("ports", Service::Network, "/v2.0/ports", "id"),
        ("routers", Service::Network, "/v2.0/routers", "id"),
        ("security_groups", Service::Network, "/v2.0/security-groups", "id"),
        ("security_group_rules", Service::Network, "/v2.0/security-group-rules", "id"),
        ("floatingips", Service::Network, "/v2.0/floatingips", "id"),
        ("servers", Service::Compute, "/servers/detail", "id"),
        ("keypairs", Service::Compute, "/os-keypairs", "name"),
        ("server_groups", Service::Compute, "/os-server-groups", "id"),
        ("volumes", Service::Volume, "/volumes/detail", "id"),
        ("images", Service::Image, "/v2/images", "id"),
        ("containers", Service::ObjectStore, "/?format=json", "name"),
        ("trusts", Service::Identity, trusts.as_str(), "id"),
    ] {
        let answer = session.send(Request::get(service, path)).await.unwrap().json().unwrap();
        let members = match &answer {
            Value::Array(members) => members,
            body => body[kind].as_array().unwrap_or_else(|| panic!("{kind}: {body}")),
        };
        let own = |member: &&Value| {
            let owner = member["project_id"].as_str().or_else(|| member["owner"].as_str());
            owner.is_none_or(|owner| owner == project)
        };
        let ids = members.iter().filter(own).filter_map(|member| {
            // Nova wraps each key pair of the list once more.
            let inner = member.get("keypair").unwrap_or(member);
            inner[key].as_str().map(str::to_owned)
        });
        found.insert(kind, ids.collect());
    }
    found
}

/// Shows what is new and what is gone, if anything.
pub(crate) async fn assert_unchanged(session: &Session, before: &Inventory) {
    let after = inventory(session).await;
    for (kind, ids) in &after {
        let new: Vec<_> = ids.difference(&before[kind]).collect();
        let gone: Vec<_> = before[kind].difference(ids).collect();
        assert!(new.is_empty() && gone.is_empty(), "{kind}: new {new:?}, gone {gone:?}");
    }
}
