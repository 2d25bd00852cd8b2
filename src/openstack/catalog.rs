//! The service catalog of a token: where each service of the cloud is, and how a path follows it.

use serde_json::Value;

use super::service::Service;

/// Which of a service's endpoints is used.
#[derive(Clone, Debug)]
pub(super) struct Preference {
    /// `public`, `internal` or `admin`.
    pub(super) interface: String,
    /// None takes the first region that has the service.
    pub(super) region: Option<String>,
    /// The interface of Keystone's that guests are told of, where one is said.
    pub(super) guests: Option<String>,
}

/// The endpoints that a token's owner may use, by service type. Only those of the preferred
/// interface and region are kept: a token's whole catalog is some 20 KB.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Catalog {
    endpoints: Vec<(Box<str>, Box<str>)>,
    /// Keystone as guests are told of it.
    guests_keystone: Option<Box<str>>,
}

impl Catalog {
    /// Reads the `catalog` of a token's body.
    pub(super) fn read(catalog: &Value, preference: &Preference) -> Self {
        let mut known = Self::default();
        for entry in catalog.as_array().into_iter().flatten() {
            let Some(kind) = entry["type"].as_str() else { continue };
            let url = |interface: &str| usable(entry, interface, preference.region.as_deref());
            if let Some(url) = url(&preference.interface) {
                known.endpoints.push((kind.into(), url.into()));
            }
            if kind == "identity" {
                known.guests_keystone = preference.guests.as_deref().and_then(url).map(Into::into);
            }
        }
        known
    }

    /// Keystone as guests are told of it, where that was asked for and is in the catalog.
    pub(super) fn guests_keystone(&self) -> Option<&str> {
        self.guests_keystone.as_deref()
    }

    /// Where the service is.
    pub(super) fn endpoint(&self, service: &Service) -> Option<&str> {
        let of = |kind: &str| self.endpoints.iter().find(|(known, _)| &**known == kind);
        service.catalog_types().find_map(of).map(|(_, url)| &**url)
    }
}

/// The URL of a catalog's entry that is of the interface, and of the region where one is wanted.
fn usable<'a>(entry: &'a Value, interface: &str, region: Option<&str>) -> Option<&'a str> {
    let found = entry["endpoints"].as_array()?.iter().find(|endpoint| {
        let of = endpoint["region_id"].as_str().or_else(|| endpoint["region"].as_str());
        endpoint["interface"].as_str() == Some(interface)
            && region.is_none_or(|wanted| of == Some(wanted))
    });
    found?["url"].as_str().map(|url| url.trim_end_matches('/'))
}

/// The URL of a path at an endpoint. Catalogs name versions or leave them out as they please:
/// what both name is taken once, and what neither names is filled in for services whose paths
/// leave it to the endpoint.
pub(super) fn join(endpoint: &str, service: &Service, path: &str, project: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    let path = path.strip_prefix('/').unwrap_or(path);
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    if service.has_plain_paths() {
        // The first segment is a container, and `v2` a fine name for one.
        return format!("{endpoint}/{path}");
    }
    match (root_before_version(endpoint), is_version(first)) {
        // The path's own version wins where they differ.
        (Some((root, version)), true) if same_major(version, first) => {
            let tail = &endpoint[root.len() + version.len()..];
            let base = format!("{root}{version}{tail}");
            if rest.is_empty() { base } else { format!("{base}/{rest}") }
        }
        (Some((root, _)), true) => format!("{root}{path}"),
        (None, false) => match service.default_version(project) {
            Some(version) => format!("{endpoint}/{version}/{path}"),
            None => format!("{endpoint}/{path}"),
        },
        (Some(_), false) | (None, true) => format!("{endpoint}/{path}"),
    }
}

/// The URL of the document that says which versions a service has at this endpoint.
pub(super) fn version_document(endpoint: &str, service: &Service) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    match (root_before_version(endpoint), service.default_version("")) {
        (Some((root, version)), _) => format!("{root}{version}/"),
        (None, Some(version)) => {
            format!("{endpoint}/{}/", version.split('/').next().unwrap_or_default())
        }
        (None, None) => format!("{endpoint}/"),
    }
}

/// The part of a URL before its version segment (with the slash), and that segment.
fn root_before_version(url: &str) -> Option<(&str, &str)> {
    let host = url.find("://").map_or(0, |at| at + 3);
    let mut from = host + url[host..].find('/')? + 1;
    loop {
        let end = url[from..].find('/').map_or(url.len(), |at| from + at);
        if is_version(&url[from..end]) {
            return Some((&url[..from], &url[from..end]));
        }
        if end == url.len() {
            return None;
        }
        from = end + 1;
    }
}

/// `v2`, `v2.1`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|number| {
        number.starts_with(|c: char| c.is_ascii_digit())
            && number.chars().all(|c| c.is_ascii_digit() || c == '.')
    })
}

fn same_major(one: &str, other: &str) -> bool {
    one.split('.').next() == other.split('.').next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn preference(interface: &str, region: Option<&str>) -> Preference {
        let region = region.map(str::to_owned);
        Preference { interface: interface.to_owned(), region, guests: None }
    }

    #[test]
    fn the_endpoint_is_of_the_preferred_interface_and_region() {
        let catalog = json!([
            {"type": "network", "endpoints": [
                {"interface": "internal", "region_id": "One", "url": "http://in:9696/"},
                {"interface": "public", "region_id": "One", "url": "http://one:9696/"},
                {"interface": "public", "region_id": "Two", "url": "http://two:9696"},
            ]},
            {"type": "block-storage", "endpoints": [
                {"interface": "public", "region_id": "One", "url": "http://one:8776/v3/p"},
            ]},
        ]);
        let one = Catalog::read(&catalog, &preference("public", Some("One")));
        assert_eq!(one.endpoint(&Service::Network), Some("http://one:9696"));
        assert_eq!(one.endpoint(&Service::Volume), Some("http://one:8776/v3/p"));
        assert_eq!(one.endpoint(&Service::Compute), None);
        let two = Catalog::read(&catalog, &preference("public", Some("Two")));
        assert_eq!(two.endpoint(&Service::Network), Some("http://two:9696"));
        let any = Catalog::read(&catalog, &preference("internal", None));
        assert_eq!(any.endpoint(&Service::Network), Some("http://in:9696"));
    }

    #[test]
    fn a_version_that_endpoint_and_path_name_is_taken_once() {
        let url = |endpoint: &str, service, path: &str| join(endpoint, &service, path, "p");
        let network = |endpoint| url(endpoint, Service::Network, "/v2.0/networks");
        assert_eq!(network("http://h:9696"), "http://h:9696/v2.0/networks");
        assert_eq!(network("http://h:9696/v2.0/"), "http://h:9696/v2.0/networks");
        assert_eq!(network("https://h/networking"), "https://h/networking/v2.0/networks");
        let image = |endpoint| url(endpoint, Service::Image, "/v2/images");
        assert_eq!(image("http://h:9292/v2"), "http://h:9292/v2/images");
        assert_eq!(image("http://h:9292/v1"), "http://h:9292/v2/images");
        let compute = |endpoint| url(endpoint, Service::Compute, "/servers");
        assert_eq!(compute("http://h:8774/v2.1"), "http://h:8774/v2.1/servers");
        assert_eq!(compute("http://h/compute"), "http://h/compute/v2.1/servers");
        let volume = |endpoint| url(endpoint, Service::Volume, "/volumes");
        assert_eq!(volume("http://h:8776/v3/p"), "http://h:8776/v3/p/volumes");
        assert_eq!(volume("http://h:8776"), "http://h:8776/v3/p/volumes");
        let store = |path| url("http://h:8080/v1/AUTH_p", Service::ObjectStore, path);
        assert_eq!(store("/pictures"), "http://h:8080/v1/AUTH_p/pictures");
        assert_eq!(store("/v1"), "http://h:8080/v1/AUTH_p/v1");
    }

    #[test]
    fn the_version_document_stands_at_the_versions_root() {
        let document = |endpoint| version_document(endpoint, &Service::Volume);
        assert_eq!(document("http://h:8776/v3/p"), "http://h:8776/v3/");
        assert_eq!(document("http://h/volume"), "http://h/volume/v3/");
        assert_eq!(version_document("http://h:1", &Service::Network), "http://h:1/");
    }
}
