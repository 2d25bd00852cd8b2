//! Appends that are settled: an error is not a no, so an append whose outcome is not known is sent
//! again, the same, until it is.

use std::time::Duration;

use bytes::Bytes;
use tonic::Code;
use uuid::Uuid;

use super::super::LogError;
use super::node::Nodes;
use super::reads;
use super::wire::{BatchAppendReq, BatchOptions, Empty, Proposed, Seconds, StreamName};

/// What an append takes at most; the server takes 1 MiB, and not every one the same.
pub(super) const APPEND_SIZE_MAX: usize = 512 << 10;
/// The pause before what was not settled is sent again.
pub(super) const AGAIN_PAUSE: Duration = Duration::from_millis(50);
/// Between two looks whether an append whose outcome is not known has come.
const LOOK_PAUSE: Duration = Duration::from_millis(200);
/// What the server is told; its own limits come before.
const DEADLINE_SECS: i64 = 10;

/// What became of an append.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// It is there; the position of its last event.
    Written(u64),
    /// Something else is there, or nothing where something was expected.
    Refused,
    /// The stream was deleted for ever.
    Deleted,
}

/// Appends at a revision (`next` is how many events the stream has) and returns when it is known
/// what became of it.
pub(super) async fn append(
    nodes: &Nodes,
    stream: &str,
    next: u64,
    proposed: Vec<Proposed>,
) -> Result<Settled, LogError> {
    let size: usize = proposed.iter().map(Proposed::size).sum();
    if size > APPEND_SIZE_MAX {
        let reason = format!("an append of {size} bytes to {stream} is too large for the server");
        return Err(LogError::Unavailable(reason));
    }
    let options = BatchOptions {
        stream: Some(StreamName { name: Bytes::copy_from_slice(stream.as_bytes()) }),
        revision: next.checked_sub(1),
        no_stream: (next == 0).then_some(Empty {}),
        deadline: Some(Seconds { seconds: DEADLINE_SECS }),
    };
    let ids = proposed.iter().filter_map(|it| it.id.as_ref()?.get()).collect();
    let request =
        BatchAppendReq { correlation_id: None, options: Some(options), proposed, is_final: true };
    let due = Due { stream, next, ids, request };
    let mut is_in_doubt = false;
    loop {
        if let Some(settled) = due.sent(nodes, is_in_doubt).await? {
            return Ok(settled);
        }
        is_in_doubt = true;
    }
}

/// An append that is to be settled.
struct Due<'a> {
    stream: &'a str,
    next: u64,
    ids: Vec<Uuid>,
    request: BatchAppendReq,
}

impl Due<'_> {
    /// Sends it once; `None` where nobody knows what became of it. `is_in_doubt` says that this was
    /// so before.
    async fn sent(&self, nodes: &Nodes, is_in_doubt: bool) -> Result<Option<Settled>, LogError> {
        let node = nodes.leader().await;
        let sent = nodes.append(&node, self.request.clone());
        let answer = tokio::select! {
            biased;
            answer = sent => answer,
            settled = self.shown(nodes), if is_in_doubt => return Ok(Some(settled)),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => {
                nodes.lost(&node, &why);
                tokio::time::sleep(AGAIN_PAUSE).await;
                return Ok(None);
            }
        };
        if let Some(success) = answer.success {
            // Without a position it was written before, and trimmed since.
            let written = success.position.map(|position| Settled::Written(position.commit));
            return Ok(Some(written.unwrap_or(Settled::Deleted)));
        }
        let (stream, failure) = (self.stream, answer.error.unwrap_or_default());
        match Code::from_i32(failure.code) {
            // The first time may have come late, or a retry met a part of it.
            Code::AlreadyExists => match self.found(nodes).await {
                Ok(Some(settled)) => return Ok(Some(settled)),
                // What came late is not shown yet.
                Ok(None) if is_in_doubt && !self.is_beyond(nodes).await.unwrap_or(false) => {}
                Ok(None) => return Ok(Some(Settled::Refused)),
                Err(error) => tracing::debug!(stream, %error, "what an append met is not known"),
            },
            Code::NotFound if failure.message == "StreamDeleted" => {
                return Ok(Some(Settled::Deleted));
            }
            // That is said of this try; one before may be there, or come still.
            Code::PermissionDenied | Code::Unauthenticated if is_in_doubt => {
                if let Ok(Some(settled)) = self.found(nodes).await {
                    return Ok(Some(settled));
                }
            }
            Code::PermissionDenied | Code::Unauthenticated => {
                let reason = format!("the server lets nobody of ours write to {stream}");
                return Err(LogError::Unavailable(reason));
            }
            // Of one before that, too, nothing is said.
            Code::InvalidArgument if !is_in_doubt => {
                let reason = format!("the server refuses an append: {}", failure.message);
                return Err(LogError::Unavailable(reason));
            }
            // Not ready: another node may be.
            Code::Ok => nodes.lost(&node, &failure.message),
            _ => {}
        }
        tokio::time::sleep(AGAIN_PAUSE).await;
        Ok(None)
    }

    /// Returns once the events stand there. While the first try waits for its quorum, the server
    /// throws away what is sent again, and tells of neither for two seconds.
    async fn shown(&self, nodes: &Nodes) -> Settled {
        loop {
            tokio::time::sleep(LOOK_PAUSE).await;
            // That they are not there, or others are, settles nothing.
            if let Ok(Some(settled @ Settled::Written(_))) = self.found(nodes).await {
                return settled;
            }
        }
    }

    /// Whether the stream ends before it is to go on.
    async fn is_beyond(&self, nodes: &Nodes) -> Result<bool, LogError> {
        let next = match reads::last(nodes, self.stream, 1).await? {
            reads::Stream::Events(last) => last.first().map_or(0, |last| last.revision + 1),
            reads::Stream::None | reads::Stream::Gone => 0,
        };
        Ok(next < self.next)
    }

    /// What the events say that stand in its place; `None` where none do.
    async fn found(&self, nodes: &Nodes) -> Result<Option<Settled>, LogError> {
        let found = reads::ids_from(nodes, self.stream, self.next, self.ids.len()).await?;
        Ok(found.map(|found| match found.ids == self.ids {
            true => Settled::Written(found.position),
            false => Settled::Refused,
        }))
    }
}
