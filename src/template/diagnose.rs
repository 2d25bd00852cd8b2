//! Looking a template over for its author: all that is wrong, as far as one thing does not hide
//! another, each with its place in the text and a name that may have been meant.
//!
//! The language itself stops at the first error. Here what is wrong is set aside (a resource
//! becomes one that takes anything, an output goes) and the rest is looked at again.

use std::collections::BTreeMap;

use serde_json::Value;

use super::definition::{Reading, StackDefinition, Values};
use super::environment::{self, merge};
use super::error::{Outcome, TemplateError};
use super::node::{Form, Node, NodeMap, Place};
use super::parameters::schema;
use super::suggest::{self, Names};
use super::value::{Datum, DatumMap};
use super::version::Version;
use super::{PseudoParameters, StackSource, TypeLookup, document};
use crate::model::{JsonMap, Refusal};

/// How much is found at once.
const FINDINGS_MAX: usize = 25;

/// A template and what goes with it, as texts with the names they are shown by.
#[derive(Clone, Debug)]
pub struct Documents {
    pub template: (String, String),
    /// In order, the later ones above the earlier ones.
    pub environments: Vec<(String, String)>,
    pub parameters: JsonMap,
    pub files: BTreeMap<String, String>,
}

/// Something wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the document.
    pub document: String,
    /// Line and column, counted from 1, where they are known.
    pub place: Option<(u32, u32)>,
    pub message: String,
    /// A name that is near the wrong one.
    pub suggestion: Option<String>,
}

/// What comes of a look: the definition, if nothing is wrong with it.
#[derive(Debug)]
pub struct Diagnosis {
    pub findings: Vec<Finding>,
    pub definition: Option<StackDefinition>,
}

/// Looks a template over. `more` checks what needs schemas of resource types and the whole graph.
pub fn diagnose(
    documents: &Documents,
    pseudo: &PseudoParameters,
    types: &dyn TypeLookup,
    more: &dyn Fn(&StackDefinition) -> Result<(), Refusal>,
) -> Diagnosis {
    let mut look = Look { documents, pseudo, types, more, findings: Vec::new() };
    let definition = look.look();
    look.findings
        .sort_by(|left, right| (&left.document, left.place).cmp(&(&right.document, right.place)));
    Diagnosis { findings: look.findings, definition }
}

struct Look<'a> {
    documents: &'a Documents,
    pseudo: &'a PseudoParameters,
    types: &'a dyn TypeLookup,
    more: &'a dyn Fn(&StackDefinition) -> Result<(), Refusal>,
    findings: Vec<Finding>,
}

/// The environments as read, and merged.
struct Environments {
    nodes: Vec<Option<Node>>,
    merged: Node,
}

impl Look<'_> {
    fn look(&mut self) -> Option<StackDefinition> {
        let (name, text) = &self.documents.template;
        let mut root = match document::template_text(text) {
            Ok(root) => root,
            Err(error) => {
                self.found(name, error.place, error.text(), None);
                return None;
            }
        };
        let environments = self.environments(&root)?;
        let mut section_at_fault: Option<String> = None;
        while self.findings.len() < FINDINGS_MAX {
            let error = match self.attempt(&root, &environments) {
                Ok(definition) => return self.findings.is_empty().then_some(definition),
                Err(error) => error,
            };
            let place = error.place.or_else(|| place_of_message(&root, &error.message));
            let entry = place.and_then(|place| entry_at(&root, place));
            let section = entry.as_ref().map(|(section, _)| section.clone());
            // Values and conditions that are wrong make more go wrong that is not.
            let follows = section_at_fault.is_some() && section_at_fault != section;
            let decides = |name: &String| name == "parameters" || name == "conditions";
            if follows {
                return None;
            }
            if section.as_ref().is_some_and(decides) {
                section_at_fault = section;
            }
            self.report(&root, &environments, &error, place);
            let (section, key) = entry?;
            if !set_aside(&mut root, &section, &key) {
                return None;
            }
        }
        None
    }

    fn attempt(&self, root: &Node, environments: &Environments) -> Outcome<StackDefinition> {
        let source = StackSource {
            template: Value::Null,
            environment: JsonMap::new(),
            files: self.documents.files.clone(),
            parameters: self.documents.parameters.clone(),
        };
        let reading = Reading { resources_max: super::RESOURCES_MAX, values: Values::IfGiven };
        let definition = StackDefinition::assemble(
            root,
            root.to_json(),
            &environments.merged,
            &source,
            self.pseudo,
            self.types,
            reading,
        )?;
        definition.check(self.types)?;
        (self.more)(&definition).map_err(|refusal| TemplateError {
            class: refusal.class,
            ..TemplateError::validation(refusal.message.replace(": : ", ": "))
        })?;
        Ok(definition)
    }

    /// Reads and merges the environments. With one that cannot be read nothing more is said.
    fn environments(&mut self, root: &Node) -> Option<Environments> {
        let mut nodes = Vec::new();
        let mut files = BTreeMap::new();
        let mut names = Vec::new();
        for (name, text) in &self.documents.environments {
            let read = document::environment_text(text)
                .and_then(|node| environment::check_sections(&node).map(|()| node));
            match read {
                Ok(node) => nodes.push(Some(node)),
                Err(error) => {
                    self.found(name, error.place, error.text(), None);
                    nodes.push(None);
                }
            }
            files.insert(name.clone(), text.clone());
            names.push(name.clone());
        }
        if !self.findings.is_empty() {
            return None;
        }
        // What is wrong with version or parameters is said when the template is looked at.
        let schemas = Version::of(root)
            .and_then(|version| schema::read_all(root.get("parameters"), version))
            .unwrap_or_default();
        let mut sections = DatumMap::new();
        if let Err(error) = merge::merge_files(&mut sections, &names, &files, &schemas) {
            let name = names.last().cloned().unwrap_or_default();
            self.found(&name, None, error.text(), None);
            return None;
        }
        Some(Environments { nodes, merged: Node::from(Datum::Map(sections)) })
    }

    fn report(
        &mut self,
        root: &Node,
        environments: &Environments,
        error: &TemplateError,
        place: Option<Place>,
    ) {
        let names = Names { root, types: self.types };
        let suggestion = suggest::suggestion(error, &names);
        let message = error.text();
        // What an environment gives is shown there.
        if let Some(unknown) = suggest::unknown_parameter(error) {
            for (number, node) in environments.nodes.iter().enumerate() {
                let given = node.as_ref().and_then(|node| node.get("parameters")?.get(unknown));
                if let Some(given) = given {
                    let name = self.documents.environments[number].0.clone();
                    self.found(&name, Some(given.key_place), message, suggestion);
                    return;
                }
            }
        }
        let name = self.documents.template.0.clone();
        self.found(&name, place, message, suggestion);
    }

    fn found(
        &mut self,
        document: &str,
        place: Option<Place>,
        message: String,
        suggestion: Option<String>,
    ) {
        self.findings.push(Finding {
            document: document.to_owned(),
            place: place.filter(|place| place.line > 0).map(|place| (place.line, place.column)),
            message,
            suggestion,
        });
    }
}

/// The section and the entry in it that a place lies in.
fn entry_at(root: &Node, place: Place) -> Option<(String, String)> {
    let (section, node) = last_before(root.as_map()?, place)?;
    let (entry, _) = last_before(node.as_map()?, place)?;
    Some((section.clone(), entry.clone()))
}

fn last_before(map: &NodeMap, place: Place) -> Option<(&String, &Node)> {
    map.iter().filter(|(_, node)| node.key_place <= place).max_by_key(|(_, node)| node.key_place)
}

/// Puts something in the place of an entry that nothing can be wrong with; false if there is no
/// such thing, or if it is there already.
fn set_aside(root: &mut Node, section: &str, key: &str) -> bool {
    let Form::Map(sections) = &mut root.form else { return false };
    let Some(Form::Map(entries)) = sections.get_mut(section).map(|node| &mut node.form) else {
        return false;
    };
    let harmless = match section {
        "resources" => Some(&[("type", "OS::Heat::None")][..]),
        "parameters" => Some(&[("type", "json"), ("default", "")][..]),
        "conditions" => {
            let Some(node) = entries.get_mut(key) else { return false };
            return !matches!(std::mem::replace(&mut node.form, Form::Bool(false)), Form::Bool(_));
        }
        "outputs" => None,
        _ => return false,
    };
    let Some(fields) = harmless else { return entries.shift_remove(key).is_some() };
    let Some(node) = entries.get_mut(key) else { return false };
    let fields: NodeMap = fields
        .iter()
        .map(|(name, value)| {
            let form = Form::Text((*value).to_owned());
            ((*name).to_owned(), Node { place: node.place, key_place: node.key_place, form })
        })
        .collect();
    let is_set_aside = node.as_map().is_some_and(|map| {
        map.len() == fields.len()
            && map.iter().all(|(key, value)| {
                fields.get(key).is_some_and(|field| field.as_text() == value.as_text())
            })
    });
    node.form = Form::Map(fields);
    !is_set_aside
}

/// The place that an error's text names by a path (`resources.a.properties.b: …`).
fn place_of_message(root: &Node, message: &str) -> Option<Place> {
    let path = message.split(": ").find(|part| part.starts_with("resources."))?;
    let mut node = root;
    let mut rest = path;
    while !rest.is_empty() {
        let (next, left) = step(node, rest)?;
        node = next;
        rest = left;
    }
    // An unknown property is told of the whole; its own key is nearer.
    let unknown = message.rsplit_once("Unknown Property ").map(|(_, name)| name);
    let nearer = unknown.and_then(|name| node.get(name));
    Some(nearer.map_or(node.key_place, |node| node.key_place))
}

/// One step along a path: the longest key that fits, or an index in brackets.
fn step<'n, 'p>(node: &'n Node, path: &'p str) -> Option<(&'n Node, &'p str)> {
    let path = path.strip_prefix('.').unwrap_or(path);
    match &node.form {
        Form::Map(map) => {
            let fits = |key: &String| {
                path.strip_prefix(key.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            };
            let (key, next) =
                map.iter().filter(|(key, _)| fits(key)).max_by_key(|(key, _)| key.len())?;
            Some((next, &path[key.len()..]))
        }
        Form::List(items) => {
            let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
            Some((items.get(index.parse::<usize>().ok()?)?, rest))
        }
        _ => Some((node, "")),
    }
}
