//! The facts: one file per stream kind, their envelope and upcasting, and the log behind one trait.

#[macro_use]
mod typed;
pub mod alarm;
pub mod backup;
pub mod bundle;
pub mod envelope;
pub mod forget;
mod key_bytes;
mod leaf;
pub mod log;
pub mod master_key;
pub mod outlet;
pub mod project;
pub mod purge;
pub mod resource;
pub mod seal;
pub mod server;
pub mod signing;
pub mod software;
pub mod stack;
pub mod upcast;
pub mod vault;
mod when;

pub use alarm::{AlarmEvent, MetricEvent};
pub use envelope::{Cause, Meta, NewEvent, Position, RecordedEvent, StreamId, StreamRevision};
pub use outlet::OutletEvent;
pub use project::ProjectEvent;
pub use purge::PurgeEvent;
pub use resource::ResourceEvent;
pub use server::ServerEvent;
pub use software::{ConfigEvent, DeploymentEvent};
pub use stack::StackEvent;
pub use when::{Then, When};

/// An event that cannot be read back: an unknown type, or a body of another shape.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    #[error("{kind} has no event {event_type:?} of version {version}")]
    UnknownType { kind: &'static str, event_type: String, version: u16 },
    #[error("the body of {event_type} cannot be read")]
    Body {
        event_type: String,
        #[source]
        source: serde_json::Error,
    },
}

/// The events of one stream kind: an enum of facts, each with its name and schema version.
pub trait Event: Sized + Send + Sync + 'static {
    /// The name in the log: `RevisionAccepted`.
    fn event_type(&self) -> &'static str;
    /// The schema version that is written today.
    fn version(&self) -> u16;
    /// The body as JSON text.
    fn encode(&self) -> Result<String, serde_json::Error>;
    /// Reads a body back; older versions pass `upcast` first.
    fn decode(event_type: &str, version: u16, body: &str) -> Result<Self, DecodeError>;
    /// Whether an event of a name only notes what was seen: its stream's subject stands as before,
    /// for whoever names the state that a change is to be made to.
    fn only_notes(_event_type: &str) -> bool {
        false
    }
    /// Whose key seals the stream's secrets, where this event says it.
    fn scope(&self) -> Option<StreamId> {
        None
    }
}
