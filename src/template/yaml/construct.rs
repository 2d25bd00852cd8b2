//! From the graph to a tree: merge keys are flattened, duplicates settled, keys made text, aliases
//! copied within their bounds.

use indexmap::IndexMap;

use super::compose::{Body, Graph, NodeId};
use super::{ALIAS_BYTES_MAX, ALIAS_NODES_MAX, YamlError, resolver, scalars};
use crate::template::node::{Form, Node, NodeMap, Place};
use crate::template::python;

/// Makes the tree of a composed document.
pub(super) fn construct(graph: Graph) -> Result<Node, YamlError> {
    let count = graph.nodes.len();
    let mut constructor = Constructor {
        graph,
        open: vec![false; count],
        visited: vec![false; count],
        flattened: vec![false; count],
        alias_nodes: 0,
        alias_bytes: 0,
    };
    let root = constructor.graph.root;
    constructor.node(root)
}

struct Constructor {
    graph: Graph,
    /// Nodes under construction: meeting one again is a recursion.
    open: Vec<bool>,
    /// Nodes constructed before: once more is an alias.
    visited: Vec<bool>,
    flattened: Vec<bool>,
    alias_nodes: usize,
    alias_bytes: usize,
}

impl Constructor {
    fn node(&mut self, id: NodeId) -> Result<Node, YamlError> {
        let place = self.graph.nodes[id].place;
        if self.open[id] {
            return Err(YamlError::at(place, "found unconstructable recursive node"));
        }
        self.count(id, place)?;
        self.open[id] = true;
        let form = self.form(id, place)?;
        self.open[id] = false;
        Ok(Node { place, key_place: place, form })
    }

    /// Counts what aliases add.
    fn count(&mut self, id: NodeId, place: Place) -> Result<(), YamlError> {
        if !std::mem::replace(&mut self.visited[id], true) {
            return Ok(());
        }
        self.alias_nodes += 1;
        if let Body::Scalar(text) = &self.graph.nodes[id].body {
            self.alias_bytes += text.len();
        }
        if self.alias_nodes > ALIAS_NODES_MAX || self.alias_bytes > ALIAS_BYTES_MAX {
            return Err(YamlError::at(place, "aliases expand to more than a template may hold"));
        }
        Ok(())
    }

    fn form(&mut self, id: NodeId, place: Place) -> Result<Form, YamlError> {
        let node = &self.graph.nodes[id];
        let tag = node.tag.clone();
        let unknown = || {
            let tag = python::quoted(&tag);
            YamlError::at(place, format!("could not determine a constructor for the tag {tag}"))
        };
        match (&node.body, tag.as_str()) {
            (Body::Scalar(text), _) => {
                if let Some(form) = scalars::scalar(&tag, text, place)? {
                    return Ok(form);
                }
                let expected = match tag.as_str() {
                    resolver::SEQ => "sequence",
                    resolver::MAP | resolver::SET => "mapping",
                    _ => return Err(unknown()),
                };
                Err(expected_node(expected, &node.body, place))
            }
            (Body::Sequence(_), resolver::SEQ) => self.sequence(id),
            (Body::Sequence(_), resolver::OMAP | resolver::PAIRS) => self.pairs(id),
            (Body::Mapping(_), resolver::MAP) => Ok(Form::Map(self.mapping(id)?)),
            (Body::Mapping(_), resolver::SET) => {
                let keys = self.mapping(id)?.into_keys();
                Ok(Form::List(keys.map(|key| text_node(key, place)).collect()))
            }
            (body, resolver::MAP | resolver::SET) => Err(expected_node("mapping", body, place)),
            (body, resolver::SEQ | resolver::OMAP | resolver::PAIRS) => {
                Err(expected_node("sequence", body, place))
            }
            (
                body,
                resolver::STR
                | resolver::TIMESTAMP
                | resolver::NULL
                | resolver::BOOL
                | resolver::INT
                | resolver::FLOAT
                | resolver::BINARY,
            ) => Err(expected_node("scalar", body, place)),
            _ => Err(unknown()),
        }
    }

    fn sequence(&mut self, id: NodeId) -> Result<Form, YamlError> {
        let Body::Sequence(items) = &self.graph.nodes[id].body else { return Ok(Form::Null) };
        let items = items.clone();
        Ok(Form::List(items.into_iter().map(|item| self.node(item)).collect::<Result<_, _>>()?))
    }

    /// `!!omap` and `!!pairs`: a list of pairs, which JSON makes lists of two.
    fn pairs(&mut self, id: NodeId) -> Result<Form, YamlError> {
        let Body::Sequence(items) = &self.graph.nodes[id].body else { return Ok(Form::Null) };
        let mut pairs = Vec::new();
        for item in items.clone() {
            let place = self.graph.nodes[item].place;
            let entry = match &self.graph.nodes[item].body {
                Body::Mapping(entries) => match entries.as_slice() {
                    [entry] => *entry,
                    more => {
                        let problem = format!(
                            "expected a single mapping item, but found {} items",
                            more.len()
                        );
                        return Err(YamlError::at(place, problem));
                    }
                },
                other => {
                    let problem =
                        format!("expected a mapping of length 1, but found {}", other.id());
                    return Err(YamlError::at(place, problem));
                }
            };
            let pair = vec![self.node(entry.0)?, self.node(entry.1)?];
            pairs.push(Node { place, key_place: place, form: Form::List(pair) });
        }
        Ok(Form::List(pairs))
    }

    fn mapping(&mut self, id: NodeId) -> Result<NodeMap, YamlError> {
        self.flatten(id)?;
        let Body::Mapping(entries) = &self.graph.nodes[id].body else { return Ok(NodeMap::new()) };
        let entries = entries.clone();
        // Two maps in one: keys that Python holds to be the same meet first (1, 1.0 and true), and
        // what JSON makes text of alike (1 and "1") meets afterwards.
        let mut by_value: IndexMap<PythonKey, (String, Node)> = IndexMap::new();
        for (key, value) in entries {
            let key_place = self.graph.nodes[key].place;
            let key = self.node(key)?;
            let unhashable = || {
                YamlError::at(key_place, "found unhashable key")
                    .during("while constructing a mapping", self.graph.nodes[id].place)
            };
            let (python_key, text) = key_text(&key.form).ok_or_else(unhashable)?;
            let mut value = self.node(value)?;
            value.key_place = key_place;
            by_value
                .entry(python_key)
                .and_modify(|entry| entry.1 = value.clone())
                .or_insert((text, value));
        }
        Ok(by_value.into_values().collect())
    }

    /// Replaces merge keys by the entries that they stand for, before the map's own.
    fn flatten(&mut self, id: NodeId) -> Result<(), YamlError> {
        if std::mem::replace(&mut self.flattened[id], true) {
            return Ok(());
        }
        let place = self.graph.nodes[id].place;
        let Body::Mapping(entries) = &mut self.graph.nodes[id].body else { return Ok(()) };
        let entries = std::mem::take(entries);
        let mut merged = Vec::new();
        let mut own = Vec::new();
        for (key, value) in entries {
            match self.graph.nodes[key].tag.as_str() {
                resolver::MERGE => merged.extend(self.merge_source(value, place)?),
                resolver::VALUE => {
                    resolver::STR.clone_into(&mut self.graph.nodes[key].tag);
                    own.push((key, value));
                }
                _ => own.push((key, value)),
            }
        }
        self.count_merged(merged.len(), place)?;
        merged.extend(own);
        self.graph.nodes[id].body = Body::Mapping(merged);
        Ok(())
    }

    fn merge_source(
        &mut self,
        value: NodeId,
        place: Place,
    ) -> Result<Vec<(NodeId, NodeId)>, YamlError> {
        let sources = match &self.graph.nodes[value].body {
            Body::Mapping(_) => vec![value],
            // The first of a list wins, so it comes last.
            Body::Sequence(items) => items.iter().rev().copied().collect(),
            Body::Scalar(_) => {
                return Err(YamlError::at(
                    self.graph.nodes[value].place,
                    "expected a mapping or list of mappings for merging, but found scalar",
                )
                .during("while constructing a mapping", place));
            }
        };
        let mut merged = Vec::new();
        for source in sources {
            self.flatten(source)?;
            let node = &self.graph.nodes[source];
            let Body::Mapping(entries) = &node.body else {
                let problem =
                    format!("expected a mapping for merging, but found {}", node.body.id());
                return Err(YamlError::at(node.place, problem)
                    .during("while constructing a mapping", place));
            };
            merged.extend(entries.iter().copied());
            if merged.len() > ALIAS_NODES_MAX {
                break; // refused by the count
            }
        }
        Ok(merged)
    }

    fn count_merged(&mut self, entries: usize, place: Place) -> Result<(), YamlError> {
        self.alias_nodes += entries;
        if self.alias_nodes > ALIAS_NODES_MAX {
            return Err(YamlError::at(place, "aliases expand to more than a template may hold"));
        }
        Ok(())
    }
}

/// A key as Python's dictionaries tell keys apart.
#[derive(PartialEq, Eq, Hash)]
enum PythonKey {
    Null,
    Number(u64),
    Whole(i128),
    Text(String),
}

/// A scalar key, as Python tells it apart and as JSON writes it.
fn key_text(form: &Form) -> Option<(PythonKey, String)> {
    Some(match form {
        Form::Null => (PythonKey::Null, "null".to_owned()),
        Form::Bool(truth) => (PythonKey::Whole(i128::from(*truth)), truth.to_string()),
        Form::Int(number) => (PythonKey::Whole(*number), number.to_string()),
        Form::Float(number) if number.fract() == 0.0 && number.abs() < 1e38 => {
            (PythonKey::Whole(*number as i128), python::float_text(*number))
        }
        Form::Float(number) => (PythonKey::Number(number.to_bits()), python::float_text(*number)),
        Form::Text(text) => (PythonKey::Text(text.clone()), text.clone()),
        Form::List(_) | Form::Map(_) | Form::Call(_) | Form::Omitted => return None,
    })
}

fn text_node(text: String, place: Place) -> Node {
    Node { place, key_place: place, form: Form::Text(text) }
}

fn expected_node(kind: &str, found: &Body, place: Place) -> YamlError {
    YamlError::at(place, format!("expected a {kind} node, but found {}", found.id()))
}
