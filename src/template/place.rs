//! A place in a text that a user wrote.

/// A place in a text, counted from 1; 0 where there is no text (a template sent as an object).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}
