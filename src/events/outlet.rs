//! What happens in an outlet's stream: what it has sent away.

use serde::{Deserialize, Serialize};

use super::Position;

events! {
    /// The facts of an outlet.
    OutletEvent {
        Delivered = 1,
    }
}

/// All that the outlet sends of the log up to here was sent; what follows may have been.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivered {
    pub position: Position,
}
