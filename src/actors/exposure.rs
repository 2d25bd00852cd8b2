//! Which types a caller may use, and which the cloud has a service for.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::extensions::Aliases;
use super::services::Services;
use crate::model::{Caller, Refusal};
use crate::openstack::{CloudError, Request, Service, Session};
use crate::template::StackDefinition;

/// Services by their types in the catalog, and Heat's names for their clients.
const CLIENTS: [(&str, &str); 18] = [
    ("alarming", "aodh"),
    ("baremetal", "ironic"),
    ("compute", "nova"),
    ("container", "zun"),
    ("container-infra", "magnum"),
    ("database", "trove"),
    ("dns", "designate"),
    ("identity", "keystone"),
    ("image", "glance"),
    ("key-manager", "barbican"),
    ("load-balancer", "octavia"),
    ("messaging", "zaqar"),
    ("network", "neutron"),
    ("object-store", "swift"),
    ("reservation", "blazar"),
    ("sharev2", "manila"),
    ("volumev3", "cinder"),
    ("workflowv2", "mistral"),
];

/// Where services list their extensions.
const LISTS: [(&str, &str); 2] = [("network", "/v2.0/extensions"), ("volumev3", "/extensions")];

async fn extensions(services: &Services, there: &Session, service: &str) -> Aliases {
    let now = services.clock.now();
    let of = (there.auth_url(), service);
    if let Some(known) = services.extensions.known(of, now) {
        return known;
    }
    let list = listed(there, service).await.map(Arc::new);
    services.extensions.keep(of, now, &list);
    list
}

/// What a service lists, as it says now.
async fn listed(there: &Session, service: &str) -> Option<BTreeSet<String>> {
    let (_, path) = LISTS.iter().find(|(known, _)| *known == service)?;
    let request = Request::get(Service::of_type(service), *path);
    let answer = there.send(request).await.ok()?.json().ok()?;
    let aliases = answer["extensions"].as_array()?.iter().map(|it| it["alias"].as_str());
    Some(aliases.flatten().map(str::to_owned).collect())
}

/// Refuses a type whose extension the service does not have in the cloud of a session.
pub(super) async fn check_extension(
    services: &Services,
    there: &Session,
    type_name: &str,
) -> Result<(), Refusal> {
    let schema = services.registry.schema(type_name);
    let needed = schema.and_then(|it| Some((it.service.as_deref()?, it.extension.as_deref()?)));
    let Some((service, extension)) = needed else { return Ok(()) };
    match extensions(services, there, service).await {
        Some(there) if !there.contains(extension) => {
            let reason = format!(
                "Required extension {extension} in {} service is not available.",
                client(service)
            );
            Err(unavailable(type_name, service, &reason))
        }
        Some(_) | None => Ok(()),
    }
}

/// The same of all types of a definition.
pub(super) async fn check_extensions(
    services: &Services,
    there: &Session,
    definition: &StackDefinition,
) -> Result<(), Refusal> {
    let used: BTreeSet<&str> =
        definition.resources().values().map(|resource| resource.type_name.as_str()).collect();
    for type_name in used {
        check_extension(services, there, type_name).await?;
    }
    Ok(())
}

/// The services that the cloud of a session does not have. Where it does not say, it has them all.
pub(super) async fn lacking(there: &Session) -> BTreeSet<&'static str> {
    let mut lacking = BTreeSet::new();
    for (service, _) in CLIENTS {
        match has(there, service).await {
            Some(true) => {}
            Some(false) => drop(lacking.insert(service)),
            None => return BTreeSet::new(),
        }
    }
    lacking
}

/// Refuses a definition with a type that the cloud has no service for.
pub(super) fn check_services(
    services: &Services,
    definition: &StackDefinition,
    lacking: &BTreeSet<&str>,
) -> Result<(), Refusal> {
    for resource in definition.resources().values() {
        let schema = services.registry.schema(&resource.type_name);
        let service = schema.and_then(|schema| schema.service.as_deref());
        let Some(service) = service.filter(|service| lacking.contains(service)) else { continue };
        let reason = format!("{} {service} endpoint is not in service catalog.", client(service));
        return Err(unavailable(&resource.declared_type, service, &reason));
    }
    Ok(())
}

/// The types of a definition, by whichever name: an alias is no way around the type that it stands
/// for.
pub(super) fn types(definition: &StackDefinition) -> Vec<String> {
    let resources = definition.resources().values();
    let types = resources.flat_map(|resource| [&resource.declared_type, &resource.type_name]);
    types.cloned().collect()
}

/// Refuses the first type that the caller may not use.
pub(super) async fn check_allowed(
    services: &Services,
    caller: &Arc<Caller>,
    types: Vec<String>,
) -> Result<(), Refusal> {
    let distinct = types.iter().cloned().collect();
    let forbidden = (services.forbidden_types)(Arc::clone(caller), distinct).await;
    match types.iter().find(|type_name| forbidden.contains(*type_name)) {
        Some(type_name) => {
            let text = format!("You are not authorized to use {type_name}.");
            Err(Refusal::new("Forbidden", text))
        }
        None => Ok(()),
    }
}

/// Whether the cloud of a session has a service; `None` where it does not say.
pub(super) async fn has(there: &Session, service: &str) -> Option<bool> {
    match there.endpoint(&Service::of_type(service)).await {
        Ok(_) => Some(true),
        Err(CloudError::NoEndpoint { .. }) => Some(false),
        Err(_) => None,
    }
}

fn client(service: &str) -> &str {
    CLIENTS.iter().find(|(known, _)| *known == service).map_or(service, |(_, client)| client)
}

/// The refusal of a type whose service is not there.
pub(super) fn unavailable(type_name: &str, service: &str, reason: &str) -> Refusal {
    let text = format!(
        "HEAT-E99001 Service {} is not available for resource type {type_name}, reason: {reason}",
        client(service)
    );
    Refusal::new("ResourceTypeUnavailable", text)
}
