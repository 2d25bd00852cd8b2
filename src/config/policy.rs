//! Who may do what is the operator's: `[oslo_policy]`, under oslo.policy's names and with its
//! defaults.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ConfigError, Layers};

const GROUP: &str = "oslo_policy";

/// oslo.policy's default for the file, beside the file of settings.
const FILE: &str = "policy.yaml";

/// oslo.policy's default for the directory, beside the file of settings.
const DIRECTORY: &str = "policy.d";

/// Where rules are written and how they are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyOptions {
    /// `policy_file`; `None` without a file of settings that it could stand beside.
    pub file: Option<PathBuf>,
    /// Whether somebody named the file, so that it must be there.
    pub file_is_named: bool,
    /// `policy_dirs`
    pub directories: Vec<PathBuf>,
    /// `enforce_scope`
    pub enforce_scope: bool,
    /// `enforce_new_defaults`
    pub enforce_new_defaults: bool,
    /// `remote_timeout`
    pub remote_timeout: Duration,
    /// `remote_content_type` is `application/json`.
    pub remote_json: bool,
    /// `remote_ssl_verify_server_crt`; unlike oslo.policy's, on unless turned off.
    pub remote_verify: bool,
    /// `remote_ssl_ca_crt_file`
    pub remote_ca_file: Option<PathBuf>,
    /// `remote_ssl_client_crt_file` and `remote_ssl_client_key_file`
    pub remote_client_cert: Option<(PathBuf, PathBuf)>,
}

impl PolicyOptions {
    pub(super) fn from_layers(layers: &Layers) -> Result<Self, ConfigError> {
        let flag = |name| Ok(layers.flag(GROUP, name)?.unwrap_or(true));
        let path = |name| layers.text(GROUP, name).map(PathBuf::from);
        let beside = |path: &Path| layers.directory().map(|directory| directory.join(path));
        let named = path("policy_file");
        let timeout = layers.parsed(GROUP, "remote_timeout", "a number of seconds")?;
        let timeout = Duration::try_from_secs_f64(timeout.unwrap_or(60.0)).unwrap_or_default();
        let remote_client_cert =
            match (path("remote_ssl_client_crt_file"), path("remote_ssl_client_key_file")) {
                (Some(certificate), Some(key)) => Some((certificate, key)),
                (None, None) => None,
                (Some(_), None) | (None, Some(_)) => {
                    return Err(ConfigError::Missing {
                        name: format!("[{GROUP}] remote_ssl_client_crt_file and …_key_file"),
                        why: "the certificate and its key go together",
                    });
                }
            };
        Ok(Self {
            file_is_named: named.is_some(),
            file: match named {
                Some(file) => Some(beside(&file).unwrap_or(file)),
                None => beside(Path::new(FILE)),
            },
            directories: match layers.list(GROUP, "policy_dirs") {
                Some(named) => named
                    .into_iter()
                    .map(|path| beside(Path::new(&path)).unwrap_or(path.into()))
                    .collect(),
                None => beside(Path::new(DIRECTORY)).into_iter().collect(),
            },
            enforce_scope: flag("enforce_scope")?,
            enforce_new_defaults: flag("enforce_new_defaults")?,
            remote_timeout: timeout,
            remote_json: content_type_is_json(layers)?,
            remote_verify: flag("remote_ssl_verify_server_crt")?,
            remote_ca_file: path("remote_ssl_ca_crt_file"),
            remote_client_cert,
        })
    }
}

fn content_type_is_json(layers: &Layers) -> Result<bool, ConfigError> {
    /// The two that oslo.policy knows.
    enum ContentType {
        Form,
        Json,
    }
    impl std::str::FromStr for ContentType {
        type Err = ();
        fn from_str(text: &str) -> Result<Self, ()> {
            match text {
                "application/x-www-form-urlencoded" => Ok(Self::Form),
                "application/json" => Ok(Self::Json),
                _ => Err(()),
            }
        }
    }
    let wanted = "application/x-www-form-urlencoded or application/json";
    let given = layers.parsed(GROUP, "remote_content_type", wanted)?;
    Ok(matches!(given, Some(ContentType::Json)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> PolicyOptions {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("heat.conf");
        std::fs::write(&path, text).unwrap();
        let mut layers = Layers::default();
        layers.add_file(path).unwrap();
        let mut options = PolicyOptions::from_layers(&layers).unwrap();
        let bare = |path: &PathBuf| path.strip_prefix(directory.path()).unwrap_or(path).to_owned();
        options.file = options.file.as_ref().map(bare);
        options.directories = options.directories.iter().map(bare).collect();
        options
    }

    #[test]
    fn rules_stand_beside_the_settings_unless_told_otherwise() {
        let options = read("");
        assert_eq!(options.file, Some("policy.yaml".into()));
        assert_eq!(options.directories, [PathBuf::from("policy.d")]);
        assert!(!options.file_is_named && options.enforce_scope && options.enforce_new_defaults);
        let options = read(
            "[oslo_policy]\npolicy_file = own.json\npolicy_dirs = a.d\npolicy_dirs = /b.d\n\
             enforce_scope = false\n",
        );
        assert_eq!(options.file, Some("own.json".into()));
        assert_eq!(options.directories, [PathBuf::from("a.d"), PathBuf::from("/b.d")]);
        assert!(options.file_is_named && !options.enforce_scope);
    }

    #[test]
    fn without_a_file_of_settings_there_is_no_file_of_rules() {
        let options = PolicyOptions::from_layers(&Layers::default()).unwrap();
        assert_eq!((options.file, options.directories), (None, Vec::new()));
    }
}
