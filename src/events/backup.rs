//! A whole copy of what a server cannot lose: the log with its large bodies as they stand at one
//! moment, the checkpoint of that moment, and the keys. One way it is a backup, the other way a
//! restore.
//!
//! The log takes its name last: a copy that broke off is no log, and the next one goes over it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::Position;
use super::log::{self, CopiedLog, OpenError};
use crate::private_files::{self, PrivateFileError, beside};

/// What the log is called until its copy is whole, after its own name.
const PARTIAL: &str = ".partial";
/// What SQLite keeps beside a file that it writes.
const SIDE_FILES: [&str; 4] = ["", "-journal", "-wal", "-shm"];

/// Where the parts of it lie.
#[derive(Clone, Debug)]
pub struct Parts {
    pub log: PathBuf,
    pub checkpoint: PathBuf,
    pub master_key: PathBuf,
    pub signing_key: PathBuf,
}

/// What was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The copy has everything up to here, and nothing after it.
    pub position: Position,
    /// Whether the keys are with it.
    pub master_key: bool,
    pub signing_key: bool,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("{path} is not empty", path = path.display())]
    NotEmpty { path: PathBuf },
    #[error("another copy is being made in {path}", path = path.display())]
    InUse { path: PathBuf },
    #[error("{path} is another key than the one to be put there", path = path.display())]
    OtherKey { path: PathBuf },
    #[error("could not use {path}", path = path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Key(#[from] PrivateFileError),
    #[error(transparent)]
    Log(#[from] OpenError),
}

/// Copies a log, which others may be writing, and its keys into a directory that is empty or missing.
/// Nobody may be replacing the master key meanwhile.
pub fn copy(from: &Parts, to: &Parts, with_keys: bool) -> Result<Copied, CopyError> {
    let folder = to.log.parent().unwrap_or(Path::new("."));
    let failed = |source| CopyError::File { path: folder.to_owned(), source };
    private_files::make_dir(folder).map_err(failed)?;
    let claimed = File::open(folder).map_err(failed)?;
    claimed.try_lock().map_err(|_| CopyError::InUse { path: folder.to_owned() })?;
    let partial = beside(&to.log, PARTIAL);
    clear(folder, to, &partial)?;

    let CopiedLog { position, checkpoint } = log::copy(&from.log, &partial)?;
    let mut copied = Copied { position, master_key: false, signing_key: false };
    if with_keys {
        copied.master_key = copy_key(&from.master_key, &to.master_key)?;
        copied.signing_key = copy_key(&from.signing_key, &to.signing_key)?;
    }
    if let Some(text) = checkpoint {
        private_files::write(&to.checkpoint, &text)?;
    }
    fs::rename(&partial, &to.log).map_err(failed)?;
    claimed.sync_all().map_err(failed)?;
    Ok(copied)
}

/// Takes away what a copy that broke off has left. Errors: `NotEmpty` where there is anything else.
fn clear(folder: &Path, to: &Parts, partial: &Path) -> Result<(), CopyError> {
    let failed = |source| CopyError::File { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        found.push(entry.map_err(failed)?.path());
    }
    let of_log: Vec<PathBuf> = SIDE_FILES.iter().map(|it| beside(partial, it)).collect();
    let others = [&to.checkpoint, &to.master_key, &to.signing_key];
    let is_left_over = |path: &PathBuf| {
        let is_other = others.iter().any(|it| *it == path || beside(it, ".new") == *path);
        is_other || of_log.contains(path)
    };
    let broke_off = found.iter().any(|path| path == partial);
    let is_free = found.is_empty() || broke_off && found.iter().all(is_left_over);
    if !is_free {
        return Err(CopyError::NotEmpty { path: folder.to_owned() });
    }
    for path in found.iter().filter(|path| of_log.contains(path)) {
        fs::remove_file(path).map_err(failed)?;
    }
    Ok(())
}

/// Whether there was a key to copy. One that is there already is never replaced.
fn copy_key(from: &Path, to: &Path) -> Result<bool, CopyError> {
    let Some(text) = private_files::read(from)? else { return Ok(false) };
    match private_files::read(to)? {
        Some(kept) if *kept != *text => Err(CopyError::OtherKey { path: to.to_owned() }),
        Some(_) => Ok(true),
        None => {
            private_files::write(to, &text)?;
            Ok(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(folder: &Path) -> Parts {
        Parts {
            log: folder.join("log.db"),
            checkpoint: folder.join("checkpoint"),
            master_key: folder.join("master.key"),
            signing_key: folder.join("signing.key"),
        }
    }

    fn some_log(folder: &Path) -> Parts {
        let parts = parts(folder);
        drop(log::SqliteLog::open(&parts.log).unwrap());
        private_files::write(&parts.master_key, "key\n").unwrap();
        parts
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_copy_that_broke_off_is_no_log_and_the_next_goes_over_it() {
        let home = tempfile::tempdir().unwrap();
        let from = some_log(&home.path().join("data"));
        let folder = home.path().join("backup");
        let to = parts(&folder);
        fs::create_dir(&folder).unwrap();
        for name in ["log.db.partial", "log.db.partial-journal", "master.key.new"] {
            fs::write(folder.join(name), "half").unwrap();
        }
        let copied = copy(&from, &to, true).unwrap();
        assert_eq!((copied.master_key, copied.signing_key), (true, false));
        assert_eq!(names(&folder), ["checkpoint", "log.db", "master.key"]);
    }

    #[test]
    fn nothing_that_is_there_is_written_over() {
        let home = tempfile::tempdir().unwrap();
        let from = some_log(&home.path().join("data"));
        let folder = home.path().join("backup");
        let to = parts(&folder);
        copy(&from, &to, false).unwrap();
        assert_eq!(names(&folder), ["checkpoint", "log.db"]);
        let again = copy(&from, &to, false).unwrap_err();
        assert!(matches!(again, CopyError::NotEmpty { .. }), "{again}");
        // A stranger beside what broke off, and a key that is another one.
        fs::rename(&to.log, folder.join("log.db.partial")).unwrap();
        fs::write(folder.join("mine"), "").unwrap();
        assert!(matches!(copy(&from, &to, false), Err(CopyError::NotEmpty { .. })));
        fs::remove_file(folder.join("mine")).unwrap();
        private_files::write(&to.master_key, "another\n").unwrap();
        assert!(matches!(copy(&from, &to, true), Err(CopyError::OtherKey { .. })));
        assert_eq!(private_files::read(&to.master_key).unwrap().unwrap().as_str(), "another\n");
        assert!(!to.log.exists(), "what broke off is no log");
    }
}
