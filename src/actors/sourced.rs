//! A revision whose source is kept.

use crate::events::stack::RevisionAccepted;

/// A revision that has a source, and whether no more than its version counts: a create that is
/// rolled back leaves a template of that version with nothing in it.
#[derive(Clone, Debug)]
pub struct Sourced {
    pub revision: RevisionAccepted,
    pub emptied: bool,
}
