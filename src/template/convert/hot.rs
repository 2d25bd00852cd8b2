//! A template of CloudFormation's language, section by section, as HOT.

use super::{Obstacle, forms, only_entry, parameters};
use crate::template::dialect::HOT;
use crate::template::functions::table::{self, Position};
use crate::template::node::{Form, Node, NodeMap};
use crate::template::value::{Datum, DatumMap};
use crate::template::version::{VERSIONS, Version};

/// The version of what comes out: it has every function that a form uses.
const TARGET: &str = "2021-04-16";

/// How much of mappings may be written out, in bytes of memory.
const COPIES_MAX_BYTES: usize = 16 * 1024 * 1024;

/// A conversion under way.
pub(super) struct Converter<'n> {
    root: &'n Node,
    pub(super) version: &'static Version,
    target: Option<&'static Version>,
    path: Vec<String>,
    copied_bytes: usize,
    obstacles: Vec<Obstacle>,
}

impl<'n> Converter<'n> {
    pub(super) fn new(root: &'n Node, version: &'static Version) -> Self {
        let target = VERSIONS.iter().find(|version| version.name == TARGET);
        Self { root, version, target, path: Vec::new(), copied_bytes: 0, obstacles: Vec::new() }
    }

    /// The whole template.
    pub(super) fn convert(mut self) -> Result<Datum, Vec<Obstacle>> {
        let names = &self.version.dialect.sections;
        let mut out = DatumMap::default();
        out.insert(HOT.sections.versions[0].into(), TARGET.into());
        for (name, node) in self.root.as_map().into_iter().flatten() {
            let name = name.as_str();
            if names.versions.contains(&name) || name == names.mappings {
                continue;
            }
            self.path.push(name.to_owned());
            let section = if !self.version.has_section(name) {
                self.obstacle(node, "HOT has no such section");
                None
            } else if name == names.description {
                Some((HOT.sections.description, node.to_datum()))
            } else if !node.is_truthy() {
                None
            } else if name == names.parameters {
                Some((HOT.sections.parameters, self.entries(node, parameters::parameter)))
            } else if name == names.conditions {
                let condition = |converter: &mut Self, node: &'n Node| {
                    converter.value(node, Position::Condition)
                };
                Some((HOT.sections.conditions, self.entries(node, condition)))
            } else if name == names.resources {
                Some((HOT.sections.resources, self.entries(node, Self::resource)))
            } else {
                Some((HOT.sections.outputs, self.entries(node, Self::output)))
            };
            out.extend(section.map(|(name, section)| (name.into(), section)));
            self.path.pop();
        }
        if self.obstacles.is_empty() { Ok(Datum::Map(out)) } else { Err(self.obstacles) }
    }

    fn entries(
        &mut self,
        section: &'n Node,
        mut convert: impl FnMut(&mut Self, &'n Node) -> Datum,
    ) -> Datum {
        let Some(map) = self.map(section) else { return Datum::Null };
        let mut out = DatumMap::default();
        for (name, node) in map {
            self.path.push(name.to_string());
            out.insert(name.clone().into(), convert(self, node));
            self.path.pop();
        }
        Datum::Map(out)
    }

    /// The map that a node is; it stands in the way if it is none.
    pub(super) fn map(&mut self, node: &'n Node) -> Option<&'n NodeMap> {
        if node.as_map().is_none() {
            self.obstacle(node, "This must be a map");
        }
        node.as_map()
    }

    /// What else a resource has CloudFormation's language passes over, and so it is left out.
    fn resource(&mut self, node: &'n Node) -> Datum {
        let Some(map) = self.map(node) else { return Datum::Null };
        let (from, to) = (&self.version.dialect.resource, &HOT.resource);
        let mut out = DatumMap::default();
        for (key, node) in map {
            self.path.push(key.to_string());
            let key = key.as_str();
            let entry = if key == from.kind {
                Some((to.kind, node.to_datum()))
            } else if key == from.description {
                Some((to.description, node.to_datum()))
            } else if key == from.depends_on {
                Some((to.depends_on, node.to_datum()))
            } else if key == from.deletion_policy {
                Some((to.deletion_policy, self.deletion_policy(node)))
            } else if key == from.condition && self.version.has_conditions() {
                Some((to.condition, self.value(node, Position::Condition)))
            } else {
                let converted = [
                    (from.properties, to.properties),
                    (from.metadata, to.metadata),
                    (from.update_policy, to.update_policy),
                ];
                let found = converted.into_iter().find(|(from, _)| key == *from);
                found.map(|(_, to)| (to, self.value(node, Position::Value)))
            };
            out.extend(entry.map(|(key, value)| (key.into(), value)));
            self.path.pop();
        }
        Datum::Map(out)
    }

    fn deletion_policy(&mut self, node: &Node) -> Datum {
        let word = node.as_text().filter(|word| self.version.deletion_policy(word).is_some());
        match word {
            Some(word) => word.to_lowercase().as_str().into(),
            None => {
                self.obstacle(node, "Only Delete, Retain and Snapshot, as they are, have a form");
                Datum::Null
            }
        }
    }

    fn output(&mut self, node: &'n Node) -> Datum {
        let Some(map) = self.map(node) else { return Datum::Null };
        let (from, to) = (&self.version.dialect.output, &HOT.output);
        let mut out = DatumMap::default();
        for (key, node) in map {
            self.path.push(key.to_string());
            let entry = if key == from.value {
                Some((to.value, self.value(node, Position::Value)))
            } else if key == from.description {
                Some((to.description, node.to_datum()))
            } else if key == from.condition && self.version.has_conditions() {
                Some((to.condition, self.value(node, Position::Condition)))
            } else {
                None
            };
            out.extend(entry.map(|(key, value)| (key.into(), value)));
            self.path.pop();
        }
        Datum::Map(out)
    }

    /// The call that a node is in the language it is written in.
    pub(super) fn call_in(
        &self,
        node: &'n Node,
        position: Position,
    ) -> Option<(&'n str, &'n Node)> {
        let found = |(name, _): &(&str, _)| table::lookup(self.version, position, name).is_some();
        only_entry(node).filter(found)
    }

    /// A value with the calls in it.
    pub(super) fn value(&mut self, node: &'n Node, position: Position) -> Datum {
        if let Some((name, args)) = self.call_in(node, position) {
            self.path.push(name.to_owned());
            let converted = forms::convert(self, name, args, position);
            self.path.pop();
            return converted.unwrap_or_else(|reason| {
                self.path.push(name.to_owned());
                self.obstacle(args, reason);
                self.path.pop();
                Datum::Null
            });
        }
        self.data(node, position, |converter, node| converter.value(node, position))
    }

    /// A value in which nothing is a call, nor may become one.
    pub(super) fn plain(&mut self, node: &'n Node) -> Datum {
        self.data(node, Position::Value, Self::plain)
    }

    fn data(
        &mut self,
        node: &'n Node,
        position: Position,
        convert: impl Fn(&mut Self, &'n Node) -> Datum,
    ) -> Datum {
        let is_call = |(name, _): &(&str, _)| {
            self.target.is_some_and(|target| table::lookup(target, position, name).is_some())
        };
        if let Some((name, _)) = only_entry(node).filter(is_call) {
            self.obstacle(node, format!("A map of `{name}` alone is data here, a call in HOT"));
            return Datum::Null;
        }
        match &node.form {
            Form::Map(map) => {
                let mut out = DatumMap::default();
                for (key, node) in map.iter() {
                    self.path.push(key.to_string());
                    out.insert(key.clone().into(), convert(self, node));
                    self.path.pop();
                }
                Datum::Map(out)
            }
            Form::List(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    self.path.push(index.to_string());
                    out.push(convert(self, item));
                    self.path.pop();
                }
                Datum::List(out)
            }
            _ => node.to_datum(),
        }
    }

    /// What a mapping has under two keys.
    pub(super) fn mapped(&mut self, keys: [&str; 3]) -> Result<Datum, String> {
        let mappings = self.root.get(self.version.dialect.sections.mappings);
        let found = keys.iter().try_fold(mappings, |node, key| Some(node?.get(key))).flatten();
        let found =
            found.ok_or_else(|| format!("There is no {} in the mappings", keys.join(".")))?;
        if self.copied_bytes > COPIES_MAX_BYTES {
            return Err("The values of mappings are too large to be written out".to_owned());
        }
        let value = self.plain(found);
        self.copied_bytes += value.bytes();
        Ok(value)
    }

    /// A resource of the template.
    pub(super) fn resource_named(&self, name: &str) -> Option<&'n Node> {
        self.root.get(self.version.dialect.sections.resources)?.get(name)
    }

    /// A parameter of the template.
    pub(super) fn parameter_named(&self, name: &str) -> Option<&'n Node> {
        self.root.get(self.version.dialect.sections.parameters)?.get(name)
    }

    /// Notes what stands in the way, at this place.
    pub(super) fn obstacle(&mut self, node: &Node, reason: impl Into<String>) {
        self.obstacles.push(Obstacle::new(&self.path.join("."), node.key_place, reason));
    }
}
