//! Addresses that open an object to anybody for a while: signed with a key of the account or of the
//! container, as Swift's middleware `tempurl` has it.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::containers;
use crate::model::hex;

/// Whether the request has a signature that is good for the object.
pub(super) fn is_signed(cloud: &Cloud, ask: &Ask, project: &str, path: &[&str]) -> bool {
    let (Some(signature), Some(expires)) =
        (ask.query("temp_url_sig"), ask.query("temp_url_expires"))
    else {
        return false;
    };
    let [container, _, ..] = path else { return false };
    let is_over = expires.parse().map_or(true, |at: i64| at < ask.at.timestamp());
    if is_over {
        return false;
    }
    let place = format!("/v1/AUTH_{project}/{}", path.join("/"));
    // Who may read or write may also look.
    let methods: &[&str] = match ask.method.as_str() {
        "HEAD" => &["HEAD", "GET", "PUT"],
        "GET" => &["GET"],
        "PUT" => &["PUT"],
        _ => &[],
    };
    let keys = keys(cloud, project, container);
    let mut signed = methods.iter().flat_map(|method| {
        let message = format!("{method}\n{expires}\n{place}");
        keys.iter().map(move |key| hmac(key.as_bytes(), message.as_bytes()))
    });
    signed.any(|known| known == signature)
}

fn keys(cloud: &Cloud, project: &str, container: &str) -> Vec<String> {
    let account = cloud.swift.accounts.get(project).map(|account| &account.headers);
    let container = containers::headers(cloud, project, container);
    let of_account = ["x-account-meta-temp-url-key", "x-account-meta-temp-url-key-2"];
    let of_container = ["x-container-meta-temp-url-key", "x-container-meta-temp-url-key-2"];
    let from_account = of_account.iter().filter_map(|name| account?.get(*name));
    let from_container = of_container.iter().filter_map(|name| container?.get(*name));
    from_account.chain(from_container).cloned().collect()
}

/// HMAC-SHA256 in hex.
fn hmac(key: &[u8], message: &[u8]) -> String {
    // A key of any length is taken.
    let mac = Hmac::<Sha256>::new_from_slice(key).map(|mac| mac.chain_update(message).finalize());
    let bytes = mac.map(|mac| mac.into_bytes()).unwrap_or_default();
    hex(&bytes)
}
