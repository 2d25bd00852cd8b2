//! The environments that go with a template, each looked over on its own, and what they give to
//! parameters: what is wrong with a value is told where the value stands.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::tree::{self, Step};
use super::{Documents, Told};
use crate::model::JsonMap;
use crate::template::TypeLookup;
use crate::template::document;
use crate::template::environment::{self, Environment, merge};
use crate::template::error::Outcome;
use crate::template::node::Node;
use crate::template::parameters::schema;
use crate::template::suggest::{self, Names};
use crate::template::value::{Datum, DatumMap};
use crate::template::version::Version;

/// What findings on parameters given without a file are told of.
const COMMAND_LINE: &str = "-P";

/// An environment file; its root becomes another as wrong parts are set aside.
struct File {
    name: String,
    text: String,
    root: Node,
    is_changed: bool,
}

/// The files that can be read, and what is given beside them.
pub(super) struct Environments {
    files: Vec<File>,
    given: JsonMap,
}

impl Environments {
    /// Reads the environments and sets aside what is wrong in any of them by itself.
    pub(super) fn read(
        documents: &Documents,
        types: &dyn TypeLookup,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let mut files = Vec::new();
        for (name, text) in &documents.environments {
            match document::environment_text(text) {
                Ok(mut root) => {
                    let is_changed = documents.settle(name, &mut root);
                    let (name, text) = (name.clone(), text.clone());
                    let mut file = File { name, text, root, is_changed };
                    file.check(types, findings);
                    files.push(file);
                }
                Err(error) => {
                    let finding = Finding::error(name, &error).with_yaml_lines_left_out();
                    findings.push(finding.at(error.place, text));
                }
            }
        }
        Self { files, given: documents.parameters.clone() }
    }

    /// All of them as one, the files above what is given beside them.
    pub(super) fn merged(&self, root: &Node) -> Outcome<Node> {
        let mut sections = DatumMap::default();
        let given = Datum::from(&serde_json::Value::Object(self.given.clone()));
        sections.insert("parameters".into(), given);
        let names: Vec<String> = self.files.iter().map(|file| file.name.clone()).collect();
        let texts: BTreeMap<String, String> =
            self.files.iter().map(|file| (file.name.clone(), file.text_now())).collect();
        // What is wrong with version or parameters is told of the template.
        let schemas = Version::of(root)
            .and_then(|version| schema::read_all(root, version))
            .unwrap_or_default();
        merge::merge_files(&mut sections, &names, &texts, &schemas)?;
        Ok(Node::from(Datum::Map(sections)))
    }

    /// Tells in which file merging fails; from then on there are no files.
    pub(super) fn check_merge(&mut self, root: &Node, findings: &mut Vec<Finding>) {
        let Err(error) = self.merged(root) else { return };
        let names_file = |file: &&File| error.message.contains(&format!("'{}'", file.name));
        let last = self.files.iter().find(names_file).or(self.files.last());
        if let Some(file) = last {
            let parameters = file.root.get("parameters").and_then(Node::as_map);
            let named = parameters.into_iter().flatten();
            let named = named.map(|(name, node)| (format!("'{name}'"), node));
            let mut named = named.filter(|(name, _)| error.message.contains(name));
            let place = named.next().map(|(_, node)| node.key_place);
            findings.push(Finding::error(&file.name, &error).at(place, &file.text));
        }
        self.files.clear();
    }

    /// Tells of an error where an environment or the command line is to blame; false where the
    /// template is.
    pub(super) fn tell(&self, told: &Told, findings: &mut Vec<Finding>) -> bool {
        let error = &told.error;
        if error.class == "UnknownUserParameter" {
            let Some(wrong) = &told.wrong else { return false };
            let mut finding = Finding::error(COMMAND_LINE, error);
            finding.path = format!("parameters.{}", wrong.name);
            finding.suggestion = wrong.meant.clone();
            let mut is_in_file = false;
            for (file, node) in self.giving("parameters", &wrong.name) {
                let mut finding = finding.clone().at(Some(node.key_place), &file.text);
                finding.document = file.name.clone();
                findings.push(finding);
                is_in_file = true;
            }
            if !is_in_file {
                findings.push(finding);
            }
            return true;
        }
        let [Step::Key(section), Step::Key(name)] = told.path.as_slice() else { return false };
        // What is wrong with a schema, its default among it, is wrong in the template.
        if !section.eq_ignore_ascii_case("parameters") || error.class == "InvalidSchemaError" {
            return false;
        }
        let mut finding = Finding::error(COMMAND_LINE, error);
        finding.path = format!("parameters.{name}");
        finding.suggestion = told.wrong.as_ref().and_then(|wrong| wrong.meant.clone());
        let from_file = self.giving("parameters", name).last();
        let from_file = from_file.or_else(|| match self.given.contains_key(name) {
            true => None,
            false => self.giving("parameter_defaults", name).last(),
        });
        match from_file {
            Some((file, node)) => {
                finding = finding.at(Some(node.place), &file.text);
                finding.document.clone_from(&file.name);
            }
            None if self.given.contains_key(name) => {}
            None => return false,
        }
        findings.push(finding);
        true
    }

    /// Takes away the name of a parameter that there is not, or gives it the name that was meant;
    /// false if the error is another, or nothing is left to take.
    pub(super) fn set_aside(&mut self, told: &Told) -> bool {
        let Some(wrong) =
            told.wrong.as_ref().filter(|_| told.error.class == "UnknownUserParameter")
        else {
            return false;
        };
        let path = [Step::Key("parameters".to_owned()), Step::Key(wrong.name.clone())];
        let mut is_changed = false;
        for file in &mut self.files {
            if tree::at(&file.root, &path).is_some() {
                file.take(&path, wrong.meant.as_deref());
                is_changed = true;
            }
        }
        if let Some(value) = self.given.remove(&wrong.name) {
            if let Some(meant) = &wrong.meant {
                self.given.entry(meant.clone()).or_insert(value);
            }
            is_changed = true;
        }
        is_changed
    }

    /// Takes back all that is given for a parameter.
    pub(super) fn forget(&mut self, name: &str) {
        self.given.remove(name);
        for file in &mut self.files {
            for section in ["parameters", "parameter_defaults"] {
                file.take(&[Step::Key(section.to_owned()), Step::Key(name.to_owned())], None);
            }
        }
    }

    /// The files that give something for a parameter, in their order.
    fn giving<'a>(
        &'a self,
        section: &'a str,
        name: &'a str,
    ) -> impl Iterator<Item = (&'a File, &'a Node)> {
        self.files.iter().filter_map(move |file| Some((file, file.root.get(section)?.get(name)?)))
    }
}

impl File {
    /// Tells of sections and registry entries that are wrong, and takes them away.
    fn check(&mut self, types: &dyn TypeLookup, findings: &mut Vec<Finding>) {
        while findings.len() < super::FINDINGS_MAX {
            let checked = environment::check_sections(&self.root)
                .and_then(|()| Environment::new(&self.root, &JsonMap::new()).map(drop));
            let Err(error) = checked else { return };
            let names = Names { root: &self.root, types };
            let wrong = suggest::wrong(&error.text(), &names);
            let place = error.place.unwrap_or_default();
            let path = match wrong.as_ref().is_some_and(|wrong| wrong.is_key) {
                true => tree::path_to_key(&self.root, place),
                false => tree::path_below(&self.root, &[], place),
            };
            let path = path.unwrap_or_default();
            let meant = wrong.and_then(|wrong| wrong.meant);
            let mut finding = Finding::error(&self.name, &error).at(error.place, &self.text);
            finding.path = tree::shown(&path);
            finding.suggestion.clone_from(&meant);
            findings.push(finding);
            if !self.take(&path, meant.as_deref()) {
                return;
            }
        }
    }

    fn take(&mut self, path: &[Step], meant: Option<&str>) -> bool {
        let is_renamed = meant.is_some_and(|meant| tree::rename(&mut self.root, path, meant));
        let is_taken = is_renamed || tree::remove(&mut self.root, path);
        self.is_changed |= is_taken;
        is_taken
    }

    /// The text, or what is left of it: JSON is YAML.
    fn text_now(&self) -> String {
        match self.is_changed {
            true => self.root.to_json().to_string(),
            false => self.text.clone(),
        }
    }
}
