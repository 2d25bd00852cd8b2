//! The tree of a document from the values of its graph. What stands in one place is moved there;
//! what aliases refer to is copied, within bounds.

use super::compose::{Graph, NodeId};
use super::error::YamlError;
use super::made::{Made, too_much};
use super::{ALIAS_BYTES_MAX, ALIAS_NODES_MAX};
use crate::template::node::{Form, Node, NodeMap, Place};

/// Puts the tree together; `uses` says in how many places each node stands.
pub(super) fn assemble(
    graph: Graph,
    made: Vec<Option<Made>>,
    uses: Vec<u32>,
) -> Result<Node, YamlError> {
    let count = made.len();
    let root = graph.root;
    let mut assembler = Assembler {
        graph,
        made,
        uses,
        open: vec![false; count],
        visited: vec![false; count],
        alias_nodes: 0,
        alias_bytes: 0,
    };
    assembler.node(root, false)
}

struct Assembler {
    graph: Graph,
    made: Vec<Option<Made>>,
    uses: Vec<u32>,
    /// Nodes that the tree is within at present: meeting one again is a recursion.
    open: Vec<bool>,
    /// Nodes met before: once more is an alias.
    visited: Vec<bool>,
    alias_nodes: usize,
    alias_bytes: usize,
}

impl Assembler {
    /// The tree below a node; below a copied one all is copied.
    fn node(&mut self, id: NodeId, copied: bool) -> Result<Node, YamlError> {
        let place = self.graph.nodes[id].place;
        if self.open[id] {
            return Err(YamlError::limit(place, "An alias stands within what it refers to"));
        }
        if std::mem::replace(&mut self.visited[id], true) {
            self.count(id, place)?;
        }
        let copied = copied || self.uses[id] > 1;
        self.open[id] = true;
        let form = if copied { self.copy(id)? } else { self.take(id)? };
        self.open[id] = false;
        Ok(Node { place, key_place: place, form, tainted: false })
    }

    /// Counts what aliases add.
    fn count(&mut self, id: NodeId, place: Place) -> Result<(), YamlError> {
        self.alias_nodes += 1;
        if let Some(Made::Scalar(Form::Text(text))) = &self.made[id] {
            self.alias_bytes += text.len();
        }
        if self.alias_nodes > ALIAS_NODES_MAX || self.alias_bytes > ALIAS_BYTES_MAX {
            return Err(too_much(place));
        }
        Ok(())
    }

    fn take(&mut self, id: NodeId) -> Result<Form, YamlError> {
        let made = self.made[id].take();
        self.form(made.unwrap_or(Made::Scalar(Form::Null)), id, false)
    }

    fn copy(&mut self, id: NodeId) -> Result<Form, YamlError> {
        let made = self.made[id].clone();
        self.form(made.unwrap_or(Made::Scalar(Form::Null)), id, true)
    }

    fn form(&mut self, made: Made, id: NodeId, copied: bool) -> Result<Form, YamlError> {
        Ok(match made {
            Made::Scalar(form) => form,
            Made::List(items) | Made::Set(items) => Form::List(self.nodes(&items, copied)?),
            Made::Pairs(pairs) => {
                let place = self.graph.nodes[id].place;
                let mut list = Vec::with_capacity(pairs.len());
                for pair in pairs {
                    let form = Form::List(self.nodes(&pair, copied)?);
                    list.push(Node { place, key_place: place, form, tainted: false });
                }
                Form::List(list)
            }
            Made::Map(entries) => {
                let mut map = NodeMap::with_capacity_and_hasher(entries.len(), Default::default());
                for entry in entries {
                    let mut value = self.node(entry.value, copied)?;
                    value.key_place = entry.key_place;
                    map.insert(entry.key, value);
                }
                Form::Map(Box::new(map))
            }
        })
    }

    fn nodes(&mut self, ids: &[NodeId], copied: bool) -> Result<Vec<Node>, YamlError> {
        ids.iter().map(|id| self.node(*id, copied)).collect()
    }
}
