//! What the writer proves: the checkpoint at the end of the log, moved and signed with each
//! transaction, and the notes that are part of it.

use std::path::Path;

use chrono::DateTime;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::super::chain::Hash;
use super::super::checkpoint::{Checkpoint, NoteKind, ReadCheckpoint};
use super::super::proof::{Found, KEPT_EVERY_EVENTS, Signing, judge, read_beside};
use crate::events::RecordedEvent;
use crate::events::signing::SigningKey;
use crate::private_files::{self, PrivateFileError};

/// The end of the log, as the writer moves it.
pub(super) struct Proof {
    pub(super) end: Checkpoint,
    signer: Option<SigningKey>,
}

impl Proof {
    /// Takes up the checkpoint at the end. Where that is not what was signed, the log says so for
    /// ever by a note, and goes on from what there is.
    pub(super) fn open(
        connection: &mut Connection,
        signing: Option<Signing>,
    ) -> rusqlite::Result<Self> {
        let (signer, beside) = match signing {
            Some(Signing { key, beside }) => (Some(key), Some(beside)),
            None => (None, None),
        };
        let beside = beside.and_then(|path| read_beside(&path));
        let found = find_end(connection, signer.as_ref(), beside.as_ref())?;
        let transaction = connection.transaction()?;
        let proof = match found {
            Found::End(end) => return Ok(Self { end, signer }),
            Found::None => {
                let mut proof = Self { end: walk(&transaction)?, signer };
                proof.note_what_was_there(&transaction)?;
                proof
            }
            Found::Broken(reason) => {
                tracing::error!(
                    reason,
                    "the log is not what was signed; `hearth verify` says what is known"
                );
                let mut proof = Self { end: walk(&transaction)?, signer };
                proof.note(&transaction, NoteKind::Broken, &reason, &[])?;
                proof
            }
        };
        proof.write_head(&transaction)?;
        transaction.commit()?;
        Ok(proof)
    }

    /// A log of the first format has keys and closed streams and no notes of them.
    fn note_what_was_there(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let keys: Vec<(String, Option<Vec<u8>>)> = connection
            .prepare("SELECT scope, sealed FROM keys ORDER BY scope")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        for (scope, sealed) in keys {
            match sealed {
                Some(sealed) => self.note_key(connection, &scope, &sealed)?,
                None => self.note(connection, NoteKind::Destroyed, &scope, &[])?,
            }
        }
        let closed: Vec<String> = connection
            .prepare("SELECT name FROM streams WHERE tombstoned ORDER BY name")?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        closed.iter().try_for_each(|name| self.note(connection, NoteKind::Closed, name, &[]))
    }

    /// Takes in an event that was written.
    pub(super) fn event(
        &mut self,
        connection: &Connection,
        event: &RecordedEvent,
    ) -> rusqlite::Result<()> {
        self.end.event(event.position.0, &event.hash);
        self.end.at = event.at;
        if event.revision.0 == 0 {
            self.end.streams += 1;
        }
        if self.end.events.is_multiple_of(KEPT_EVERY_EVENTS) {
            connection.prepare_cached("INSERT INTO checkpoints VALUES (?1, ?2, ?3)")?.execute(
                params![
                    self.end.position as i64,
                    self.end.notes as i64,
                    self.end.to_text(self.signer.as_ref()),
                ],
            )?;
        }
        Ok(())
    }

    /// Notes that a scope has a sealed key from here on.
    pub(super) fn note_key(
        &mut self,
        connection: &Connection,
        scope: &str,
        sealed: &[u8],
    ) -> rusqlite::Result<()> {
        self.note(connection, NoteKind::Key, scope, &Sha256::digest(sealed))
    }

    /// Notes something beside the events.
    pub(super) fn note(
        &mut self,
        connection: &Connection,
        kind: NoteKind,
        name: &str,
        hash: &[u8],
    ) -> rusqlite::Result<()> {
        self.end.note(kind, name, hash);
        connection
            .prepare_cached(
                "INSERT INTO notes (number, after, kind, name, hash) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                self.end.notes as i64,
                self.end.position as i64,
                kind as i64,
                name,
                hash
            ])?;
        Ok(())
    }

    /// Writes the end, signed, within the transaction that moved it.
    pub(super) fn write_head(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .prepare_cached("INSERT OR REPLACE INTO head (id, checkpoint) VALUES (0, ?1)")?
            .execute([self.end.to_text(self.signer.as_ref())])?;
        Ok(())
    }
}

fn find_end(
    connection: &Connection,
    signer: Option<&SigningKey>,
    beside: Option<&ReadCheckpoint>,
) -> rusqlite::Result<Found> {
    Ok(judge(head(connection)?.as_deref(), place(connection)?, signer, beside))
}

/// The checkpoint at the end, as it is stored.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let stored = connection.query_row("SELECT checkpoint FROM head", [], |row| {
        // Damaged text is still to be said so.
        Ok(String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned())
    });
    stored.optional()
}

/// Puts the checkpoint at the end beside the log, unless it is there.
pub(super) fn keep_beside(connection: &Connection, path: &Path) -> Result<(), KeepError> {
    let Some(text) = head(connection)? else { return Ok(()) };
    let kept = private_files::read(path).ok().flatten();
    match kept.is_some_and(|kept| *kept == text) {
        true => Ok(()),
        false => Ok(private_files::write(path, &text)?),
    }
}

/// Why the checkpoint beside the log is an old one.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeepError {
    #[error(transparent)]
    Read(#[from] rusqlite::Error),
    #[error(transparent)]
    Write(#[from] PrivateFileError),
}

/// The last position and the last note.
fn place(connection: &Connection) -> rusqlite::Result<(u64, u64)> {
    let last = |sql| connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
    let event = last("SELECT max(position) FROM events")?.unwrap_or(0);
    let purged = last("SELECT max(position) FROM purged")?.unwrap_or(0);
    let note = last("SELECT max(number) FROM notes")?.unwrap_or(0);
    Ok((event.max(purged) as u64, note as u64))
}

/// Makes the checkpoint of what there is, from the first event on.
fn walk(connection: &Connection) -> rusqlite::Result<Checkpoint> {
    let mut end = Checkpoint::default();
    let mut notes = connection
        .prepare("SELECT after, kind, name, hash FROM notes ORDER BY number")?
        .query_map([], |row| {
            Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get::<_, String>(2)?, row.get(3)?))
        })?
        .collect::<rusqlite::Result<Vec<(i64, i64, String, Vec<u8>)>>>()?
        .into_iter()
        .peekable();
    let mut statement = connection.prepare(
        "SELECT position, hash FROM events UNION ALL SELECT position, hash FROM purged \
         ORDER BY position",
    )?;
    let mut rows = statement.query([])?;
    loop {
        let row = rows.next()?;
        let event = match row {
            Some(row) => Some((row.get::<_, i64>(0)?, row.get::<_, Hash>(1)?)),
            None => None,
        };
        let before = |after: i64| event.is_none_or(|(position, _)| after < position);
        while let Some((_, kind, name, hash)) = notes.next_if(|(after, ..)| before(*after)) {
            // One of another kind is damaged, and the digest shows it.
            end.note(NoteKind::of(kind).unwrap_or(NoteKind::Broken), &name, &hash);
        }
        let Some((position, hash)) = event else { break };
        end.event(position as u64, &hash);
    }
    let count = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    end.streams =
        count("SELECT count(*) FROM (SELECT stream FROM events UNION SELECT stream FROM purged)")?
            as u64;
    end.blobs = count("SELECT count(*) FROM blobs WHERE part = 0")? as u64;
    end.keys = count("SELECT count(*) FROM keys WHERE sealed IS NOT NULL")? as u64;
    let at: Option<i64> = connection
        .query_row("SELECT at FROM events ORDER BY position DESC LIMIT 1", [], |row| row.get(0))
        .optional()?;
    end.at = at.and_then(DateTime::from_timestamp_micros).unwrap_or_default();
    Ok(end)
}
