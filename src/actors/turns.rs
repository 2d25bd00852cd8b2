//! Work that nobody else may be at, and that goes on to its end.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;
use tracing::Instrument;

use crate::model::Refusal;
use crate::openstack::Behalf;

/// A lock for each key, there as long as somebody has it or waits for it.
pub(super) struct Turns<K>(Mutex<HashMap<K, Weak<tokio::sync::Mutex<()>>>>);

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash> Turns<K> {
    /// Returns when nobody else is at it.
    pub(super) async fn wait(&self, key: &K) -> OwnedMutexGuard<()> {
        self.lock_of(key).lock_owned().await
    }

    /// The turn, where nobody else has it.
    pub(super) fn take(&self, key: &K) -> Option<OwnedMutexGuard<()>> {
        self.lock_of(key).try_lock_owned().ok()
    }

    fn lock_of(&self, key: &K) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::default();
        locks.insert(key.clone(), Arc::downgrade(&lock));
        lock
    }
}

/// Goes on with work of which no half may stay, also where who asked for it leaves meanwhile. How much
/// of it there may be at once is for who asks to bound: by a turn that it holds, or a tally.
pub(super) async fn to_the_end<T: 'static>(
    work: impl Future<Output = Result<T, Refusal>> + 'static,
) -> Result<T, Refusal> {
    let work = Behalf::cover(Behalf::covering(), work).in_current_span();
    let ended = actix::spawn(work).await;
    ended.map_err(|_| Refusal::unavailable("The engine is being stopped."))?
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[actix::test]
    async fn one_waits_for_another_with_the_same_key_alone() {
        let turns = Turns::default();
        let first = turns.wait(&"a").await;
        assert!(turns.wait(&"a").now_or_never().is_none());
        assert!(turns.take(&"a").is_none());
        drop(turns.wait(&"b").await);
        drop(first);
        drop(turns.wait(&"a").await);
        drop(turns.wait(&"c").await);
        assert_eq!(turns.0.lock().unwrap().len(), 1);
    }

    #[actix::test]
    async fn what_was_begun_ends_though_nobody_waits_for_it() {
        let (told, hears) = tokio::sync::oneshot::channel();
        let work = to_the_end(async move {
            tokio::task::yield_now().await;
            told.send("done").map_err(|_| Refusal::unavailable("nobody hears"))
        });
        assert!(work.now_or_never().is_none());
        assert_eq!(hears.await, Ok("done"));
    }
}
