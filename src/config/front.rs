//! What stands between the network and the API: TLS, proxies, pages of other sites, and how much
//! and how slow clients may be.

use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::{ConfigError, Layers};
use crate::model::front::{
    AuthFlavor, Cors, HEADER_LINE_MAX_BYTES, OpenLimits, Patience, TlsFiles,
};

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
    pub cors: Cors,
    pub open: OpenLimits,
    pub patience: Patience,
    pub auth: AuthFlavor,
}

impl Front {
    pub(super) fn from_layers(layers: &Layers) -> Result<Front, ConfigError> {
        let middleware = "oslo_middleware";
        let whole = "a whole number";
        let own = Patience::default();
        let seconds = |name: &str, default: Duration| {
            let given: Option<u64> = layers.parsed("hearth", name, "a number of seconds")?;
            Ok(given.map_or(default, |seconds| Duration::from_secs(seconds.max(1))))
        };
        let named = |name| {
            let old = layers.text("DEFAULT", name);
            old.or(layers.text(middleware, name)).filter(|header| !header.is_empty())
        };
        let header_line: Option<usize> = layers.parsed("DEFAULT", "max_header_line", whole)?;
        let of_api: Option<usize> = layers.parsed("heat_api", "max_header_line", whole)?;
        let old: Option<u64> = layers.parsed("DEFAULT", "client_socket_timeout", whole)?;
        let idle: Option<u64> = layers.parsed("eventlet_opts", "client_socket_timeout", whole)?;
        // Heat's is far longer than what idle connections have here; 0 is none.
        let idle = idle.or(old).filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let parsing = layers.flag(middleware, "enable_proxy_headers_parsing")?;
        Ok(Front {
            tls: tls(layers)?,
            is_behind_proxy: parsing.unwrap_or(false),
            scheme_header: named("secure_proxy_ssl_header"),
            body_size: layers.parsed(middleware, "max_request_body_size", whole)?,
            header_line: of_api.or(header_line).unwrap_or(HEADER_LINE_MAX_BYTES),
            cors: cors(layers)?,
            open: open(layers)?,
            auth: auth_flavor(layers)?,
            patience: Patience {
                head: seconds("request_head_timeout", own.head)?,
                body: seconds("request_body_timeout", own.body)?,
                answer: seconds("response_timeout", own.answer)?,
                idle: idle.map_or(own.idle, |idle| idle.min(own.idle)),
            },
        })
    }
}

/// `flavor` of `[paste_deploy]`, by the names that Heat's `api-paste.ini` has for them.
fn auth_flavor(layers: &Layers) -> Result<AuthFlavor, ConfigError> {
    enum Named {
        Known(AuthFlavor),
        Backend,
    }

    impl std::str::FromStr for Named {
        type Err = ();

        fn from_str(text: &str) -> Result<Self, ()> {
            Ok(match text {
                "" | "default" | "keystone" => Self::Known(AuthFlavor::Token),
                "standalone" => Self::Known(AuthFlavor::Password),
                "noauth" => Self::Known(AuthFlavor::Nothing),
                "custombackend" => Self::Backend,
                _ => return Err(()),
            })
        }
    }

    let url = layers.text("hearth", "auth_backend_url").and_then(|text| Url::parse(&text).ok());
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https");
    let wanted = "default, standalone, custombackend or noauth";
    match layers.parsed("paste_deploy", "flavor", wanted)? {
        None => Ok(AuthFlavor::default()),
        Some(Named::Known(flavor)) => Ok(flavor),
        Some(Named::Backend) => match url.filter(is_http) {
            Some(url) => Ok(AuthFlavor::Backend { url: url.into() }),
            None => Err(ConfigError::Missing {
                name: "[hearth] auth_backend_url".to_owned(),
                why: "with [paste_deploy] flavor = custombackend a server at that URL, which begins \
                      with http, says whose a request is",
            }),
        },
    }
}

/// `cert_file`, `key_file` and `ca_file`.
fn tls(layers: &Layers) -> Result<Option<TlsFiles>, ConfigError> {
    let file = |name: &str| {
        let (own, shared) = (layers.text("heat_api", name), layers.text("ssl", name));
        own.or(shared).filter(|path| !path.is_empty()).map(PathBuf::from)
    };
    let client_authorities = layers.text("ssl", "ca_file").map(PathBuf::from);
    let missing = |name: &str, why| ConfigError::Missing { name: name.to_owned(), why };
    match (file("cert_file"), file("key_file")) {
        (Some(certificate), Some(key)) => {
            Ok(Some(TlsFiles { certificate, key, client_authorities }))
        }
        (Some(_), None) => {
            Err(missing("[ssl] key_file", "a certificate is of no use without its key"))
        }
        (None, Some(_)) => {
            Err(missing("[ssl] cert_file", "a key is of no use without its certificate"))
        }
        (None, None) if client_authorities.is_some() => {
            Err(missing("[ssl] cert_file", "clients show certificates to a server that has one"))
        }
        (None, None) => Ok(None),
    }
}

/// How much may be open at a time, in `[hearth]`.
fn open(layers: &Layers) -> Result<OpenLimits, ConfigError> {
    let own = OpenLimits::default();
    let bound = |name: &str, default: Option<usize>| {
        layers.limit("hearth", name, default.unwrap_or(usize::MAX))
    };
    Ok(OpenLimits {
        connections: bound("max_connections", own.connections)?,
        connections_per_address: bound("max_connections_per_address", own.connections_per_address)?,
        connections_per_user: bound("max_connections_per_user", own.connections_per_user)?,
        connections_per_project: bound("max_connections_per_project", own.connections_per_project)?,
        requests_per_user: bound("max_requests_per_user", own.requests_per_user)?,
        requests_per_project: bound("max_requests_per_project", own.requests_per_project)?,
        feeds_per_user: bound("max_feeds_per_user", own.feeds_per_user)?,
        feeds_per_project: bound("max_feeds_per_project", own.feeds_per_project)?,
    })
}

fn cors(layers: &Layers) -> Result<Cors, ConfigError> {
    let own = Cors::default();
    let list = |name: &str, default| layers.list("cors", name).unwrap_or(default);
    let max_age: Option<u64> = layers.parsed("cors", "max_age", "a number of seconds")?;
    Ok(Cors {
        allowed_origins: list("allowed_origin", own.allowed_origins),
        allow_credentials: layers
            .flag("cors", "allow_credentials")?
            .unwrap_or(own.allow_credentials),
        expose_headers: list("expose_headers", own.expose_headers),
        max_age: max_age.unwrap_or(own.max_age),
        allow_methods: list("allow_methods", own.allow_methods),
        allow_headers: list("allow_headers", own.allow_headers),
    })
}
