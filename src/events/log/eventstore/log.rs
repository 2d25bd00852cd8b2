//! The trait, over what the other files do.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::watch;

use super::super::heads::Tip;
use super::super::ledger::StoredKey;
use super::super::{
    Appended, BlobId, EventLog, Filter, Head, LogError, OwnedLog, Reseal, StreamSlice, chain,
};
use super::appends::{self, APPEND_SIZE_MAX, Settled};
use super::claim::Claim;
use super::node::Deletion;
use super::reads::{self, All, Found, Stream, Wanted};
use super::record::{self, CLOSED};
use super::{EventstoreLog, Inner, blobs, follow, keys, lock};
use crate::events::{NewEvent, Position, RecordedEvent, StreamId, StreamRevision};
use crate::metrics::{Measured, Page};

/// How long bodies that are on their way hold up the end.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(10);
/// What an event of ours takes of a node's file, about: positions are places there.
const EVENT_BYTES: u64 = 1_024;
/// How many keys are read at once.
const KEYS_AT_ONCE: usize = 32;
/// What lies beside a body, about; what is smaller is not put aside.
const BESIDE_SIZE: usize = 1_024;

#[async_trait]
impl EventLog for EventstoreLog {
    async fn append(
        &self,
        stream: &StreamId,
        expected: Head,
        events: Vec<NewEvent>,
    ) -> Result<Appended, LogError> {
        self.expect_open()?;
        let (log, stream) = (self.inner.clone(), stream.clone());
        self.work(async move { log.append(&stream, expected, events).await }).await
    }

    async fn read(&self, stream: &StreamId, from: StreamRevision) -> Result<StreamSlice, LogError> {
        let (log, stream) = (self.inner.clone(), stream.clone());
        self.work(async move { log.read(&stream, from.0).await }).await
    }

    async fn read_all(
        &self,
        after: Position,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        let (log, filter) = (self.inner.clone(), filter.clone());
        self.work(async move { log.read_all(after.0, &filter, limit).await }).await
    }

    fn subscribe(
        &self,
        after: Position,
        filter: Filter,
    ) -> BoxStream<'static, Result<Arc<RecordedEvent>, LogError>> {
        follow::follow(&self.inner, after, filter)
    }

    async fn durable(&self, position: Position) -> Result<(), LogError> {
        let mut durable = self.inner.durable.subscribe();
        let reached = durable.wait_for(|durable| *durable >= position.0).await;
        reached.map(|_| ()).map_err(|_| super::closed())
    }

    fn durable_position(&self) -> Position {
        Position(*self.inner.durable.borrow())
    }

    fn is_writable(&self) -> bool {
        self.expect_open().is_ok() && self.inner.nodes.led_lately() && !self.is_taken_over()
    }

    fn is_taken_over(&self) -> bool {
        self.inner.claim.get().is_some_and(Claim::is_lost)
    }

    fn spacing(&self) -> u64 {
        EVENT_BYTES
    }

    fn waits(&self) -> bool {
        true
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    fn generation(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    async fn tombstone(&self, stream: &StreamId) -> Result<(), LogError> {
        let (log, stream) = (self.inner.clone(), stream.clone());
        self.change(async move { log.close(&stream).await }).await
    }

    async fn put_blob(&self, content: &[u8]) -> Result<BlobId, LogError> {
        let id = BlobId::of(content);
        if self.expect_open().is_ok() {
            self.inner.blobs.put(&self.inner.runtime, &self.inner.nodes, &id, content).await?;
        }
        Ok(id)
    }

    async fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError> {
        if let Some(content) = self.inner.blobs.pending(id) {
            return Ok(Some(content));
        }
        let (log, wanted) = (self.inner.clone(), id.clone());
        let content = self.work(async move { blobs::read(&log.nodes, &wanted).await }).await?;
        match &content {
            Some(content) if BlobId::of(content) != *id => {
                Err(LogError::Damaged(format!("blob {id:?} is not what was kept under its id")))
            }
            _ => Ok(content),
        }
    }

    fn key(&self, scope: &str, fresh: &dyn Fn() -> Vec<u8>) -> Result<Vec<u8>, LogError> {
        let _one_at_a_time = lock(&self.keys);
        if let Some(key) = self.find_key(scope)? {
            return Ok(key);
        }
        self.expect_open()?;
        let (log, name, key) = (self.inner.clone(), scope.to_owned(), fresh());
        let making = async move { keys::make(&log.nodes, &name, key).await };
        let made = self.wait(self.inner.clone().held_during(making))?;
        key_of(scope, made)?.ok_or_else(|| LogError::KeyDestroyed(scope.to_owned()))
    }

    fn find_key(&self, scope: &str) -> Result<Option<Vec<u8>>, LogError> {
        let (log, name) = (self.inner.clone(), scope.to_owned());
        key_of(scope, self.wait(async move { keys::find(&log.nodes, &name).await })?)
    }

    fn keys(&self, after: &str, limit: usize) -> Result<Vec<(String, Vec<u8>)>, LogError> {
        let (log, mut after) = (self.inner.clone(), after.to_owned());
        self.wait(async move {
            let mut found = Vec::new();
            loop {
                let (scopes, seen) = log.key_scopes.after(&log.nodes, "", &after, limit).await?;
                let Some(last) = scopes.last().cloned() else { return Ok(found) };
                // Most may be destroyed, and each is asked for by itself.
                let read = scopes.into_iter().map(|scope| async {
                    keys::find(&log.nodes, &scope).await.map(|key| (scope, key))
                });
                let mut read = stream::iter(read).buffered(KEYS_AT_ONCE);
                let mut destroyed = Vec::new();
                while found.len() < limit
                    && let Some(read) = read.next().await
                {
                    match read? {
                        (scope, StoredKey::Sealed(key)) => found.push((scope, key)),
                        (scope, StoredKey::Destroyed) => destroyed.push(scope),
                        (_, StoredKey::Absent) => {}
                    }
                }
                log.key_scopes.forget(destroyed, seen).await;
                if found.len() >= limit {
                    return Ok(found);
                }
                after = last;
            }
        })
    }

    async fn reseal_keys(&self, batch: Vec<Reseal>) -> Result<(), LogError> {
        let log = self.inner.clone();
        self.change(async move {
            for reseal in &batch {
                keys::reseal(&log.nodes, reseal).await?;
            }
            Ok(())
        })
        .await
    }

    async fn destroy_key(&self, scope: &str) -> Result<(), LogError> {
        let (log, scope) = (self.inner.clone(), scope.to_owned());
        self.change(async move {
            let stream = keys::stream(&log.nodes, &scope);
            super::delete(&log.nodes, &stream, Deletion::ForEver).await
        })
        .await
    }

    fn streams(&self, kind: &str, after: &str, limit: usize) -> Result<Vec<StreamId>, LogError> {
        let (log, begin, mut after) = (self.inner.clone(), format!("{kind}-"), after.to_owned());
        self.wait(async move {
            log.learn_purges().await?;
            let mut found = Vec::new();
            loop {
                let (names, seen) = log.streams.after(&log.nodes, &begin, &after, limit).await?;
                let Some(last) = names.last().cloned() else { return Ok(found) };
                let mut purged = Vec::new();
                for name in names {
                    let stream = StreamId(name.as_str().into());
                    // What was closed before it was written has no events.
                    if log.is_purged(&stream) {
                        purged.push(name);
                    } else if found.len() < limit {
                        found.push(stream);
                    }
                }
                log.streams.forget(purged, seen).await;
                if found.len() >= limit {
                    return Ok(found);
                }
                after = last;
            }
        })
    }

    async fn purge(&self, streams: Vec<StreamId>) -> Result<(), LogError> {
        let log = self.inner.clone();
        self.change(async move {
            log.purges.purge(&log.nodes, &streams).await?;
            for stream in streams {
                log.know(&stream, Tip { tombstoned: true, ..Tip::default() });
            }
            Ok(())
        })
        .await
    }

    fn blobs(&self, after: &str, limit: usize) -> Result<Vec<BlobId>, LogError> {
        let (log, mut after) = (self.inner.clone(), after.to_owned());
        self.wait(async move {
            let mut found = Vec::new();
            loop {
                let (names, seen) = log.bodies.after(&log.nodes, "", &after, limit).await?;
                let Some(last) = names.last().cloned() else { return Ok(found) };
                let mut dropped = Vec::new();
                for id in names.into_iter().map(BlobId) {
                    if found.len() >= limit {
                        break;
                    }
                    let stream = blobs::stream(&log.nodes, &id);
                    match reads::last(&log.nodes, &stream, 1).await? {
                        Stream::Events(_) => found.push(id),
                        Stream::None | Stream::Gone => dropped.push(id.0),
                    }
                }
                log.bodies.forget(dropped, seen).await;
                if found.len() >= limit {
                    return Ok(found);
                }
                after = last;
            }
        })
    }

    async fn drop_blobs(&self, ids: Vec<BlobId>) -> Result<usize, LogError> {
        let log = self.inner.clone();
        self.change(async move { log.blobs.forget(&log.nodes, ids).await }).await
    }

    /// The server gives space back in scavenges, which its operator runs.
    async fn compact(&self, _may_rewrite: bool) -> Result<(), LogError> {
        Ok(())
    }
}

#[async_trait]
impl OwnedLog for EventstoreLog {
    /// None: the server signs nothing, and the whole has no checkpoint.
    fn checkpoint(&self) -> Result<Option<String>, LogError> {
        Ok(None)
    }

    async fn settle(&self) -> Result<(), LogError> {
        self.inner.blobs_settled().await
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        let log = self.inner.clone();
        let settled = self.wait(async move {
            let end = async {
                log.blobs_settled().await?;
                match log.claim.get() {
                    Some(claim) => claim.give_up(&log.nodes).await,
                    None => Ok(()),
                }
            };
            match tokio::time::timeout(CLOSE_TIME_MAX, end).await {
                Ok(ended) => ended,
                Err(_) => Err(LogError::Unavailable("bodies are still on their way".to_owned())),
            }
        });
        if let Err(error) = settled {
            tracing::error!(%error, "not all bodies were kept");
        }
        self.end();
    }
}

impl Measured for EventstoreLog {
    fn measure(&self, page: &mut Page) {
        let reachable = u64::from(self.inner.nodes.reachable());
        page.gauge("hearth_log_reachable", "Whether the log's server answers.", reachable);
        let position = self.durable_position().0;
        page.gauge("hearth_log_position", "The newest durable position.", position);
        let is_writable = u8::from(self.is_writable());
        page.gauge("hearth_log_writable", "Whether the log can be written.", is_writable);
    }
}

fn key_of(scope: &str, stored: StoredKey) -> Result<Option<Vec<u8>>, LogError> {
    match stored {
        StoredKey::Sealed(key) => Ok(Some(key)),
        StoredKey::Absent => Ok(None),
        StoredKey::Destroyed => Err(LogError::KeyDestroyed(scope.to_owned())),
    }
}

impl Inner {
    async fn blobs_settled(self: &Arc<Self>) -> Result<(), LogError> {
        self.blobs.settled(&self.runtime, &self.nodes).await
    }

    async fn append(
        self: &Arc<Self>,
        stream: &StreamId,
        expected: Head,
        events: Vec<NewEvent>,
    ) -> Result<Appended, LogError> {
        if expected.generation != 0 {
            return Err(LogError::Lost { stream: stream.clone() });
        }
        self.held().await?;
        self.blobs_settled().await?;
        // A stream that is begun needs no look: the server refuses where there is one.
        let mut tip = match expected.next {
            0 => Tip::default(),
            _ => self.tip(stream).await?,
        };
        let aside = self.put_aside(stream, expected.next, &events).await?;
        loop {
            if events.is_empty() || (tip.next < expected.next && !tip.tombstoned) {
                tip = self.fresh_tip(stream).await?;
            }
            if tip.tombstoned {
                return Err(LogError::Tombstoned(stream.clone()));
            }
            if tip.next != expected.next {
                let (expected, actual) = (expected.next, tip.next);
                return Err(LogError::Conflict { stream: stream.clone(), expected, actual });
            }
            if events.is_empty() {
                return Ok(Appended { position: Position(*self.durable.borrow()), head: expected });
            }
            let added = self.places.added();
            let due = record::due(stream, &tip, &events, &aside, added)?;
            let next = tip.next + due.len() as u64;
            let hash = due.last().map_or(tip.hash, |last| last.hash);
            let due = due.into_iter().map(|due| due.proposed).collect();
            match appends::append(&self.nodes, &self.stream_name(stream), tip.next, due).await? {
                Settled::Written(at) => {
                    let position = at + added;
                    // It may have come late: who has taken over goes on with it.
                    self.held().await?;
                    self.know(stream, Tip { next, hash, tombstoned: false });
                    self.passed(position, at);
                    return Ok(Appended {
                        position: Position(position),
                        head: Head { next, ..Head::default() },
                    });
                }
                Settled::Refused | Settled::Deleted => tip = self.fresh_tip(stream).await?,
            }
        }
    }

    /// Puts bodies of events where the bodies are until the append is small enough; the largest first.
    async fn put_aside(
        &self,
        stream: &StreamId,
        next: u64,
        events: &[NewEvent],
    ) -> Result<Vec<Option<BlobId>>, LogError> {
        let mut aside = vec![None; events.len()];
        let sizes = events.iter().map(|event| event.body.len() + BESIDE_SIZE);
        let mut size: usize = sizes.sum();
        let mut by_size: Vec<usize> = (0..events.len()).collect();
        by_size.sort_by_key(|at| std::cmp::Reverse(events[*at].body.len()));
        for at in by_size {
            let body = &events[at].body;
            if size <= APPEND_SIZE_MAX || body.len() <= BESIDE_SIZE {
                break;
            }
            let revision = next + at as u64;
            aside[at] = Some(blobs::put_aside(&self.nodes, stream, revision, body).await?);
            size -= body.len();
        }
        Ok(aside)
    }

    async fn read(&self, stream: &StreamId, from: u64) -> Result<StreamSlice, LogError> {
        let name = self.stream_name(stream);
        let found = match reads::forwards(&self.nodes, &name, from, u64::MAX).await? {
            Stream::Events(found) => found,
            Stream::None | Stream::Gone => return Ok(StreamSlice::default()),
        };
        let mut events = Vec::with_capacity(found.len());
        for found in found.iter().filter(|found| found.event_type != CLOSED) {
            let read = record::read(stream.clone(), found)?;
            events.extend(self.whole(read).await?.map(Arc::new));
        }
        if from == 0 {
            chain::check_stream(&events)?;
        }
        let next = match events.last() {
            Some(last) => last.revision.0 + 1,
            None => self.fresh_tip(stream).await?.next,
        };
        Ok(StreamSlice { events, head: Head { next, ..Head::default() } })
    }

    pub(super) async fn read_all(
        &self,
        after: u64,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        self.learn_purges().await?;
        self.page(after, filter, limit).await
    }

    /// The same, without what was purged as far as it is known. Fewer than `limit` are all that
    /// there are.
    pub(super) async fn page(
        &self,
        mut after: u64,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        let (wanted, mut events) = (self.wanted(filter), Vec::new());
        loop {
            let missing = limit - events.len();
            let found = self.shown(after, &wanted, missing).await?;
            for one in &found {
                if events.len() >= limit {
                    break;
                }
                let Some(stream) = self.stream_of(one) else { continue };
                let read = record::read(stream, one)?;
                after = read.event.position.0;
                self.places.passed(after, one.position);
                events.extend(self.whole(read).await?.map(Arc::new));
            }
            // Otherwise some were purged meanwhile.
            if events.len() >= limit || found.len() < missing {
                return Ok(events);
            }
        }
    }

    /// The events after a position, up to the end of the append that has the last of `limit`, in
    /// one walk from the nearest place at which the server lets it begin.
    async fn shown(
        &self,
        after: u64,
        wanted: &Wanted,
        limit: usize,
    ) -> Result<Vec<Found>, LogError> {
        let enough = |found: &mut Vec<Found>| self.are_enough(found, after, limit);
        for from in self.places.starts(after) {
            let All::Events(mut found) = reads::all(&self.nodes, from, wanted, &enough).await?
            else {
                continue;
            };
            // Of the last append the end may not be shown yet.
            let whole = found.iter().rposition(record::ends_group).map_or(0, |last| last + 1);
            found.truncate(whole);
            return Ok(found);
        }
        Ok(Vec::new())
    }

    /// Whether a walk has found as many events after a position as are wanted. What nobody sees, and
    /// what stands before, is taken out; of that the places are remembered for the next walk.
    fn are_enough(&self, found: &mut Vec<Found>, after: u64, limit: usize) -> bool {
        let Some(last) = found.last() else { return false };
        let is_wanted = self.is_ours(last) && (found.len() > 1 || self.is_after(last, after));
        if !is_wanted {
            found.pop();
            return false;
        }
        found.len() >= limit && record::ends_group(last)
    }

    /// Whether an event stands after a position. One that cannot be read does, so that its reader is
    /// told.
    fn is_after(&self, found: &Found, after: u64) -> bool {
        let Some(position) = record::position(found) else { return true };
        self.places.passed(position, found.position);
        position > after
    }
}
