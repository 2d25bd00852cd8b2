//! The rows that a log is made of, as they go from one place to another.

use std::sync::mpsc::{Receiver, SyncSender};

use super::chain::Hash;
use crate::events::RecordedEvent;

/// What a log is made of, in the order in which it is copied.
#[derive(Debug, PartialEq)]
pub(super) enum Row {
    Event(Box<RecordedEvent>),
    Purged {
        position: u64,
        stream: String,
        hash: Hash,
    },
    Note {
        number: u64,
        after: u64,
        kind: u8,
        name: String,
        hash: Vec<u8>,
    },
    Checkpoint {
        position: u64,
        notes: u64,
        text: String,
    },
    BlobPart {
        id: String,
        part: u32,
        content: Vec<u8>,
    },
    Key {
        scope: String,
        sealed: Option<Vec<u8>>,
    },
    Closed(String),
    /// The last one: what was copied before it is no log without it.
    End {
        next: u64,
        checkpoint: String,
    },
}

impl Row {
    /// Where it stands among the rows of a log.
    pub(super) fn place(&self) -> (u8, u64, &str, u64) {
        match self {
            Row::Event(event) => (0, event.position.0, "", 0),
            Row::Purged { position, .. } => (1, *position, "", 0),
            Row::Note { number, .. } => (2, *number, "", 0),
            Row::Checkpoint { position, notes, .. } => (3, *position, "", *notes),
            Row::BlobPart { id, part, .. } => (4, 0, id, u64::from(*part)),
            Row::Key { scope, .. } => (5, 0, scope, 0),
            Row::Closed(stream) => (6, 0, stream, 0),
            Row::End { .. } => (7, 0, "", 0),
        }
    }

    /// How large it is about, in bytes: what may be large of it.
    pub(super) fn size(&self) -> usize {
        match self {
            Row::Event(event) => event.body.len(),
            Row::BlobPart { content, .. } => content.len(),
            Row::Purged { .. }
            | Row::Note { .. }
            | Row::Checkpoint { .. }
            | Row::Key { .. }
            | Row::Closed(_)
            | Row::End { .. } => 0,
        }
    }

    pub(super) fn is_event_after(&self, event: &RecordedEvent) -> bool {
        matches!(self, Row::Event(later) if later.position > event.position)
    }

    /// Whether it stays as it is once it is written. A key that was destroyed never comes back.
    pub(super) fn is_for_ever(&self) -> bool {
        match self {
            Row::Event(_) | Row::Purged { .. } | Row::Note { .. } | Row::Closed(_) => true,
            Row::Key { sealed, .. } => sealed.is_none(),
            Row::Checkpoint { .. } | Row::BlobPart { .. } | Row::End { .. } => false,
        }
    }
}

/// What is done to a place, so that it has what the log has.
pub(super) enum Step {
    /// The row is there, in place of what is where it stands.
    Put(Row),
    /// The row is not there.
    Take(Row),
}

/// Rows on their way.
pub(super) type Sender = SyncSender<Result<Row, String>>;
pub(super) type Rows = Receiver<Result<Row, String>>;
pub(super) type Steps = Receiver<Result<Step, String>>;
