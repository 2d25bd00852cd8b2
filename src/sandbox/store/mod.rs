//! How the cloud's state is held: tables that can undo, and the journal that outlives the process.

mod journal;
mod table;

pub(super) use journal::Journal;
pub(super) use table::{Rows, Table};
