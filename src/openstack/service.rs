//! The services of a cloud by what they are for, whatever names its catalog has for them, and what
//! is to be known to call them: `services.yaml`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use tracing::error;

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

/// A row of `services.yaml`, which says what its columns are.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Row {
    types: Vec<String>,
    version: Option<String>,
    microversion: Option<String>,
    versions: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    faults: Faults,
    plain_paths: bool,
}

/// How a service words its errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Faults {
    Compute,
    Volume,
    Network,
    Image,
    ObjectStore,
    Orchestration,
    KeyManager,
    #[default]
    Plain,
}

type Rows = BTreeMap<String, Row>;

fn read() -> Result<Rows, serde_yaml::Error> {
    serde_yaml::from_str(include_str!("services.yaml"))
}

fn rows() -> &'static Rows {
    static ROWS: OnceLock<Rows> = OnceLock::new();
    ROWS.get_or_init(|| {
        read().unwrap_or_else(|error| {
            error!(%error, "the table of services left out");
            Rows::default()
        })
    })
}

impl Service {
    /// The service that a type of the catalog stands for.
    pub fn of_type(name: &str) -> Self {
        let known = rows().iter().find(|(_, row)| row.types.iter().any(|known| known == name));
        match known.map_or(name, |(name, _)| name) {
            "identity" => Service::Identity,
            "compute" => Service::Compute,
            "network" => Service::Network,
            "volumev3" => Service::Volume,
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

    fn row(&self) -> &'static Row {
        static PLAIN: OnceLock<Row> = OnceLock::new();
        rows().get(self.as_str()).unwrap_or_else(|| PLAIN.get_or_init(Row::default))
    }

    /// The types under which a catalog may have it, the usual one first.
    pub(super) fn catalog_types(&self) -> impl Iterator<Item = &str> {
        let types = &self.row().types;
        let own = types.is_empty().then(|| self.as_str());
        types.iter().map(String::as_str).chain(own)
    }

    /// The microversion that is asked for where a request names none: the newest whose bodies
    /// Hearth knows. Heat too speaks the newest that both its client library and the cloud have.
    pub fn microversion(&self) -> Option<Microversion> {
        self.row().microversion.as_ref()?.parse().ok()
    }

    /// The headers that say a microversion. Services without a row have the usual one.
    pub(super) fn version_headers(&self, version: Microversion) -> Vec<(String, String)> {
        let versions = &self.row().versions;
        if versions.is_empty() {
            let usual = format!("{} {version}", self.as_str());
            return vec![("openstack-api-version".to_owned(), usual)];
        }
        let said = |text: &String| text.replace("{version}", &version.to_string());
        versions.iter().map(|(name, text)| (name.clone(), said(text))).collect()
    }

    /// Headers of every request.
    pub(super) fn headers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.row().headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What follows an endpoint that names no version, for services whose paths name none either.
    pub(super) fn default_version(&self, project: &str) -> Option<String> {
        self.row().version.as_ref().map(|version| version.replace("{project}", project))
    }

    /// Whether nothing in its paths is a version.
    pub(super) fn has_plain_paths(&self) -> bool {
        self.row().plain_paths
    }

    /// How it words its errors.
    pub(super) fn faults(&self) -> Faults {
        self.row().faults
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_read_and_each_microversion_is_one() {
        for (name, row) in read().unwrap() {
            let is_one = |text: &String| text.parse::<Microversion>().is_ok();
            assert!(row.microversion.iter().all(is_one), "{name}");
            assert!(row.types.is_empty() || row.types[0] == name, "{name}: the usual type first");
        }
    }

    #[test]
    fn a_service_is_the_same_under_each_of_its_names() {
        assert_eq!(Service::of_type("block-storage"), Service::Volume);
        assert_eq!(Service::of_type("shared-file-system"), Service::of_type("sharev2"));
        assert_eq!(Service::of_type("dns").catalog_types().collect::<Vec<_>>(), ["dns"]);
    }

    #[test]
    fn a_microversion_is_said_in_the_headers_that_the_service_reads() {
        let said = |service: &str| {
            let version = Microversion::new(2, 13);
            Service::of_type(service)
                .version_headers(version)
                .into_iter()
                .collect::<BTreeMap<_, _>>()
        };
        let manila = said("sharev2");
        assert_eq!(manila["x-openstack-manila-api-version"], "2.13");
        assert_eq!(manila["openstack-api-version"], "shared-file-system 2.13");
        assert_eq!(said("volumev3")["openstack-api-version"], "volume 2.13");
        assert_eq!(said("container")["openstack-api-version"], "container 2.13");
    }
}
