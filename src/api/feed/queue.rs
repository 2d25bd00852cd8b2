//! What waits for a slow connection: so many bytes and no more.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The bytes that wait at most; a frame that is larger waits alone.
const MAX_BYTES: usize = 512 * 1024;

/// What a frame costs beside its text.
const FRAME_BYTES: usize = 256;

/// How long a reader may leave the queue full.
const SLOW_READER_SECS: Duration = Duration::from_secs(30);

/// The side that fills the queue.
pub(super) struct Queue {
    sender: UnboundedSender<Waiting>,
    room: Arc<Semaphore>,
}

/// The side of the connection.
pub(super) struct Reader(UnboundedReceiver<Waiting>);

struct Waiting {
    frame: Bytes,
    /// Free again once the connection has taken the frame.
    _room: Option<OwnedSemaphorePermit>,
}

/// The reader has left the queue full for too long, or is gone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooSlow;

/// An empty queue.
pub(super) fn queue() -> (Queue, Reader) {
    let (sender, receiver) = unbounded_channel();
    (Queue { sender, room: Arc::new(Semaphore::new(MAX_BYTES)) }, Reader(receiver))
}

impl Queue {
    /// Puts a frame in as soon as there is room.
    pub(super) async fn put(&self, frame: Bytes) -> Result<(), TooSlow> {
        let cost = (frame.len() + FRAME_BYTES).min(MAX_BYTES);
        let room = Arc::clone(&self.room).acquire_many_owned(u32::try_from(cost).unwrap_or(1));
        let Ok(Ok(room)) = timeout(SLOW_READER_SECS, room).await else { return Err(TooSlow) };
        self.sender.send(Waiting { frame, _room: Some(room) }).map_err(|_| TooSlow)
    }

    /// Puts the last frame in, which needs no room.
    pub(super) fn end(self, frame: Bytes) {
        // Where nobody reads any more, nobody needs to be told.
        let _ = self.sender.send(Waiting { frame, _room: None });
    }

    /// Returns when nobody reads any more.
    pub(super) async fn closed(&self) {
        self.sender.closed().await;
    }
}

impl Reader {
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        self.0.recv().await.map(|waiting| waiting.frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_does_not_read_costs_so_much_and_is_told_where_he_was_cut() {
        let (queue, mut reader) = queue();
        let frame = Bytes::from(vec![b'x'; 1_000]);
        let mut put = 0;
        while queue.put(frame.clone()).await.is_ok() {
            put += 1;
        }
        assert_eq!(put, MAX_BYTES / (1_000 + FRAME_BYTES));
        queue.end(Bytes::from_static(b"end"));
        for _ in 0..put {
            assert_eq!(reader.next().await.as_ref(), Some(&frame));
        }
        assert_eq!(reader.next().await, Some(Bytes::from_static(b"end")));
        assert_eq!(reader.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_larger_than_the_queue_goes_through_it_alone() {
        let (queue, mut reader) = queue();
        let large = Bytes::from(vec![b'x'; 3 * MAX_BYTES]);
        queue.put(large.clone()).await.unwrap();
        assert_eq!(queue.put(Bytes::from_static(b"next")).await, Err(TooSlow));
        assert_eq!(reader.next().await, Some(large));
        queue.put(Bytes::from_static(b"next")).await.unwrap();
        drop(reader);
        assert_eq!(queue.put(Bytes::from_static(b"nobody")).await, Err(TooSlow));
    }
}
