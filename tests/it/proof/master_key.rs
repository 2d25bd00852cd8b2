//! The master key: missing, exposed, another one, and replaced while others work.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use hearth::clock::{SimulatedClock, SystemClock};
use hearth::events::log::{EventLog, MemoryLog};
use hearth::events::master_key::{KeyRing, MasterKey, sealed_under};
use hearth::events::vault::Vault;
use hearth::model::taint::{plain, taint};
use serde_json::{Value, json};

use crate::support::cut_log::CutLog;

/// More than three batches of a rotation.
const KEYS: usize = 800;

async fn open(log: &Arc<dyn EventLog>, path: &Path) -> Result<Vault, String> {
    Vault::open_with(log.clone(), path, Arc::new(SystemClock))
        .await
        .map_err(|error| error.to_string())
}

fn seal(vault: &Vault, number: usize) -> (String, Value) {
    let scope = format!("stack-{number}");
    let sealed = vault.seal(&scope, "a place", taint(json!(format!("secret {number}")))).unwrap();
    (scope, sealed)
}

fn all_open(vault: &Vault, sealed: &[(String, Value)]) {
    for (number, (scope, sealed)) in sealed.iter().enumerate() {
        let opened = plain(vault.open_at(scope, "a place", sealed.clone()).unwrap());
        assert_eq!(opened, json!(format!("secret {number}")));
    }
}

#[tokio::test]
async fn without_the_master_key_nothing_is_started_on_a_log_that_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("master.key");
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let vault = open(&log, &path).await.unwrap();
    seal(&vault, 1);
    drop(vault);
    fs::remove_file(&path).unwrap();
    let said = open(&log, &path).await.err().unwrap();
    assert!(said.starts_with("there is no master key at "), "{said}");
    assert!(said.contains("--master-key"), "{said}");
    assert!(!path.exists(), "a fresh key would hide that the old one is gone");
}

#[tokio::test]
async fn a_master_key_that_others_may_read_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("master.key");
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    drop(open(&log, &path).await.unwrap());
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let said = open(&log, &path).await.err().unwrap();
    assert!(said.contains("may be read by others than its owner (mode 0644)"), "{said}");
    assert!(said.contains(&format!("chmod 600 {}", path.display())), "{said}");
}

#[tokio::test]
async fn another_master_key_is_refused_with_the_id_of_the_right_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("master.key");
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let vault = open(&log, &path).await.unwrap();
    seal(&vault, 1);
    let wanted = KeyRing::load(&path).unwrap().unwrap().ids()[0];
    let other = KeyRing::from(MasterKey::fresh(&SimulatedClock::new(9)));
    other.save(&path).unwrap();
    let said = open(&log, &path).await.err().unwrap();
    assert!(said.contains(&wanted.to_string()), "{said}");
    assert!(said.contains(&other.ids()[0].to_string()), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotation_seals_every_key_anew_while_others_seal_and_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("master.key");
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let vault = Arc::new(open(&log, &path).await.unwrap());
    let before: Vec<_> = (0..KEYS).map(|number| seal(&vault, number)).collect();
    let old = KeyRing::load(&path).unwrap().unwrap().ids();
    let writer = tokio::task::spawn_blocking({
        let (vault, before) = (vault.clone(), before.clone());
        move || {
            all_open(&vault, &before);
            (KEYS..2 * KEYS).map(|number| seal(&vault, number)).collect::<Vec<_>>()
        }
    });
    vault.rotate(&path).await.unwrap();
    let meanwhile = writer.await.unwrap();
    let new = KeyRing::load(&path).unwrap().unwrap().ids();
    assert!(new.len() == 1 && new != old, "{new:?}");
    for (scope, sealed) in log.keys("", usize::MAX >> 1).unwrap() {
        assert_eq!(sealed_under(&sealed), Some(new[0]), "{scope}");
    }
    // A process that knows the new key alone.
    let again = open(&log, &path).await.unwrap();
    all_open(&again, &[before, meanwhile].concat());
}

#[tokio::test]
async fn a_rotation_killed_at_any_moment_leaves_everything_open_and_is_finished() {
    for steps in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        let inner = Arc::new(MemoryLog::new());
        let log: Arc<dyn EventLog> = inner.clone();
        let vault = open(&log, &path).await.unwrap();
        let sealed: Vec<_> = (0..KEYS).map(|number| seal(&vault, number)).collect();
        let old = KeyRing::load(&path).unwrap().unwrap();
        drop(vault);
        // A crash of an earlier one, in the middle of writing the file.
        fs::write(folder.path().join("master.key.new"), "half a k").unwrap();

        let cut: Arc<dyn EventLog> = Arc::new(CutLog::new(inner.clone(), steps));
        let killed = open(&cut, &path).await.unwrap();
        let rotated = killed.rotate(&path).await;
        drop(killed);

        let ring = KeyRing::load(&path).unwrap().unwrap();
        let woken = open(&log, &path).await.unwrap();
        all_open(&woken, &sealed);
        let now = KeyRing::load(&path).unwrap().unwrap();
        assert_eq!(now.ids().len(), 1, "the rotation is finished");
        assert_ne!(now.ids(), old.ids());
        if rotated.is_ok() {
            assert!(steps > 4, "{steps}");
            // Killed after the last batch and before the file was written once more.
            let both = [fs::read_to_string(&path).unwrap(), {
                old.save(&path).unwrap();
                fs::read_to_string(&path).unwrap()
            }];
            fs::write(&path, both.concat()).unwrap();
            all_open(&open(&log, &path).await.unwrap(), &sealed);
            assert_eq!(KeyRing::load(&path).unwrap().unwrap().ids(), now.ids());
            return;
        }
        assert_eq!(ring.ids().len(), 2, "both were in the file when it was killed");
    }
}
