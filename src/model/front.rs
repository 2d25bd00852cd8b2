//! What an operator can set of what stands between the network and the API, with its defaults.

use std::path::PathBuf;
use std::time::Duration;

/// Bytes of a header, and of a URL, where nobody says otherwise.
pub const HEADER_LINE_MAX_BYTES: usize = 16_384;

/// The files of a server that speaks TLS, all of them PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and after it those between it and an authority.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Where there is one, clients need a certificate of one of these authorities.
    pub client_authorities: Option<PathBuf>,
}

/// By what a request shows whose it is: the pipelines of Heat's `api-paste.ini`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AuthFlavor {
    /// A token of Keystone's.
    #[default]
    Token,
    /// `standalone`: a user's name and password will do, too.
    Password,
    /// `noauth`: by nothing; whoever asks is who he says he is.
    Nothing,
    /// `custombackend`: by whatever the server at this URL knows him by.
    Backend { url: String },
}

/// How long a client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// From the first byte of a request's head to its last, and for a handshake of TLS.
    pub head: Duration,
    /// For a body, beside what its bytes take at the slowest.
    pub body: Duration,
    /// Without taking anything of an answer.
    pub answer: Duration,
    /// Between two requests.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            body: Duration::from_secs(20),
            answer: Duration::from_secs(60),
            idle: Duration::from_secs(75),
        }
    }
}

/// How much may be open at a time; `None` is no bound.
#[derive(Clone, Copy, Debug)]
pub struct OpenLimits {
    /// Connections, all in all.
    pub connections: Option<usize>,
    /// Connections from one address on which nobody has shown a valid token yet.
    pub connections_per_address: Option<usize>,
    pub connections_per_user: Option<usize>,
    pub connections_per_project: Option<usize>,
    /// Requests that wait for their answer.
    pub requests_per_user: Option<usize>,
    pub requests_per_project: Option<usize>,
    pub feeds_per_user: Option<usize>,
    pub feeds_per_project: Option<usize>,
}

impl Default for OpenLimits {
    fn default() -> Self {
        Self {
            connections: Some(4096),
            connections_per_address: Some(256),
            connections_per_user: Some(256),
            connections_per_project: Some(512),
            requests_per_user: Some(128),
            requests_per_project: Some(256),
            feeds_per_user: Some(32),
            feeds_per_project: Some(128),
        }
    }
}

/// Which pages of other sites may read answers in a browser: the group `[cors]`, with Heat's
/// defaults.
#[derive(Clone, Debug)]
pub struct Cors {
    /// `scheme://host[:port]`, or `*`; without any there is no CORS.
    pub allowed_origins: Vec<String>,
    pub allow_credentials: bool,
    pub expose_headers: Vec<String>,
    /// Seconds; 0 says none.
    pub max_age: u64,
    pub allow_methods: Vec<String>,
    pub allow_headers: Vec<String>,
}

impl Default for Cors {
    fn default() -> Self {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        Self {
            allowed_origins: Vec::new(),
            allow_credentials: true,
            expose_headers: words(
                "X-Auth-Token X-Subject-Token X-Service-Token X-OpenStack-Request-ID",
            ),
            max_age: 3600,
            allow_methods: words("GET PUT POST DELETE PATCH"),
            allow_headers: words(
                "X-Auth-Token X-Identity-Status X-Roles X-Service-Catalog X-User-Id X-Tenant-Id \
                 X-OpenStack-Request-ID",
            ),
        }
    }
}
