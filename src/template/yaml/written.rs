//! A document as it was written: scalars with their text and without a meaning, and the place of
//! everything in it. For files of Hearth's own, whose readers give the meaning.

use std::collections::BTreeSet;

use ecow::EcoString;

use super::ALIAS_NODES_MAX;
use super::compose::{Body, Graph, NodeId, compose};
use super::error::YamlError;
use super::libyaml;
use super::pure;
use super::tag::Tag;
use crate::template::place::Place;

/// A node of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) place: Place,
    pub(crate) shape: Shape,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A scalar; a plain one has no quotes and no tag.
    Text {
        text: EcoString,
        is_plain: bool,
    },
    List(Vec<Written>),
    /// All entries, also those whose key is there already.
    Map(Vec<(Written, Written)>),
}

/// Reads the one document of a text; `None` if there is none. The error is a sentence and the place
/// that it is about.
pub(crate) fn written(text: &str) -> Result<Option<Written>, (Place, String)> {
    graph(text).and_then(|graph| graph.map(tree).transpose()).map_err(|error| {
        let place = error.place().filter(|place| place.line > 0);
        (place.unwrap_or(Place { line: 1, column: 1 }), error.in_one_line())
    })
}

fn graph(text: &str) -> Result<Option<Graph>, YamlError> {
    compose(libyaml::Scanner::new(text)?).map_err(|error| {
        // The other reader has the better words, if it finds anything.
        let other = pure::Parser::new(text).and_then(compose);
        other.err().unwrap_or(error)
    })
}

fn tree(graph: Graph) -> Result<Written, YamlError> {
    let mut tree = Tree { left: graph.nodes.len() + ALIAS_NODES_MAX, open: BTreeSet::new(), graph };
    tree.node(tree.graph.root)
}

struct Tree {
    graph: Graph,
    /// How many nodes there may still be.
    left: usize,
    /// Nodes that the present one is within.
    open: BTreeSet<NodeId>,
}

impl Tree {
    fn node(&mut self, id: NodeId) -> Result<Written, YamlError> {
        let place = self.graph.nodes[id].place;
        if !self.open.insert(id) {
            return Err(YamlError::limit(place, "An alias stands within what it refers to"));
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            let message = format!("Aliases add more to the document than {ALIAS_NODES_MAX} values");
            YamlError::limit(place, message)
        })?;
        if let Tag::Other(tag) = &self.graph.nodes[id].tag {
            let problem = format!("nothing is known of the tag `{tag}`");
            return Err(YamlError::at(place, problem));
        }
        let is_plain = self.graph.nodes[id].is_plain;
        let shape = match &self.graph.nodes[id].body {
            Body::Scalar(text) => Shape::Text { text: text.clone(), is_plain },
            Body::Sequence(items) => {
                let items = items.clone();
                Shape::List(items.into_iter().map(|id| self.node(id)).collect::<Result<_, _>>()?)
            }
            Body::Mapping(entries) => {
                let entries = entries.clone();
                let pair = |(key, value)| Ok((self.node(key)?, self.node(value)?));
                Shape::Map(entries.into_iter().map(pair).collect::<Result<_, YamlError>>()?)
            }
        };
        self.open.remove(&id);
        Ok(Written { place, shape })
    }
}

impl Written {
    /// The text, if it is a scalar.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.shape {
            Shape::Text { text, .. } => Some(text),
            Shape::List(_) | Shape::Map(_) => None,
        }
    }

    /// The entries, if it is a map.
    pub(crate) fn entries(&self) -> &[(Written, Written)] {
        match &self.shape {
            Shape::Map(entries) => entries,
            Shape::Text { .. } | Shape::List(_) => &[],
        }
    }

    /// The entry of a map that has a key, with that key.
    pub(crate) fn entry(&self, key: &str) -> Option<&(Written, Written)> {
        self.entries().iter().find(|(written, _)| written.text() == Some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_keeps_its_text_and_its_place() {
        let root = written("a: &x [1, '2']\nb: *x\na: ~\n").unwrap().unwrap();
        let keys: Vec<_> = root.entries().iter().map(|(key, _)| key.text().unwrap()).collect();
        assert_eq!(keys, ["a", "b", "a"]);
        let (key, list) = root.entry("b").unwrap();
        assert_eq!(key.place, Place { line: 2, column: 1 });
        let Shape::List(items) = &list.shape else { panic!("{list:?}") };
        assert_eq!(items[0].shape, Shape::Text { text: "1".into(), is_plain: true });
        assert_eq!(items[1].shape, Shape::Text { text: "2".into(), is_plain: false });
        assert_eq!(items[1].place, Place { line: 1, column: 11 });
        assert_eq!(written("# nothing\n"), Ok(None));
    }

    #[test]
    fn what_is_no_document_has_a_place_and_one_line() {
        let (place, problem) = written("a:\n  b: [1\nc: 2\n").unwrap_err();
        assert_eq!(place.line, 3, "{problem}");
        assert!(!problem.contains('\n'), "{problem}");
        let (_, problem) = written("&a [*a]").unwrap_err();
        assert!(problem.contains("within what it refers to"), "{problem}");
        let mut bomb = "a0: &a0 [x, x]\n".to_owned();
        for level in 1..30 {
            bomb += &format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1);
        }
        assert!(written(&bomb).unwrap_err().1.contains("Aliases"));
    }
}
