//! The services of a cloud by what they are for, whatever names its catalog has for them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::microversion::Microversion;

/// A service of the cloud.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Service {
    Identity,
    Compute,
    Network,
    Volume,
    Image,
    ObjectStore,
    /// Any other, by its type in the catalog: `dns`, `load-balancer`.
    Other(Arc<str>),
}

impl Service {
    /// The service that a type of the catalog stands for.
    pub fn of_type(name: &str) -> Self {
        match name {
            "identity" => Service::Identity,
            "compute" => Service::Compute,
            "network" => Service::Network,
            "volume" | "volumev3" | "block-storage" | "block-store" => Service::Volume,
            "image" => Service::Image,
            "object-store" => Service::ObjectStore,
            other => Service::Other(other.into()),
        }
    }

    /// The name that errors and log lines have for it: the catalog's, as Heat asks for it.
    pub fn as_str(&self) -> &str {
        match self {
            Service::Identity => "identity",
            Service::Compute => "compute",
            Service::Network => "network",
            Service::Volume => "volumev3",
            Service::Image => "image",
            Service::ObjectStore => "object-store",
            Service::Other(name) => name,
        }
    }

    /// The types under which a catalog may have it, the usual one first.
    pub(super) fn catalog_types(&self) -> &[&str] {
        match self {
            Service::Volume => &["volumev3", "block-storage", "block-store", "volume"],
            Service::Identity
            | Service::Compute
            | Service::Network
            | Service::Image
            | Service::ObjectStore
            | Service::Other(_) => &[],
        }
    }

    /// The service's name in `OpenStack-API-Version`.
    pub(super) fn microversion_name(&self) -> &str {
        match self {
            Service::Volume => "volume",
            other => other.as_str(),
        }
    }

    /// The microversion that is asked for where a request names none: the newest whose bodies
    /// Hearth knows. Heat too speaks the newest that both its client library and the cloud have.
    pub fn microversion(&self) -> Option<Microversion> {
        match self {
            Service::Compute => Some(Microversion::new(2, 96)),
            Service::Volume => Some(Microversion::new(3, 71)),
            Service::Identity
            | Service::Network
            | Service::Image
            | Service::ObjectStore
            | Service::Other(_) => None,
        }
    }

    /// What follows an endpoint that names no version, for services whose paths name none either.
    pub(super) fn default_version(&self, project: &str) -> Option<String> {
        match self {
            Service::Compute => Some("v2.1".to_owned()),
            Service::Volume => Some(format!("v3/{project}")),
            Service::Identity
            | Service::Network
            | Service::Image
            | Service::ObjectStore
            | Service::Other(_) => None,
        }
    }
}

impl From<String> for Service {
    fn from(name: String) -> Self {
        Service::of_type(&name)
    }
}

impl From<Service> for String {
    fn from(service: Service) -> Self {
        service.as_str().to_owned()
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
