//! A log that takes so many appends and then no more: a process that dies at that moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt};
use hearth::events::log::{
    Appended, BlobId, EventLog, Filter, Head, LogError, Reseal, StreamSlice,
};
use hearth::events::{NewEvent, Position, RecordedEvent, StreamId, StreamRevision};
use tokio::sync::{Mutex, MutexGuard, watch};

use super::chance::Chance;
use super::wait::{Tells, until};
use super::world::World;

/// There is trouble of each of three kinds once in so many times that a place is kept.
const TROUBLES: u64 = 8;
/// For how long the log is silent.
const SILENCE: Duration = Duration::from_millis(300);

pub(crate) struct CutLog {
    inner: Arc<dyn EventLog>,
    /// Appends that still pass.
    left: AtomicI64,
    /// Changes when it breaks off.
    broken: watch::Sender<bool>,
    /// Taken while what stacks append has to wait.
    held: Mutex<()>,
    /// Taken while those who follow it are told nothing.
    silent: Arc<Mutex<()>>,
    /// Whether it is written as before trusts were told apart by their roles.
    forgets_roles: bool,
    /// What says when the places of outlets are not kept as they should be.
    trouble: std::sync::Mutex<Option<Chance>>,
    /// The streams that were read.
    read: std::sync::Mutex<Vec<StreamId>>,
    /// The kind of stream that cannot be read at present.
    unreadable: std::sync::Mutex<Option<&'static str>>,
    /// How often a key cannot be had still.
    keyless: AtomicI64,
    generation: watch::Sender<u64>,
}

impl CutLog {
    pub(crate) fn new(inner: Arc<dyn EventLog>, appends: i64) -> Self {
        let left = AtomicI64::new(appends);
        let generation = watch::Sender::new(*inner.generation().borrow());
        Self {
            inner,
            left,
            broken: watch::Sender::new(false),
            held: Mutex::default(),
            silent: Arc::default(),
            forgets_roles: false,
            trouble: Default::default(),
            read: Default::default(),
            unreadable: Default::default(),
            keyless: Default::default(),
            generation,
        }
    }

    /// A log that does not keep places of outlets now and then, or says so though it does, or is
    /// silent for a while; it may break off after some appends.
    pub(crate) fn troubled(inner: Arc<dyn EventLog>, mut chance: Chance) -> Self {
        let appends = if chance.one_in(2) { 1 + chance.below(40) as i64 } else { i64::MAX };
        Self { trouble: Some(chance).into(), ..Self::new(inner, appends) }
    }

    /// A log as it was written before trusts were told apart by their roles; it never breaks off.
    pub(crate) fn before_roles(inner: Arc<dyn EventLog>) -> Self {
        Self { forgets_roles: true, ..Self::new(inner, i64::MAX) }
    }

    /// How often a stream of a kind was read, or was to be.
    pub(crate) fn read_of(&self, kind: &str) -> usize {
        self.read.lock().unwrap().iter().filter(|stream| stream.kind() == kind).count()
    }

    /// From here on no stream of this kind can be read.
    pub(crate) fn hide(&self, kind: Option<&'static str>) {
        *self.unreadable.lock().unwrap() = kind;
    }

    /// From here on no key can be had so many times.
    pub(crate) fn hide_keys(&self, times: i64) {
        self.keyless.store(times, Ordering::SeqCst);
    }

    /// How often that is so still.
    pub(crate) fn keyless(&self) -> i64 {
        self.keyless.load(Ordering::SeqCst).max(0)
    }

    fn expect_keys(&self) -> Result<(), LogError> {
        match self.keyless.fetch_sub(1, Ordering::SeqCst) {
            ..=0 => Ok(()),
            1.. => Err(LogError::Unavailable("in trouble".to_owned())),
        }
    }

    /// Whether the log has broken off.
    pub(crate) fn is_cut(&self) -> bool {
        self.left.load(Ordering::SeqCst) < 0
    }

    /// Lets stacks append nothing until the guard is dropped.
    pub(crate) async fn hold(&self) -> MutexGuard<'_, ()> {
        self.held.lock().await
    }

    /// Tells those who follow it nothing until the guard is dropped.
    pub(crate) async fn fall_silent(&self) -> MutexGuard<'_, ()> {
        self.silent.lock().await
    }

    fn takes_one_more(&self) -> Result<(), LogError> {
        if self.left.fetch_sub(1, Ordering::SeqCst) <= 0 {
            self.cut();
            return Err(LogError::Unavailable("cut".to_owned()));
        }
        Ok(())
    }

    fn trouble(&self, stream: &StreamId) -> Option<u64> {
        let mut trouble = self.trouble.lock().unwrap();
        let chance = trouble.as_mut().filter(|_| stream.kind() == "outlet")?;
        Some(chance.below(TROUBLES))
    }

    /// Says that it has lost events.
    pub(crate) fn fall_back(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Breaks off now.
    pub(crate) fn cut(&self) {
        self.left.store(-1, Ordering::SeqCst);
        self.broken.send_replace(true);
    }

    /// Waits until something holds of an engine on it; `None` where the log breaks off before.
    pub(crate) async fn until(
        &self,
        world: &World,
        what: &str,
        mut holds: impl AsyncFnMut() -> bool,
    ) -> Option<()> {
        until(&[self, world], what, async || match holds().await {
            true => Some(Some(())),
            false => self.is_cut().then_some(None),
        })
        .await
    }
}

/// Of its end.
impl Tells for CutLog {
    fn change(&self) -> BoxFuture<'_, ()> {
        self.broken.change()
    }
}

#[async_trait]
impl EventLog for CutLog {
    async fn append(
        &self,
        stream: &StreamId,
        expected: Head,
        mut events: Vec<NewEvent>,
    ) -> Result<Appended, LogError> {
        if self.forgets_roles && !stream.as_str().starts_with("project-") {
            events.iter_mut().for_each(forget_roles);
        }
        if stream.as_str().starts_with("stack-") {
            drop(self.held.lock().await);
        }
        self.takes_one_more()?;
        let trouble = self.trouble(stream);
        let refused = || Err(LogError::Unavailable("in trouble".to_owned()));
        match trouble {
            Some(0) => return refused(),
            Some(1) => tokio::time::sleep(SILENCE).await,
            _ => {}
        }
        let appended = self.inner.append(stream, expected, events).await;
        if trouble == Some(2) { refused() } else { appended }
    }

    async fn read(&self, stream: &StreamId, from: StreamRevision) -> Result<StreamSlice, LogError> {
        self.read.lock().unwrap().push(stream.clone());
        if *self.unreadable.lock().unwrap() == Some(stream.kind()) {
            return Err(LogError::Unavailable("in trouble".to_owned()));
        }
        self.inner.read(stream, from).await
    }

    async fn read_all(
        &self,
        after: Position,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        self.inner.read_all(after, filter, limit).await
    }

    fn subscribe(
        &self,
        after: Position,
        filter: Filter,
    ) -> BoxStream<'static, Result<Arc<RecordedEvent>, LogError>> {
        let silent = Arc::clone(&self.silent);
        let told = self.inner.subscribe(after, filter).then(move |event| {
            let silent = Arc::clone(&silent);
            async move {
                drop(silent.lock().await);
                event
            }
        });
        told.boxed()
    }

    async fn durable(&self, position: Position) -> Result<(), LogError> {
        if self.is_cut() {
            return Err(LogError::Unavailable("cut".to_owned()));
        }
        self.inner.durable(position).await
    }

    fn durable_position(&self) -> Position {
        self.inner.durable_position()
    }

    fn spacing(&self) -> u64 {
        self.inner.spacing()
    }

    fn is_read_only(&self) -> bool {
        self.inner.is_read_only()
    }

    fn waits(&self) -> bool {
        self.inner.waits()
    }

    fn is_writable(&self) -> bool {
        !self.is_cut() && self.inner.is_writable()
    }

    fn generation(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    async fn tombstone(&self, stream: &StreamId) -> Result<(), LogError> {
        self.inner.tombstone(stream).await
    }

    async fn put_blob(&self, content: &[u8]) -> Result<BlobId, LogError> {
        self.inner.put_blob(content).await
    }

    async fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError> {
        self.inner.blob(id).await
    }

    fn key(&self, scope: &str, fresh: &dyn Fn() -> Vec<u8>) -> Result<Vec<u8>, LogError> {
        self.expect_keys()?;
        self.inner.key(scope, fresh)
    }

    fn find_key(&self, scope: &str) -> Result<Option<Vec<u8>>, LogError> {
        self.expect_keys()?;
        self.inner.find_key(scope)
    }

    fn keys(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, LogError> {
        self.inner.keys(after, limit)
    }

    async fn reseal_keys(&self, batch: Vec<Reseal>) -> Result<(), LogError> {
        self.takes_one_more()?;
        self.inner.reseal_keys(batch).await
    }

    fn streams(&self, kind: &str, after: &str, limit: usize) -> Result<Vec<StreamId>, LogError> {
        self.inner.streams(kind, after, limit)
    }

    async fn purge(&self, streams: Vec<StreamId>) -> Result<(), LogError> {
        self.takes_one_more()?;
        self.inner.purge(streams).await
    }

    fn blobs(&self, after: &str, limit: usize) -> Result<Vec<BlobId>, LogError> {
        self.inner.blobs(after, limit)
    }

    async fn drop_blobs(&self, ids: Vec<BlobId>) -> Result<usize, LogError> {
        self.takes_one_more()?;
        self.inner.drop_blobs(ids).await
    }

    async fn compact(&self, may_rewrite: bool) -> Result<(), LogError> {
        self.takes_one_more()?;
        self.inner.compact(may_rewrite).await
    }

    async fn destroy_key(&self, scope: &str) -> Result<(), LogError> {
        self.takes_one_more()?;
        self.inner.destroy_key(scope).await
    }
}

fn forget_roles(event: &mut NewEvent) {
    let mut body: serde_json::Value = serde_json::from_str(&event.body).unwrap();
    if let Some(body) = body.as_object_mut() {
        body.shift_remove("roles");
        body.shift_remove("trustor");
    }
    event.body = body.to_string();
}
