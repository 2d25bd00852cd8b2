//! Custom constraints, as far as they need no cloud.

use serde_json::Value;

use super::constraints::custom;
use super::finders::Finders;
use crate::clock::{Clock, SystemClock};

/// What a custom constraint says that the value alone decides; the error is the whole text.
pub(super) fn ask_custom(finders: &Finders, constraint: &str, value: &Value) -> Result<(), String> {
    custom::check_local(finders, constraint, value, SystemClock.now())
}
