//! What a group comes to in rows: where the log ends after it, signed, and what stands beside the
//! events. It is made of what the tables hold, without changing them, so that it can be made and
//! written again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mysql_async::Value;
use sha2::{Digest, Sha256};

use super::super::BLOB_PART_MAX_BYTES;
use super::super::checkpoint::{Checkpoint, NoteKind};
use super::super::ledger::{StoredKey, Work};
use super::super::proof::KEPT_EVERY_EVENTS;
use super::rows::{bytes, chosen, insert, values_of};
use super::session::{Failure, Session};
use crate::events::signing::SigningKey;

/// See the module.
pub(super) struct Batch {
    /// The end of the log after it.
    pub(super) end: Checkpoint,
    /// The same as text, signed where there is a key.
    pub(super) checkpoint: String,
    events: Vec<Vec<Value>>,
    notes: Vec<Vec<Value>>,
    checkpoints: Vec<Vec<Value>>,
    keys: BTreeMap<String, StoredKey>,
    /// Bodies that are to be there, or not, after it.
    blobs: BTreeMap<String, Option<Arc<[u8]>>>,
    closed: BTreeSet<String>,
    purged: Vec<String>,
    /// A scope that was given a key here although the tables hold another one: what is sealed with
    /// the new one could never be opened.
    pub(super) of_two_keys: Option<String>,
}

/// What a batch is made with.
struct Maker<'a> {
    signer: Option<&'a SigningKey>,
    batch: Batch,
    held: Held,
}

/// What the tables hold, of what a group names.
struct Held {
    keys: BTreeMap<String, StoredKey>,
    blobs: BTreeSet<String>,
}

impl Batch {
    /// What the group comes to, after an end.
    pub(super) async fn of(
        group: &[Work],
        end: Checkpoint,
        signer: Option<&SigningKey>,
        session: &mut Session,
    ) -> Result<Self, Failure> {
        let held = Held::of(group, session).await?;
        let mut maker = Maker { signer, batch: Self::after(end), held };
        for work in group {
            maker.take(work)?;
        }
        let Maker { mut batch, .. } = maker;
        batch.sign(signer);
        Ok(batch)
    }

    /// Nothing but the end, and a note that the log was opened with another.
    pub(super) fn broken(
        end: Checkpoint,
        reason: Option<&str>,
        signer: Option<&SigningKey>,
    ) -> Self {
        let mut batch = Self::after(end);
        if let Some(reason) = reason {
            batch.note(NoteKind::Broken, reason, &[]);
        }
        batch.sign(signer);
        batch
    }

    fn after(end: Checkpoint) -> Self {
        Self {
            end,
            checkpoint: String::new(),
            events: Vec::new(),
            notes: Vec::new(),
            checkpoints: Vec::new(),
            keys: BTreeMap::new(),
            blobs: BTreeMap::new(),
            closed: BTreeSet::new(),
            purged: Vec::new(),
            of_two_keys: None,
        }
    }

    fn sign(&mut self, signer: Option<&SigningKey>) {
        self.checkpoint = self.end.to_text(signer);
    }

    fn note(&mut self, kind: NoteKind, name: &str, hash: &[u8]) {
        self.end.note(kind, name, hash);
        self.notes.push(vec![
            self.end.notes.into(),
            self.end.position.into(),
            (kind as u8).into(),
            name.into(),
            bytes(hash),
        ]);
    }

    /// Writes all of it, within the transaction that has moved the end.
    pub(super) async fn write(&self, session: &mut Session) -> Result<(), Failure> {
        insert(session, "INSERT INTO events", "", self.events.clone()).await?;
        insert(session, "INSERT INTO notes", "", self.notes.clone()).await?;
        insert(session, "INSERT INTO checkpoints", "", self.checkpoints.clone()).await?;
        let sealed = |key: &StoredKey| match key {
            StoredKey::Sealed(sealed) => bytes(sealed),
            StoredKey::Absent | StoredKey::Destroyed => Value::NULL,
        };
        let keys =
            self.keys.iter().map(|(scope, key)| vec![scope.as_str().into(), sealed(key)]).collect();
        let over = "ON DUPLICATE KEY UPDATE sealed = VALUES(sealed)";
        insert(session, "INSERT INTO scope_keys", over, keys).await?;
        let mut parts = Vec::new();
        for (id, content) in &self.blobs {
            match content {
                Some(content) => parts.extend(blob_rows(id, content)),
                None => {
                    session.change("DELETE FROM blobs WHERE id = ?", (id.as_str(),)).await?;
                }
            }
        }
        insert(session, "INSERT IGNORE INTO blobs", "", parts).await?;
        let closed = self.closed.iter().map(|stream| vec![stream.as_str().into()]).collect();
        insert(session, "INSERT IGNORE INTO closed", "", closed).await?;
        for stream in &self.purged {
            purge(session, stream).await?;
        }
        Ok(())
    }
}

impl Maker<'_> {
    fn take(&mut self, work: &Work) -> Result<(), Failure> {
        match work {
            Work::Events(events, _) => {
                for event in events {
                    self.batch.events.push(values_of(event)?);
                    let end = &mut self.batch.end;
                    end.event(event.position.0, &event.hash);
                    end.at = event.at;
                    end.streams += u64::from(event.revision.0 == 0);
                    if end.events.is_multiple_of(KEPT_EVERY_EVENTS) {
                        let text = end.to_text(self.signer);
                        let row = vec![end.position.into(), end.notes.into(), text.into()];
                        self.batch.checkpoints.push(row);
                    }
                }
            }
            Work::Blob(id, content) => {
                if !self.is_present(&id.0) {
                    self.batch.blobs.insert(id.0.clone(), Some(content.clone()));
                    self.batch.end.blobs += 1;
                }
            }
            Work::DropBlobs(ids, _) => {
                for id in ids {
                    if self.is_present(&id.0) {
                        self.batch.blobs.insert(id.0.clone(), None);
                        self.batch.end.blobs -= 1;
                    }
                }
            }
            Work::Key(scope, sealed) => match self.key(scope) {
                StoredKey::Absent => {
                    self.seal(scope, sealed);
                    self.batch.end.keys += 1;
                }
                StoredKey::Sealed(there) if there != *sealed => {
                    self.batch.of_two_keys = Some(scope.clone());
                }
                StoredKey::Sealed(_) | StoredKey::Destroyed => {}
            },
            Work::DestroyKey(scope, _) => {
                let known = self.key(scope);
                if known != StoredKey::Destroyed {
                    self.batch.keys.insert(scope.clone(), StoredKey::Destroyed);
                    self.batch.note(NoteKind::Destroyed, scope, &[]);
                    self.batch.end.keys -= u64::from(known != StoredKey::Absent);
                }
            }
            Work::Reseal(batch, _) => {
                for one in batch {
                    if self.key(&one.scope) == StoredKey::Sealed(one.from.clone()) {
                        self.seal(&one.scope, &one.to);
                    }
                }
            }
            Work::Tombstone(stream, _) => {
                self.batch.closed.insert(stream.as_str().to_owned());
                self.batch.note(NoteKind::Closed, stream.as_str(), &[]);
            }
            Work::Purge(streams, _) => {
                for stream in streams {
                    self.batch.closed.insert(stream.as_str().to_owned());
                    self.batch.purged.push(stream.as_str().to_owned());
                }
            }
            // The server keeps its own house.
            Work::Compact { .. } | Work::Settle(_) => {}
        }
        Ok(())
    }

    fn seal(&mut self, scope: &str, sealed: &[u8]) {
        self.batch.keys.insert(scope.to_owned(), StoredKey::Sealed(sealed.to_vec()));
        self.batch.note(NoteKind::Key, scope, &Sha256::digest(sealed));
    }

    /// A scope's key, as the works before leave it.
    fn key(&self, scope: &str) -> StoredKey {
        let known = self.batch.keys.get(scope).or_else(|| self.held.keys.get(scope));
        known.cloned().unwrap_or(StoredKey::Absent)
    }

    /// Whether a body is there, as the works before leave it.
    fn is_present(&self, id: &str) -> bool {
        match self.batch.blobs.get(id) {
            Some(content) => content.is_some(),
            None => self.held.blobs.contains(id),
        }
    }
}

impl Held {
    async fn of(group: &[Work], session: &mut Session) -> Result<Self, Failure> {
        let (mut scopes, mut ids) = (BTreeSet::new(), BTreeSet::new());
        for work in group {
            match work {
                Work::Key(scope, _) | Work::DestroyKey(scope, _) => drop(scopes.insert(&**scope)),
                Work::Reseal(batch, _) => scopes.extend(batch.iter().map(|one| &*one.scope)),
                Work::Blob(id, _) => drop(ids.insert(&*id.0)),
                Work::DropBlobs(some, _) => ids.extend(some.iter().map(|id| &*id.0)),
                Work::Events(..)
                | Work::Tombstone(..)
                | Work::Purge(..)
                | Work::Compact { .. }
                | Work::Settle(_) => {}
            }
        }
        let sql = "SELECT scope, sealed FROM scope_keys WHERE scope IN";
        let keys: Vec<(Vec<u8>, Option<Vec<u8>>)> = chosen(session, sql, scopes).await?;
        let keys = keys.into_iter().map(|(scope, sealed)| {
            (text(scope), sealed.map_or(StoredKey::Destroyed, StoredKey::Sealed))
        });
        let sql = "SELECT id FROM blobs WHERE part = 0 AND id IN";
        let blobs: Vec<Vec<u8>> = chosen(session, sql, ids).await?;
        Ok(Self { keys: keys.collect(), blobs: blobs.into_iter().map(text).collect() })
    }
}

/// A name that was asked for, as the server writes it.
fn text(name: Vec<u8>) -> String {
    String::from_utf8_lossy(&name).into_owned()
}

fn blob_rows(id: &str, content: &[u8]) -> Vec<Vec<Value>> {
    if content.is_empty() {
        return vec![vec![id.into(), 0_u32.into(), bytes(content)]];
    }
    let parts = (0_u32..).zip(content.chunks(BLOB_PART_MAX_BYTES));
    parts.map(|(part, chunk)| vec![id.into(), part.into(), bytes(chunk)]).collect()
}

/// Leaves the hash of each event of the stream, and nothing else.
async fn purge(session: &mut Session, stream: &str) -> Result<(), Failure> {
    let sql =
        "INSERT IGNORE INTO purged SELECT position, stream, hash FROM events WHERE stream = ?";
    session.change(sql, (stream,)).await?;
    session.change("DELETE FROM events WHERE stream = ?", (stream,)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_key_of_a_scope_is_told_and_the_same_one_again_is_not() {
        let key = |sealed| Work::Key("stack-a".to_owned(), vec![sealed]);
        let held = [("stack-a".to_owned(), StoredKey::Sealed(vec![1]))];
        let held = Held { keys: held.into(), blobs: BTreeSet::new() };
        let batch = Batch::after(Checkpoint::default());
        let mut maker = Maker { signer: None, batch, held };
        maker.take(&key(1)).unwrap();
        assert_eq!(maker.batch.of_two_keys, None);
        maker.take(&key(2)).unwrap();
        assert_eq!(maker.batch.of_two_keys.as_deref(), Some("stack-a"));
        assert_eq!(maker.batch.end.keys, 0);
    }
}
