//! The values of the graph's nodes, each made once and in the order in which PyYAML makes them, so
//! that the first error is the same: a collection is filled after all that were met before it.
//! Merge keys are flattened, duplicates settled, keys made text.

use std::collections::VecDeque;

use crate::model::IndexMap;
use ecow::EcoString;

use super::assemble;
use super::compose::{Body, Graph, NodeId, Tagged};
use super::error::YamlError;
use super::made::{Entry, Made, too_much};
use super::scalars::{self, Timestamps};
use super::tag::Tag;
use super::{ALIAS_NODES_MAX, DEPTH_MAX};
use crate::template::node::{Form, Node, Place};
use crate::template::python;

/// How deep merge keys may lead from map to map.
const MERGE_DEPTH_MAX: usize = 200;

/// Makes the tree of a composed document.
pub(super) fn construct(graph: Graph, timestamps: Timestamps) -> Result<Node, YamlError> {
    let count = graph.nodes.len();
    let root = graph.root;
    let mut constructor = Constructor {
        graph,
        timestamps,
        made: std::iter::repeat_with(|| None).take(count).collect(),
        uses: vec![0; count],
        unfilled: VecDeque::new(),
        flattened: vec![false; count],
        merged: 0,
    };
    constructor.make(root)?;
    while let Some(id) = constructor.unfilled.pop_front() {
        constructor.fill(id)?;
    }
    assemble::assemble(constructor.graph, constructor.made, constructor.uses)
}

struct Constructor {
    graph: Graph,
    timestamps: Timestamps,
    made: Vec<Option<Made>>,
    /// In how many places of made collections a node stands.
    uses: Vec<u32>,
    /// Collections that were met, in that order.
    unfilled: VecDeque<NodeId>,
    flattened: Vec<bool>,
    /// How many entries merge keys brought.
    merged: usize,
}

impl Constructor {
    /// Makes a scalar, or an empty collection that is filled later.
    fn make(&mut self, id: NodeId) -> Result<(), YamlError> {
        if self.made[id].is_some() {
            return Ok(());
        }
        let place = self.graph.nodes[id].place;
        let tag = self.graph.nodes[id].tag.clone();
        let made = match &tag {
            Tag::Seq => Made::List(Vec::new()),
            Tag::Omap | Tag::Pairs => Made::Pairs(Vec::new()),
            Tag::Set => Made::Set(Vec::new()),
            Tag::Map => Made::Map(Vec::new()),
            Tag::Merge | Tag::Value | Tag::Other(_) => {
                let tag = python::quoted(&tag.to_string());
                let problem = format!("could not determine a constructor for the tag {tag}");
                return Err(YamlError::at(place, problem));
            }
            Tag::Null
            | Tag::Bool
            | Tag::Int
            | Tag::Float
            | Tag::Str
            | Tag::Timestamp
            | Tag::Binary => {
                let timestamps = self.timestamps;
                let text = self.scalar_text(id)?;
                match scalars::scalar(&tag, text, place, timestamps) {
                    Some(form) => Made::Scalar(form?),
                    None => return Ok(()),
                }
            }
        };
        if !matches!(made, Made::Scalar(_)) {
            self.unfilled.push_back(id);
        }
        self.made[id] = Some(made);
        Ok(())
    }

    /// The text of a scalar; a map has one if it has the key `=`.
    fn scalar_text(&mut self, id: NodeId) -> Result<&mut EcoString, YamlError> {
        let mut at = id;
        for _ in 0..DEPTH_MAX {
            let Body::Mapping(entries) = &self.graph.nodes[at].body else { break };
            let value = entries.iter().find(|(key, _)| self.graph.nodes[*key].tag == Tag::Value);
            let Some((_, value)) = value else { break };
            at = *value;
        }
        let node = &mut self.graph.nodes[at];
        match &mut node.body {
            Body::Scalar(text) => Ok(text),
            other => Err(expected("scalar", other, node.place)),
        }
    }

    /// Makes what is in a collection.
    fn fill(&mut self, id: NodeId) -> Result<(), YamlError> {
        let made = match self.graph.nodes[id].tag {
            Tag::Omap => Made::Pairs(self.pairs(id, "while constructing an ordered map")?),
            Tag::Pairs => Made::Pairs(self.pairs(id, "while constructing pairs")?),
            Tag::Map => Made::Map(self.mapping(id)?.into_iter().map(|(_, entry)| entry).collect()),
            Tag::Set => Made::Set(self.mapping(id)?.into_iter().map(|(key, _)| key).collect()),
            _ => Made::List(self.sequence(id)?),
        };
        match &made {
            Made::Scalar(_) => {}
            Made::List(items) | Made::Set(items) => {
                items.iter().for_each(|item| self.uses[*item] += 1);
            }
            Made::Pairs(pairs) => pairs.iter().flatten().for_each(|item| self.uses[*item] += 1),
            Made::Map(entries) => {
                entries.iter().for_each(|entry| self.uses[entry.value] += 1);
            }
        }
        self.made[id] = Some(made);
        Ok(())
    }

    fn sequence(&mut self, id: NodeId) -> Result<Vec<NodeId>, YamlError> {
        let node = &self.graph.nodes[id];
        let Body::Sequence(items) = &node.body else {
            return Err(expected("sequence", &node.body, node.place));
        };
        let items = items.clone();
        for item in &items {
            self.make(*item)?;
        }
        Ok(items)
    }

    fn pairs(&mut self, id: NodeId, doing: &str) -> Result<Vec<[NodeId; 2]>, YamlError> {
        let node = &self.graph.nodes[id];
        let start = node.place;
        let wrong = |place, problem: String| Err(YamlError::at(place, problem).since(doing, start));
        let Body::Sequence(items) = &node.body else {
            return wrong(start, format!("expected a sequence, but found {}", node.body.id()));
        };
        let mut pairs = Vec::new();
        for item in items.clone() {
            let item = &self.graph.nodes[item];
            let entry = match &item.body {
                Body::Mapping(entries) if entries.len() == 1 => entries[0],
                Body::Mapping(entries) => {
                    let count = entries.len();
                    let problem =
                        format!("expected a single mapping item, but found {count} items");
                    return wrong(item.place, problem);
                }
                other => {
                    let problem =
                        format!("expected a mapping of length 1, but found {}", other.id());
                    return wrong(item.place, problem);
                }
            };
            self.make(entry.0)?;
            self.make(entry.1)?;
            pairs.push([entry.0, entry.1]);
        }
        Ok(pairs)
    }

    /// The entries of a map with the nodes of their keys.
    fn mapping(&mut self, id: NodeId) -> Result<Vec<(NodeId, Entry)>, YamlError> {
        let place = self.graph.nodes[id].place;
        if let Body::Mapping(_) = &self.graph.nodes[id].body {
            self.flatten(id, 0)?;
        }
        let entries = match &self.graph.nodes[id].body {
            Body::Mapping(entries) => entries.clone(),
            other => return Err(expected("mapping", other, place)),
        };
        let mut made = Vec::with_capacity(entries.len());
        let mut all_text = true;
        for (key, value) in entries {
            self.make(key)?;
            let key_place = self.graph.nodes[key].place;
            let text = match &self.made[key] {
                Some(Made::Scalar(form)) => {
                    all_text &= matches!(form, Form::Text(_));
                    text_in_json(form)
                }
                _ => {
                    return Err(YamlError::at(key_place, "found unhashable key")
                        .since("while constructing a mapping", place));
                }
            };
            self.make(value)?;
            made.push((key, Entry { key: text, key_place, value }));
        }
        Ok(if all_text { made } else { self.unequal(made) })
    }

    /// Of keys that Python holds to be equal (1, 1.0 and true), the first stays with the last
    /// value. What JSON makes text of alike (1 and "1") meets only afterwards.
    fn unequal(&self, entries: Vec<(NodeId, Entry)>) -> Vec<(NodeId, Entry)> {
        let mut by_key: IndexMap<PythonKey<'_>, (NodeId, Entry)> = IndexMap::default();
        for (key, entry) in entries {
            let python_key = match &self.made[key] {
                Some(Made::Scalar(form)) => PythonKey::from(form),
                _ => PythonKey::Null,
            };
            match by_key.entry(python_key) {
                indexmap::map::Entry::Vacant(vacant) => {
                    vacant.insert((key, entry));
                }
                indexmap::map::Entry::Occupied(mut first) => {
                    let first = &mut first.get_mut().1;
                    (first.value, first.key_place) = (entry.value, entry.key_place);
                }
            }
        }
        by_key.into_values().collect()
    }

    /// Replaces merge keys by the entries that they stand for, before the map's own.
    fn flatten(&mut self, id: NodeId, depth: usize) -> Result<(), YamlError> {
        let place = self.graph.nodes[id].place;
        if depth > MERGE_DEPTH_MAX {
            let message = format!("Merge keys lead further than {MERGE_DEPTH_MAX} maps");
            return Err(YamlError::limit(place, message));
        }
        if std::mem::replace(&mut self.flattened[id], true) {
            return Ok(());
        }
        let Body::Mapping(entries) = &self.graph.nodes[id].body else { return Ok(()) };
        let is_special = |key: NodeId| matches!(self.graph.nodes[key].tag, Tag::Merge | Tag::Value);
        if !entries.iter().any(|(key, _)| is_special(*key)) {
            return Ok(());
        }
        let mut merged = Vec::new();
        let mut own = Vec::new();
        for (key, value) in entries.clone() {
            match self.graph.nodes[key].tag {
                Tag::Merge => self.merge(value, place, depth, &mut merged)?,
                Tag::Value => {
                    self.graph.nodes[key].tag = Tag::Str;
                    own.push((key, value));
                }
                _ => own.push((key, value)),
            }
        }
        merged.extend(own);
        self.graph.nodes[id].body = Body::Mapping(merged);
        Ok(())
    }

    /// Adds the entries of what a merge key names.
    fn merge(
        &mut self,
        value: NodeId,
        place: Place,
        depth: usize,
        merged: &mut Vec<(NodeId, NodeId)>,
    ) -> Result<(), YamlError> {
        let wrong = |node: &Tagged, expected: &str| {
            let found = node.body.id();
            YamlError::at(node.place, format!("expected {expected} for merging, but found {found}"))
                .since("while constructing a mapping", place)
        };
        let sources = match &self.graph.nodes[value].body {
            Body::Mapping(_) => vec![value],
            Body::Sequence(items) => items.clone(),
            Body::Scalar(_) => {
                return Err(wrong(&self.graph.nodes[value], "a mapping or list of mappings"));
            }
        };
        for source in &sources {
            if !matches!(self.graph.nodes[*source].body, Body::Mapping(_)) {
                return Err(wrong(&self.graph.nodes[*source], "a mapping"));
            }
            self.flatten(*source, depth + 1)?;
        }
        // The first of a list wins, so it comes last.
        for source in sources.iter().rev() {
            let Body::Mapping(entries) = &self.graph.nodes[*source].body else { continue };
            self.merged += entries.len();
            if self.merged > ALIAS_NODES_MAX {
                return Err(too_much(place));
            }
            merged.extend_from_slice(entries);
        }
        Ok(())
    }
}

/// A key as Python compares keys: `1`, `1.0` and true are one.
#[derive(PartialEq, Eq, Hash)]
enum PythonKey<'form> {
    Null,
    Whole(i128),
    Number(u64),
    Text(&'form str),
}

impl<'form> From<&'form Form> for PythonKey<'form> {
    fn from(form: &'form Form) -> Self {
        match form {
            Form::Bool(truth) => Self::Whole(i128::from(*truth)),
            Form::Int(number) => Self::Whole(*number),
            Form::Float(number) if number.fract() == 0.0 && number.abs() < 1e38 => {
                Self::Whole(*number as i128)
            }
            Form::Float(number) => Self::Number(number.to_bits()),
            Form::Text(text) => Self::Text(text),
            Form::Null | Form::List(_) | Form::Map(_) | Form::Call(_) | Form::Omitted => Self::Null,
        }
    }
}

/// What JSON writes for a key.
fn text_in_json(form: &Form) -> EcoString {
    match form {
        Form::Text(text) => text.clone(),
        other => {
            python::json_text(&Node { form: other.clone(), ..Node::default() }.to_datum(), false)
                .into()
        }
    }
}

fn expected(kind: &str, found: &Body, place: Place) -> YamlError {
    YamlError::at(place, format!("expected a {kind} node, but found {}", found.id()))
}
