//! The resource registry: which type or template stands behind a name, by exact keys, wildcards
//! and entries for single resources, in Heat's order; hooks and restricted actions beside them.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::model::IndexMap;

use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::value::{Datum, DatumMap};
use crate::template::{TypeLookup, fnmatch, python};

/// How many mappings a lookup may follow, all candidates together.
const MAPPINGS_MAX: usize = 200;

const HOOKS: [&str; 6] =
    ["pre-create", "pre-update", "pre-delete", "post-create", "post-update", "post-delete"];

const RESTRICTED_ACTIONS: [&str; 2] = ["update", "replace"];

/// The key below which the entries of single resources stand.
const RESOURCES: &str = "resources";

/// The mappings of one environment.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    root: Level,
}

/// The entries under one key.
type Level = IndexMap<String, Entry>;

#[derive(Clone, Debug)]
enum Entry {
    /// A template: its name among the files, or its URL.
    Template(String),
    /// What a type stands for.
    Alias(String),
    /// What all types of a stem stand for.
    Wildcard(String),
    /// Hooks or restricted actions: a word, or a list of words.
    Words(Datum),
    Level(Level),
}

/// What stands behind a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A type of its own, by its name.
    Type(String),
    Template(TemplateEntry),
}

/// An entry that names a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateEntry {
    /// The template's name among the files, or its URL.
    pub(crate) name: String,
    /// The keys that lead to the entry.
    path: Vec<String>,
    /// Whether it is the user's; else it is everybody's.
    pub(crate) is_users: bool,
}

/// A lookup under way.
struct Search<'a> {
    resource: &'a str,
    types: &'a dyn TypeLookup,
    /// The entry that must not be the answer.
    ignored: Option<&'a TemplateEntry>,
    steps_left: usize,
}

/// An entry that may be the answer, with what Heat sorts by.
struct Candidate<'a> {
    is_users: bool,
    path: Vec<&'a str>,
    /// None is a type of its own.
    entry: Option<&'a Entry>,
}

impl Default for Registry {
    fn default() -> Self {
        let resources = (RESOURCES.to_owned(), Entry::Level(Level::default()));
        Self { root: [resources].into_iter().collect() }
    }
}

impl Registry {
    /// Reads the section.
    pub(crate) fn new(section: &Node) -> Outcome<Self> {
        let mut registry = Self::default();
        registry.load(section)?;
        Ok(registry)
    }

    /// Takes in the entries of a section, above those that are there.
    pub(crate) fn load(&mut self, section: &Node) -> Outcome<()> {
        if section.is_null() {
            return Ok(());
        }
        if section.as_map().is_none() {
            let message = "The environment section \"resource_registry\" must be a map.";
            return Err(TemplateError::value(message).placed(section.place));
        }
        load(section, &mut self.root)
    }

    /// What stands behind a type's name, for this resource; `None` if there is nothing. `ignored`
    /// is passed over.
    pub(crate) fn find(
        &self,
        type_name: &str,
        resource: &str,
        types: &dyn TypeLookup,
        ignored: Option<&TemplateEntry>,
    ) -> Option<Found> {
        let mut search = Search { resource, types, ignored, steps_left: MAPPINGS_MAX };
        self.search(type_name, &mut search)
    }

    /// All names that a type's name may lead to, itself among them, whatever the resource is called
    /// and wherever in the tree it stands; `None` where there are too many, or no more of the
    /// entries may be looked at.
    pub(crate) fn meanings(
        &self,
        type_name: &str,
        types: &dyn TypeLookup,
        looks_left: &Cell<usize>,
    ) -> Option<BTreeSet<String>> {
        let (mut found, mut ahead) = (BTreeSet::new(), vec![type_name.to_owned()]);
        while let Some(name) = ahead.pop() {
            if found.insert(name.clone()) {
                for root in [&self.root, &types.mappings().registry.root] {
                    add_targets(root, &name, looks_left, &mut ahead)?;
                }
            }
            if found.len() > MAPPINGS_MAX {
                return None;
            }
        }
        Some(found)
    }

    fn search(&self, type_name: &str, search: &mut Search<'_>) -> Option<Found> {
        search.steps_left = search.steps_left.checked_sub(1)?;
        let types = search.types;
        let dynamic = Entry::Template(type_name.to_owned());
        let mut candidates = Vec::new();
        if is_template(type_name) && !self.root.contains_key(type_name) {
            let path = vec![type_name];
            candidates.push(Candidate { is_users: true, path, entry: Some(&dynamic) });
        }
        self.candidates(type_name, search.resource, true, &mut candidates);
        let global = &types.mappings().registry;
        global.candidates(type_name, search.resource, false, &mut candidates);
        if !global.root.contains_key(type_name) && types.exists(type_name) {
            candidates.push(Candidate { is_users: false, path: vec![type_name], entry: None });
        }
        candidates.sort_by(|a, b| {
            (b.is_users, b.path.len(), &a.path).cmp(&(a.is_users, a.path.len(), &b.path))
        });
        candidates.into_iter().find_map(|candidate| {
            let found = match candidate.entry {
                None => Some(Found::Type(type_name.to_owned())),
                Some(Entry::Template(name)) => Some(Found::Template(TemplateEntry {
                    name: name.clone(),
                    path: candidate.path.iter().map(|key| (*key).to_owned()).collect(),
                    is_users: candidate.is_users,
                })),
                Some(Entry::Alias(target)) => self.search_beyond(target, search),
                Some(Entry::Wildcard(target)) => {
                    let stem = candidate.path.last().map_or(0, |key| key.len() - 1);
                    self.search_beyond(&carried_over(target, &type_name[stem..]), search)
                }
                Some(Entry::Words(_) | Entry::Level(_)) => None,
            };
            found.filter(|found| match (found, search.ignored) {
                (Found::Template(found), Some(ignored)) => found != ignored,
                _ => true,
            })
        })
    }

    /// What stands behind the type that another stands for. As in Heat, nothing is passed over
    /// there: whoever asks what is behind a template finds nothing by way of an alias.
    fn search_beyond(&self, type_name: &str, search: &mut Search<'_>) -> Option<Found> {
        let ignored = search.ignored.take();
        let found = self.search(type_name, search);
        search.ignored = ignored;
        found
    }

    fn candidates<'a>(
        &'a self,
        type_name: &'a str,
        resource: &'a str,
        is_users: bool,
        into: &mut Vec<Candidate<'a>>,
    ) {
        if let Some(Entry::Level(own)) = self.resources().get(resource)
            && let Some((key, entry)) = own.get_key_value(type_name)
        {
            let path = vec![RESOURCES, resource, key.as_str()];
            into.push(Candidate { is_users, path, entry: Some(entry) });
        }
        for (key, entry) in &self.root {
            let is_match = match entry {
                Entry::Wildcard(target) => {
                    let stem = key.strip_suffix('*').unwrap_or(key);
                    key == type_name || (type_name != target && type_name.starts_with(stem))
                }
                _ => key == type_name,
            };
            if is_match {
                into.push(Candidate { is_users, path: vec![key.as_str()], entry: Some(entry) });
            }
        }
    }

    /// The entries of single resources.
    fn resources(&self) -> &Level {
        static NONE: std::sync::LazyLock<Level> = std::sync::LazyLock::new(Level::default);
        match self.root.get(RESOURCES) {
            Some(Entry::Level(level)) => level,
            _ => &NONE,
        }
    }

    /// The entries whose name, or the pattern in its place, fits a resource.
    fn of_resource(&self, resource: &str) -> impl Iterator<Item = &Level> {
        self.resources().iter().filter_map(move |(pattern, entry)| match entry {
            Entry::Level(level) if fnmatch::matches(pattern, resource) => Some(level),
            _ => None,
        })
    }

    /// The hooks that are set for a resource.
    pub(crate) fn hooks(&self, resource: &str) -> BTreeSet<String> {
        self.words("hooks", resource)
    }

    /// The actions that a resource is kept from.
    pub(crate) fn restricted_actions(&self, resource: &str) -> BTreeSet<String> {
        self.words("restricted_actions", resource)
    }

    fn words(&self, key: &str, resource: &str) -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        for level in self.of_resource(resource) {
            match level.get(key) {
                Some(Entry::Words(Datum::Text(word))) => drop(words.insert(word.to_string())),
                Some(Entry::Words(Datum::List(items))) => {
                    words.extend(items.iter().map(python::text_of));
                }
                _ => {}
            }
        }
        words
    }

    /// The registry of a nested stack: without the entry of the template that it is made from, and
    /// with the entries for its resource moved up to where those of its own resources stand.
    pub(crate) fn of_child(&self, resource: &str, made_from: Option<&TemplateEntry>) -> Self {
        let mut child = self.clone();
        if let Some(made_from) = made_from {
            child.remove(&made_from.path);
        }
        let mut resources = Level::default();
        for level in child.of_resource(resource) {
            resources.extend(level.clone());
        }
        if let Some(Entry::Level(own)) = child.resources().get(resource) {
            resources.extend(own.clone());
        }
        child.root.insert(RESOURCES.to_owned(), Entry::Level(resources));
        child
    }

    fn remove(&mut self, path: &[String]) {
        let Some((last, above)) = path.split_last() else { return };
        let mut level = &mut self.root;
        for key in above {
            let Some(Entry::Level(below)) = level.get_mut(key) else { return };
            level = below;
        }
        level.shift_remove(last);
    }

    /// The templates that entries at any depth name.
    pub(crate) fn templates(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect_templates(&self.root, &mut names);
        names
    }

    /// As the API shows it.
    pub(crate) fn to_datum(&self) -> Datum {
        shown(&self.root)
    }
}

/// What a name leads to by the entries of a level, and of those below.
fn add_targets(
    level: &Level,
    name: &str,
    looks_left: &Cell<usize>,
    into: &mut Vec<String>,
) -> Option<()> {
    looks_left.set(looks_left.get().checked_sub(level.len())?);
    for (key, entry) in level {
        match entry {
            Entry::Level(below) => add_targets(below, name, looks_left, into)?,
            Entry::Template(target) | Entry::Alias(target) if key == name => {
                into.push(target.clone());
            }
            Entry::Wildcard(target) => {
                let rest = name.strip_prefix(key.strip_suffix('*').unwrap_or(key));
                into.extend(rest.map(|rest| carried_over(target, rest)));
            }
            Entry::Template(_) | Entry::Alias(_) | Entry::Words(_) => {}
        }
    }
    Some(())
}

fn collect_templates(level: &Level, names: &mut Vec<String>) {
    for entry in level.values() {
        match entry {
            Entry::Template(name) => names.push(name.clone()),
            Entry::Level(level) => collect_templates(level, names),
            Entry::Alias(_) | Entry::Wildcard(_) | Entry::Words(_) => {}
        }
    }
}

fn shown(level: &Level) -> Datum {
    let entries = level.iter().map(|(key, entry)| {
        let value = match entry {
            Entry::Template(target) | Entry::Alias(target) | Entry::Wildcard(target) => {
                target.as_str().into()
            }
            Entry::Words(words) => words.clone(),
            Entry::Level(level) => shown(level),
        };
        (key.into(), value)
    });
    Datum::Map(entries.collect::<DatumMap>())
}

/// The target of a wildcard: one that ends in `*` itself takes the rest of the name over.
fn carried_over(target: &str, rest: &str) -> String {
    match target.strip_suffix('*') {
        Some(prefix) => format!("{prefix}{rest}"),
        None => target.to_owned(),
    }
}

/// Whether a type's name is that of a template.
pub(crate) fn is_template(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".template")
}

fn load(section: &Node, into: &mut Level) -> Outcome<()> {
    for (key, node) in section.as_map().into_iter().flatten() {
        load_entry(key, node, into)?;
    }
    Ok(())
}

fn load_entry(key: &str, node: &Node, into: &mut Level) -> Outcome<()> {
    let entry = match &node.form {
        // Null takes back what was mapped before.
        Form::Null => {
            match key.strip_suffix('*') {
                Some(stem) => into.retain(|name, entry| {
                    !name.starts_with(stem) || matches!(entry, Entry::Words(_) | Entry::Level(_))
                }),
                None => drop(into.shift_remove(key)),
            }
            return Ok(());
        }
        _ if key == "hooks" => {
            check_words(node, &HOOKS, "InvalidBreakPointHook", |value, known| {
                format!(
                    "Invalid hook type \"{value}\" for resource breakpoint, acceptable hook types \
                     are: {known}"
                )
            })?;
            Entry::Words(node.to_datum())
        }
        _ if key == "restricted_actions" => {
            check_words(node, &RESTRICTED_ACTIONS, "InvalidRestrictedAction", |value, known| {
                format!(
                    "Invalid restricted_action type \"{value}\" for resource, acceptable \
                     restricted_action types are: {known}"
                )
            })?;
            Entry::Words(node.to_datum())
        }
        Form::Map(_) => {
            if !matches!(into.get(key), Some(Entry::Level(_))) {
                into.insert(key.to_owned(), Entry::Level(Level::default()));
            }
            match into.get_mut(key) {
                Some(Entry::Level(level)) => return load(node, level),
                _ => return Ok(()),
            }
        }
        _ if is_template(key) => Entry::Template(key.to_owned()),
        Form::Text(target) if is_template(target) => Entry::Template(target.to_string()),
        Form::Text(target) if key.ends_with('*') => Entry::Wildcard(target.to_string()),
        Form::Text(target) => Entry::Alias(target.to_string()),
        _ => {
            let kind = python::type_name(&node.to_datum());
            let message = format!("'{kind}' object has no attribute 'support_status'");
            return Err(TemplateError::new("AttributeError", message).placed(node.place));
        }
    };
    into.insert(key.to_owned(), entry);
    Ok(())
}

/// Refuses all but a word, or a list of words, of those that are known.
fn check_words(
    node: &Node,
    known: &[&str],
    class: &'static str,
    message: impl Fn(&str, &str) -> String,
) -> Outcome<()> {
    let is_known = |node: &Node| node.as_text().is_some_and(|word| known.contains(&word));
    let valid = match &node.form {
        Form::List(items) => items.iter().all(is_known),
        _ => is_known(node),
    };
    if valid {
        return Ok(());
    }
    let shown = python::text_of(&node.to_datum());
    let quoted: Vec<String> = known.iter().map(|word| python::quoted(word)).collect();
    let message = message(&shown, &format!("({})", quoted.join(", ")));
    Err(TemplateError::new(class, message).placed(node.place))
}
