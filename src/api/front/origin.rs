//! Where a client believes the server to be: what links and redirects begin with. What proxies say
//! of it counts where the operator said that there is one, and only as far as it can be true.

use std::net::Ipv6Addr;

use actix_web::HttpRequest;
use actix_web::http::header::{HOST, HeaderMap, HeaderName};

use crate::api::request::state;

/// The longest name of a host in the DNS.
const HOST_NAME_MAX_BYTES: usize = 253;
/// The longest path that a proxy may put before ours.
const PREFIX_MAX_BYTES: usize = 1024;

/// What is known of the proxy before this server.
#[derive(Clone, Debug, Default)]
pub struct Proxy {
    /// `enable_proxy_headers_parsing`: whether there is one.
    pub is_there: bool,
    /// `secure_proxy_ssl_header`: the header by which it says how it was spoken to.
    pub scheme_header: Option<HeaderName>,
}

/// `scheme://host:port`, and what a proxy puts before the path.
pub(in crate::api) fn root(request: &HttpRequest) -> String {
    let Ok(state) = state(request) else { return String::new() };
    let own = Seen {
        scheme: if state.settings.front.tls.is_some() { "https" } else { "http" },
        host: host(request).unwrap_or(&state.address),
        prefix: "",
    };
    state.settings.front.proxy.seen(own, request.headers())
}

/// The host of the request, which was checked when it came.
fn host(request: &HttpRequest) -> Option<&str> {
    let header = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    header.filter(|host| is_host(host))
}

struct Seen<'a> {
    scheme: &'static str,
    host: &'a str,
    prefix: &'a str,
}

impl Proxy {
    fn seen<'a>(&self, own: Seen<'a>, headers: &'a HeaderMap) -> String {
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let mut seen = own;
        let mut port = None;
        let told = self.scheme_header.as_ref().and_then(|name| headers.get(name)?.to_str().ok());
        seen.scheme = told.and_then(scheme).unwrap_or(seen.scheme);
        if self.is_there {
            if let Some(forwarded) = header("forwarded").filter(|header| !header.is_empty()) {
                // The first one is what the outermost proxy saw.
                for (key, value) in pairs(forwarded) {
                    match key.to_ascii_lowercase().as_str() {
                        "proto" => seen.scheme = scheme(value).unwrap_or(seen.scheme),
                        "host" if is_host(value) => seen.host = value,
                        _ => {}
                    }
                }
            } else {
                let first = |name| header(name)?.split(',').next().map(str::trim);
                let told = first("x-forwarded-proto").and_then(scheme);
                seen.scheme = told.unwrap_or(seen.scheme);
                let told = first("x-forwarded-host").filter(|host| is_host(host));
                seen.host = told.unwrap_or(seen.host);
                port = first("x-forwarded-port").and_then(|port| port.parse::<u16>().ok());
            }
            let told = header("x-forwarded-prefix").filter(|prefix| is_prefix(prefix));
            seen.prefix = told.unwrap_or("").trim_end_matches('/');
        }
        let usual = if seen.scheme == "https" { 443 } else { 80 };
        let (name, _) = parted(seen.host);
        let (Seen { scheme, host, prefix }, port) = (seen, port.filter(|port| *port != usual));
        match port {
            Some(port) if name == host => format!("{scheme}://{host}:{port}{prefix}"),
            Some(_) | None => format!("{scheme}://{host}{prefix}"),
        }
    }
}

/// The pairs of the first element of a header `Forwarded`, without their quotes.
fn pairs(forwarded: &str) -> impl Iterator<Item = (&str, &str)> {
    let first = forwarded.split(',').next().unwrap_or_default();
    let pairs = first.split(';').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.trim(), value.trim().trim_matches('"')))
}

fn scheme(told: &str) -> Option<&'static str> {
    ["http", "https"].into_iter().find(|known| told.trim().eq_ignore_ascii_case(known))
}

/// Whether a text is a host with or without a port, and nothing that an answer could be led
/// astray with.
pub(super) fn is_host(text: &str) -> bool {
    let (name, port) = parted(text);
    let has_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    if let Some(address) = name.strip_prefix('[') {
        let address = address.strip_suffix(']').map(str::parse::<Ipv6Addr>);
        return has_port && matches!(address, Some(Ok(_)));
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    has_port && (1..=HOST_NAME_MAX_BYTES).contains(&name.len()) && name.bytes().all(is_name)
}

/// A host and its port, where there is one.
fn parted(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        Some(_) | None => (host, None),
    }
}

/// Whether a text is a path that says no host.
fn is_prefix(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.starts_with('/')
        && !text.contains("//")
        && text.len() <= PREFIX_MAX_BYTES
        && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    const BEHIND: Proxy = Proxy { is_there: true, scheme_header: None };

    #[track_caller]
    fn check(proxy: &Proxy, given: &[(&'static str, &'static str)], expected: &str) {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let own = Seen { scheme: "http", host: "own:8004", prefix: "" };
        assert_eq!(proxy.seen(own, &headers), expected);
    }

    #[test]
    fn nobody_says_where_the_server_is_unless_the_operator_has_a_proxy() {
        let given = [("x-forwarded-proto", "https"), ("x-forwarded-host", "evil.test")];
        check(&Proxy::default(), &given, "http://own:8004");
        check(&Proxy::default(), &[("forwarded", "host=evil.test;proto=https")], "http://own:8004");
        check(&BEHIND, &given, "https://evil.test");
    }

    #[test]
    fn what_a_proxy_says_counts_as_the_middleware_of_oslo_reads_it() {
        let given = [("forwarded", "for=1.2.3.4;Proto=https;host=\"heat.test:8443\", host=b")];
        check(&BEHIND, &given, "https://heat.test:8443");
        let both = [("forwarded", "proto=https"), ("x-forwarded-host", "other.test")];
        check(&BEHIND, &both, "https://own:8004");
        let chain = [("x-forwarded-proto", "https, http"), ("x-forwarded-host", "a.test, b.test")];
        check(&BEHIND, &chain, "https://a.test");
        let path = [("x-forwarded-prefix", "/heat/"), ("x-forwarded-host", "a.test")];
        check(&BEHIND, &path, "http://a.test/heat");
        let port = [("x-forwarded-host", "a.test"), ("x-forwarded-port", "8443")];
        check(&BEHIND, &port, "http://a.test:8443");
    }

    #[test]
    fn the_one_header_that_was_named_says_the_scheme() {
        let name = Some(HeaderName::from_static("x-forwarded-proto"));
        let proxy = Proxy { is_there: false, scheme_header: name };
        let given = [("x-forwarded-proto", "https"), ("x-forwarded-host", "evil.test")];
        check(&proxy, &given, "https://own:8004");
    }

    #[test]
    fn what_is_no_scheme_no_host_and_no_path_is_nothing() {
        check(&BEHIND, &[("x-forwarded-proto", "javascript")], "http://own:8004");
        check(&BEHIND, &[("forwarded", "proto=javascript;host=a/b")], "http://own:8004");
        for host in ["a.test/x", "user@a.test", "a b", "a:99999", "[::1", "", "a?b", "a#b"] {
            assert!(!is_host(host), "{host}");
        }
        for host in ["a.test", "10.0.0.1:80", "[::1]:8004", "[::1]", "heat_api"] {
            assert!(is_host(host), "{host}");
        }
        check(&BEHIND, &[("x-forwarded-prefix", "//evil.test")], "http://own:8004");
        check(&BEHIND, &[("x-forwarded-prefix", "/a\"><script>")], "http://own:8004");
    }
}
