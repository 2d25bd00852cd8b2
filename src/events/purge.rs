//! What happens in the stream of purges: the history of what was deleted long ago is taken away.

use serde::{Deserialize, Serialize};

use super::StreamId;

events! {
    /// The facts of purges.
    PurgeEvent {
        StreamsPurged = 1,
    }
}

/// The events of these streams are taken away; it is on record before they go. What is left of
/// them is here and in the hashes that the log keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamsPurged {
    pub streams: Vec<PurgedStream>,
}

/// A stream as it stood at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PurgedStream {
    pub stream: StreamId,
    /// How many events it had.
    pub events: u64,
    /// The hash of its last event, in hex.
    pub hash: String,
}
