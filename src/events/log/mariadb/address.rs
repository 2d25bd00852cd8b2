//! Where the log is: `mysql://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?tls=true&tls_ca=FILE`.
//! The password may stand in a file of its own instead (`password_file=FILE`). Whatever is said of
//! an address, its password and the text it was read from are not.

use std::fmt;
use std::path::{Path, PathBuf};

use mysql_async::{Opts, OptsBuilder, SslOpts};
use percent_encoding::percent_decode_str;

use crate::model::Secret;
use crate::private_files;

/// What the address of such a log begins with.
const SCHEME: &str = "mysql://";
const PORT: u16 = 3306;
/// How many hosts an address may name.
const HOSTS_MAX: usize = 16;
/// How long an address may be, in bytes.
const ADDRESS_MAX_BYTES: usize = 4_096;
/// How many prepared statements a connection keeps.
const STATEMENTS_KEPT: usize = 300;

/// A database on one server, or on a cluster of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// In order of preference.
    hosts: Vec<(String, u16)>,
    user: String,
    password: Option<Secret<String>>,
    database: String,
    tls: bool,
    tls_ca: Option<PathBuf>,
}

/// Why a text is no address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the address of a log begins with {SCHEME}")]
    Scheme,
    #[error("the address of a log has {ADDRESS_MAX_BYTES} bytes and {HOSTS_MAX} hosts at most")]
    TooLong,
    #[error("the address of a log is {SCHEME}USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE")]
    Shape,
    #[error("the address of a log has no option of that name (tls, tls_ca and password_file are)")]
    Option,
    #[error("the address of a log has a password and a password_file")]
    TwoPasswords,
    #[error("{0}")]
    File(String),
}

impl Address {
    /// Whether a text is meant to be one.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// Reads an address, and the file with its password where it names one.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if text.len() > ADDRESS_MAX_BYTES {
            return Err(AddressError::TooLong);
        }
        let rest = text.strip_prefix(SCHEME).ok_or(AddressError::Scheme)?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (place, database) = rest.rsplit_once('/').ok_or(AddressError::Shape)?;
        let (login, hosts) = place.rsplit_once('@').ok_or(AddressError::Shape)?;
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(Secret::new(decoded(password)?))),
            None => (login, None),
        };
        let hosts = hosts.split(',').map(host).collect::<Result<Vec<_>, _>>()?;
        if hosts.len() > HOSTS_MAX {
            return Err(AddressError::TooLong);
        }
        let mut address = Self {
            hosts,
            user: decoded(user)?,
            password,
            database: decoded(database)?,
            tls: false,
            tls_ca: None,
        };
        let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
        if address.user.is_empty() || database.is_empty() || !address.database.chars().all(is_name)
        {
            return Err(AddressError::Shape);
        }
        for option in options.split('&').filter(|option| !option.is_empty()) {
            address.set(option)?;
        }
        Ok(address)
    }

    fn set(&mut self, option: &str) -> Result<(), AddressError> {
        let (name, value) = option.split_once('=').ok_or(AddressError::Shape)?;
        let value = decoded(value)?;
        match (name, value.as_str()) {
            ("tls", "true") => self.tls = true,
            ("tls", "false") => self.tls = false,
            ("tls", _) => return Err(AddressError::Shape),
            ("tls_ca", _) => (self.tls, self.tls_ca) = (true, Some(PathBuf::from(value))),
            ("password_file", _) if self.password.is_some() => {
                return Err(AddressError::TwoPasswords);
            }
            ("password_file", _) => self.password = Some(read_password(Path::new(&value))?),
            _ => return Err(AddressError::Option),
        }
        Ok(())
    }

    /// How many hosts there are.
    pub(super) fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// One of the hosts, as it is shown.
    pub(super) fn host(&self, number: usize) -> String {
        let (host, port) = &self.hosts[number % self.hosts.len()];
        format!("{host}:{port}")
    }

    /// What the client needs to connect to one of the hosts.
    pub(super) fn options(&self, number: usize) -> Opts {
        let (host, port) = &self.hosts[number % self.hosts.len()];
        let tls = self.tls.then(|| match &self.tls_ca {
            None => SslOpts::default(),
            // Whoever names an authority trusts no other.
            Some(file) => SslOpts::default()
                .with_root_certs(vec![file.clone().into()])
                .with_disable_built_in_roots(true),
        });
        OptsBuilder::default()
            .ip_or_hostname(host)
            .tcp_port(*port)
            .user(Some(&self.user))
            .pass(self.password.as_ref().map(|password| password.reveal().clone()))
            .db_name(Some(&self.database))
            .ssl_opts(tls)
            .prefer_socket(false)
            .client_found_rows(true)
            .stmt_cache_size(STATEMENTS_KEPT)
            .into()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}:***@", self.user)?;
        for number in 0..self.hosts() {
            let comma = if number == 0 { "" } else { "," };
            write!(f, "{comma}{}", self.host(number))?;
        }
        write!(f, "/{}", self.database)
    }
}

fn decoded(text: &str) -> Result<String, AddressError> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| AddressError::Shape)?;
    Ok(text.into_owned())
}

fn host(text: &str) -> Result<(String, u16), AddressError> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse().map_err(|_| AddressError::Shape)?)
        }
        _ => (text, PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.is_empty() {
        true => Err(AddressError::Shape),
        false => Ok((host.to_owned(), port)),
    }
}

fn read_password(path: &Path) -> Result<Secret<String>, AddressError> {
    match private_files::read(path) {
        Ok(Some(text)) => Ok(Secret::new(text.trim_end_matches('\n').to_owned())),
        Ok(None) => Err(AddressError::File(format!("there is no file {}", path.display()))),
        Err(error) => Err(AddressError::File(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_hosts_in_order_and_never_shows_its_password() {
        let text = "mysql://hearth:s%40cret@one:4001,two,[::1]:4003/log?tls=true";
        let address = Address::parse(text).unwrap();
        assert_eq!(address.hosts(), 3);
        assert_eq!(address.to_string(), "mysql://hearth:***@one:4001,two:3306,::1:4003/log");
        assert_eq!(address.password.as_ref().unwrap().reveal(), "s@cret");
        assert!(!format!("{address:?}").contains("cret"));
        assert!(address.tls);
        assert_eq!(address.options(2).tcp_port(), 4003);
    }

    #[test]
    fn what_is_no_address_is_refused_and_not_repeated() {
        let long = format!("mysql://u:p@{}/d", vec!["h"; 17].join(","));
        for text in [
            "postgres://u:p@h/d",
            "mysql://u:sesame@h",
            "mysql://h/d",
            "mysql://u:sesame@/d",
            "mysql://u:sesame@h:port/d",
            "mysql://u:sesame@h/d`x",
            "mysql://u:sesame@h/d?sesame=1",
            "mysql://u:sesame@h/d?tls=sesame",
            "mysql://u:sesame@h/d?password_file=/x",
            &long,
        ] {
            let error = Address::parse(text).unwrap_err();
            assert!(!error.to_string().contains("sesame"), "{error}");
        }
    }

    #[test]
    fn a_password_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        private_files::write(&path, "sesame\n").unwrap();
        let text = format!("mysql://u@h/d?password_file={}", path.display());
        let address = Address::parse(&text).unwrap();
        assert_eq!(address.password.unwrap().reveal(), "sesame");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(&path, mode).unwrap();
        assert!(matches!(Address::parse(&text), Err(AddressError::File(_))));
    }
}
