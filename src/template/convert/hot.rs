//! A template of CloudFormation's language, section by section, as HOT.

use super::converter::{Converter, TARGET};
use super::{Obstacle, forms, parameters};
use crate::template::dialect::HOT;
use crate::template::functions::table::Position;
use crate::template::node::Node;
use crate::template::value::{Datum, DatumMap};
use crate::template::version::Version;

/// Converts the whole template; the error is all that has no form in HOT.
pub(super) fn convert(root: &Node, version: &'static Version) -> Result<Datum, Vec<Obstacle>> {
    Converter::new(root, version, forms::convert).convert()
}

impl<'n> Converter<'n> {
    /// The whole template.
    fn convert(mut self) -> Result<Datum, Vec<Obstacle>> {
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
}
