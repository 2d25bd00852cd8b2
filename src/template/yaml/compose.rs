//! From events to a graph of tagged nodes, as PyYAML composes it: anchors name nodes, aliases
//! refer to them, and every scalar has its tag.

use std::collections::HashMap;

use ecow::EcoString;

use super::error::YamlError;
use super::event::{Event, EventKind, Events};
use super::tag::Tag;
use super::{DEPTH_MAX, resolver};
use crate::template::place::Place;
use crate::template::python;

/// A node of the graph, by its number.
pub(super) type NodeId = usize;

/// All nodes of a document.
pub(super) struct Graph {
    pub(super) nodes: Vec<Tagged>,
    pub(super) root: NodeId,
}

/// A node with its tag.
pub(super) struct Tagged {
    pub(super) tag: Tag,
    pub(super) place: Place,
    /// Of a scalar: it has neither quotes nor a tag.
    pub(super) is_plain: bool,
    pub(super) body: Body,
}

/// What a node is made of.
pub(super) enum Body {
    Scalar(EcoString),
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

/// Composes the one document of a text; `None` if there is none.
pub(super) fn compose(events: impl Events) -> Result<Option<Graph>, YamlError> {
    Composer { events, nodes: Vec::new(), anchors: HashMap::new(), depth: 0 }.single()
}

struct Composer<E> {
    events: E,
    nodes: Vec<Tagged>,
    anchors: HashMap<String, NodeId>,
    depth: usize,
}

impl<E: Events> Composer<E> {
    fn single(mut self) -> Result<Option<Graph>, YamlError> {
        self.events.next()?; // the start of the stream
        let first = self.events.next()?;
        if matches!(first.kind, EventKind::StreamEnd) {
            return Ok(None);
        }
        let event = self.events.next()?;
        let root = self.node(event)?;
        self.events.next()?; // the end of the document
        let after = self.events.next()?;
        if !matches!(after.kind, EventKind::StreamEnd) {
            let start = self.nodes[root].place;
            return Err(YamlError::at(after.place, "but found another document")
                .since("expected a single document in the stream", start));
        }
        Ok(Some(Graph { nodes: self.nodes, root }))
    }

    fn node(&mut self, event: Event) -> Result<NodeId, YamlError> {
        let place = event.place;
        match event.kind {
            EventKind::Alias { anchor } => self.anchors.get(&anchor).copied().ok_or_else(|| {
                let anchor = python::quoted(&anchor);
                YamlError::at(place, format!("found undefined alias {anchor}"))
            }),
            EventKind::Scalar { anchor, tag, text, plain } => {
                // A lone `!` makes even a quoted scalar plain, and the event says so.
                let is_plain = plain && tag.is_none();
                let tag = match tag.filter(|tag| tag != "!") {
                    Some(tag) => Tag::from(tag),
                    None if plain => resolver::implicit_tag(&text),
                    None => Tag::Str,
                };
                self.add(anchor, Tagged { tag, place, is_plain, body: Body::Scalar(text) })
            }
            EventKind::SequenceStart { anchor, tag } => {
                self.enter(place)?;
                let tag = explicit(tag, Tag::Seq);
                // An alias inside may refer to the sequence: it has its number before its items.
                let body = Body::Sequence(vec![]);
                let id = self.add(anchor, Tagged { tag, place, is_plain: false, body })?;
                let mut items = Vec::new();
                loop {
                    let event = self.events.next()?;
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
                let tag = explicit(tag, Tag::Map);
                let body = Body::Mapping(vec![]);
                let id = self.add(anchor, Tagged { tag, place, is_plain: false, body })?;
                let mut entries = Vec::new();
                loop {
                    let event = self.events.next()?;
                    if matches!(event.kind, EventKind::MappingEnd) {
                        break;
                    }
                    let key = self.node(event)?;
                    let event = self.events.next()?;
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

    fn add(&mut self, anchor: Option<String>, node: Tagged) -> Result<NodeId, YamlError> {
        let id = self.nodes.len();
        if let Some(anchor) = anchor {
            let quoted = python::quoted(&anchor);
            if let Some(first) = self.anchors.insert(anchor, id) {
                let first_place = self.nodes[first].place;
                let doing = format!("found duplicate anchor {quoted}; first occurrence");
                return Err(
                    YamlError::at(node.place, "second occurrence").since(doing, first_place)
                );
            }
        }
        self.nodes.push(node);
        Ok(id)
    }

    fn enter(&mut self, place: Place) -> Result<(), YamlError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("Collections are nested deeper than {DEPTH_MAX} levels");
            return Err(YamlError::limit(place, message));
        }
        Ok(())
    }
}

fn explicit(tag: Option<String>, implicit: Tag) -> Tag {
    tag.filter(|tag| tag != "!").map_or(implicit, Tag::from)
}
