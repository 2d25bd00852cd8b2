//! What `validate` and `resolve` read from disk: a template, environments, the files they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::model::JsonMap;
use crate::template::files_named;

/// The arguments that go with a template.
#[derive(Debug, clap::Args)]
pub(super) struct TemplateArguments {
    /// An environment file; may be given several times, later ones win
    #[arg(short, long = "environment", value_name = "FILE")]
    environments: Vec<PathBuf>,
    /// A parameter; may be given several times
    #[arg(short = 'P', long = "parameter", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
}

/// Everything read.
#[derive(Clone, Debug)]
pub(super) struct Inputs {
    pub(super) template: String,
    /// The environments with the names they were given by, in order.
    pub(super) environments: Vec<(String, String)>,
    pub(super) parameters: JsonMap,
    /// The files that template and environments name, under the names they use.
    pub(super) files: BTreeMap<String, String>,
}

impl Inputs {
    /// Reads a template and what goes with it; the error says what could not be read.
    pub(super) fn read(template: &Path, arguments: &TemplateArguments) -> Result<Self, String> {
        let mut inputs = Inputs {
            template: text(template)?,
            environments: Vec::new(),
            parameters: JsonMap::new(),
            files: BTreeMap::new(),
        };
        let body = inputs.template.clone();
        let mut seen = BTreeSet::new();
        inputs.take_files(&body, template, &mut seen);
        for path in &arguments.environments {
            let body = text(path)?;
            inputs.take_files(&body, path, &mut seen);
            inputs.environments.push((path.display().to_string(), body));
        }
        for parameter in &arguments.parameters {
            let (name, value) = parameter
                .split_once('=')
                .ok_or_else(|| format!("the parameter {parameter:?} has no value: NAME=VALUE"))?;
            inputs.parameters.insert(name.to_owned(), Value::from(value));
        }
        Ok(inputs)
    }

    /// Takes in the files that a document names, relative to it, and those that templates among
    /// them name. One that is not there is left to be missed by what names it.
    fn take_files(&mut self, document: &str, path: &Path, seen: &mut BTreeSet<PathBuf>) {
        let directory = path.parent().unwrap_or(Path::new(""));
        for file in files_named(document) {
            if self.files.contains_key(&file.name) || file.name.contains("://") {
                continue;
            }
            let path = directory.join(&file.name);
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            self.files.insert(file.name, text.clone());
            if file.is_template && seen.insert(path.clone()) {
                self.take_files(&text, &path, seen);
            }
        }
    }
}

fn text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
