//! Who of a login waits for which objects, so that many of them can be asked for together.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::error::CloudError;
use super::limits::{SHARED_POLL_FROM, WAITER_KEPT};
use super::service::Service;

/// A collection whose members can be asked for one by one or all together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collection {
    pub service: Service,
    /// The path of the full list: `/servers/detail`.
    pub list: Cow<'static, str>,
    /// The path that an id is added to: `/servers`.
    pub items: Cow<'static, str>,
    /// The key of one object in its answer, `server`; where there is none it is the answer.
    pub member: Option<Cow<'static, str>>,
    /// The field of an object that is its id: `id`.
    pub id: Cow<'static, str>,
    /// The key of the objects in the list's answer: `servers`.
    pub members: Cow<'static, str>,
}

impl Collection {
    /// The object in the answer to its own call.
    pub fn object(&self, mut answer: Value) -> Value {
        match &self.member {
            Some(member) => answer[&**member].take(),
            None => answer,
        }
    }
}

/// Who of a login waits for what.
#[derive(Default)]
pub(super) struct Polls {
    queues: Mutex<HashMap<Collection, Queue>>,
}

#[derive(Default)]
struct Queue {
    /// When each object was last asked for.
    waiters: HashMap<String, Instant>,
    /// The next list call, while it still waits for others to join.
    gathering: Option<Arc<Batch>>,
}

/// The objects of a collection, by their ids.
pub(super) type Listed = Result<Arc<HashMap<String, Value>>, CloudError>;

/// A list call, for all who joined before it was made.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) listed: OnceCell<Listed>,
}

impl Polls {
    fn lock(&self) -> MutexGuard<'_, HashMap<Collection, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that somebody waits; with enough others, the list call to share with them.
    pub(super) fn join(&self, collection: &Collection, id: &str) -> Option<Arc<Batch>> {
        let mut queues = self.lock();
        let queue = queues.entry(collection.clone()).or_default();
        let now = Instant::now();
        queue.waiters.insert(id.to_owned(), now);
        if queue.waiters.len() < SHARED_POLL_FROM {
            return None;
        }
        if queue.gathering.is_none() {
            queue.waiters.retain(|_, asked| now - *asked < WAITER_KEPT);
            if queue.waiters.len() < SHARED_POLL_FROM {
                return None;
            }
        }
        Some(Arc::clone(queue.gathering.get_or_insert_default()))
    }

    /// Whoever asks from now on gets a later answer.
    pub(super) fn close(&self, collection: &Collection, batch: &Arc<Batch>) {
        if let Some(queue) = self.lock().get_mut(collection)
            && queue.gathering.as_ref().is_some_and(|gathering| Arc::ptr_eq(gathering, batch))
        {
            queue.gathering = None;
        }
    }

    /// Notes that somebody waits no longer.
    pub(super) fn leave(&self, collection: &Collection, id: &str) {
        let mut queues = self.lock();
        if let Some(queue) = queues.get_mut(collection) {
            queue.waiters.remove(id);
            if queue.waiters.is_empty() && queue.gathering.is_none() {
                queues.remove(collection);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers() -> Collection {
        Collection {
            service: Service::Compute,
            list: "/servers/detail".into(),
            items: "/servers".into(),
            member: Some("server".into()),
            id: "id".into(),
            members: "servers".into(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_is_shared_from_the_third_waiter_on() {
        let polls = Polls::default();
        assert!(polls.join(&servers(), "a").is_none());
        assert!(polls.join(&servers(), "b").is_none());
        let batch = polls.join(&servers(), "c").unwrap();
        assert!(Arc::ptr_eq(&batch, &polls.join(&servers(), "a").unwrap()));
        polls.close(&servers(), &batch);
        assert!(!Arc::ptr_eq(&batch, &polls.join(&servers(), "a").unwrap()));
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_not_asked_for_a_while_waits_no_longer() {
        let polls = Polls::default();
        polls.join(&servers(), "a");
        polls.join(&servers(), "b");
        tokio::time::advance(WAITER_KEPT).await;
        assert!(polls.join(&servers(), "c").is_none());
    }
}
