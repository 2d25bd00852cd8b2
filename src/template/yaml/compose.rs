//! From events to a graph of tagged nodes, as PyYAML composes it: anchors name nodes, aliases
//! refer to them, and every scalar has its tag.

use std::collections::HashMap;

use super::scanner::{Event, EventKind, Scanner};
use super::{DEPTH_MAX, YamlError, resolver};
use crate::template::node::Place;

/// A node of the graph, by its number.
pub(super) type NodeId = usize;

/// All nodes of a document.
pub(super) struct Graph {
    pub(super) nodes: Vec<Tagged>,
    pub(super) root: NodeId,
}

/// A node with its tag.
pub(super) struct Tagged {
    pub(super) tag: String,
    pub(super) place: Place,
    pub(super) body: Body,
}

/// What a node is made of.
pub(super) enum Body {
    Scalar(String),
    Sequence(Vec<NodeId>),
    Mapping(Vec<(NodeId, NodeId)>),
}

impl Body {
    /// PyYAML's word for the kind.
    pub(super) fn id(&self) -> &'static str {
        match self {
            Body::Scalar(_) => "scalar",
            Body::Sequence(_) => "sequence",
            Body::Mapping(_) => "mapping",
        }
    }
}

/// Composes the one document of a text.
pub(super) fn compose(text: &str) -> Result<Option<Graph>, YamlError> {
    let mut composer = Composer {
        scanner: Scanner::new(text)?,
        nodes: Vec::new(),
        anchors: HashMap::new(),
        depth: 0,
    };
    composer.single()
}

struct Composer<'text> {
    scanner: Scanner<'text>,
    nodes: Vec<Tagged>,
    anchors: HashMap<String, NodeId>,
    depth: usize,
}

impl Composer<'_> {
    fn single(&mut self) -> Result<Option<Graph>, YamlError> {
        self.scanner.next()?; // the start of the stream
        let first = self.scanner.next()?;
        if matches!(first.kind, EventKind::StreamEnd) {
            return Ok(None);
        }
        let event = self.scanner.next()?;
        let root = self.node(event)?;
        self.scanner.next()?; // the end of the document
        let after = self.scanner.next()?;
        if !matches!(after.kind, EventKind::StreamEnd) {
            return Err(YamlError::at(after.place, "but found another document")
                .during("expected a single document in the stream", first.place));
        }
        Ok(Some(Graph { nodes: std::mem::take(&mut self.nodes), root }))
    }

    fn node(&mut self, event: Event) -> Result<NodeId, YamlError> {
        let place = event.place;
        match event.kind {
            EventKind::Alias { anchor } => {
                self.anchors.get(&anchor).copied().ok_or_else(|| {
                    YamlError::at(place, format!("found undefined alias '{anchor}'"))
                })
            }
            EventKind::Scalar { anchor, tag, text, plain } => {
                // A lone `!` makes even a quoted scalar plain, and the scanner says so.
                let tag = match tag.filter(|tag| tag != "!") {
                    Some(tag) => tag,
                    None if plain => resolver::implicit_tag(&text).to_owned(),
                    None => resolver::STR.to_owned(),
                };
                Ok(self.add(anchor, Tagged { tag, place, body: Body::Scalar(text) }))
            }
            EventKind::SequenceStart { anchor, tag } => {
                self.enter(place)?;
                let tag = explicit(tag, resolver::SEQ);
                // An alias inside may refer to the sequence: it has its number before its items.
                let id = self.add(anchor, Tagged { tag, place, body: Body::Sequence(Vec::new()) });
                let mut items = Vec::new();
                loop {
                    let event = self.scanner.next()?;
                    if matches!(event.kind, EventKind::SequenceEnd) {
                        break;
                    }
                    items.push(self.node(event)?);
                }
                self.depth -= 1;
                self.nodes[id].body = Body::Sequence(items);
                Ok(id)
            }
            EventKind::MappingStart { anchor, tag } => {
                self.enter(place)?;
                let tag = explicit(tag, resolver::MAP);
                let id = self.add(anchor, Tagged { tag, place, body: Body::Mapping(Vec::new()) });
                let mut entries = Vec::new();
                loop {
                    let event = self.scanner.next()?;
                    if matches!(event.kind, EventKind::MappingEnd) {
                        break;
                    }
                    let key = self.node(event)?;
                    let event = self.scanner.next()?;
                    entries.push((key, self.node(event)?));
                }
                self.depth -= 1;
                self.nodes[id].body = Body::Mapping(entries);
                Ok(id)
            }
            EventKind::DocumentStart
            | EventKind::DocumentEnd
            | EventKind::StreamStart
            | EventKind::StreamEnd
            | EventKind::SequenceEnd
            | EventKind::MappingEnd => Err(YamlError::at(place, "expected a node")),
        }
    }

    fn add(&mut self, anchor: Option<String>, node: Tagged) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(node);
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, id);
        }
        id
    }

    fn enter(&mut self, place: Place) -> Result<(), YamlError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let problem = format!("collections are nested deeper than {DEPTH_MAX}");
            return Err(YamlError::at(place, problem));
        }
        Ok(())
    }
}

fn explicit(tag: Option<String>, implicit: &str) -> String {
    tag.filter(|tag| tag != "!").unwrap_or_else(|| implicit.to_owned())
}
