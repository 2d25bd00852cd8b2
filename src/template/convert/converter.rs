//! A conversion under way: the values of a template, with the calls in them, as HOT has them.

use super::{Obstacle, only_entry};
use crate::template::functions::table::{self, Position};
use crate::template::node::{Form, Node, NodeMap};
use crate::template::value::{Datum, DatumMap};
use crate::template::version::{VERSIONS, Version};

/// The version of what comes out: it has every function that a form uses.
pub(super) const TARGET: &str = "2021-04-16";

/// How much of mappings may be written out, in bytes of memory.
const COPIES_MAX_BYTES: usize = 16 * 1024 * 1024;

/// Writes a call, of this name and with these arguments, in HOT; or says why it cannot be.
pub(super) type WriteCall =
    for<'n> fn(&mut Converter<'n>, &str, &'n Node, Position) -> Result<Datum, String>;

/// A conversion under way.
pub(super) struct Converter<'n> {
    pub(super) root: &'n Node,
    pub(super) version: &'static Version,
    write_call: WriteCall,
    target: Option<&'static Version>,
    pub(super) path: Vec<String>,
    copied_bytes: usize,
    pub(super) obstacles: Vec<Obstacle>,
}

impl<'n> Converter<'n> {
    pub(super) fn new(root: &'n Node, version: &'static Version, write_call: WriteCall) -> Self {
        let target = VERSIONS.iter().find(|version| version.name == TARGET);
        let (path, obstacles) = (Vec::new(), Vec::new());
        Self { root, version, write_call, target, path, copied_bytes: 0, obstacles }
    }

    /// The map that a node is; it stands in the way if it is none.
    pub(super) fn map(&mut self, node: &'n Node) -> Option<&'n NodeMap> {
        if node.as_map().is_none() {
            self.obstacle(node, "This must be a map");
        }
        node.as_map()
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
            let converted = (self.write_call)(self, name, args, position);
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
