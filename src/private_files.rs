//! Files and directories that their owner alone may use, whatever the process's umask says.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;
/// What a mode says of who may do what.
const PERMISSION_BITS: u32 = 0o777;
/// Of a directory that everybody may write into, such as `/tmp`.
const STICKY_BIT: u32 = 0o1000;

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

/// Writes a file whole, over what was in it.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file =
        OpenOptions::new().create(true).truncate(true).write(true).mode(FILE_MODE).open(path)?;
    // One that exists keeps its mode when it is opened.
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    io::Write::write_all(&mut file, content)
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
        write(&file, b"kept").unwrap();
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
}
