//! Large bodies, each in a stream of its own under its content's hash: an event that says how large
//! it is, then pieces. What was cut off by a crash is gone on with from where it ends. The body of an
//! event that no append would take lies there, too; it is nobody else's and goes with its event.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{RwLock, watch};

use super::super::room::{self, Room};
use super::super::{BlobId, LogError};
use super::appends::{self, Settled};
use super::node::{Deletion, Nodes};
use super::reads::{self, Found, Stream};
use super::wire::Proposed;

use crate::clock::{Clock, SystemClock};
use crate::events::StreamId;

/// The type of a body's first event.
pub(super) const BODY: &str = "hearth-body";
/// The same where it is the body of an event.
const ASIDE: &str = "hearth-event-body";
const PIECE: &str = "hearth-piece";
/// How large a piece is: one frame of HTTP/2, which a server answers soonest.
const PIECE_SIZE: usize = 15_000;
/// How many pieces one append has.
const PIECES_PER_APPEND: usize = 16;
/// How long after it was put a body is not dropped: whoever put it is about to refer to it.
const SPARED: Duration = Duration::from_secs(60);
/// How many bodies are remembered to be on the server.
const KNOWN_MAX: usize = 4_096;

/// Bodies on their way, and those that were put lately.
pub(super) struct Blobs {
    state: Mutex<State>,
    /// A body is written when none is being deleted: what is about to go is not taken for kept.
    deleting: RwLock<()>,
    /// Of the bodies on their way, and of those that could not be kept yet.
    room: Room,
}

#[derive(Default)]
struct State {
    pending: HashMap<BlobId, Pending>,
    known: HashSet<BlobId>,
    put: HashMap<BlobId, Instant>,
}

struct Pending {
    content: Arc<[u8]>,
    room: room::Taken,
    /// Ends when it is settled; says why it could not be kept. Then it waits for the next append,
    /// which may refer to it.
    settled: watch::Receiver<Option<Result<(), String>>>,
}

impl State {
    /// Remembers that a body is put just now; whether it is to be kept, for it is neither on its way
    /// nor known to be on the server.
    fn takes(&mut self, id: &BlobId) -> bool {
        if self.put.len() >= KNOWN_MAX {
            self.put.retain(|_, put| put.elapsed() < SPARED);
        }
        self.put.insert(id.clone(), Instant::now());
        !self.pending.contains_key(id) && !self.known.contains(id)
    }
}

impl Pending {
    fn has_failed(&self) -> bool {
        matches!(&*self.settled.borrow(), Some(Err(_)))
    }
}

impl Blobs {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), deleting: RwLock::default(), room: Room::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Begins to keep a body, once there is room for it. Errors: `Unavailable` where there was none
    /// for a while.
    pub(super) async fn put(
        self: &Arc<Self>,
        runtime: &Handle,
        nodes: &Arc<Nodes>,
        id: &BlobId,
        content: &[u8],
    ) -> Result<(), LogError> {
        if !self.lock().takes(id) {
            return Ok(());
        }
        let room = match self.room.try_take(content.len()) {
            Some(room) => room,
            None => {
                // What could not be kept, and nobody refers to any more, has room.
                self.begin_again(runtime, nodes);
                self.room.take(content.len()).await?
            }
        };
        let mut state = self.lock();
        if state.takes(id) {
            self.begin(runtime, nodes, &mut state, id, (content.into(), room));
        }
        Ok(())
    }

    fn begin(
        self: &Arc<Self>,
        runtime: &Handle,
        nodes: &Arc<Nodes>,
        state: &mut State,
        id: &BlobId,
        (content, room): (Arc<[u8]>, room::Taken),
    ) {
        let (settle, settled) = watch::channel(None);
        state.pending.insert(id.clone(), Pending { content: content.clone(), room, settled });
        let (blobs, nodes, id) = (self.clone(), nodes.clone(), id.clone());
        runtime.spawn(async move {
            let none_goes = blobs.deleting.read().await;
            let kept = write(&nodes, BODY, &id, &content).await;
            drop(none_goes);
            let mut state = blobs.lock();
            if state.known.len() >= KNOWN_MAX {
                state.known.clear();
            }
            if kept.is_ok() {
                state.known.insert(id.clone());
                state.pending.remove(&id);
            }
            drop(state);
            settle.send_replace(Some(kept.map_err(|error| error.to_string())));
        });
    }

    /// Tries again to keep what could not be kept, as long as whoever put it may refer to it.
    fn begin_again(self: &Arc<Self>, runtime: &Handle, nodes: &Arc<Nodes>) {
        let mut state = self.lock();
        let failed = state.pending.iter().filter(|(_, pending)| pending.has_failed());
        let failed: Vec<BlobId> = failed.map(|(id, _)| id.clone()).collect();
        for id in failed {
            let Some(Pending { content, room, .. }) = state.pending.remove(&id) else { continue };
            if state.put.get(&id).is_some_and(|put| put.elapsed() < SPARED) {
                self.begin(runtime, nodes, &mut state, &id, (content, room));
            }
        }
    }

    /// Returns when every body that was put before is on the server.
    pub(super) async fn settled(
        self: &Arc<Self>,
        runtime: &Handle,
        nodes: &Arc<Nodes>,
    ) -> Result<(), LogError> {
        self.begin_again(runtime, nodes);
        let pending: Vec<_> =
            self.lock().pending.values().map(|pending| pending.settled.clone()).collect();
        for mut settled in pending {
            let kept = settled.wait_for(Option::is_some).await;
            let kept = kept.map_or(Some(Err("the log was closed".to_owned())), |kept| kept.clone());
            if let Some(Err(reason)) = kept {
                return Err(LogError::Unavailable(reason));
            }
        }
        Ok(())
    }

    /// A body that is on its way.
    pub(super) fn pending(&self, id: &BlobId) -> Option<Arc<[u8]>> {
        self.lock().pending.get(id).map(|pending| pending.content.clone())
    }

    /// Drops those of the bodies that nobody has put for a while; how many.
    pub(super) async fn forget(&self, nodes: &Nodes, ids: Vec<BlobId>) -> Result<usize, LogError> {
        let (begun, mut dropped) = (Instant::now(), 0);
        for id in ids {
            let _none_is_written = self.deleting.write().await;
            {
                let mut state = self.lock();
                let lately = state.put.get(&id).is_some_and(|put| *put + SPARED > begun);
                if lately || state.pending.contains_key(&id) {
                    continue;
                }
                state.known.remove(&id);
            }
            delete(nodes, &id).await?;
            dropped += 1;
        }
        Ok(dropped)
    }
}

/// Deletes a body as it is now.
pub(super) async fn delete(nodes: &Nodes, id: &BlobId) -> Result<(), LogError> {
    let stream = stream(nodes, id);
    let Stream::Events(last) = reads::last(nodes, &stream, 1).await? else { return Ok(()) };
    match last.first() {
        Some(last) => super::delete(nodes, &stream, Deletion::At(last.revision)).await,
        None => Ok(()),
    }
}

/// The stream of a body.
pub(super) fn stream(nodes: &Nodes, id: &BlobId) -> String {
    format!("{}.bodies.{}", nodes.address.prefix, id.0)
}

/// A body that is on the server as a whole.
pub(super) async fn read(nodes: &Nodes, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError> {
    let Stream::Events(events) = reads::forwards(nodes, &stream(nodes, id), 0, u64::MAX).await?
    else {
        return Ok(None);
    };
    let content = content(&events);
    Ok(size(&events).filter(|size| *size == content.len()).map(|_| content.into()))
}

/// Keeps the body of an event beside it; returns where.
pub(super) async fn put_aside(
    nodes: &Nodes,
    stream: &StreamId,
    revision: u64,
    body: &str,
) -> Result<BlobId, LogError> {
    let id = BlobId::of(format!("{stream} {revision} {body}").as_bytes());
    write(nodes, ASIDE, &id, body.as_bytes()).await?;
    Ok(id)
}

/// Writes what of a body is not yet there.
pub(super) async fn keep(nodes: &Nodes, id: &BlobId, content: &[u8]) -> Result<(), LogError> {
    write(nodes, BODY, id, content).await
}

async fn write(nodes: &Nodes, kind: &str, id: &BlobId, content: &[u8]) -> Result<(), LogError> {
    let stream = stream(nodes, id);
    // Mostly nothing is there: that is tried without a look.
    let (mut next, mut there) = (0, None);
    loop {
        let from = there.unwrap_or(0);
        let rest = &content[from.min(content.len())..];
        if there.is_some() && rest.is_empty() {
            return Ok(());
        }
        let pieces = rest.chunks(PIECE_SIZE).take(PIECES_PER_APPEND);
        let sent: usize = pieces.clone().map(<[u8]>::len).sum();
        let proposed = |event_type: &str, data: &[u8]| {
            let data = Bytes::copy_from_slice(data);
            Proposed::new(SystemClock.fresh_id(), event_type, Vec::new(), data)
        };
        let head = there.is_none().then(|| proposed(kind, content.len().to_string().as_bytes()));
        let due: Vec<_> =
            head.into_iter().chain(pieces.map(|piece| proposed(PIECE, piece))).collect();
        let count = due.len() as u64;
        match appends::append(nodes, &stream, next, due).await? {
            Settled::Written(_) => (next, there) = (next + count, Some(from + sent)),
            Settled::Deleted => {
                return Err(LogError::Damaged(format!("the stream of body {id:?} was deleted")));
            }
            Settled::Refused => match reads::forwards(nodes, &stream, 0, u64::MAX).await? {
                Stream::Events(events) => {
                    next = events.last().map_or(0, |event| event.revision + 1);
                    there = size(&events).map(|_| self::content(&events).len());
                }
                Stream::None | Stream::Gone => (next, there) = (0, None),
            },
        }
    }
}

/// How large a body is, by its first event.
fn size(events: &[Found]) -> Option<usize> {
    let is_head = |first: &&Found| [BODY, ASIDE].contains(&first.event_type.as_str());
    let first = events.first().filter(is_head)?;
    std::str::from_utf8(&first.data).ok()?.parse().ok()
}

fn content(events: &[Found]) -> Vec<u8> {
    let pieces = events.iter().filter(|event| event.event_type == PIECE);
    pieces.flat_map(|piece| piece.data.iter().copied()).collect()
}
