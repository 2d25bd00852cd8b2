//! Looking over type files before a server reads them: everything that is wrong with each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::declared::coherence;
use super::declared::reader::{Looked, Mistake, look_at_plugin, read_finders};
use super::finders::{Finders, Rows};
use super::plugins::{is_table, text_of, yaml_files};
use super::registry::Registry;
use super::schema::Properties;
use super::unusable::RegistryError;
use crate::template::{Place, TypeLookup, nearest};

/// A type file, and all that is wrong with it in the order of its lines.
#[derive(Debug)]
pub struct FileChecked {
    pub path: PathBuf,
    pub mistakes: Vec<Mistake>,
}

/// Checks files, and those of directories, each by itself and against the others and Hearth's own.
pub fn check(paths: &[PathBuf], registry: &Registry) -> Result<Vec<FileChecked>, RegistryError> {
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(yaml_files(path)?),
            false => files.push(path.clone()),
        }
    }
    let (tables, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|it| is_table(it));
    let (mut rows, mut checked) = (Rows::default(), Vec::new());
    for path in tables {
        let mut mistakes = Vec::new();
        match readable(&path)?.and_then(|text| read_finders(&text)) {
            Ok(read) => rows.extend(read),
            Err(found) => mistakes = found,
        }
        checked.push(FileChecked { path, mistakes });
    }
    let finders = Finders::with(rows);
    let mut all = Vec::new();
    for path in files {
        match readable(&path)? {
            Ok(text) => {
                let mut looked = look_at_plugin(&text);
                coherence::check(&mut looked, &finders);
                all.push((path, looked));
            }
            Err(mistakes) => checked.push(FileChecked { path, mistakes }),
        }
    }
    check_names(&mut all, registry);
    check_others(&mut all, registry);
    check_their_properties(&mut all, registry, &finders);
    checked.extend(all.into_iter().map(|(path, looked)| {
        let mut mistakes = looked.notes.mistakes;
        mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
        FileChecked { path, mistakes }
    }));
    Ok(checked)
}

/// A file's text, or why it is none.
fn readable(path: &Path) -> Result<Result<String, Vec<Mistake>>, RegistryError> {
    match text_of(path) {
        Ok(text) => Ok(Ok(text)),
        Err(RegistryError::Malformed { mistakes, .. }) => Ok(Err(mistakes)),
        Err(error) => Err(error),
    }
}

fn type_name(looked: &Looked) -> Option<&str> {
    looked.root.as_ref()?.entry("type")?.1.text()
}

/// Where a key at the top is.
fn value_of(looked: &Looked, key: &str) -> Place {
    let entry = looked.root.as_ref().and_then(|root| root.entry(key));
    entry.map_or(Place { line: 1, column: 1 }, |(_, value)| value.place)
}

/// A name is one file's.
fn check_names(all: &mut [(PathBuf, Looked)], registry: &Registry) {
    let mut first: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (path, looked) in all {
        let Some(name) = type_name(looked).map(str::to_owned) else { continue };
        let place = value_of(looked, "type");
        if registry.is_built_in(&name) {
            looked.notes.add(place, format!("`{name}` is a type of Hearth's own"), None);
        }
        match first.get(&name) {
            Some(other) => {
                let message = format!("`{name}` is the type of {} already", other.display());
                looked.notes.add(place, message, None);
            }
            None => drop(first.insert(name, Path::to_owned(path))),
        }
    }
}

/// The types that a file names are there.
fn check_others(all: &mut [(PathBuf, Looked)], registry: &Registry) {
    let names = all.iter().filter_map(|(_, looked)| type_name(looked)).map(str::to_owned);
    let names: Vec<String> = names.chain(registry.type_names()).collect();
    for (_, looked) in all {
        let Some(declaration) = &looked.declaration else { continue };
        let after = declaration.after.iter().map(|after| ("after", &after.type_name));
        let substitute = declaration.substitute.iter().map(|name| ("substitute", name));
        let successor = declaration.successor.iter().map(|name| ("successor", name));
        let others = after.chain(substitute).chain(successor);
        let unknown: Vec<(&str, String)> = others
            .filter(|(_, name)| !name.is_empty() && !names.contains(name))
            .map(|(key, name)| (key, name.clone()))
            .collect();
        for (key, name) in unknown {
            let place = value_of(looked, key);
            let meant = nearest(&name, names.iter().cloned());
            looked.notes.add(place, format!("there is no type `{name}`"), meant);
        }
    }
}

/// What a file says of other types' properties is there.
fn check_their_properties(all: &mut [(PathBuf, Looked)], registry: &Registry, finders: &Finders) {
    let declarations = all.iter().filter_map(|(_, looked)| looked.declaration.as_ref());
    let beside: BTreeMap<String, Properties> =
        declarations.map(|it| (it.type_name.clone(), it.properties.clone())).collect();
    for (_, looked) in all {
        coherence::check_beside(looked, finders, |name| {
            beside.get(name).or_else(|| Some(&registry.schema(name)?.properties))
        });
    }
}
