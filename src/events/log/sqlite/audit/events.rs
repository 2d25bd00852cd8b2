//! The walk over events, purged ones and notes, in the order in which the digest takes them in.

use std::collections::BTreeMap;

use chrono::DateTime;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde::Deserialize;

use super::super::super::chain::{Content, GENESIS, Hash, hex, link};
use super::super::super::checkpoint::NoteKind;
use super::Auditor;
use crate::events::StreamId;
use crate::events::purge::StreamsPurged;

const EVENTS: &str = "SELECT events.position, streams.name, revision, types.name, version, at, metas.body, hash, \
     events.body FROM events LEFT JOIN streams ON streams.id = events.stream \
     LEFT JOIN types ON types.id = events.type LEFT JOIN metas ON metas.id = events.meta";
/// The columns that are left of a purged event.
const PURGED: &str = "SELECT position, streams.name, NULL, NULL, NULL, NULL, NULL, hash, NULL FROM purged \
     LEFT JOIN streams ON streams.id = purged.stream";

/// A row of `notes`.
struct Note {
    number: i64,
    after: i64,
    kind: i64,
    name: String,
    hash: Vec<u8>,
}

/// What is left of purged streams: how many events, and the last hash.
type Left = BTreeMap<String, (u64, Hash)>;

/// What a definition refers to.
#[derive(Deserialize)]
struct Refers {
    source: Option<String>,
}

impl Auditor<'_> {
    /// Walks the log and takes everything in.
    pub(super) fn events(&mut self) -> rusqlite::Result<()> {
        let mut notes = self.notes()?.into_iter().peekable();
        let sql = match self.format {
            1 => format!("{EVENTS} ORDER BY 1"),
            _ => format!("{EVENTS} UNION ALL {PURGED} ORDER BY 1"),
        };
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut left = Left::new();
        self.meet();
        loop {
            let row = rows.next()?;
            let position: Option<i64> = row.map(|row| row.get(0)).transpose()?;
            let before = |note: &Note| position.is_none_or(|position| note.after < position);
            while let Some(note) = notes.next_if(before) {
                self.note(note);
                self.meet();
            }
            let (Some(row), Some(position)) = (row, position) else { break };
            if position as u64 <= self.found.end.position {
                self.problem(format!("position {position} is there twice, or is none"));
            }
            match row.get_ref(2)? {
                ValueRef::Null => self.purged(position as u64, row, &mut left)?,
                _ => self.event(position as u64, row)?,
            }
            self.meet();
        }
        self.check_purged(&left);
        self.found.end.streams = (self.heads.len() + left.len()) as u64;
        Ok(())
    }

    fn notes(&mut self) -> rusqlite::Result<Vec<Note>> {
        if self.format < 2 {
            return Ok(Vec::new());
        }
        let sql = "SELECT number, after, kind, CAST(name AS BLOB), CAST(hash AS BLOB) FROM notes \
                   ORDER BY number";
        self.connection
            .prepare(sql)?
            .query_map([], |row| {
                Ok(Note {
                    number: row.get(0)?,
                    after: row.get(1)?,
                    kind: row.get(2)?,
                    name: String::from_utf8_lossy(&row.get::<_, Vec<u8>>(3)?).into_owned(),
                    hash: row.get(4)?,
                })
            })?
            .collect()
    }

    fn note(&mut self, note: Note) {
        let Note { number, kind, name, hash, .. } = note;
        let Some(kind) = NoteKind::of(kind) else {
            self.found.end.notes += 1;
            return self.problem(format!("note {number} is of no known kind"));
        };
        self.found.end.note(kind, &name, &hash);
        if self.found.end.notes != number as u64 {
            self.problem(format!("note {number} stands where {} is due", self.found.end.notes));
        }
        match kind {
            NoteKind::Key => drop(self.keys.insert(name, Some(hash))),
            NoteKind::Destroyed => drop(self.keys.insert(name, None)),
            NoteKind::Closed => drop(self.closed.insert(name)),
            NoteKind::Broken if number as u64 > self.known_notes => self.problem(format!(
                "after position {} the log was opened, and was not what had been signed: {name}",
                self.found.end.position
            )),
            NoteKind::Broken => {}
        }
    }

    fn event(&mut self, position: u64, row: &Row<'_>) -> rusqlite::Result<()> {
        let (stream, name) = (text(row, 1)?, text(row, 3)?);
        let (meta, body) = (text(row, 6)?, text(row, 8)?);
        let revision: i64 = row.get(2).unwrap_or(-1);
        let hash = hash_of(row, 7)?;
        self.found.end.event(position, &hash);
        let shown = stream.clone().unwrap_or_else(|| "(unknown)".to_owned());
        let at = row.get(5).ok().and_then(DateTime::from_timestamp_micros);
        let (next, previous) = self.heads.get(&shown).copied().unwrap_or((0, GENESIS));
        // What comes after is compared with what is stored, so that one fault is told once.
        self.heads.insert(shown.clone(), (revision.wrapping_add(1) as u64, hash));
        self.found.end.at = at.unwrap_or_default();
        if revision as u64 != next {
            let text = format!("stream {shown} goes on at revision {revision} where {next} is due");
            self.problem(format!("{text} (position {position})"));
            return Ok(());
        }
        let content = || {
            Some(
                Content {
                    stream: &StreamId(stream.as_deref()?.into()),
                    revision: revision as u64,
                    event_type: name.as_deref()?,
                    version: row.get(4).ok()?,
                    at: at?,
                    meta: meta.as_deref()?,
                    body: body.as_deref()?,
                }
                .digest(),
            )
        };
        if content().is_none_or(|content| link(&previous, &content) != hash) {
            self.problem(format!(
                "revision {revision} of stream {shown} is not what was written (position {position})"
            ));
            return Ok(());
        }
        match (name.as_deref(), body) {
            (Some("RevisionAccepted"), Some(body)) => {
                let refers: Option<Refers> = serde_json::from_str(&body).ok();
                if let Some(blob) = refers.and_then(|refers| refers.source) {
                    self.referred
                        .entry(blob)
                        .or_insert_with(|| format!("revision {revision} of stream {shown}"));
                }
            }
            (Some("StreamsPurged"), Some(body)) if shown.starts_with("purge-") => {
                let purge: Option<StreamsPurged> = serde_json::from_str(&body).ok();
                for it in purge.map(|purge| purge.streams).unwrap_or_default() {
                    let said = self.purges.entry(it.stream.as_str().to_owned()).or_default();
                    said.push((it.events, it.hash));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn purged(&mut self, position: u64, row: &Row<'_>, left: &mut Left) -> rusqlite::Result<()> {
        let hash = hash_of(row, 7)?;
        self.found.end.event(position, &hash);
        let stream = text(row, 1)?.unwrap_or_else(|| "(unknown)".to_owned());
        let known = left.entry(stream).or_insert((0, GENESIS));
        *known = (known.0 + 1, hash);
        Ok(())
    }

    /// A stream may be gone only where a purge says so, which is an event like others.
    fn check_purged(&mut self, left: &Left) {
        for (stream, (events, hash)) in left {
            let is_said = self.purges.get(stream).is_some_and(|said| {
                said.iter().any(|(count, last)| count == events && *last == hex(hash))
            });
            if !is_said {
                self.problem(format!(
                    "stream {stream} was taken away ({events} events), and no purge says so"
                ));
            }
            if self.heads.contains_key(stream) {
                self.problem(format!("stream {stream} was purged in part"));
            }
        }
    }
}

/// A text as it is stored; `None` where it is not one.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    })
}

/// A hash as it is stored; one of another length is none that was ever written.
fn hash_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Hash> {
    Ok(match row.get_ref(column)? {
        ValueRef::Blob(bytes) => bytes.try_into().unwrap_or(GENESIS),
        _ => GENESIS,
    })
}
