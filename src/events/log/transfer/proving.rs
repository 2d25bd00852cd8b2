//! What proves a log as a whole, where one of two places has none of it: it is left out of what is
//! compared, and a place that has it goes on with its own, as if a writer had written what is new.
//! Its end is not signed then, until a server has it.

use std::sync::mpsc::sync_channel;

use sha2::{Digest, Sha256};

use super::super::checkpoint::{Checkpoint, NoteKind};
use super::super::rows::{Row, Rows, Step, Steps};
use super::{ROWS_WAITING, spawn};

/// Rows without what proves them. The end counts what was purged.
pub(super) fn without(rows: Rows) -> Result<Rows, String> {
    let (sender, left) = sync_channel(ROWS_WAITING);
    spawn(move || {
        let mut due = 1;
        for row in rows {
            let row = match row {
                Ok(Row::Purged { position, .. }) => {
                    due = due.max(position + 1);
                    continue;
                }
                Ok(Row::Note { .. } | Row::Checkpoint { .. }) => continue,
                Ok(Row::End { next, .. }) => {
                    Ok(Row::End { next: next.max(due), checkpoint: String::new() })
                }
                row => row,
            };
            if sender.send(row).is_err() {
                break;
            }
        }
    })?;
    Ok(left)
}

/// Steps with what proves the rows that they put or take, after an end.
pub(super) fn with(steps: Steps, mut end: Checkpoint) -> Result<Steps, String> {
    let (sender, proved) = sync_channel(ROWS_WAITING);
    spawn(move || {
        for step in steps {
            let sent = match step {
                Ok(step) => prove(&mut end, step).into_iter().all(|it| sender.send(Ok(it)).is_ok()),
                Err(reason) => sender.send(Err(reason)).is_ok(),
            };
            if !sent {
                break;
            }
        }
    })?;
    Ok(proved)
}

fn prove(end: &mut Checkpoint, step: Step) -> Vec<Step> {
    let beside = match &step {
        Step::Put(Row::Event(event)) => {
            end.event(event.position.0, &event.hash);
            end.at = event.at;
            end.streams += u64::from(event.revision.0 == 0);
            None
        }
        Step::Take(Row::Event(event)) => {
            let stream = event.stream.as_str().to_owned();
            Some(Row::Purged { position: event.position.0, stream, hash: event.hash })
        }
        Step::Put(Row::BlobPart { part: 0, .. }) => {
            end.blobs += 1;
            None
        }
        Step::Take(Row::BlobPart { part: 0, .. }) => {
            end.blobs = end.blobs.saturating_sub(1);
            None
        }
        Step::Put(Row::Key { scope, sealed: Some(sealed) }) => {
            end.keys += 1;
            Some(note(end, NoteKind::Key, scope, &Sha256::digest(sealed)))
        }
        Step::Put(Row::Key { scope, sealed: None }) => {
            Some(note(end, NoteKind::Destroyed, scope, &[]))
        }
        Step::Take(Row::Key { .. }) => {
            end.keys = end.keys.saturating_sub(1);
            None
        }
        Step::Put(Row::Closed(stream)) => Some(note(end, NoteKind::Closed, stream, &[])),
        Step::Put(Row::End { next, .. }) => {
            return vec![Step::Put(Row::End { next: *next, checkpoint: end.to_text(None) })];
        }
        Step::Put(_) | Step::Take(_) => None,
    };
    std::iter::once(step).chain(beside.map(Step::Put)).collect()
}

fn note(end: &mut Checkpoint, kind: NoteKind, name: &str, hash: &[u8]) -> Row {
    end.note(kind, name, hash);
    Row::Note {
        number: end.notes,
        after: end.position,
        kind: kind as u8,
        name: name.to_owned(),
        hash: hash.to_vec(),
    }
}
