//! What the log keeps beside its events: keys, closed streams, large bodies.

use std::collections::BTreeMap;

use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

use super::super::super::chain::hex;
use super::Auditor;

impl Auditor<'_> {
    /// Each scope has the key that the notes say, or none.
    pub(super) fn keys(&mut self) -> rusqlite::Result<()> {
        let mut expected = std::mem::take(&mut self.keys);
        let mut statement = self.connection.prepare("SELECT scope, sealed FROM keys")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let scope = String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned();
            let sealed = match row.get_ref(1)? {
                ValueRef::Null => None,
                value => Some(Sha256::digest(value.as_bytes()?).to_vec()),
            };
            self.found.end.keys += u64::from(sealed.is_some());
            if self.format < 2 {
                continue;
            }
            match (expected.remove(&scope), sealed) {
                (None, _) => {
                    self.problem(format!("the key of {scope} is there, and nobody made it"))
                }
                (Some(None), Some(_)) => {
                    self.problem(format!("the key of {scope} was destroyed, and is back"));
                }
                (Some(Some(_)), None) => {
                    self.problem(format!("the key of {scope} is gone, and nobody destroyed it"));
                }
                (Some(Some(kept)), Some(found)) if kept != found => {
                    self.problem(format!("the key of {scope} is not the one that was kept"));
                }
                _ => {}
            }
        }
        for scope in expected.into_keys() {
            self.problem(format!("the key of {scope} was taken out"));
        }
        Ok(())
    }

    /// A stream is closed where a note or a purge says so, and nowhere else.
    pub(super) fn streams(&mut self) -> rusqlite::Result<()> {
        if self.format < 2 {
            return Ok(());
        }
        let mut statement = self.connection.prepare("SELECT name, tombstoned FROM streams")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let stream = String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned();
            let is_closed = row.get_ref(1)? != ValueRef::Integer(0);
            let may_be = self.closed.contains(&stream) || self.purges.contains_key(&stream);
            if is_closed && !may_be {
                self.problem(format!("stream {stream} is closed, and nobody closed it"));
            } else if !is_closed && self.closed.contains(&stream) {
                self.problem(format!("stream {stream} was closed, and is open"));
            }
        }
        Ok(())
    }

    /// Each large body is what its id says, and each that is referred to is there.
    pub(super) fn blobs(&mut self) -> rusqlite::Result<()> {
        let mut missing: BTreeMap<String, String> = std::mem::take(&mut self.referred);
        let sql = "SELECT id, part, content FROM blobs ORDER BY id, part";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut at: Option<(String, i64, Sha256)> = None;
        loop {
            let row = rows.next()?;
            let id = match row {
                Some(row) => {
                    Some(String::from_utf8_lossy(row.get_ref(0)?.as_bytes()?).into_owned())
                }
                None => None,
            };
            let ends = at.as_ref().is_some_and(|(current, ..)| Some(current) != id.as_ref());
            if ends && let Some((id, _, hasher)) = at.take() {
                self.blob(&id, hasher, &mut missing);
            }
            let (Some(row), Some(id)) = (row, id) else { break };
            let (id, next, hasher) = at.get_or_insert_with(|| (id, 0, Sha256::new()));
            hasher.update(row.get_ref(2)?.as_bytes()?);
            if row.get_ref(1)? != ValueRef::Integer(*next) {
                let text = format!("part {next} of blob {id} is not in its place");
                self.problem(text);
            }
            *next += 1;
        }
        for (id, by) in missing {
            self.problem(format!("blob {id}, to which {by} refers, is gone"));
        }
        Ok(())
    }

    fn blob(&mut self, id: &str, hasher: Sha256, missing: &mut BTreeMap<String, String>) {
        self.found.end.blobs += 1;
        let by = missing.remove(id);
        if hex(&hasher.finalize()) != id {
            let by = by.map_or(String::new(), |by| format!(" ({by} refers to it)"));
            self.problem(format!("blob {id} is not what was kept under its id{by}"));
        }
    }
}
