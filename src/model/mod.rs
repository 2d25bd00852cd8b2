//! Plain data that every room may use: ids, actions and statuses, callers, secrets, refusals, sizes.

pub mod action;
pub mod arn;
pub mod bus;
pub mod caller;
pub mod changes;
pub mod drift_every;
pub mod fault;
pub mod front;
pub mod header;
pub mod holder;
pub mod hook;
pub mod id;
pub mod network;
pub mod on_record;
pub mod physical_name;
pub mod plan_id;
pub mod python;
pub mod secret;
pub mod selection;
pub mod sizes;
mod spellings;
pub mod stack_settings;
pub mod taint;
pub mod tally;
pub mod traversal_options;
pub mod trustor;

pub use action::{Action, Status};
pub use arn::{Arn, decoded, signaled};
pub use caller::{Caller, Scope};
pub use changes::{Changes, Since};
pub use drift_every::{DRIFT_TAG, DriftEvery};
pub use fault::Refusal;
pub use header::header_text;
pub use holder::Holder;
pub use hook::Hook;
pub use id::*;
pub use network::{AllowedTarget, Network};
pub use on_record::OnRecord;
pub use physical_name::{PHYSICAL_NAME_MAX_CHARS, physical_name};
pub use plan_id::PlanId;
pub use secret::Secret;
pub use selection::{NamedStack, Selection};
pub use stack_settings::StackSettings;
pub use tally::Tally;
pub use traversal_options::{Settling, TraversalOptions};
pub use trustor::{DeferredAuth, Trustor};

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A JSON object, in the order in which it was written.
pub type JsonMap = serde_json::Map<String, serde_json::Value>;

/// A map in the order of its insertions, its keys hashed fast and with a seed.
pub type IndexMap<K, V> = indexmap::IndexMap<K, V, foldhash::fast::RandomState>;
