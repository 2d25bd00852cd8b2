//! Appends that are settled: an error is not a no, so an append whose outcome is not known is sent
//! again, the same, until it is.

use std::time::Duration;

use bytes::Bytes;
use tonic::Code;

use super::super::LogError;
use super::node::Nodes;
use super::reads;
use super::wire::{BatchAppendReq, BatchOptions, Empty, Proposed, Seconds, StreamName};

/// What an append takes at most; the server takes 1 MiB, and not every one the same.
pub(super) const APPEND_SIZE_MAX: usize = 512 << 10;
/// The pause before an append that was not settled is sent again.
const AGAIN_PAUSE: Duration = Duration::from_millis(50);
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
    let ids: Vec<_> = proposed.iter().filter_map(|it| it.id.as_ref()?.get()).collect();
    let request =
        BatchAppendReq { correlation_id: None, options: Some(options), proposed, is_final: true };
    loop {
        let node = nodes.leader().await;
        let answer = match nodes.append(&node, request.clone()).await {
            Ok(answer) => answer,
            Err(why) => {
                nodes.lost(&node, &why).await;
                continue;
            }
        };
        if let Some(success) = answer.success {
            match success.position {
                Some(position) => return Ok(Settled::Written(position.commit)),
                // Written before, and trimmed since.
                None => return Ok(Settled::Deleted),
            }
        }
        let failure = answer.error.unwrap_or_default();
        match Code::from_i32(failure.code) {
            Code::AlreadyExists => {
                // The first time may have come late, or a retry met a part of it.
                let Some(there) = reads::ids_from(nodes, stream, next, ids.len()).await? else {
                    return Ok(Settled::Refused);
                };
                return Ok(match there.ids == ids {
                    true => Settled::Written(there.position),
                    false => Settled::Refused,
                });
            }
            Code::NotFound if failure.message == "StreamDeleted" => return Ok(Settled::Deleted),
            Code::PermissionDenied | Code::Unauthenticated => {
                let reason = format!("the server lets nobody of ours write to {stream}");
                return Err(LogError::Unavailable(reason));
            }
            Code::InvalidArgument => {
                let reason = format!("the server refuses an append: {}", failure.message);
                return Err(LogError::Unavailable(reason));
            }
            // Not ready: another node may be.
            Code::Ok => {
                nodes.lost(&node, &failure.message).await;
                tokio::time::sleep(AGAIN_PAUSE).await;
            }
            _ => tokio::time::sleep(AGAIN_PAUSE).await,
        }
    }
}
