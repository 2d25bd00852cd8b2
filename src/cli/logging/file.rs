//! A log file that others may move away, as logrotate does: the next line goes to a new one.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

use crate::private_files;

/// See the module. Clones are the same.
#[derive(Clone)]
pub(super) struct LogFile {
    path: Arc<Path>,
    open: Arc<Mutex<File>>,
}

impl LogFile {
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let file = private_files::append(&path)?;
        Ok(Self { path: path.into(), open: Arc::new(Mutex::new(file)) })
    }
}

impl Write for LogFile {
    /// One line at a time is written.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.metadata()?;
        let is_there = std::fs::metadata(&self.path)
            .is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino()));
        if !is_there {
            // Where no new file can be made, the one that was moved away is better than none.
            if let Ok(file) = private_files::append(&self.path) {
                *open = file;
            }
        }
        open.write_all(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for LogFile {
    type Writer = LogFile;

    fn make_writer(&'w self) -> LogFile {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_moved_away_is_made_anew() {
        let home = tempfile::tempdir().unwrap();
        let (path, moved) = (home.path().join("hearth.log"), home.path().join("hearth.log.1"));
        let mut log = LogFile::open(path.clone()).unwrap();
        log.write_all(b"one\n").unwrap();
        std::fs::rename(&path, &moved).unwrap();
        log.write_all(b"two\n").unwrap();
        log.write_all(b"three\n").unwrap();
        assert_eq!(std::fs::read_to_string(&moved).unwrap(), "one\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\nthree\n");
    }
}
