//! Files and directories that their owner alone may use, whatever the process's umask says. Those
//! that hold a key are not even read where others may read them.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;
/// What a mode says of who may do what.
const PERMISSION_BITS: u32 = 0o777;
/// The bits of a mode that let others than the owner in.
const OTHERS: u32 = 0o077;
/// Of a directory that everybody may write into, such as `/tmp`.
const STICKY_BIT: u32 = 0o1000;

/// The file of the same name with something after it.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Makes a directory, and those above it that are missing. One that exists is left as it is.
pub fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)
}

/// Makes an empty file where there is none. One that exists is not even opened: closing any handle
/// of an SQLite file drops the locks that this process has on it.
pub fn make_file(path: &Path) -> io::Result<()> {
    match OpenOptions::new().create_new(true).write(true).mode(FILE_MODE).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a file to append to it; makes it where there is none.
pub fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(FILE_MODE).open(path)
}

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
         `chmod 600 {path}`",
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

/// Puts a text in the file's place; see `replace`. Half a key would lock everything for ever.
pub fn write(path: &Path, text: &str) -> Result<(), PrivateFileError> {
    replace(path, text.as_bytes())
        .map_err(|source| PrivateFileError::File { path: path.to_owned(), source })
}

/// Writes a file whole in the place of what was there; a crash leaves the old one or the new one.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        make_dir(folder)?;
    }
    let fresh = beside(path, ".new");
    // One that a crash left behind may have any mode.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().create_new(true).write(true).mode(FILE_MODE).open(&fresh)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    // A power cut must not take the name back once something depends on it.
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Takes from everybody else what they may do with a file or a directory; whether there was any
/// such thing. What does not exist, and what a symbolic link stands for, is left alone.
pub fn tighten(path: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mode = found.permissions().mode();
    let wanted = if found.is_dir() { DIRECTORY_MODE } else { FILE_MODE };
    let is_shared_by_all = found.is_dir() && mode & STICKY_BIT != 0;
    if found.is_symlink() || is_shared_by_all || mode & PERMISSION_BITS & !wanted == 0 {
        return Ok(false);
    }
    fs::set_permissions(path, Permissions::from_mode(mode & wanted))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & PERMISSION_BITS
    }

    #[test]
    fn what_is_made_is_its_owners_alone_and_what_is_there_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("a/b");
        make_dir(&directory).unwrap();
        make_dir(&directory).unwrap();
        assert_eq!((mode(&directory), mode(&home.path().join("a"))), (0o700, 0o700));
        let file = directory.join("file");
        write(&file, "kept").unwrap();
        make_file(&file).unwrap();
        assert_eq!((mode(&file), fs::read(&file).unwrap()), (0o600, b"kept".to_vec()));
    }

    #[test]
    fn what_others_could_read_is_tightened_and_what_links_lead_to_is_not() {
        let home = tempfile::tempdir().unwrap();
        let (file, link) = (home.path().join("file"), home.path().join("link"));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(!tighten(&link).unwrap());
        assert!(tighten(&file).unwrap());
        assert!(!tighten(&file).unwrap());
        assert_eq!(mode(&file), 0o600);
        assert!(!tighten(&home.path().join("nothing")).unwrap());
    }

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
