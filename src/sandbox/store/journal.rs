//! The file that the cloud's state is kept in: one line for each request, a list of what it
//! changed, appended before the answer leaves. So a killed process loses nothing it acknowledged,
//! and no request is found half done. It is written anew when most of it is outdated. A machine that loses power may lose the last moments: this is
//! a sandbox, and waiting for the disk would make it the slowest part of a benchmark.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Rows;
use crate::private_files;

/// Fewer entries than this are never worth rewriting.
const ENTRIES_KEPT_MIN: usize = 50_000;

/// An open journal.
#[derive(Debug)]
pub(in crate::sandbox) struct Journal {
    path: PathBuf,
    file: File,
    entries: usize,
    bytes: u64,
}

impl Journal {
    /// Reads what there is into the tables and goes on after it. A last line cut short by a kill
    /// was never acknowledged and is dropped.
    pub(in crate::sandbox) fn open(
        path: &Path,
        tables: &mut [&mut dyn Rows],
    ) -> io::Result<Journal> {
        let mut entries = 0;
        let mut whole = 0;
        if path.exists() {
            let mut reader = BufReader::new(File::open(path)?);
            let mut line = Vec::new();
            loop {
                line.clear();
                let read = reader.read_until(b'\n', &mut line)?;
                if line.last() != Some(&b'\n') {
                    break;
                }
                entries += replay(&line, tables)?;
                whole += read as u64;
            }
        }
        let file = private_files::append(path)?;
        file.set_len(whole)?;
        let mut journal = Journal { path: path.to_owned(), file, entries, bytes: whole };
        journal.rewrite_if_outdated(tables)?;
        Ok(journal)
    }

    /// Appends the entries of one request, all or none.
    pub(in crate::sandbox) fn append(&mut self, entries: &[u8], count: usize) -> io::Result<()> {
        let line = line(entries);
        if let Err(error) = self.file.write_all(&line) {
            // A line cut short must not stand before whole ones.
            self.file.set_len(self.bytes)?;
            return Err(error);
        }
        self.entries += count;
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Writes the file anew, with one entry for each row, if most of it is history.
    pub(in crate::sandbox) fn rewrite_if_outdated(
        &mut self,
        tables: &mut [&mut dyn Rows],
    ) -> io::Result<()> {
        let rows: usize = tables.iter().map(|table| table.len()).sum();
        if self.entries < ENTRIES_KEPT_MIN.max(4 * rows) {
            return Ok(());
        }
        let mut lines = Vec::new();
        for table in tables.iter() {
            let mut entries = Vec::new();
            if table.write_all(&mut entries)? > 0 {
                lines.extend(line(&entries));
            }
        }
        private_files::replace(&self.path, &lines)?;
        self.file = private_files::append(&self.path)?;
        self.entries = rows;
        self.bytes = lines.len() as u64;
        Ok(())
    }
}

/// A list of the entries, each of which ends with a comma.
fn line(entries: &[u8]) -> Vec<u8> {
    let entries = entries.strip_suffix(b",").unwrap_or(entries);
    [b"[", entries, b"]\n"].concat()
}

/// Does again what a line says; how many entries it has.
fn replay(line: &[u8], tables: &mut [&mut dyn Rows]) -> io::Result<usize> {
    let entries: Vec<(String, u64, String, Value)> = serde_json::from_slice(line)?;
    let count = entries.len();
    for (name, place, id, row) in entries {
        // A table that no longer exists belongs to an older sandbox: what it held is let go.
        if let Some(table) = tables.iter_mut().find(|table| table.name() == name) {
            table.replay(place, id, row)?;
        }
    }
    Ok(count)
}
