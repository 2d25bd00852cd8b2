//! What stands between the network and the API: TLS, proxies, pages of other sites, and how much
//! and how slow clients may be.

use std::path::PathBuf;
use std::time::Duration;

use super::{ConfigError, Layers};

/// See the module. `None` of a bound is no bound.
#[derive(Clone, Debug)]
pub struct Front {
    pub tls: Option<TlsFiles>,
    /// `enable_proxy_headers_parsing`.
    pub is_behind_proxy: bool,
    /// `secure_proxy_ssl_header`: the name of a header.
    pub scheme_header: Option<String>,
    /// `max_request_body_size`, in bytes.
    pub body_size: Option<usize>,
    /// `max_header_line`, in bytes.
    pub header_line: usize,
    pub cors: CorsOptions,
    pub open: OpenOptions,
    /// `request_head_timeout`.
    pub head_time: Duration,
    /// `request_body_timeout`.
    pub body_time: Duration,
    /// `response_timeout`.
    pub answer_time: Duration,
    /// `client_socket_timeout`, as far as it is less than what idle connections have here.
    pub idle_time: Duration,
}

/// PEM files of the API's own TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// `cert_file`.
    pub certificate: PathBuf,
    /// `key_file`.
    pub key: PathBuf,
    /// `ca_file` of `[ssl]`: who vouches for the clients' certificates.
    pub client_authorities: Option<PathBuf>,
}

/// How much may be open at a time, in `[hearth]`.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    pub connections: Option<usize>,
    pub connections_per_address: Option<usize>,
    pub connections_per_user: Option<usize>,
    pub connections_per_project: Option<usize>,
    pub requests_per_user: Option<usize>,
    pub requests_per_project: Option<usize>,
    pub feeds_per_user: Option<usize>,
    pub feeds_per_project: Option<usize>,
}

/// The group `[cors]`, with Heat's defaults.
#[derive(Clone, Debug)]
pub struct CorsOptions {
    pub allowed_origins: Vec<String>,
    pub allow_credentials: bool,
    pub expose_headers: Vec<String>,
    pub max_age: u64,
    pub allow_methods: Vec<String>,
    pub allow_headers: Vec<String>,
}

const EXPOSE_HEADERS: [&str; 4] =
    ["X-Auth-Token", "X-Subject-Token", "X-Service-Token", "X-OpenStack-Request-ID"];
const ALLOW_METHODS: [&str; 5] = ["GET", "PUT", "POST", "DELETE", "PATCH"];
const ALLOW_HEADERS: [&str; 7] = [
    "X-Auth-Token",
    "X-Identity-Status",
    "X-Roles",
    "X-Service-Catalog",
    "X-User-Id",
    "X-Tenant-Id",
    "X-OpenStack-Request-ID",
];

/// How long a connection may be idle where nobody says less.
const IDLE_SECS: u64 = 75;

impl Front {
    pub(super) fn from_layers(layers: &Layers) -> Result<Front, ConfigError> {
        let middleware = "oslo_middleware";
        let whole = "a whole number";
        let seconds = |name: &str, default: u64| {
            let given: Option<u64> = layers.parsed("hearth", name, "a number of seconds")?;
            Ok(Duration::from_secs(given.unwrap_or(default).max(1)))
        };
        let named = |name| {
            let old = layers.text("DEFAULT", name);
            old.or(layers.text(middleware, name)).filter(|header| !header.is_empty())
        };
        let header_line: Option<usize> = layers.parsed("DEFAULT", "max_header_line", whole)?;
        let of_api: Option<usize> = layers.parsed("heat_api", "max_header_line", whole)?;
        let old: Option<u64> = layers.parsed("DEFAULT", "client_socket_timeout", whole)?;
        let idle: Option<u64> = layers.parsed("eventlet_opts", "client_socket_timeout", whole)?;
        let idle = idle.or(old).filter(|seconds| *seconds > 0).unwrap_or(IDLE_SECS);
        let parsing = layers.flag(middleware, "enable_proxy_headers_parsing")?;
        Ok(Front {
            tls: TlsFiles::from_layers(layers)?,
            is_behind_proxy: parsing.unwrap_or(false),
            scheme_header: named("secure_proxy_ssl_header"),
            body_size: layers.parsed(middleware, "max_request_body_size", whole)?,
            header_line: of_api.or(header_line).unwrap_or(16_384),
            cors: CorsOptions::from_layers(layers)?,
            open: OpenOptions::from_layers(layers)?,
            head_time: seconds("request_head_timeout", 10)?,
            body_time: seconds("request_body_timeout", 20)?,
            answer_time: seconds("response_timeout", 60)?,
            idle_time: Duration::from_secs(idle.min(IDLE_SECS)),
        })
    }
}

impl TlsFiles {
    fn from_layers(layers: &Layers) -> Result<Option<Self>, ConfigError> {
        let file = |name: &str| {
            let (own, shared) = (layers.text("heat_api", name), layers.text("ssl", name));
            own.or(shared).filter(|path| !path.is_empty()).map(PathBuf::from)
        };
        let client_authorities = layers.text("ssl", "ca_file").map(PathBuf::from);
        let missing = |name: &str, why| ConfigError::Missing { name: name.to_owned(), why };
        match (file("cert_file"), file("key_file")) {
            (Some(certificate), Some(key)) => {
                Ok(Some(Self { certificate, key, client_authorities }))
            }
            (Some(_), None) => {
                Err(missing("[ssl] key_file", "a certificate is of no use without its key"))
            }
            (None, Some(_)) => {
                Err(missing("[ssl] cert_file", "a key is of no use without its certificate"))
            }
            (None, None) if client_authorities.is_some() => Err(missing(
                "[ssl] cert_file",
                "clients show certificates to a server that has one",
            )),
            (None, None) => Ok(None),
        }
    }
}

impl OpenOptions {
    fn from_layers(layers: &Layers) -> Result<Self, ConfigError> {
        let bound = |name: &str, default| layers.limit("hearth", name, default);
        Ok(Self {
            connections: bound("max_connections", 4096)?,
            connections_per_address: bound("max_connections_per_address", 256)?,
            connections_per_user: bound("max_connections_per_user", 256)?,
            connections_per_project: bound("max_connections_per_project", 512)?,
            requests_per_user: bound("max_requests_per_user", 128)?,
            requests_per_project: bound("max_requests_per_project", 256)?,
            feeds_per_user: bound("max_feeds_per_user", 32)?,
            feeds_per_project: bound("max_feeds_per_project", 128)?,
        })
    }
}

impl CorsOptions {
    fn from_layers(layers: &Layers) -> Result<Self, ConfigError> {
        let list = |name: &str, default: &[&str]| {
            let given = layers.list("cors", name);
            given.unwrap_or_else(|| default.iter().map(|&one| one.to_owned()).collect())
        };
        let max_age: Option<u64> = layers.parsed("cors", "max_age", "a number of seconds")?;
        Ok(Self {
            allowed_origins: list("allowed_origin", &[]),
            allow_credentials: layers.flag("cors", "allow_credentials")?.unwrap_or(true),
            expose_headers: list("expose_headers", &EXPOSE_HEADERS),
            max_age: max_age.unwrap_or(3600),
            allow_methods: list("allow_methods", &ALLOW_METHODS),
            allow_headers: list("allow_headers", &ALLOW_HEADERS),
        })
    }
}
