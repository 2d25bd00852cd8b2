//! The operator's policy files: one, and those of directories over it.

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use serde_json::Value;

use crate::model::JsonMap;

/// The largest file of rules that is read.
const FILE_MAX_BYTES: u64 = 4_194_304;

/// Where rules are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyPaths {
    /// `policy_file`
    pub file: Option<PathBuf>,
    /// The file must be there: somebody named it.
    pub is_named: bool,
    /// `policy_dirs`: their files hold over the file, in the order of their names.
    pub directories: Vec<PathBuf>,
}

/// Why a file of rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("the policy file {} cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the policy file {} has more than {FILE_MAX_BYTES} bytes", .0.display())]
    TooLarge(PathBuf),
    #[error("the policy file {} cannot be read: {reason}", path.display())]
    Malformed { path: PathBuf, reason: String },
}

/// A file's rules by name, as they are written.
#[derive(Clone, Debug)]
pub(super) struct PolicyFile {
    pub(super) path: PathBuf,
    pub(super) rules: JsonMap,
}

/// What tells whether files have changed: each with its size and time.
pub(super) type Fingerprint = Vec<(PathBuf, u64, Option<SystemTime>)>;

impl PolicyPaths {
    /// What the files look like from outside.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.present()
            .into_iter()
            .filter_map(|path| {
                let known = std::fs::metadata(&path).ok()?;
                Some((path, known.len(), known.modified().ok()))
            })
            .collect()
    }

    /// Reads all files. The policy file must be there if it is named, or was there before.
    pub(super) fn read(&self, was_there: bool) -> Result<Vec<PolicyFile>, FileError> {
        let needed =
            self.file.as_ref().filter(|path| (self.is_named || was_there) && !path.exists());
        let paths = needed.cloned().into_iter().chain(self.present());
        paths.map(PolicyFile::read).collect()
    }

    /// Whether the policy file is one of these.
    pub(super) fn file_is_among(&self, files: &[PolicyFile]) -> bool {
        files.iter().any(|file| Some(&file.path) == self.file.as_ref())
    }

    /// The files that are there, each over those before.
    fn present(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            self.file.iter().filter(|path| path.exists()).cloned().collect();
        for directory in &self.directories {
            let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
            let mut files: Vec<PathBuf> = entries
                .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
                .map(|entry| entry.path())
                .filter(|path| path.is_file())
                .collect();
            files.sort();
            paths.extend(files);
        }
        paths
    }
}

impl PolicyFile {
    fn read(path: PathBuf) -> Result<Self, FileError> {
        let unreadable = |source| FileError::Unreadable { path: path.clone(), source };
        if std::fs::metadata(&path).map_err(unreadable)?.len() > FILE_MAX_BYTES {
            return Err(FileError::TooLarge(path));
        }
        let text = std::fs::read_to_string(&path).map_err(unreadable)?;
        match parse(&text) {
            Ok(rules) => Ok(Self { path, rules }),
            Err(reason) => Err(FileError::Malformed { path, reason }),
        }
    }
}

/// Reads JSON, and all else as YAML. An empty file has no rules.
fn parse(text: &str) -> Result<JsonMap, String> {
    let content: Value = match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text)
            .or_else(|error| serde_yaml::from_str(text).map_err(|_| error.to_string()))?,
        false => serde_yaml::from_str(text).map_err(|error| error.to_string())?,
    };
    match content {
        Value::Object(rules) => Ok(rules),
        Value::Null => Ok(JsonMap::new()),
        _ => Err("it is no map of rules by name".to_owned()),
    }
}
