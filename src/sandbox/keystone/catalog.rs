//! The service catalog: every service of the sandbox, and Hearth's own two.

use serde_json::{Value, json};
use uuid::Uuid;

use super::super::ask::Ask;
use super::super::cloud::Cloud;

/// A service, its name, and its address for a project.
pub(super) struct Service {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) url: String,
}

/// All services that the sandbox is to have. `project` completes the addresses that contain one.
pub(super) fn services(cloud: &Cloud, base: &str, project: &str) -> Vec<Service> {
    let service =
        |kind: &str, name: &str, url| Service { kind: kind.to_owned(), name: name.to_owned(), url };
    let mut services = vec![
        service("identity", "keystone", format!("{base}/v3")),
        service("compute", "nova", format!("{base}/compute/v2.1")),
        service("network", "neutron", format!("{base}/network")),
        service("image", "glance", format!("{base}/image")),
        service("volumev3", "cinderv3", format!("{base}/volume/v3/{project}")),
        service("block-storage", "cinder", format!("{base}/volume/v3/{project}")),
        service("object-store", "swift", format!("{base}/object-store/v1/AUTH_{project}")),
        service("key-manager", "barbican", format!("{base}/key-manager")),
        service("messaging", "zaqar", format!("{base}/messaging")),
    ];
    if let Some(url) = &cloud.config.hearth_url {
        let url = format!("{}/v1/{project}", url.trim_end_matches('/'));
        services.push(service("orchestration", "heat", url));
    }
    if let Some(url) = &cloud.config.cfn_url {
        services.push(service(
            "cloudformation",
            "heat-cfn",
            format!("{}/v1", url.trim_end_matches('/')),
        ));
    }
    for further in cloud.collections.services() {
        if services.iter().all(|service| service.kind != further.kind) {
            let root = further.root.replace("{project}", project);
            let url = format!("{base}/{}{root}", further.kind);
            services.push(service(&further.kind, &further.name, url));
        }
    }
    services.retain(|service| !cloud.config.without.contains(&service.kind));
    services
}

/// The catalog as a token carries it. Without a project there are no addresses that contain one.
pub(super) fn entries(cloud: &Cloud, ask: &Ask, project: Option<&str>) -> Vec<Value> {
    const NO_PROJECT: &str = "%(project_id)s";
    let region = &cloud.config.region;
    let (has_project, project) = (project.is_some(), project.unwrap_or(NO_PROJECT));
    services(cloud, &ask.base, project)
        .into_iter()
        .map(|service| {
            let mut places = vec![(region.as_str(), service.url.clone())];
            places.retain(|(_, url)| !url.contains(NO_PROJECT));
            if service.kind == "orchestration" && has_project {
                let others = cloud.config.other_regions.iter();
                places.extend(
                    others.map(|(name, url)| (name.as_str(), format!("{url}/v1/{project}"))),
                );
            }
            let mut endpoints: Vec<Value> = Vec::new();
            for (region, url) in places {
                for interface in ["admin", "internal", "public"] {
                    endpoints.push(json!({
                        "id": endpoint_id(&service.kind, interface),
                        "interface": interface,
                        "region": region,
                        "region_id": region,
                        "url": url,
                    }));
                }
            }
            json!({
                "id": service_id(&service.kind),
                "type": service.kind,
                "name": service.name,
                "endpoints": endpoints,
            })
        })
        .collect()
}

pub(super) fn service_id(kind: &str) -> String {
    stable_id(kind)
}

pub(super) fn endpoint_id(kind: &str, interface: &str) -> String {
    stable_id(&format!("{kind} {interface}"))
}

/// The same name has the same id in every sandbox: the catalog is not kept.
fn stable_id(name: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(name.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Uuid::from_bytes(bytes).simple().to_string()
}
