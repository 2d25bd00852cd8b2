//! Sealed keys, each in a stream of its own, of which the last event counts. A destroyed key's
//! stream is deleted for ever; its bytes stay on the server until a scavenge has run.

use bytes::Bytes;

use super::super::ledger::StoredKey;
use super::super::{LogError, Reseal};
use super::appends::{self, Settled};
use super::node::Nodes;
use super::reads::{self, Found, Stream};
use super::wire::Proposed;
use crate::clock::{Clock, SystemClock};

const KEY: &str = "hearth-key";
const METADATA: &str = "$metadata";

/// The stream of a scope's key.
pub(super) fn stream(nodes: &Nodes, scope: &str) -> String {
    format!("{}.keys.{scope}", nodes.address.prefix)
}

async fn newest(nodes: &Nodes, scope: &str) -> Result<(StoredKey, Option<Found>), LogError> {
    Ok(match reads::last(nodes, &stream(nodes, scope), 1).await? {
        Stream::Gone => (StoredKey::Destroyed, None),
        Stream::None => (StoredKey::Absent, None),
        Stream::Events(events) => match events.into_iter().next() {
            Some(last) => (StoredKey::Sealed(last.data.to_vec()), Some(last)),
            None => (StoredKey::Absent, None),
        },
    })
}

/// A scope's key.
pub(super) async fn find(nodes: &Nodes, scope: &str) -> Result<StoredKey, LogError> {
    Ok(newest(nodes, scope).await?.0)
}

/// Keeps a key where there is none; the key that is there then.
pub(super) async fn make(nodes: &Nodes, scope: &str, key: Vec<u8>) -> Result<StoredKey, LogError> {
    match appends::append(nodes, &stream(nodes, scope), 0, vec![proposed(KEY, &key)]).await? {
        Settled::Written(_) => Ok(StoredKey::Sealed(key)),
        Settled::Refused | Settled::Deleted => find(nodes, scope).await,
    }
}

/// Puts another sealed key in place of one, and trims the old one.
pub(super) async fn reseal(nodes: &Nodes, reseal: &Reseal) -> Result<(), LogError> {
    let stream = stream(nodes, &reseal.scope);
    loop {
        let (StoredKey::Sealed(key), Some(last)) = newest(nodes, &reseal.scope).await? else {
            return Ok(());
        };
        let next = last.revision + 1;
        if key == reseal.from {
            let due = vec![proposed(KEY, &reseal.to)];
            if appends::append(nodes, &stream, next, due).await? == Settled::Refused {
                continue;
            }
            return trim(nodes, &stream, next).await;
        }
        return Ok(());
    }
}

/// Has a stream begin at a revision.
async fn trim(nodes: &Nodes, stream: &str, from: u64) -> Result<(), LogError> {
    describe(nodes, stream, format!("{{\"$tb\":{from}}}").as_bytes()).await
}

/// Gives a stream its metadata.
pub(super) async fn describe(nodes: &Nodes, stream: &str, with: &[u8]) -> Result<(), LogError> {
    let metadata = format!("$${stream}");
    loop {
        let next = match reads::last(nodes, &metadata, 1).await? {
            Stream::Events(events) => events.first().map_or(0, |last| last.revision + 1),
            Stream::None | Stream::Gone => 0,
        };
        let due = vec![proposed(METADATA, with)];
        if appends::append(nodes, &metadata, next, due).await? != Settled::Refused {
            return Ok(());
        }
    }
}

fn proposed(event_type: &str, data: &[u8]) -> Proposed {
    let data = Bytes::copy_from_slice(data);
    Proposed::new(SystemClock.fresh_id(), event_type, Vec::new(), data)
}
