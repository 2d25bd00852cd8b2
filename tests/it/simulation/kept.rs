//! The log of lives where the environment says that logs are kept (`support::kept`): what is durable
//! is written there, too, and what a process that takes over goes on with has to be what it reads
//! there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hearth::events::log::{Head, LogError};
use hearth::events::{Meta, NewEvent, Position, RecordedEvent, StreamId, StreamRevision};
use tokio::runtime::{Builder, Runtime};

use super::log::Recorded;
use crate::support::kept;

/// In how many lives something befalls the servers at each commit: it takes its time.
const DISTURBED_EVERY: u64 = 20;

static SERVER: Mutex<Option<Arc<Server>>> = Mutex::new(None);
static LIVES: AtomicU64 = AtomicU64::new(0);

/// One log, which all lives share: each has streams of its own.
struct Server {
    kept: kept::Kept,
    runtime: Runtime,
}

/// What of a life is there.
pub(super) struct Kept {
    server: Arc<Server>,
    life: u64,
    heads: BTreeMap<String, Head>,
    /// How many of the life's events.
    count: usize,
}

impl Kept {
    /// Where the environment says; `None` where it says nothing.
    pub(super) fn where_named() -> Option<Self> {
        let mut shared = SERVER.lock().unwrap();
        if shared.is_none() {
            *shared = Some(Arc::new(Server::open()?));
        }
        let server = shared.clone()?;
        let life = LIVES.fetch_add(1, Ordering::SeqCst);
        Some(Self { server, life, heads: BTreeMap::new(), count: 0 })
    }

    /// Lets go of the database, once no life is played any more.
    pub(super) fn over() {
        *SERVER.lock().unwrap() = None;
    }

    /// Writes what is durable and not there yet.
    pub(super) fn write(&mut self, durable: &[Recorded]) {
        if self.count < durable.len() && self.life.is_multiple_of(DISTURBED_EVERY) {
            self.server.kept.disturb(self.life / DISTURBED_EVERY + self.count as u64);
        }
        let mut last = None;
        for group in durable[self.count..].chunk_by(|one, next| one.stream == next.stream) {
            let stream = &group[0].stream;
            let head = self.heads.entry(stream.clone()).or_default();
            let stream = StreamId(format!("{stream}-life-{}", self.life).into());
            let new = group.iter().map(|event| NewEvent {
                event_type: event.event_type,
                version: event.version,
                at: event.at,
                meta: Arc::new(Meta::default()),
                body: event.body.clone(),
            });
            let append = self.server.kept.log.append(&stream, *head, new.collect());
            let appended = self.server.wait(append).unwrap();
            (*head, last) = (appended.head, Some(appended.position));
        }
        self.count = durable.len();
        if let Some(last) = last {
            self.server.wait(self.server.kept.log.durable(last)).unwrap();
        }
    }

    /// Whoever writes to a stream at a head that is behind what is there is refused.
    pub(super) fn expect_refused(&self, stream: &str, next: usize) {
        let Some(head) = self.heads.get(stream).filter(|head| head.next > next as u64) else {
            return;
        };
        let behind = Head { next: next as u64, ..*head };
        let id = StreamId(format!("{stream}-life-{}", self.life).into());
        let event = NewEvent {
            event_type: "Behind",
            version: 1,
            at: Default::default(),
            meta: Arc::default(),
            body: "{}".to_owned(),
        };
        let refused = self.server.wait(self.server.kept.log.append(&id, behind, vec![event]));
        assert!(matches!(refused, Err(LogError::Conflict { .. })), "{refused:?}");
    }

    /// Reads all of it as another process does; it is what the life had made durable.
    pub(super) fn read_back(&self, durable: &[Recorded]) {
        let log = self.server.kept.read_by_another();
        let mut read: Vec<(Position, String, Arc<RecordedEvent>)> = Vec::new();
        for stream in self.heads.keys() {
            let id = StreamId(format!("{stream}-life-{}", self.life).into());
            let slice = self.server.wait(log.read(&id, StreamRevision(0))).unwrap();
            let events = slice.events.into_iter();
            read.extend(events.map(|event| (event.position, stream.clone(), event)));
        }
        read.sort_by_key(|(position, ..)| *position);
        assert_eq!(read.len(), durable.len(), "events are lost or there twice");
        for ((_, stream, read), written) in read.iter().zip(durable) {
            assert_eq!(
                (stream, &*read.event_type, read.version, &*read.body),
                (&written.stream, written.event_type, written.version, written.body.as_str())
            );
            assert_eq!(read.at.timestamp_micros(), written.at.timestamp_micros());
        }
    }
}

impl Server {
    fn open() -> Option<Self> {
        let kept = kept::Kept::elsewhere()?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Some(Self { kept, runtime })
    }

    /// On a thread of its own, for a life may be within a runtime.
    fn wait<T: Send>(&self, done: impl Future<Output = T> + Send) -> T {
        std::thread::scope(|scope| scope.spawn(|| self.runtime.block_on(done)).join().unwrap())
    }
}
