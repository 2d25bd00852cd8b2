//! Looking a template over for its author: all that is wrong, as far as one thing does not hide
//! another, each with its place in the text and a name that may have been meant.
//!
//! The language itself stops at the first error. Here what is wrong is set aside, as little of it
//! as may be, and the rest is looked at again; what only follows from it is not told.

mod environments;
mod finding;
pub(super) mod set_aside;
mod span;
mod tree;
mod warnings;

use std::collections::{BTreeMap, BTreeSet};

use super::definition::{Reading, StackDefinition};
use super::dialect;
use super::document;
use super::error::{Outcome, TemplateError};
use super::node::{Form, Node, Place};
use super::parameters::Values;
use super::suggest::{self, Names, Wrong};
use super::version::{VERSION_KEYS, VERSIONS};
use super::{PseudoParameters, StackSource, TypeLookup};
use crate::model::{JsonMap, Refusal};
use environments::Environments;
pub use finding::{Finding, Severity, Span};
use tree::{Path, Step};

/// How much is found at once.
const FINDINGS_MAX: usize = 100;

/// How often the template is looked at again; what is set aside silently counts as well.
const ROUNDS_MAX: usize = 300;

/// A template and what goes with it, as texts with the names they are shown by.
#[derive(Clone, Debug)]
pub struct Documents {
    pub template: (String, String),
    /// In order, the later ones above the earlier ones.
    pub environments: Vec<(String, String)>,
    /// These count above the environments.
    pub parameters: JsonMap,
    pub files: BTreeMap<String, String>,
    /// By the name of a document: what the files that it names are called among `files`, where
    /// that is another name.
    pub file_names: BTreeMap<String, BTreeMap<String, String>>,
}

impl Documents {
    /// Gives the files that a document names the names that they have here, and takes out of an
    /// environment what is given above it; whether anything is changed.
    fn settle(&self, document: &str, root: &mut Node) -> bool {
        let none = BTreeMap::new();
        let names = self.file_names.get(document).unwrap_or(&none);
        document::settle(root, names, &self.parameters)
    }
}

/// What comes of a look: the definition, if there is no error.
#[derive(Debug)]
pub struct Diagnosis {
    /// By document, line and column.
    pub findings: Vec<Finding>,
    pub definition: Option<StackDefinition>,
}

/// Looks a template over. `more` tells what schemas of resource types and the whole graph find,
/// in Heat's words with the path before them.
pub fn diagnose(
    documents: &Documents,
    pseudo: &PseudoParameters,
    types: &dyn TypeLookup,
    more: &dyn Fn(&StackDefinition) -> Vec<Refusal>,
) -> Diagnosis {
    let look = Look { documents, pseudo, types, more, findings: Vec::new() };
    look.look()
}

struct Look<'a> {
    documents: &'a Documents,
    pseudo: &'a PseudoParameters,
    types: &'a dyn TypeLookup,
    more: &'a dyn Fn(&StackDefinition) -> Vec<Refusal>,
    findings: Vec<Finding>,
}

/// An error, and what it is about.
struct Told {
    error: TemplateError,
    /// The node that it speaks of; empty where none is known.
    path: Path,
    wrong: Option<Wrong>,
}

impl Look<'_> {
    fn look(mut self) -> Diagnosis {
        let environments = Environments::read(self.documents, self.types, &mut self.findings);
        let mut root = self.template();
        if let Some(root) = &mut root {
            self.documents.settle(&self.documents.template.0, root);
        }
        let written = root.clone();
        let definition = root.and_then(|root| self.rounds(root, environments));
        if let Some(written) = written {
            let document = &self.documents.template;
            let found = warnings::all(&written, document, self.types, &self.findings);
            self.findings.extend(found);
        }
        let order = |finding: &Finding| {
            let is_given = |(name, _): &(String, String)| *name == finding.document;
            let number = self.documents.environments.iter().position(is_given);
            (
                number.map_or(0, |number| number + 1),
                finding.span.map(|span| (span.line, span.column)),
            )
        };
        self.findings.sort_by_key(order);
        let is_valid = !self.findings.iter().any(|finding| finding.severity == Severity::Error);
        Diagnosis { findings: self.findings, definition: definition.filter(|_| is_valid) }
    }

    /// The template as read; one that lacks its version is given one.
    fn template(&mut self) -> Option<Node> {
        let (name, text) = &self.documents.template;
        let error = match document::template_text(text, document::ROOT) {
            Ok(root) => return Some(root),
            Err(error) => error,
        };
        let mut root = document::template_map(text, document::ROOT).ok();
        let mut finding = Finding::error(name, &error).with_yaml_lines_left_out();
        let mut place = error.place;
        if let Some(root) = &mut root {
            let names = Names { root, types: self.types };
            let keys = root.as_map().into_iter().flat_map(|map| map.iter());
            let near = keys.filter_map(|(key, node)| {
                let message = format!("\"{key}\" is no key of a template");
                let wrong = suggest::wrong(&message, &names)?;
                Some((wrong.meant?, key.clone(), node.key_place))
            });
            let near = near.min();
            if let Some((meant, key, key_place)) = near {
                place = Some(key_place);
                finding.suggestion = Some(meant.clone());
                tree::rename(root, &[Step::Key(key.to_string())], &meant);
            }
            version_given(root, None);
        }
        self.findings.push(finding.at(place, text));
        root
    }

    /// Looks, sets aside, and looks again.
    fn rounds(
        &mut self,
        mut root: Node,
        mut environments: Environments,
    ) -> Option<StackDefinition> {
        let mut told = BTreeSet::new();
        environments.check_merge(&root, &mut self.findings);
        for _ in 0..ROUNDS_MAX {
            if self.findings.len() >= FINDINGS_MAX {
                return None;
            }
            let (errors, definition) = match self.attempt(&root, &environments) {
                Ok(definition) => {
                    let errors: Vec<_> = (self.more)(&definition)
                        .into_iter()
                        .filter(|refusal| !set_aside::follows(&refusal.message))
                        .map(from_refusal)
                        .collect();
                    (errors, Some(definition))
                }
                Err(error) => (vec![error], None),
            };
            let mut is_changed = false;
            let paths: Vec<Told> =
                errors.into_iter().map(|error| self.about(&root, error)).collect();
            // A key that was meant to be another may be all that is wrong with what is around it.
            let is_key = |one: &Told| one.wrong.as_ref().is_some_and(|wrong| wrong.is_key);
            let has_keys = paths.iter().any(is_key);
            for one in paths.into_iter().filter(|one| !has_keys || is_key(one)) {
                let is_open = self.is_open(&root, &one.error);
                let message = one.error.text();
                if !is_open && told.insert((tree::shown(&one.path), one.error.place, message)) {
                    self.tell(&root, &environments, &one);
                }
                is_changed |= self.set_aside(&mut root, &mut environments, &one);
            }
            if !is_changed {
                return definition;
            }
        }
        None
    }

    fn attempt(&self, root: &Node, environments: &Environments) -> Outcome<StackDefinition> {
        let source = StackSource { files: self.documents.files.clone(), ..StackSource::default() };
        let reading = Reading::ordinary(Values::IfGiven);
        let types = set_aside::Types(self.types);
        let environment = environments.merged(root)?;
        let definition = StackDefinition::assemble(
            root.clone(),
            &environment,
            &source,
            self.pseudo,
            &types,
            reading,
        )?;
        definition.check(&types)?;
        Ok(definition)
    }

    /// Finds what an error is about.
    fn about(&self, root: &Node, error: TemplateError) -> Told {
        let names = Names { root, types: self.types };
        let wrong = suggest::wrong(&error.text(), &names);
        let written = tree::path_written(root, &written_path(root, &error));
        let place = error.place.filter(|place| place.line > 0);
        let key = wrong.as_ref().filter(|wrong| wrong.is_key).map(|wrong| wrong.name.clone());
        let is_default = error.message.contains("Invalid default ");
        let path = match (key, place) {
            (Some(_), Some(place)) => tree::path_to_key(root, place).unwrap_or(written),
            (Some(key), None) => {
                let path: Path = written.iter().cloned().chain([Step::Key(key)]).collect();
                if tree::at(root, &path).is_some() { path } else { written }
            }
            (None, None) if !written.is_empty() => {
                let name = wrong.as_ref().map(|wrong| wrong.name.as_str());
                name.and_then(|name| tree::path_to_text(root, &written, name)).unwrap_or(written)
            }
            (None, Some(place)) => tree::path_below(root, &written, place).unwrap_or(written),
            (None, None) => written,
        };
        let mut told = Told { error, path, wrong };
        let default = dialect::of(root).parameter.default;
        let at_default: Path = [&told.path[..], &[Step::Key(default.to_owned())]].concat();
        if let Some(default) = tree::at(root, &at_default).filter(|_| is_default) {
            told.error.place = Some(default.place);
            told.path = at_default;
        }
        told
    }

    /// Whether an error only follows from another, or from a parameter that has no value here.
    fn is_open(&self, root: &Node, error: &TemplateError) -> bool {
        let text = error.text();
        let parameters = root.get(dialect::of(root).sections.parameters);
        let names = parameters.and_then(Node::as_map).into_iter().flat_map(|map| map.keys());
        set_aside::follows(&text)
            || names
                .into_iter()
                .any(|name| text.contains(&TemplateError::parameter_missing(name).message))
    }

    /// Makes findings of an error, in the document that it belongs to.
    fn tell(&mut self, root: &Node, environments: &Environments, told: &Told) {
        if environments.tell(told, &mut self.findings) {
            return;
        }
        let (name, text) = &self.documents.template;
        let mut finding = Finding::error(name, &told.error);
        let node = tree::at(root, &told.path).filter(|_| !told.path.is_empty());
        let item = node.zip(told.wrong.as_ref()).and_then(|(node, wrong)| item(node, &wrong.name));
        let missing = node.and_then(|node| misnamed(node, &told.error.message));
        let is_key = told.wrong.as_ref().is_some_and(|wrong| wrong.is_key);
        let place = match (told.error.place, node) {
            _ if item.is_some() => item,
            _ if missing.is_some() => missing.as_ref().map(|(place, _)| *place),
            (Some(place), _) if !is_key => Some(place),
            (_, Some(node)) if is_key || node.as_map().is_some() || node.as_list().is_some() => {
                Some(node.key_place)
            }
            (_, Some(node)) => Some(node.place),
            (place, None) => place,
        };
        // What is after `<` is within a nested template, and in no document that is shown.
        if !told.path.is_empty() && !finding.path.contains('<') {
            finding.path = tree::shown(&told.path);
        }
        finding.suggestion = match (&told.wrong, missing) {
            (_, Some((_, meant))) => Some(meant),
            (Some(wrong), None) => wrong.meant.clone(),
            (None, None) => None,
        };
        if told.error.message.starts_with("The Parameter (") {
            finding.note = Some("the template declares no parameter of this name".to_owned());
        }
        self.findings.push(finding.at(place, text));
    }

    /// Takes what an error is about out of the way; false where nothing is left to take.
    fn set_aside(&self, root: &mut Node, environments: &mut Environments, told: &Told) -> bool {
        if environments.set_aside(told) {
            return true;
        }
        let path = &told.path;
        let is_version = told.error.class == "InvalidTemplateVersion" && path.len() < 2;
        if is_version {
            return version_given(
                root,
                told.wrong.as_ref().and_then(|wrong| wrong.meant.as_deref()),
            );
        }
        if let Some(wrong) = told.wrong.as_ref().filter(|wrong| wrong.is_key) {
            let is_renamed =
                wrong.meant.as_ref().is_some_and(|meant| tree::rename(root, path, meant));
            return is_renamed || tree::remove(root, path);
        }
        let unassigned = told.error.message.strip_prefix("Property ");
        if let Some(key) = unassigned.and_then(|rest| rest.strip_suffix(" not assigned")) {
            let mut path = path.clone();
            let is_whole = matches!(path.as_slice(), [_, _]);
            if is_whole {
                path.push(Step::Key(dialect::of(root).resource.properties.to_owned()));
            }
            return tree::add_without_value(root, &path, key);
        }
        // What is given for a parameter that is wrong is no longer looked at.
        if let [Step::Key(section), Step::Key(name)] = path.as_slice()
            && section.eq_ignore_ascii_case("parameters")
        {
            environments.forget(name);
        }
        tree::set_aside(root, path)
    }
}

/// Where in a list or a map of arguments the name stands that is wrong.
fn item(node: &Node, name: &str) -> Option<Place> {
    let is_it = |item: &&Node| item.as_text() == Some(name);
    node.as_list()?.iter().find(is_it).map(|item| item.place)
}

/// The key in a map that may be meant for the one that a message misses.
fn misnamed(node: &Node, message: &str) -> Option<(Place, String)> {
    let (_, rest) = message.split_once(" must contain a ")?;
    let key = rest.split_once(" key.")?.0;
    node.as_map()?.iter().find_map(|(name, entry)| {
        let meant = suggest::nearest(name, [key.to_owned(), key.to_lowercase()])?;
        Some((entry.key_place, meant))
    })
}

/// Gives a template the version that was meant, or the newest of its language, in the place of
/// what it says; false if it has it already.
fn version_given(root: &mut Node, meant: Option<&str>) -> bool {
    let dialect = dialect::of(root);
    let of_language = VERSIONS.iter().filter(|version| version.dialect == dialect);
    let newest = of_language.max_by_key(|version| (version.release, version.alias_of.is_none()));
    let Some(newest) = newest else { return false };
    let name = meant.unwrap_or(newest.name);
    if root.get(newest.key).and_then(Node::as_text) == Some(name) {
        return false;
    }
    let Form::Map(map) = &mut root.form else { return false };
    let written = map.get(newest.key).cloned().unwrap_or_default();
    for key in VERSION_KEYS {
        map.shift_remove(key);
    }
    let version = Node::at(&written, Form::Text(name.into()));
    map.shift_insert(0, newest.key.into(), version);
    true
}

/// The path that an error names, joined as Heat joins it.
fn written_path(root: &Node, error: &TemplateError) -> String {
    if !error.path.is_empty() {
        return error.joined_path();
    }
    // A circle is told of where the template first speaks of one of its resources.
    let circle = error.message.strip_prefix("Circular Dependency Found: {").unwrap_or_default();
    let named: Vec<&str> = circle.split('"').skip(1).step_by(2).collect();
    let section = dialect::of(root).sections.resources;
    let resources = root.get(section).and_then(Node::as_map);
    let first =
        resources.into_iter().flat_map(|all| all.keys()).find(|n| named.contains(&n.as_str()));
    first.map(|name| format!("{section}.{name}")).unwrap_or_default()
}

/// A refusal's message taken apart again.
fn from_refusal(refusal: Refusal) -> TemplateError {
    let mut error = TemplateError { class: refusal.class, ..TemplateError::validation("") };
    let parts: Vec<&str> = refusal.message.splitn(3, ": : ").collect();
    match parts.as_slice() {
        [headline, path, message] => {
            error.headline = (*headline).to_owned();
            error.path = vec![(*path).to_owned()];
            error.message = (*message).to_owned();
        }
        [path, message] if path.to_lowercase().starts_with("resources.") => {
            error.path = vec![(*path).to_owned()];
            error.message = (*message).to_owned();
        }
        _ => error.message = refusal.message,
    }
    error
}
