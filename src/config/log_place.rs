//! Where the log is kept. What is said may hold a password, so it is a secret until it is read.

use std::os::unix::fs::PermissionsExt;

use super::layers::{ConfigError, Layers, Origin};
use crate::model::Secret;

/// `log` of `[hearth]`. Errors: a password in a file that others may read.
pub(super) fn from_layers(layers: &Layers) -> Result<Option<Secret<String>>, ConfigError> {
    if let Some((Origin::File { path, .. }, value)) =
        layers.given(&("hearth".to_owned(), "log".to_owned()))
        && has_password(value)
    {
        let others = std::fs::metadata(path).map(|file| file.permissions().mode() & 0o077);
        if others.map_or(true, |bits| bits != 0) {
            return Err(ConfigError::OpenPassword { path: path.clone() });
        }
    }
    Ok(layers.text("hearth", "log").map(Secret::new))
}

fn has_password(value: &str) -> bool {
    login(value).is_some_and(|login| login.contains(':'))
}

/// What stands between the scheme and the last `@` of an address, whatever follows.
pub(super) fn login(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    rest.rsplit_once('@').map(|(login, _)| login)
}
