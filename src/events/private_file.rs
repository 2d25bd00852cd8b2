//! Files that hold a key: their owner alone may read them, and they are written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// The bits of a mode that let others than the owner in.
const OTHERS: u32 = 0o077;

/// Why a file with a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    #[error("could not use {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "{path} may be read by others than its owner (mode {mode:04o}): take that from them with \
         `chmod 600 {path}`, and put a new key in its place if they may have read it",
        path = path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
}

/// The text of the file; `None` where there is none. Errors: `Exposed` where others may read it.
pub fn read(path: &Path) -> Result<Option<Zeroizing<String>>, PrivateFileError> {
    let failed = |source| PrivateFileError::File { path: path.to_owned(), source };
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    // Of the file that was opened: the name may mean another one by now.
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o7777;
    if mode & OTHERS != 0 {
        return Err(PrivateFileError::Exposed { path: path.to_owned(), mode });
    }
    let mut text = Zeroizing::new(String::new());
    io::Read::read_to_string(&mut file, &mut text).map_err(failed)?;
    Ok(Some(text))
}

/// Puts a text in the file's place; a crash leaves the old one or the new one. Half a key would
/// lock everything for ever.
pub fn write(path: &Path, text: &str) -> Result<(), PrivateFileError> {
    replace(path, text).map_err(|source| PrivateFileError::File { path: path.to_owned(), source })
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        fs::create_dir_all(folder)?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    // One that a crash left behind may have any mode.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    // A power cut must not take the name back once something depends on it.
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/a.key");
        assert!(read(&path).unwrap().is_none());
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(read(&path).unwrap().unwrap().as_str(), "two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_a_neighbor_may_read_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        write(&path, "one").unwrap();
        for mode in [0o640, 0o604, 0o620, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(&format!("mode {mode:04o}")), "{error}");
            assert!(error.contains("`chmod 600 "), "{error}");
        }
    }
}
