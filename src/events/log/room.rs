//! How much of the bodies that were put may wait in memory until they are kept. Whoever puts more
//! waits a while, and is refused then: a log that is slow or silent holds up who writes to it, and
//! does not fill the memory.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::LogError;

/// How many bytes of bodies may wait, unless a single one has more.
pub(super) const BODIES_WAITING_MAX_BYTES: u32 = 64 << 20;
/// How long whoever puts a body waits for room.
const ROOM_WAIT_MAX: Duration = Duration::from_secs(10);

/// See the module.
pub(super) struct Room {
    /// A permit for each byte.
    free: Arc<Semaphore>,
}

/// The room of one body, which is free again when this is dropped.
pub(super) struct Taken {
    _permit: OwnedSemaphorePermit,
}

impl Default for Room {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(BODIES_WAITING_MAX_BYTES as usize)) }
    }
}

impl Room {
    /// Room for so many bytes, if it is there at once.
    pub(super) fn try_take(&self, bytes: usize) -> Option<Taken> {
        let permit = Arc::clone(&self.free).try_acquire_many_owned(permits(bytes)).ok()?;
        Some(Taken { _permit: permit })
    }

    /// Room for so many bytes, in the turn of those who wait. Errors: `Unavailable` where there was
    /// none for a while.
    pub(super) async fn take(&self, bytes: usize) -> Result<Taken, LogError> {
        let turn = Arc::clone(&self.free).acquire_many_owned(permits(bytes));
        match timeout(ROOM_WAIT_MAX, turn).await {
            Ok(Ok(permit)) => Ok(Taken { _permit: permit }),
            Ok(Err(_)) | Err(_) => Err(LogError::Unavailable(format!(
                "{BODIES_WAITING_MAX_BYTES} bytes of templates and files wait to be kept already"
            ))),
        }
    }
}

/// A body that is larger than all the room waits alone.
fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes).map_or(BODIES_WAITING_MAX_BYTES, |it| it.min(BODIES_WAITING_MAX_BYTES))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::FutureExt;

    use super::*;

    const ALL: usize = BODIES_WAITING_MAX_BYTES as usize;

    #[tokio::test(start_paused = true)]
    async fn whoever_puts_more_than_may_wait_is_refused_after_a_while() {
        let room = Room::default();
        let half = room.try_take(ALL / 2).unwrap();
        assert!(room.try_take(ALL / 2 + 1).is_none());
        let refused = room.take(ALL / 2 + 1).await;
        assert!(matches!(refused, Err(LogError::Unavailable(_))));
        drop(half);
        assert!(room.try_take(ALL).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_has_its_turn_when_room_is_given_back() {
        let room = Room::default();
        let first = room.try_take(ALL).unwrap();
        let mut second = pin!(room.take(1));
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        assert!(second.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_larger_than_all_the_room_waits_alone() {
        let room = Room::default();
        let large = room.take(2 * ALL).await.unwrap();
        assert!(room.try_take(1).is_none());
        drop(large);
        assert!(room.try_take(1).is_some());
    }
}
