//! Where the server is: a connection string as its other clients know it, with a name of ours in
//! it, `prefix`, under which the streams of this Hearth stand.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use ::eventstore::{Authentication, ClientSettings, Endpoint};
use percent_encoding::percent_decode_str;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use crate::private_files;

/// How long a call may take before its node counts as lost. A server's own limit is 2 s.
pub(super) const CALL_TIME_MAX: Duration = Duration::from_secs(3);
/// Under which the streams stand where the connection string does not say.
const PREFIX: &str = "hearth";
/// Names the file with the user's password.
const PASSWORD_FILE: &str = "passwordFile";
/// How long the name may be.
const PREFIX_SIZE_MAX: usize = 64;

/// Why a connection string is no use. None of these shows the string, for it may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("the address of the log is not a connection string of EventStoreDB: {0}")]
    Malformed(String),
    #[error("prefix: only letters, digits, '-' and '_' make a name, at most {PREFIX_SIZE_MAX}")]
    Prefix,
    #[error("tlsVerifyCert=false is not taken: name the issuer with tlsCaFile")]
    Unverified,
    #[error("{PASSWORD_FILE} is the password of a user who is named, and has no other")]
    Password,
    #[error("{0}")]
    PasswordFile(String),
    #[error("could not read {path}: {error}")]
    File { path: String, error: std::io::Error },
}

/// A connection string that has been read.
#[derive(Clone)]
pub struct Address {
    pub(super) hosts: Vec<Endpoint>,
    /// The settings without hosts and user, as a query.
    query: String,
    pub(super) prefix: String,
    user: Option<(String, String)>,
    tls: Option<ClientTlsConfig>,
    scheme: String,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The hosts alone.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        for (at, host) in self.hosts.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}", host.host, host.port)?;
        }
        Ok(())
    }
}

impl Address {
    /// Whether a text is meant to be one.
    pub fn is_meant(text: &str) -> bool {
        let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
        ["esdb", "kurrentdb", "kurrent", "kdb"]
            .contains(&scheme.strip_suffix("+discover").unwrap_or(scheme))
    }

    /// Reads a connection string.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let malformed = |what: &str| AddressError::Malformed(what.to_owned());
        if !Self::is_meant(text) {
            return Err(malformed("it does not begin with esdb:// or kurrentdb://"));
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(|| malformed("no scheme"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, hosts) = match rest.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, rest),
        };
        let named = |name: &str, pair: &str| {
            pair.split_once('=').is_some_and(|(found, _)| found.eq_ignore_ascii_case(name))
        };
        let value = |pair: &str| pair.split_once('=').map_or("", |(_, value)| value).to_owned();
        let ours = query.split('&').find(|pair| named("prefix", pair));
        let prefix = ours.map_or(PREFIX.to_owned(), value);
        let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        if prefix.is_empty() || prefix.len() > PREFIX_SIZE_MAX || !prefix.chars().all(is_name) {
            return Err(AddressError::Prefix);
        }
        let secret = query.split('&').find(|pair| named(PASSWORD_FILE, pair)).map(value);
        let is_theirs =
            |it: &&str| !it.is_empty() && !named("prefix", it) && !named(PASSWORD_FILE, it);
        // The crate puts it into a header, without a look.
        let is_header = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if query.split('&').any(|pair| named("connectionName", pair) && !is_header(pair)) {
            return Err(malformed("connectionName: only printable ASCII goes into a header"));
        }
        let theirs: Vec<_> = query.split('&').filter(is_theirs).collect();
        let query = theirs.join("&");
        // Without the user, so that no error can show the password.
        let settings: ClientSettings = format!("esdb://{hosts}?{query}")
            .parse()
            .map_err(|error: ::eventstore::ClientSettingsParseError| malformed(error.message()))?;
        if !settings.is_tls_certificate_verification_enabled() {
            return Err(AddressError::Unverified);
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let user = user.map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            (decoded(name), decoded(password))
        });
        let user = match (user, secret) {
            (Some((name, password)), Some(path)) if password.is_empty() => {
                Some((name, read_password(&decoded(&path))?))
            }
            (_, Some(_)) => return Err(AddressError::Password),
            (user, None) => user,
        };
        let tls = if settings.is_secure_mode_enabled() { Some(tls(&settings)?) } else { None };
        let (hosts, scheme) = (settings.hosts().clone(), scheme.to_owned());
        Ok(Self { hosts, query, prefix, user, tls, scheme })
    }

    /// Whether the nodes are asked for each other: of several hosts, or of one with `+discover`.
    pub(super) fn discovers(&self) -> bool {
        self.hosts.len() > 1 || self.scheme.ends_with("+discover")
    }

    /// Settings of the crate's client for one node alone, which is the one that leads.
    pub(super) fn client_settings(&self, node: &Endpoint) -> Result<ClientSettings, String> {
        let (host, port, query) = (&node.host, node.port, &self.query);
        let ours = "discoveryInterval=5&maxDiscoverAttempts=3&nodePreference=leader";
        format!("esdb://{host}:{port}?{query}&{ours}")
            .parse()
            .map_err(|error: ::eventstore::ClientSettingsParseError| error.message().to_owned())
    }

    /// Who asks, as the crate's client wants it.
    pub(super) fn authentication(&self) -> Option<Authentication> {
        let (name, password) = self.user.clone()?;
        Some(Authentication::basic(name, password))
    }

    /// Who asks, as a header.
    pub(super) fn authorization(&self) -> Option<MetadataValue<Ascii>> {
        use base64::Engine;
        let (name, password) = self.user.as_ref()?;
        let pair = format!("{name}:{password}");
        let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
        let mut value = MetadataValue::try_from(format!("Basic {encoded}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A connection of our own to a node.
    pub(super) fn channel(
        &self,
        node: &Endpoint,
    ) -> Result<tonic::transport::Endpoint, tonic::transport::Error> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let uri = format!("{scheme}://{}:{}", node.host, node.port);
        let endpoint = tonic::transport::Endpoint::from_shared(uri)?
            // Without it, whoever waits for a small append waits for 44 ms.
            .tcp_nodelay(true)
            .connect_timeout(CALL_TIME_MAX)
            .keep_alive_while_idle(true)
            .http2_keep_alive_interval(CALL_TIME_MAX)
            .keep_alive_timeout(CALL_TIME_MAX);
        match &self.tls {
            Some(tls) => endpoint.tls_config(tls.clone()),
            None => Ok(endpoint),
        }
    }
}

fn read_password(path: &str) -> Result<String, AddressError> {
    match private_files::read(Path::new(path)) {
        Ok(Some(text)) => Ok(text.trim_end_matches('\n').to_owned()),
        Ok(None) => Err(AddressError::PasswordFile(format!("there is no file {path}"))),
        Err(error) => Err(AddressError::PasswordFile(error.to_string())),
    }
}

fn tls(settings: &ClientSettings) -> Result<ClientTlsConfig, AddressError> {
    let read = |path: &String| {
        std::fs::read(path).map_err(|error| AddressError::File { path: path.clone(), error })
    };
    let mut tls = match settings.tls_ca_file() {
        Some(path) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(path)?)),
        None => ClientTlsConfig::new().with_native_roots(),
    };
    if let Some((certificate, key)) = settings.user_certificate() {
        tls = tls.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    Ok(tls)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_connection_string_is_read_and_its_password_is_never_shown() {
        let text = "esdb://ann:p%40ss@one:2113,two:2114?tls=true&prefix=blue";
        let address = Address::parse(text).unwrap();
        assert_eq!(address.to_string(), "esdb://one:2113,two:2114");
        assert_eq!(address.prefix, "blue");
        assert_eq!(address.user, Some(("ann".to_owned(), "p@ss".to_owned())));
        assert!(!format!("{address:?}").contains("ss@"));
    }

    #[test]
    fn a_password_may_stand_in_a_file_that_others_may_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        std::fs::write(&path, "p@ss\n").unwrap();
        let text = |user: &str| format!("esdb://{user}one?passwordFile={}", path.display());
        let open_to = |mode| std::fs::set_permissions(&path, Permissions::from_mode(mode));
        open_to(0o600).unwrap();
        let address = Address::parse(&text("ann@")).unwrap();
        assert_eq!(address.user, Some(("ann".to_owned(), "p@ss".to_owned())));
        for wrong in ["", "ann:other@"] {
            let refused = Address::parse(&text(wrong));
            assert!(matches!(refused, Err(AddressError::Password)), "{refused:?}");
        }
        open_to(0o644).unwrap();
        let refused = Address::parse(&text("ann@"));
        assert!(matches!(refused, Err(AddressError::PasswordFile(_))), "{refused:?}");
    }

    #[test]
    fn what_is_no_use_is_refused_without_showing_it() {
        for wrong in [
            "mysql://ann:secret@one",
            "esdb://ann:secret@one:port,two",
            "esdb://ann:secret@one?prefix=a.b",
            "esdb://ann:secret@one?tlsVerifyCert=false",
            "esdb://ann:secret@one?connectionName=n\u{e4}me",
            "esdb://ann:secret@one?tls=true&tlsCaFile=/no/such/file",
        ] {
            let error = Address::parse(wrong).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
