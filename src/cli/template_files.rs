//! What a command reads from disk for a stack: a template, environments, and the files they name.
//!
//! A file goes by its URL, as with OpenStack's client: two files of one name, in two directories,
//! are two.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use url::Url;

use crate::model::JsonMap;
use crate::template::{files_named, is_template_text, text_to_send};

/// How many bytes of a file stand in a line, where it is no text.
const BINARY_LINE_BYTES: usize = 57;

/// The arguments that go with a template.
#[derive(Debug, clap::Args)]
pub(super) struct TemplateArguments {
    /// An environment file; may be given several times, later ones win
    #[arg(short, long = "environment", value_name = "FILE")]
    environments: Vec<PathBuf>,
    /// A parameter, above what environments say of it; may be given several times
    #[arg(short = 'P', long = "parameter", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
}

/// Everything read.
#[derive(Clone, Debug)]
pub(super) struct Inputs {
    /// The template with the name it was given by.
    pub(super) template: (String, String),
    /// The environments with the names they were given by, in order.
    pub(super) environments: Vec<(String, String)>,
    pub(super) parameters: JsonMap,
    /// The files that template and environments name, by their URLs.
    pub(super) files: BTreeMap<String, String>,
    /// By the name of a template or environment: the URLs of the files that it names.
    pub(super) file_names: BTreeMap<String, BTreeMap<String, String>>,
}

impl Inputs {
    /// Reads a template and what goes with it; the error says what could not be read.
    pub(super) fn read(template: &Path, arguments: &TemplateArguments) -> Result<Self, String> {
        let mut inputs = Inputs {
            template: Default::default(),
            environments: Vec::new(),
            parameters: JsonMap::new(),
            files: BTreeMap::new(),
            file_names: BTreeMap::new(),
        };
        inputs.template = inputs.document(template)?;
        for path in &arguments.environments {
            let environment = inputs.document(path)?;
            inputs.environments.push(environment);
        }
        for parameter in &arguments.parameters {
            let (name, value) = parameter
                .split_once('=')
                .ok_or_else(|| format!("the parameter {parameter:?} has no value: NAME=VALUE"))?;
            inputs.parameters.insert(name.to_owned(), Value::from(value));
        }
        Ok(inputs)
    }

    /// The template as it is sent.
    pub(super) fn template_to_send(&self) -> String {
        self.to_send(&self.template)
    }

    /// The environments as they are sent, with their URLs.
    pub(super) fn environments_to_send(&self) -> Vec<(String, String)> {
        let sent = |one: &(String, String)| (url_of(Path::new(&one.0)), self.to_send(one));
        self.environments.iter().map(sent).collect()
    }

    fn to_send(&self, (name, text): &(String, String)) -> String {
        let none = BTreeMap::new();
        text_to_send(text, self.file_names.get(name).unwrap_or(&none), &self.parameters)
    }

    fn document(&mut self, path: &Path) -> Result<(String, String), String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.display().to_string();
        let urls = self.take_files(&text, path)?;
        self.file_names.insert(name.clone(), urls);
        Ok((name, text))
    }

    /// Takes in the files that a document names, and those that templates among them name; gives
    /// their URLs. What stands elsewhere is left to the server.
    fn take_files(
        &mut self,
        document: &str,
        path: &Path,
    ) -> Result<BTreeMap<String, String>, String> {
        let mut urls = BTreeMap::new();
        for file in files_named(document) {
            let Some(found) = path_of(path, &file.name) else { continue };
            let url = url_of(&found);
            urls.insert(file.name.clone(), url.clone());
            if self.files.contains_key(&url) {
                continue;
            }
            let content = std::fs::read(&found).map_err(|error| {
                let (document, found) = (path.display(), found.display());
                format!("{document} names {}, and {found} cannot be read: {error}", file.name)
            })?;
            let mut content = text_of(content);
            // A template that names itself is read once.
            self.files.insert(url.clone(), String::new());
            if file.is_template || is_template_text(&content) {
                let urls = self.take_files(&content, &found)?;
                content = text_to_send(&content, &urls, &JsonMap::new());
            }
            self.files.insert(url, content);
        }
        Ok(urls)
    }
}

/// Where a file is that a document names; nowhere here if it is another machine's.
fn path_of(document: &Path, name: &str) -> Option<PathBuf> {
    match Url::parse(name) {
        Ok(url) if url.scheme() == "file" => url.to_file_path().ok(),
        Ok(_) if name.contains("://") => None,
        _ => Some(document.parent().unwrap_or(Path::new("")).join(name)),
    }
}

/// The URL of a file, without detours.
fn url_of(path: &Path) -> String {
    let absolute = std::path::absolute(path).ok();
    let url = absolute.and_then(|path| Url::from_file_path(path).ok());
    // Reading it again takes `..` out.
    let url = url.and_then(|url| Url::parse(url.as_str()).ok());
    url.map_or_else(|| path.display().to_string(), String::from)
}

/// The content as text; of what is none in base64, in lines, as OpenStack's client sends it.
fn text_of(content: Vec<u8>) -> String {
    String::from_utf8(content).unwrap_or_else(|error| {
        let lines = error.as_bytes().chunks(BINARY_LINE_BYTES);
        lines.map(|line| STANDARD.encode(line) + "\n").collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_url_however_it_is_reached() {
        assert_eq!(url_of(Path::new("/a/./b/../c d#e.yaml")), "file:///a/c%20d%23e.yaml");
        let reached = |name| path_of(Path::new("/a/b.yaml"), name);
        assert_eq!(reached("../c.sh"), Some("/a/../c.sh".into()));
        assert_eq!(reached("file:///c%20d"), Some("/c d".into()));
        assert_eq!(reached("https://example.com/c.sh"), None);
    }

    #[test]
    fn what_is_no_text_is_sent_in_lines_of_base64() {
        assert_eq!(text_of("ä".into()), "ä");
        let long = vec![0xff; 58];
        assert_eq!(text_of(long), format!("{}\n/w==\n", "/".repeat(76)));
    }
}
