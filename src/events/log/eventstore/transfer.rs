//! The rows of a log on the server, on their way to another place and from it. What is appended here
//! cannot be taken back, so a copy that broke off is gone on with; until it is whole, nobody opens it.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use uuid::Uuid;

use super::super::ledger::StoredKey;
use super::super::rows::{Row, Sender, Step, Steps};
use super::super::{BLOB_PART_MAX_BYTES, BlobId, Filter, LogError, OwnedLog, Reseal, chain};
use super::appends::{self, APPEND_SIZE_MAX, Settled};
use super::names::Names;
use super::node::Deletion;
use super::places::COPIED_PER_MARK;
use super::reads::{self, Wanted};
use super::{Address, EventstoreLog, Inner, Purpose, blobs, keys, record};
use crate::clock::{Clock, SystemClock};
use crate::events::{RecordedEvent, StreamId};

/// As what a process holds a log that it copies to, with an id of its own: of two that copy to one
/// place, one is refused.
const HOLDER: &str = "hearth log copy";
/// How many events are read at a time.
const PAGE: usize = 1_000;
/// From which size on a body lies beside its event.
const ASIDE_FROM: usize = APPEND_SIZE_MAX / 4;
/// What lies beside a body and is not the event's meta, at most.
const BESIDE_SIZE: usize = 512;

/// Whether there is a log, or what a copy has left that broke off.
pub(in crate::events::log) fn has_log(address: &Address) -> Result<bool, String> {
    let log = open(address, Purpose { copies: true, ..Purpose::default() })?;
    let inner = log.inner.clone();
    let found = log.wait(async move {
        let prefix = &inner.nodes.address.prefix;
        let names = ["events.", "bodies.", "keys.", "purged", "copy"];
        let ours = names.map(|name| format!("{prefix}.{name}")).to_vec();
        reads::last_of_all(&inner.nodes, &Wanted::Streams(ours), 1).await
    });
    found.map(|found| !found.is_empty()).map_err(|error| error.to_string())
}

/// Sends all rows of a log, which others may be writing; `copies` says that it may be a copy that is
/// not whole.
pub(in crate::events::log) fn dump(
    address: &Address,
    copies: bool,
    to: &Sender,
) -> Result<(), String> {
    let log = open(address, Purpose { copies, ..Purpose::default() })?;
    let dumped = log.inner.runtime.block_on(log.inner.dump(to));
    dumped.map_err(|error| format!("{address}: {error}"))
}

/// Makes what is there the log, step by step.
pub(in crate::events::log) fn load(address: &Address, steps: &Steps) -> Result<(), String> {
    static PROCESS: LazyLock<Uuid> = LazyLock::new(|| SystemClock.fresh_id());
    let holder = Some(format!("{HOLDER} ({})", *PROCESS));
    let log = open(address, Purpose { writes: true, holder, copies: true })?;
    let loaded = log.inner.runtime.block_on(Loading::new(&log.inner).follow(steps));
    log.close();
    loaded.map_err(|error| format!("{address}: {error}"))
}

fn open(address: &Address, purpose: Purpose) -> Result<EventstoreLog, String> {
    match EventstoreLog::open_for(address.clone(), purpose).map_err(|error| error.to_string())? {
        (log, None) => Ok(log),
        (_, Some(holder)) => Err(format!("{address}: {holder} writes it")),
    }
}

fn refused(reason: &str) -> LogError {
    LogError::Unavailable(reason.to_owned())
}

impl Inner {
    async fn dump(&self, to: &Sender) -> Result<(), LogError> {
        let send = |row| to.send(Ok(row)).map_err(|_| refused("nobody takes it"));
        // What comes later is left out.
        let (mut at, end) = (0, *self.durable.borrow());
        while at < end {
            let page = self.page(at, &Filter::default(), PAGE).await?;
            let Some(last) = page.last() else { break };
            at = last.position.0;
            for event in page.into_iter().filter(|event| event.position.0 <= end) {
                send(Row::Event(Box::new(Arc::unwrap_or_clone(event))))?;
            }
        }
        for id in self.all(&self.bodies).await? {
            // One that was cut off, or dropped, is none.
            let Some(content) = blobs::read(&self.nodes, &BlobId(id.clone())).await? else {
                continue;
            };
            let parts = content.chunks(BLOB_PART_MAX_BYTES).map(<[u8]>::to_vec);
            let empty = content.is_empty().then(Vec::new);
            for (part, content) in (0..).zip(empty.into_iter().chain(parts)) {
                send(Row::BlobPart { id: id.clone(), part, content })?;
            }
        }
        for scope in self.all(&self.key_scopes).await? {
            match keys::find(&self.nodes, &scope).await? {
                StoredKey::Absent => {}
                StoredKey::Sealed(key) => send(Row::Key { scope, sealed: Some(key) })?,
                StoredKey::Destroyed => send(Row::Key { scope, sealed: None })?,
            }
        }
        self.learn_purges().await?;
        let closed = self.all(&self.closed_streams).await?;
        let closed = closed.into_iter().map(|name| StreamId(name.into()));
        let closed: BTreeSet<_> = closed.chain(self.purges.names()).collect();
        for stream in closed {
            send(Row::Closed(stream.as_str().to_owned()))?;
        }
        send(Row::End { next: end.max(self.places.end_of_copy()) + 1, checkpoint: String::new() })
    }

    /// Appends events of one stream as they are; where the server has the last one.
    async fn copy(&self, events: &[RecordedEvent]) -> Result<u64, LogError> {
        let Some(first) = events.first() else { return Err(refused("there is no event")) };
        let mut aside = Vec::with_capacity(events.len());
        for RecordedEvent { stream, revision, body, .. } in events {
            aside.push(match body.len() > ASIDE_FROM {
                true => Some(blobs::put_aside(&self.nodes, stream, revision.0, body).await?),
                false => None,
            });
        }
        let due = record::copied(events, &aside)?;
        let name = self.stream_name(&first.stream);
        match appends::append(&self.nodes, &name, first.revision.0, due).await? {
            Settled::Written(at) => Ok(at),
            Settled::Refused | Settled::Deleted => Err(refused("it was written meanwhile")),
        }
    }

    /// All names of a kind.
    async fn all(&self, names: &Names) -> Result<Vec<String>, LogError> {
        names.after(&self.nodes, "", "", usize::MAX).await.map(|(names, _)| names)
    }
}

/// A copy as it is made.
struct Loading<'a> {
    log: &'a Arc<Inner>,
    /// Where the server has what the copy began with; `None` until it does.
    begun: Option<u64>,
    /// The last event's position, and where the server has it.
    end: (u64, u64),
    /// Events of one stream that go in one append.
    group: Vec<RecordedEvent>,
    group_size: usize,
    /// How many events were copied since one of which the place is known.
    unmarked: usize,
    /// Streams that were purged.
    gone: BTreeSet<StreamId>,
    /// A large body of which parts have come.
    body: Option<(String, Vec<u8>)>,
}

impl<'a> Loading<'a> {
    fn new(log: &'a Arc<Inner>) -> Self {
        Self {
            log,
            begun: None,
            end: (*log.durable.borrow(), 0),
            group: Vec::new(),
            group_size: 0,
            unmarked: 0,
            gone: BTreeSet::new(),
            body: None,
        }
    }

    async fn follow(mut self, steps: &Steps) -> Result<(), LogError> {
        for step in steps {
            match step.map_err(LogError::Unavailable)? {
                Step::Put(Row::Event(event)) => self.event(*event).await?,
                Step::Take(Row::Event(event)) => drop(self.gone.insert(event.stream)),
                Step::Put(Row::BlobPart { id, part, content }) => {
                    self.body_part(id, part, content).await?;
                }
                Step::Put(Row::End { next, .. }) => return self.finish(next - 1).await,
                step => {
                    self.flush().await?;
                    self.begin().await?;
                    self.take(step).await?;
                }
            }
        }
        Err(refused("the log broke off"))
    }

    async fn event(&mut self, event: RecordedEvent) -> Result<(), LogError> {
        if event.position.0 <= self.end.0 {
            return Err(refused("there is another log already"));
        }
        let meta = chain::meta_text(&event.meta);
        let meta = meta.map_err(|error| refused(&error.to_string()))?;
        let size = event.body.len().min(ASIDE_FROM) + meta.len() + BESIDE_SIZE;
        let fits = self.group.last().is_none_or(|last| last.stream == event.stream)
            && self.group.len() < COPIED_PER_MARK
            && self.group_size + size <= APPEND_SIZE_MAX;
        if !fits {
            self.flush_group().await?;
        }
        self.end.0 = event.position.0;
        self.group_size += size;
        self.group.push(event);
        Ok(())
    }

    async fn body_part(&mut self, id: String, part: u32, content: Vec<u8>) -> Result<(), LogError> {
        match &mut self.body {
            Some((of, body)) if *of == id && part > 0 => body.extend(content),
            _ if part > 0 => return Err(refused("a part of a body is missing")),
            _ => {
                self.flush().await?;
                self.body = Some((id, content));
            }
        }
        Ok(())
    }

    /// Does what stands beside events.
    async fn take(&mut self, step: Step) -> Result<(), LogError> {
        let nodes = &self.log.nodes;
        match step {
            Step::Take(Row::BlobPart { id, part: 0, .. }) => {
                blobs::delete(nodes, &BlobId(id)).await
            }
            // The other parts go with the first, and a key makes way for the one that comes.
            Step::Take(Row::BlobPart { .. } | Row::Key { .. }) => Ok(()),
            Step::Put(Row::Key { scope, sealed: Some(to) }) => {
                match keys::make(nodes, &scope, to.clone()).await? {
                    StoredKey::Sealed(from) if from != to => {
                        keys::reseal(nodes, &Reseal { scope, from, to }).await
                    }
                    StoredKey::Sealed(_) => Ok(()),
                    StoredKey::Absent | StoredKey::Destroyed => Err(LogError::KeyDestroyed(scope)),
                }
            }
            Step::Put(Row::Key { scope, sealed: None }) => {
                super::delete(nodes, &keys::stream(nodes, &scope), Deletion::ForEver).await
            }
            Step::Put(Row::Closed(stream)) => {
                let stream = StreamId(stream.into());
                if !self.gone.contains(&stream) && self.log.fresh_tip(&stream).await?.next > 0 {
                    return self.log.close(&stream).await;
                }
                // It was purged, or will never be written.
                self.gone.insert(stream);
                Ok(())
            }
            Step::Put(_) | Step::Take(_) => {
                Err(refused("it has no place for what proves a log as a whole"))
            }
        }
    }

    /// Says that the copy is under way, before anything of it is there.
    async fn begin(&mut self) -> Result<(), LogError> {
        self.log.held().await?;
        if self.begun.is_none() {
            let end = *self.log.durable.borrow();
            self.begun = Some(self.log.places.begin(&self.log.nodes, end).await?);
        }
        Ok(())
    }

    /// Writes what has come so far.
    async fn flush(&mut self) -> Result<(), LogError> {
        self.flush_group().await?;
        if let Some((id, content)) = self.body.take() {
            self.begin().await?;
            blobs::keep(&self.log.nodes, &BlobId(id), &content).await?;
        }
        Ok(())
    }

    async fn flush_group(&mut self) -> Result<(), LogError> {
        let group = std::mem::take(&mut self.group);
        self.group_size = 0;
        let Some(last) = group.last() else { return Ok(()) };
        self.begin().await?;
        self.end.1 = self.log.copy(&group).await?;
        self.unmarked += group.len();
        if self.unmarked >= COPIED_PER_MARK {
            self.log.places.mark(&self.log.nodes, last.position.0, self.end.1).await?;
            self.unmarked = 0;
        }
        Ok(())
    }

    /// Says that all is there. What is written from now on stands after `end`.
    async fn finish(mut self, end: u64) -> Result<(), LogError> {
        self.flush().await?;
        if self.begun.is_none() && self.gone.is_empty() && self.log.places.is_whole() {
            return Ok(());
        }
        self.begin().await?;
        let gone: Vec<_> = self.gone.into_iter().collect();
        self.log.purges.purge(&self.log.nodes, &gone).await?;
        let (position, at) = self.end;
        if self.unmarked > 0 {
            self.log.places.mark(&self.log.nodes, position, at).await?;
        }
        let end = end.max(position);
        let added = end.saturating_sub(self.begun.unwrap_or(0));
        self.log.places.end(&self.log.nodes, end, added).await
    }
}
