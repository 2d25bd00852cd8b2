//! Waiting for objects of the cloud, together where many wait.
//!
//! A server being built is asked for by itself. When several objects of one collection are waited
//! for, one list call answers all who asked since the call before it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::error::CloudError;
use super::limits::{SHARED_POLL_GATHER, SHARED_POLL_PAGES_MAX};
use super::request::{Request, path_segment};
use super::session::Session;
use super::waiting::Collection;

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
            Ok(answer) => Ok(collection.object(answer.json()?)),
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
                    if let Some(id) = object[&*collection.id].as_str() {
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
