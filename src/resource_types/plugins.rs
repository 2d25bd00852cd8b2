//! The types of the plugin directories, read at the start and again when the operator says so.
//! What was handed out of a former reading stays valid, so readings are kept one behind the other
//! and nothing is locked; one that changes nothing leaves no trace.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::model::IndexMap;

use super::declared::reader::Mistake;
use super::declared::{Declared, reader};
use super::finders::{Finders, Rows};
use super::unusable::RegistryError;

/// The types of one reading, and the readings after it.
#[derive(Default)]
pub(super) struct Plugins {
    pub(super) directories: Vec<PathBuf>,
    types: IndexMap<String, Plugin>,
    finders: Finders,
    pub(super) later: OnceLock<Box<Plugins>>,
}

#[derive(Clone)]
struct Plugin {
    file: PathBuf,
    text: String,
    declared: Arc<Declared>,
}

/// What another reading of the plugin directories came to.
#[derive(Debug, Default)]
pub struct Reread {
    /// New types and finders, and those whose file says something else now.
    pub changed: Vec<String>,
    /// Types whose file is gone or names another type: they stay.
    pub kept: Vec<String>,
    /// Files that cannot be used: what they said before stays.
    pub problems: Vec<RegistryError>,
}

impl Plugins {
    /// The last reading.
    pub(super) fn newest(&self) -> &Self {
        let mut newest = self;
        while let Some(later) = newest.later.get() {
            newest = later;
        }
        newest
    }

    pub(super) fn get(&self, type_name: &str) -> Option<&Arc<Declared>> {
        self.newest().types.get(type_name).map(|plugin| &plugin.declared)
    }

    pub(super) fn finders(&self) -> &Finders {
        &self.newest().finders
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.newest().types.keys()
    }

    /// The directories read again: all types that were there, under those that are there now.
    pub(super) fn read_again(&self) -> (Self, Reread) {
        let mut types = self.types.clone();
        let mut reread = Reread::default();
        let mut met = BTreeSet::new();
        let files = self.files(&mut reread);
        let (tables, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|it| is_table(it));
        let finders = self.finders_again(&tables, &mut reread);
        // What a type looks up is part of it.
        let (finders, is_same_table) = match reread.changed.is_empty() {
            true => (self.finders.clone(), true),
            false => (finders, false),
        };
        // The last of several files of a type counts.
        for file in files.into_iter().rev() {
            match self.read(&file, &finders, is_same_table) {
                Ok(plugin) => {
                    let name = plugin.declared.declaration().type_name.clone();
                    let is_known = self.types.get(&name).is_some_and(|it| it.text == plugin.text)
                        && is_same_table;
                    if met.insert(name.clone()) && !is_known {
                        reread.changed.push(name.clone());
                        types.insert(name, plugin);
                    }
                }
                Err(problem) => {
                    // What cannot be read is not gone.
                    let former = self.types.iter().filter(|(_, plugin)| plugin.file == file);
                    met.extend(former.map(|(name, _)| name.clone()));
                    reread.problems.push(problem);
                }
            }
        }
        reread.kept = self.types.keys().filter(|name| !met.contains(*name)).cloned().collect();
        reread.changed.sort();
        let directories = self.directories.clone();
        (Self { directories, types, finders, later: OnceLock::new() }, reread)
    }

    /// The finders that were there, under those that are there now.
    fn finders_again(&self, files: &[PathBuf], reread: &mut Reread) -> Finders {
        let former: Rows =
            self.finders.plugins().map(|(name, row)| (name.clone(), row.clone())).collect();
        let mut rows = former.clone();
        for file in files {
            let read =
                text_of(file).and_then(|text| parse_finders(&file.display().to_string(), &text));
            match read {
                Ok(read) => rows.extend(read),
                Err(problem) => reread.problems.push(problem),
            }
        }
        let changed = rows.iter().filter(|(name, row)| former.get(*name) != Some(row));
        reread.changed.extend(changed.map(|(name, _)| name.clone()));
        Finders::with(rows)
    }

    /// All files, in the order of the directories and their names.
    fn files(&self, reread: &mut Reread) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for directory in &self.directories {
            match yaml_files(directory) {
                Ok(files) => all.extend(files),
                Err(problem) => reread.problems.push(problem),
            }
        }
        all
    }

    fn read(
        &self,
        file: &Path,
        finders: &Finders,
        is_same_table: bool,
    ) -> Result<Plugin, RegistryError> {
        let text = text_of(file)?;
        let is_same = |plugin: &&Plugin| plugin.file == file && plugin.text == text;
        if let Some(same) = self.types.values().find(is_same).filter(|_| is_same_table) {
            return Ok(same.clone());
        }
        let malformed =
            |mistakes| RegistryError::Malformed { file: file.display().to_string(), mistakes };
        let mut declaration = reader::look_at_plugin(&text).whole().map_err(malformed)?;
        declaration.finders = finders.clone();
        let declared = Arc::new(Declared::new(declaration));
        Ok(Plugin { file: file.into(), text, declared })
    }
}

/// Whether a file of a plugin directory has finders instead of a type.
pub(super) fn is_table(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == "finders.yaml")
}

pub(super) fn text_of(file: &Path) -> Result<String, RegistryError> {
    let bytes = std::fs::read(file)
        .map_err(|source| RegistryError::Unreadable { path: file.into(), source })?;
    String::from_utf8(bytes).map_err(|error| {
        let read = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let read = String::from_utf8_lossy(read);
        let (lines, last) = (read.matches('\n').count(), read.rsplit('\n').next());
        let [line, column] = [lines, last.map_or(0, |line| line.chars().count())]
            .map(|before| u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1));
        let message = "what begins here is not UTF-8".to_owned();
        let mistakes = vec![Mistake { line, column, message, meant: None }];
        RegistryError::Malformed { file: file.display().to_string(), mistakes }
    })
}

fn parse_finders(file: &str, yaml: &str) -> Result<Rows, RegistryError> {
    reader::read_finders(yaml)
        .map_err(|mistakes| RegistryError::Malformed { file: file.to_owned(), mistakes })
}

/// The files of a directory, by name; none where it is not there: Heat's default directories
/// are named in many files and exist on few machines.
pub(super) fn yaml_files(directory: &Path) -> Result<Vec<PathBuf>, RegistryError> {
    let unreadable = |source| RegistryError::Unreadable { path: directory.into(), source };
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unreadable)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
