//! The layers that settings are read from, one over the other, and typed reading from them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::heat_options;
use super::ini::{self, IniError, Key};

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("could not read the settings in {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("could not read the settings in {}: {source}", path.display())]
    Malformed { path: PathBuf, source: IniError },
    #[error("{name} (from {origin}) must be {wanted}, not {value:?}")]
    Value { name: String, origin: Origin, wanted: &'static str, value: String },
    #[error("{name} (from {origin}) hardens Heat and has no effect here: {advice}")]
    Hardening { name: String, origin: Origin, advice: &'static str },
    #[error(
        "[paste_deploy] flavor = noauth lets everybody do everything, so it is for the sandbox on \
         a loopback address alone"
    )]
    Open,
    #[error(
        "[sandbox] guests = process runs scripts of templates on this machine, so it is for the \
         sandbox, and APIs, on loopback addresses alone"
    )]
    ExposedGuests,
    #[error(
        "{path} has the password of [hearth] log, and others may read it: close it (chmod 600), or \
         name a file that has it",
        path = path.display()
    )]
    OpenPassword { path: PathBuf },
    #[error("{name} must be set: {why}")]
    Missing { name: String, why: &'static str },
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    File { path: PathBuf, line: usize },
    Environment,
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Environment => f.write_str("the environment"),
            Origin::Flag => f.write_str("the command line"),
        }
    }
}

/// All options that were given, each with the value of the topmost layer.
#[derive(Debug, Default)]
pub struct Layers {
    values: BTreeMap<Key, (Origin, String)>,
    read: RefCell<BTreeSet<Key>>,
    /// Where the last file lies.
    directory: Option<PathBuf>,
}

impl Layers {
    /// Puts a file on top. To a list that is given item by item it adds its own.
    pub fn add_file(&mut self, path: PathBuf) -> Result<(), ConfigError> {
        let text = std::fs::read_to_string(&path)
            .map_err(|source| ConfigError::Unreadable { path: path.clone(), source })?;
        let options = ini::parse(&text)
            .map_err(|source| ConfigError::Malformed { path: path.clone(), source })?;
        for (key, given) in options {
            let origin = Origin::File { path: path.clone(), line: given.line };
            let before = self.values.get(&key).filter(|_| ini::is_repeated(&key));
            let value = match before {
                Some((_, before)) => format!("{before}\n{}", given.value),
                None => given.value,
            };
            self.values.insert(key, (origin, value));
        }
        self.directory = path.parent().map(PathBuf::from);
        Ok(())
    }

    /// Puts the files `*.conf` of a directory on top, in the order of their names.
    pub fn add_directory(&mut self, directory: &Path) -> Result<(), ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { path: directory.to_path_buf(), source };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|extension| extension == "conf") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.into_iter().try_for_each(|path| self.add_file(path))
    }

    /// The directory of the file, which relative paths in it are meant from.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Puts environment variables on top: `HEARTH_LISTEN` is `listen` in `[hearth]`,
    /// `HEARTH_TRUSTEE__PASSWORD` is `password` in `[trustee]`.
    pub fn add_environment(&mut self, variables: impl Iterator<Item = (String, String)>) {
        for (name, value) in variables {
            let Some(rest) = name.strip_prefix("HEARTH_") else { continue };
            let key = match rest.split_once("__") {
                Some(("DEFAULT", option)) => ("DEFAULT".to_owned(), option.to_lowercase()),
                Some((group, option)) => (group.to_lowercase(), option.to_lowercase()),
                None => ("hearth".to_owned(), rest.to_lowercase()),
            };
            self.values.insert(key, (Origin::Environment, value));
        }
    }

    /// Puts a flag on top, as an option.
    pub fn add_flag(&mut self, group: &str, name: &str, value: impl Into<String>) {
        self.values.insert((group.to_owned(), name.to_owned()), (Origin::Flag, value.into()));
    }

    /// The text of an option.
    pub fn text(&self, group: &str, name: &str) -> Option<String> {
        self.find(group, name).map(|(_, value)| value.clone())
    }

    /// An option of a type that has a textual form; `wanted` completes "must be …".
    pub fn parsed<T: FromStr>(
        &self,
        group: &str,
        name: &str,
        wanted: &'static str,
    ) -> Result<Option<T>, ConfigError> {
        let Some((origin, value)) = self.find(group, name) else { return Ok(None) };
        match value.trim().parse() {
            Ok(parsed) => Ok(Some(parsed)),
            Err(_) => Err(self.refused(group, name, origin, wanted, value)),
        }
    }

    /// An option that is one of some words; `wanted` completes "must be …".
    pub fn choice(
        &self,
        group: &str,
        name: &str,
        choices: &[&'static str],
        wanted: &'static str,
    ) -> Result<Option<&'static str>, ConfigError> {
        let Some((origin, value)) = self.find(group, name) else { return Ok(None) };
        let found = choices.iter().find(|choice| **choice == value.trim());
        match found {
            Some(choice) => Ok(Some(choice)),
            None => Err(self.refused(group, name, origin, wanted, value)),
        }
    }

    /// The same of one with a secret in it, which is not shown where it is refused.
    pub fn secret_parsed<T: FromStr>(
        &self,
        group: &str,
        name: &str,
        wanted: &'static str,
    ) -> Result<Option<T>, ConfigError> {
        let Some((origin, value)) = self.find(group, name) else { return Ok(None) };
        match value.trim().parse() {
            Ok(parsed) => Ok(Some(parsed)),
            Err(_) => Err(self.refused(group, name, origin, wanted, "***")),
        }
    }

    /// A limit of Heat's, where a negative number takes the limit away.
    pub fn limit(
        &self,
        group: &str,
        name: &str,
        default: usize,
    ) -> Result<Option<usize>, ConfigError> {
        match self.parsed::<i64>(group, name, "a whole number")? {
            None => Ok(Some(default)),
            Some(given) => Ok(usize::try_from(given).ok()),
        }
    }

    /// A truth value, as Heat writes them.
    pub fn flag(&self, group: &str, name: &str) -> Result<Option<bool>, ConfigError> {
        let Some((origin, value)) = self.find(group, name) else { return Ok(None) };
        match value.trim().to_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(Some(true)),
            "false" | "0" | "no" | "off" => Ok(Some(false)),
            _ => Err(self.refused(group, name, origin, "true or false", value)),
        }
    }

    /// A list, parted by commas.
    pub fn list(&self, group: &str, name: &str) -> Option<Vec<String>> {
        let (_, value) = self.find(group, name)?;
        let parts = value.split([',', '\n']).map(str::trim).filter(|part| !part.is_empty());
        Some(parts.map(str::to_owned).collect())
    }

    /// A list of what has a textual form, parted by commas; `wanted` completes "must be …".
    pub fn parsed_list<T: FromStr>(
        &self,
        group: &str,
        name: &str,
        wanted: &'static str,
    ) -> Result<Vec<T>, ConfigError> {
        let Some((origin, value)) = self.find(group, name) else { return Ok(Vec::new()) };
        let parts = value.split([',', '\n']).map(str::trim).filter(|part| !part.is_empty());
        parts
            .map(|part| part.parse().map_err(|_| self.refused(group, name, origin, wanted, value)))
            .collect()
    }

    /// An option as it was given, and where. Looking at it is not asking for it.
    pub(super) fn given(&self, key: &Key) -> Option<&(Origin, String)> {
        self.values.get(key)
    }

    /// The options that somebody has asked for, be they given or not.
    #[cfg(test)]
    pub(super) fn asked(&self) -> BTreeSet<Key> {
        self.read.borrow().clone()
    }

    /// The options that nobody has asked for.
    pub fn unread(&self) -> Vec<Key> {
        let read = self.read.borrow();
        self.values.keys().filter(|key| !read.contains(*key)).cloned().collect()
    }

    /// Refuses an option that nobody has asked for where an operator would believe to be protected
    /// by it.
    pub(super) fn refuse_missed_hardening(&self, key: &Key) -> Result<(), ConfigError> {
        let Some((origin, value)) = self.values.get(key) else { return Ok(()) };
        match heat_options::missed_hardening(key, value) {
            None => Ok(()),
            Some(advice) => Err(ConfigError::Hardening {
                name: format!("[{}] {}", key.0, key.1),
                origin: origin.clone(),
                advice,
            }),
        }
    }

    fn find(&self, group: &str, name: &str) -> Option<&(Origin, String)> {
        let key = (group.to_owned(), name.to_owned());
        let found = self.values.get(&key);
        self.read.borrow_mut().insert(key);
        found
    }

    fn refused(
        &self,
        group: &str,
        name: &str,
        origin: &Origin,
        wanted: &'static str,
        value: &str,
    ) -> ConfigError {
        ConfigError::Value {
            name: format!("[{group}] {name}"),
            origin: origin.clone(),
            wanted,
            value: value.to_owned(),
        }
    }
}
