//! A signed log with something of everything in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use hearth::clock::{Clock, SimulatedClock};
use hearth::events::log::{Audit, BlobId, EventLog, Head, Held, Signing, SqliteLog, audit};
use hearth::events::master_key::{KeyRing, MasterKey};
use hearth::events::signing::SigningKey;
use hearth::events::vault::Vault;
use hearth::events::{Meta, NewEvent, StreamId};
use hearth::model::StackId;
use hearth::model::taint::taint;
use rusqlite::Connection;
use serde_json::{Value, json};

/// A data directory.
pub(super) struct Disk {
    pub(super) folder: tempfile::TempDir,
    pub(super) clock: Arc<SimulatedClock>,
    pub(super) stacks: Vec<StackId>,
    pub(super) blobs: Vec<BlobId>,
}

impl Disk {
    pub(super) fn fresh() -> Self {
        // Each has keys and ids of its own.
        static SEED: AtomicU64 = AtomicU64::new(11);
        Self {
            folder: tempfile::tempdir().unwrap(),
            clock: Arc::new(SimulatedClock::new(SEED.fetch_add(1, Ordering::SeqCst))),
            stacks: Vec::new(),
            blobs: Vec::new(),
        }
    }

    /// Three stacks with keys and definitions, and one more key that was destroyed.
    pub(super) async fn with_stacks() -> Self {
        let mut disk = Self::fresh();
        let log = disk.open();
        for number in 0..3 {
            disk.stack(&log, &format!("template {number}")).await;
        }
        let vault = disk.vault(&log);
        vault.seal("stack-gone", "a place", taint(json!("x"))).unwrap();
        vault.destroy("stack-gone").await.unwrap();
        drop((vault, log));
        disk
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn key(&self) -> SigningKey {
        SigningKey::load_or_create(&self.path("signing.key"), &*self.clock).unwrap()
    }

    pub(super) fn open(&self) -> Arc<SqliteLog> {
        let signing = || Ok(Signing { key: self.key(), beside: self.path("checkpoint") });
        Arc::new(SqliteLog::open_signed(&self.path("log.db"), signing).unwrap())
    }

    /// The directory as a process leaves it that is killed now.
    pub(super) fn killed(&self) -> Self {
        let left = Self { stacks: self.stacks.clone(), blobs: self.blobs.clone(), ..Self::fresh() };
        for file in fs::read_dir(self.folder.path()).unwrap() {
            let file = file.unwrap();
            // The kernel lets go of the lock, and nobody has the index of the write-ahead log.
            if !file.path().extension().is_some_and(|it| it == "lock" || it == "db-shm") {
                fs::copy(file.path(), left.folder.path().join(file.file_name())).unwrap();
            }
        }
        left
    }

    /// What is there when these files alone were copied.
    pub(super) fn copy_of(&self, names: &[&str]) -> Self {
        let copy = Self::fresh();
        for name in names {
            fs::copy(self.path(name), copy.path(name)).unwrap();
        }
        copy
    }

    pub(super) fn vault<L: EventLog>(&self, log: &Arc<L>) -> Vault {
        let path = self.path("master.key");
        let ring = KeyRing::load(&path).unwrap().unwrap_or_else(|| {
            let ring = KeyRing::from(MasterKey::fresh(&*self.clock));
            ring.save(&path).unwrap();
            ring
        });
        Vault::new(log.clone(), ring, self.clock.clone())
    }

    /// A stack that is created, with one resource.
    pub(super) async fn stack<L: EventLog>(&mut self, log: &Arc<L>, template: &str) -> StackId {
        let id = StackId(self.clock.fresh_id());
        let stream = StreamId::stack(id);
        let secret =
            self.vault(log).seal(stream.as_str(), "a place", taint(json!("hunter2"))).unwrap();
        let source = log.put_blob(template.as_bytes()).await.unwrap();
        let resource = self.clock.fresh_id();
        let node = json!({"name": "net", "id": resource, "type": "OS::Neutron::Net"});
        let (create, own) = (
            self.clock.fresh_id(),
            json!({
                "stack_id": id, "name": format!("web-{}", self.stacks.len()), "project_id": "p1",
                "owner_user_id": "u1", "owner_user_name": "alice",
            }),
        );
        let revision = json!({
            "revision": 1, "action": "CREATE", "origin": 1, "source": source,
            "parameters": {"password": secret}, "shown_parameters": {}, "description": "",
            "outputs": [], "tags": [], "timeout_mins": null, "disable_rollback": true,
        });
        let started = json!({
            "traversal": create, "action": "CREATE", "revision": 1, "nodes": [node], "deadline": null,
        });
        let settled = json!({
            "traversal": create, "action": "CREATE", "status": "COMPLETE", "reason": "done",
        });
        self.append(&**log, &stream, 0, "StackCreated", own).await;
        self.append(&**log, &stream, 1, "RevisionAccepted", revision).await;
        self.append(&**log, &stream, 2, "TraversalStarted", started).await;
        let of_net = StreamId(format!("resource-{resource}").into());
        for revision in 0..4 {
            let body = json!({"step": {"name": "create"}, "token": format!("t-{revision}")});
            self.append(&**log, &of_net, revision, "CallIntended", body).await;
        }
        self.append(&**log, &stream, 3, "TraversalSettled", settled).await;
        self.stacks.push(id);
        self.blobs.push(source);
        id
    }

    /// Its deletion.
    pub(super) async fn delete(&self, log: &dyn EventLog, id: StackId) {
        self.delete_after(log, id, 4).await;
    }

    /// Its deletion, where its stream has so many events.
    pub(super) async fn delete_after(&self, log: &dyn EventLog, id: StackId, next: u64) {
        let (stream, traversal) = (StreamId::stack(id), self.clock.fresh_id());
        let started = json!({
            "traversal": traversal, "action": "DELETE", "revision": 1, "nodes": [], "deadline": null,
        });
        let settled = json!({
            "traversal": traversal, "action": "DELETE", "status": "COMPLETE", "reason": "done",
        });
        self.append(log, &stream, next, "TraversalStarted", started).await;
        self.append(log, &stream, next + 1, "TraversalSettled", settled).await;
    }

    pub(super) async fn append(
        &self,
        log: &dyn EventLog,
        stream: &StreamId,
        next: u64,
        event_type: &'static str,
        body: Value,
    ) {
        self.clock.advance(TimeDelta::seconds(1));
        let event = NewEvent {
            event_type,
            version: 1,
            at: self.clock.now(),
            meta: Arc::new(Meta::default()),
            body: body.to_string(),
        };
        let head = Head { next, ..Head::default() };
        let appended = log.append(stream, head, vec![event]).await.unwrap();
        log.durable(appended.position).await.unwrap();
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Changes the file as somebody without the keys can.
    pub(super) fn tamper(&self, sql: &str) {
        let file = Connection::open(self.path("log.db")).unwrap();
        file.execute_batch(sql).unwrap();
    }

    pub(super) fn audit(&self) -> Audit {
        self.audit_against(&[])
    }

    /// As `hearth verify` does it: with the key that signs and the checkpoint beside the log.
    pub(super) fn audit_against(&self, taken_away: &[String]) -> Audit {
        let mut held: Vec<Held> = taken_away
            .iter()
            .map(|text| Held {
                name: "the one taken away".to_owned(),
                text: text.clone(),
                was_away: true,
            })
            .collect();
        if let Ok(text) = fs::read_to_string(self.path("checkpoint")) {
            held.push(Held { name: "the one beside".to_owned(), text, was_away: false });
        }
        audit(&self.path("log.db"), Some(self.key().public()), &held).unwrap()
    }

    /// What verify says, in one text; it has to say something.
    pub(super) fn named(&self) -> String {
        let problems = self.audit().problems;
        assert!(!problems.is_empty(), "nothing was found");
        problems.join("\n")
    }
}

/// A copy of a file and of what SQLite keeps beside it.
pub(super) fn copy(from: &Path, to: &Path) {
    for suffix in ["", "-wal"] {
        let with = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        if with(from).exists() {
            fs::copy(with(from), with(to)).unwrap();
        }
    }
}
