//! Nobody but the owner can use what is in a data directory.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::process::Served;

/// Everything at and below a path that others could use, with its mode.
fn open_to_others(path: &Path, found: &mut Vec<String>) {
    let meta = fs::symlink_metadata(path).unwrap();
    let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
    let mode = meta.permissions().mode() & 0o777;
    if mode != wanted {
        found.push(format!("{} {mode:o}", path.display()));
    }
    if meta.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            open_to_others(&entry.unwrap().path(), found);
        }
    }
}

#[track_caller]
fn assert_closed(data: &Path) {
    let mut found = Vec::new();
    open_to_others(data, &mut found);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_thief_on_the_machine_reads_no_file_of_a_server_that_was_started_without_a_mask() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("not/yet/there");
    let served = Served::start(&data, &[], &[]);
    for name in ["log.db", "log.db-wal", "views.db", "master.key", "clouds.yaml", "sandbox"] {
        assert!(data.join(name).exists(), "{name}");
    }
    assert_closed(&data);
    served.stop();
    assert_closed(&data);
}

#[test]
fn what_an_earlier_version_left_open_is_closed_at_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    Served::start(&data, &[], &[]).stop();
    let bystander = data.join("notes.txt");
    fs::write(&bystander, "the operator's own").unwrap();
    let opened = ["", "log.db", "log.db.lock", "views.db", "clouds.yaml", "sandbox"];
    for name in opened.map(|name| data.join(name)) {
        let mode = if name.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(&name, Permissions::from_mode(mode)).unwrap();
    }
    let before = fs::metadata(&bystander).unwrap().permissions().mode();
    let log = Served::start(&data, &[], &[]).stop();
    assert!(log.contains("others could use it and no longer can"), "{log}");
    assert_eq!(fs::metadata(&bystander).unwrap().permissions().mode(), before);
    fs::remove_file(&bystander).unwrap();
    assert_closed(&data);
}
