//! What is made of the nodes of a graph before they are put together, and the bound on what aliases
//! add to it.

use ecow::EcoString;

use super::compose::NodeId;
use super::error::YamlError;
use super::{ALIAS_BYTES_MAX, ALIAS_NODES_MAX};
use crate::template::node::Form;
use crate::template::place::Place;

/// The value of a node, with other nodes in it.
#[derive(Clone)]
pub(super) enum Made {
    Scalar(Form),
    List(Vec<NodeId>),
    /// A list of lists of two.
    Pairs(Vec<[NodeId; 2]>),
    /// The keys of a map as a list.
    Set(Vec<NodeId>),
    Map(Vec<Entry>),
}

/// An entry of a map; its key is text, as it is in JSON.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) key: EcoString,
    pub(super) key_place: Place,
    pub(super) value: NodeId,
}

/// The refusal of a document that aliases make too large.
pub(super) fn too_much(place: Place) -> YamlError {
    YamlError::limit(
        place,
        format!(
            "Aliases and merge keys add more to the document than {ALIAS_NODES_MAX} values or \
             {ALIAS_BYTES_MAX} bytes"
        ),
    )
}
