//! Waiting for objects of the cloud, together where many wait.
//!
//! A server being built is asked for by itself. When several objects of one collection are waited
//! for, one list call answers all who asked since the call before it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::error::CloudError;
use super::limits::{SHARED_POLL_FROM, SHARED_POLL_GATHER, SHARED_POLL_PAGES_MAX, WAITER_KEPT};
use super::request::{Request, path_segment};
use super::service::Service;
use super::session::Session;

/// A collection whose members can be asked for one by one or all together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collection {
    pub service: Service,
    /// The path of the full list: `/servers/detail`.
    pub list: Cow<'static, str>,
    /// The path that an id is added to: `/servers`.
    pub items: Cow<'static, str>,
    /// The key of one object in its answer: `server`.
    pub member: Cow<'static, str>,
    /// The key of the objects in the list's answer: `servers`.
    pub members: Cow<'static, str>,
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

type Listed = Result<Arc<HashMap<String, Value>>, CloudError>;

#[derive(Default)]
struct Batch {
    listed: OnceCell<Listed>,
}

impl Polls {
    fn lock(&self) -> MutexGuard<'_, HashMap<Collection, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that somebody waits; with enough others, the list call to share with them.
    fn join(&self, collection: &Collection, id: &str) -> Option<Arc<Batch>> {
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
    fn close(&self, collection: &Collection, batch: &Arc<Batch>) {
        if let Some(queue) = self.lock().get_mut(collection)
            && queue.gathering.as_ref().is_some_and(|gathering| Arc::ptr_eq(gathering, batch))
        {
            queue.gathering = None;
        }
    }

    fn leave(&self, collection: &Collection, id: &str) {
        let mut queues = self.lock();
        if let Some(queue) = queues.get_mut(collection) {
            queue.waiters.remove(id);
            if queue.waiters.is_empty() && queue.gathering.is_none() {
                queues.remove(collection);
            }
        }
    }
}

impl Session {
    /// The object as it is now, from its own call or from a list call shared with others who wait
    /// for objects of the same collection. An object that is gone is an error of status 404.
    pub async fn poll_one(&self, collection: &Collection, id: &str) -> Result<Value, CloudError> {
        let polls = &self.bound()?.login.polls;
        if let Some(batch) = polls.join(collection, id) {
            let listed = batch.listed.get_or_init(|| async {
                tokio::time::sleep(SHARED_POLL_GATHER).await;
                polls.close(collection, &batch);
                self.list(collection).await.map(Arc::new)
            });
            match listed.await {
                Ok(found) => {
                    if let Some(object) = found.get(id) {
                        return Ok(object.clone());
                    }
                }
                Err(error) if error.is_transient() => return Err(error.clone()),
                // Who may not list may still look.
                Err(_) => {}
            }
        }
        let path = format!("{}/{}", collection.items, path_segment(id));
        match self.send(Request::get(collection.service.clone(), path)).await {
            Ok(answer) => Ok(answer.json()?[&*collection.member].take()),
            Err(error) => {
                if error.is_not_found() {
                    polls.leave(collection, id);
                }
                Err(error)
            }
        }
    }

    async fn list(&self, collection: &Collection) -> Result<HashMap<String, Value>, CloudError> {
        let mut found = HashMap::new();
        let mut marker: Option<String> = None;
        for _ in 0..SHARED_POLL_PAGES_MAX {
            let mut request = Request::get(collection.service.clone(), collection.list.clone());
            if let Some(marker) = marker.take() {
                request = request.query("marker", marker);
            }
            let mut page = self.send(request).await?.json()?;
            if let Value::Array(objects) = page[&*collection.members].take() {
                for object in objects {
                    if let Some(id) = object["id"].as_str() {
                        marker = Some(id.to_owned());
                        found.insert(id.to_owned(), object);
                    }
                }
            }
            let links = format!("{}_links", collection.members);
            let more = page[&links]
                .as_array()
                .is_some_and(|links| links.iter().any(|link| link["rel"] == "next"));
            if !more || marker.is_none() {
                break;
            }
        }
        Ok(found)
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
            member: "server".into(),
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
