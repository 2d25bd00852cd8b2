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
    let opened =
        ["", "log.db", "log.db.lock", "views.db", "clouds.yaml", "checkpoint", "cloud", "sandbox"];
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

/// The log lay in a directory that everybody on the machine could read, and was open to all.
#[test]
fn cve_2017_2621_the_log_is_read_by_others_on_the_machine() {
    let home = tempfile::tempdir().unwrap();
    let logs = home.path().join("logs");
    fs::create_dir(&logs).unwrap();
    fs::set_permissions(&logs, Permissions::from_mode(0o755)).unwrap();
    let file = home.path().join("heat.conf");
    let options = format!("[DEFAULT]\nnum_engine_workers = 4\nlog_dir = {}\n", logs.display());
    fs::write(&file, options).unwrap();
    let arguments = ["--config-file", file.to_str().unwrap()];
    Served::start(&home.path().join("data"), &arguments, &[]).stop();
    let log = logs.join("hearth.log");
    assert!(fs::read_to_string(&log).unwrap().contains("num_engine_workers"));
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
}
