//! A plain document, which nearly every one is, in one pass over its events: no anchors, no tags, no
//! merge keys, every key a text. What is anything else, or wrong, is left to the graph, which knows
//! in which order PyYAML meets what is wrong.

use super::event::{Event, EventKind, Events};
use super::scalars::{self, Timestamps};
use super::tag::Tag;
use super::{DEPTH_MAX, resolver};
use crate::template::node::{Form, Node, NodeMap};

/// Reads the one document of a text; `None` if it is not plain.
pub(super) fn read(events: impl Events) -> Option<Node> {
    let mut reader = Reader { events, depth: 0 };
    reader.next()?; // the start of the stream
    reader.next()?; // the start of the document
    let first = reader.next()?;
    let node = reader.node(first)?;
    reader.next()?; // the end of the document
    matches!(reader.next()?.kind, EventKind::StreamEnd).then_some(node)
}

struct Reader<E> {
    events: E,
    depth: usize,
}

impl<E: Events> Reader<E> {
    fn next(&mut self) -> Option<Event> {
        self.events.next().ok()
    }

    fn node(&mut self, event: Event) -> Option<Node> {
        let place = event.place;
        let form = match event.kind {
            EventKind::Scalar { anchor: None, tag: None, mut text, plain } => {
                let tag = if plain { resolver::implicit_tag(&text) } else { Tag::Str };
                scalars::scalar(&tag, &mut text, place, Timestamps::Text)?.ok()?
            }
            EventKind::SequenceStart { anchor: None, tag: None } => self.within(Self::list)?,
            EventKind::MappingStart { anchor: None, tag: None } => self.within(Self::map)?,
            EventKind::Scalar { .. }
            | EventKind::SequenceStart { .. }
            | EventKind::MappingStart { .. }
            | EventKind::Alias { .. }
            | EventKind::DocumentStart
            | EventKind::DocumentEnd
            | EventKind::StreamStart
            | EventKind::StreamEnd
            | EventKind::SequenceEnd
            | EventKind::MappingEnd => return None,
        };
        Some(Node { place, key_place: place, form })
    }

    fn within(&mut self, read: impl FnOnce(&mut Self) -> Option<Form>) -> Option<Form> {
        self.depth += 1;
        let form = if self.depth > DEPTH_MAX { None } else { read(self) };
        self.depth -= 1;
        form
    }

    fn list(&mut self) -> Option<Form> {
        let mut items = Vec::new();
        loop {
            let event = self.next()?;
            if matches!(event.kind, EventKind::SequenceEnd) {
                return Some(Form::List(items));
            }
            items.push(self.node(event)?);
        }
    }

    fn map(&mut self) -> Option<Form> {
        let mut map = NodeMap::default();
        loop {
            let event = self.next()?;
            if matches!(event.kind, EventKind::MappingEnd) {
                return Some(Form::Map(Box::new(map)));
            }
            let key = self.node(event)?;
            let Form::Text(text) = key.form else { return None };
            let event = self.next()?;
            let mut value = self.node(event)?;
            value.key_place = key.place;
            map.insert(text, value);
        }
    }
}
