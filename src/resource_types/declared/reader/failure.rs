//! Why a node of a type's file could not be read.

use crate::template::{Place, Written};

/// Why a node could not be read.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) place: Option<Place>,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// The map at the place has no such key; it is noted already.
    Missing(&'static str),
    Wrong {
        message: String,
        meant: Option<String>,
    },
    /// It follows from mistakes within, which are noted already.
    Follows,
}

impl Failure {
    pub(super) fn wrong(message: impl Into<String>) -> Self {
        Self { place: None, what: What::Wrong { message: message.into(), meant: None } }
    }

    /// At this node, unless it is known to be at one within.
    pub(super) fn at(self, node: Option<&Written>) -> Self {
        Self { place: self.place.or(node.map(|node| node.place)), ..self }
    }
}
