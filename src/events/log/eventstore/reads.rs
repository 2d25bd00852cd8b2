//! Reads at the leader, again at another one where the first is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tonic::{Code, Status};
use uuid::Uuid;

use super::super::LogError;
use super::node::{Node, Nodes};
use super::queries::{BACKWARDS, filtered, last_options, name, plain};
pub(super) use super::queries::{Enough, Found, WINDOW_EVENTS, Wanted};
use super::wire::{Empty, InAll, InStream, Place, ReadOptions};

/// How long a read goes from node to node before it is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause between two of them.
const AGAIN_PAUSE: Duration = Duration::from_millis(100);

/// What a read of a stream found.
pub(super) enum Stream {
    Events(Vec<Found>),
    /// There is no such stream, or it was deleted and can be written again.
    None,
    /// It was deleted for ever.
    Gone,
}

/// What a read of the whole log found.
pub(super) enum All {
    Events(Vec<Found>),
    /// No event stands at the place from which to read.
    NoPlace,
}

/// What stands in a stream from a revision on.
pub(super) struct There {
    pub(super) ids: Vec<Uuid>,
    pub(super) position: u64,
}

/// Up to `count` events of a stream from a revision on.
pub(super) async fn forwards(
    nodes: &Nodes,
    stream: &str,
    from: u64,
    count: u64,
) -> Result<Stream, LogError> {
    let place = InStream { stream: Some(name(stream)), revision: Some(from), end: None };
    stream_read(nodes, ReadOptions { stream: Some(place), count: Some(count), ..plain() }).await
}

/// The last events of a stream, the last first.
pub(super) async fn last(nodes: &Nodes, stream: &str, count: u64) -> Result<Stream, LogError> {
    let place = InStream { stream: Some(name(stream)), revision: None, end: Some(Empty {}) };
    let options = ReadOptions { stream: Some(place), count: Some(count), ..plain() };
    stream_read(nodes, ReadOptions { direction: BACKWARDS, ..options }).await
}

/// The ids of so many events from a revision on; `None` where there are none.
pub(super) async fn ids_from(
    nodes: &Nodes,
    stream: &str,
    from: u64,
    count: usize,
) -> Result<Option<There>, LogError> {
    let Stream::Events(found) = forwards(nodes, stream, from, count.max(1) as u64).await? else {
        return Ok(None);
    };
    let position = found.last().map(|event| event.position);
    let ids = found.into_iter().map(|event| event.id).collect();
    Ok(position.map(|position| There { ids, position }))
}

/// Events of the whole log that are wanted, from a place on (the event there is among them).
pub(super) async fn all(
    nodes: &Nodes,
    from: u64,
    wanted: &Wanted,
    enough: Enough<'_>,
) -> Result<All, LogError> {
    let place = match from {
        0 => InAll { position: None, start: Some(Empty {}), end: None },
        at => InAll { position: Some(Place { commit: at, prepare: at }), start: None, end: None },
    };
    all_read(nodes, ReadOptions { all: Some(place), ..filtered(wanted) }, enough).await
}

/// The last events that are wanted, the last first.
pub(super) async fn last_of_all(
    nodes: &Nodes,
    wanted: &Wanted,
    count: u64,
) -> Result<Vec<Found>, LogError> {
    // Without that the server goes on until it has found one more, to the log's beginning perhaps.
    let enough = |found: &mut Vec<Found>| found.len() as u64 >= count;
    match all_read(nodes, last_options(wanted, count), &enough).await? {
        All::Events(events) => Ok(events),
        All::NoPlace => Ok(Vec::new()),
    }
}

async fn stream_read(nodes: &Nodes, options: ReadOptions) -> Result<Stream, LogError> {
    let is_gone = |status: &Status| is(status, "stream-deleted");
    Ok(match read(nodes, options, &|_| false, is_gone).await? {
        Ok(Some(events)) => Stream::Events(events),
        Ok(None) => Stream::None,
        Err(_) => Stream::Gone,
    })
}

async fn all_read(
    nodes: &Nodes,
    options: ReadOptions,
    enough: Enough<'_>,
) -> Result<All, LogError> {
    let has_no_place = |status: &Status| status.message().contains("InvalidPosition");
    Ok(match read(nodes, options, enough, has_no_place).await? {
        Ok(events) => All::Events(events.unwrap_or_default()),
        Err(_) => All::NoPlace,
    })
}

/// What is found where a node leads, or the status that is an answer, too.
async fn read(
    nodes: &Nodes,
    options: ReadOptions,
    enough: Enough<'_>,
    is_answer: fn(&Status) -> bool,
) -> Result<Result<Option<Vec<Found>>, Status>, LogError> {
    let end = Instant::now() + PATIENCE;
    let _turn = nodes.turn(&options, end).await.ok_or_else(too_late)?;
    loop {
        let node = nodes.leader_by(end).await?;
        match nodes.read(&node, options.clone(), enough).await {
            Ok(found) => return Ok(Ok(found)),
            Err(status) if is_answer(&status) => return Ok(Err(status)),
            Err(status) => failed(nodes, &node, &status, end).await?,
        }
    }
}

fn too_late() -> LogError {
    LogError::Unavailable("the log could not be read".to_owned())
}

/// Whether a status is of a kind that the server names.
pub(super) fn is(status: &Status, exception: &str) -> bool {
    status.metadata().get("exception").is_some_and(|found| found == exception)
}

/// Leaves a node that failed. Errors: where no node would do otherwise, or it is too late.
async fn failed(
    nodes: &Nodes,
    node: &Arc<Node>,
    status: &Status,
    end: Instant,
) -> Result<(), LogError> {
    if matches!(status.code(), Code::PermissionDenied | Code::Unauthenticated) {
        return Err(LogError::Unavailable("the server lets nobody of ours read".to_owned()));
    }
    nodes.lost(node, status.message());
    if Instant::now() > end {
        return Err(too_late());
    }
    tokio::time::sleep(AGAIN_PAUSE).await;
    Ok(())
}
