//! Templates as files: which there are, and each with what it names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hearth::model::{JsonMap, Refusal};
use hearth::template::{EnvironmentSent, StackSource, files_named, is_template_text, map_text};
use serde_json::Value;

/// The templates below a directory, by their names.
pub(super) fn templates(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let found = entries.into_iter().flat_map(|path| match path.is_dir() {
        true => templates(&path),
        false if is_template(&path) => vec![path],
        false => Vec::new(),
    });
    found.collect()
}

/// A map that says the version of its language, or was meant to be one.
fn is_template(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    if !["yaml", "template", "json"].iter().any(|it| extension == *it) {
        return false;
    }
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    match map_text(&text) {
        Ok(map) => map.keys().any(|key| key.to_ascii_lowercase().ends_with("version")),
        Err(_) => is_template_text(&text),
    }
}

/// A template with the environment that stands beside it, `NAME_env.yaml`, and all files that the
/// two name, relative to who names them.
pub(super) fn read(path: &Path) -> Result<StackSource, Refusal> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut files = BTreeMap::new();
    let mut seen = BTreeSet::new();
    take_files(&text, path, &mut files, &mut seen);
    let template: Value = text.into();
    let environment = path.with_file_name(format!(
        "{}_env.yaml",
        path.file_stem().unwrap_or_default().to_string_lossy()
    ));
    let mut environment_files = Vec::new();
    if let Ok(text) = std::fs::read_to_string(&environment) {
        take_files(&text, &environment, &mut files, &mut seen);
        files.insert("env.yaml".to_owned(), text);
        environment_files.push("env.yaml".to_owned());
    }
    let sent = EnvironmentSent {
        template: &template,
        environment: &Value::Null,
        environment_files: &environment_files,
        files: &files,
        parameters: &JsonMap::new(),
    };
    let environment = sent.merge()?.environment;
    Ok(StackSource { template, environment, files, ..StackSource::default() })
}

fn take_files(
    text: &str,
    path: &Path,
    files: &mut BTreeMap<String, String>,
    seen: &mut BTreeSet<PathBuf>,
) {
    for file in files_named(text) {
        let path = path.with_file_name(&file.name);
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if file.is_template && seen.insert(path.clone()) {
            take_files(&text, &path, files, seen);
        }
        files.insert(file.name, text);
    }
}
