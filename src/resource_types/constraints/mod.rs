//! Constraints on properties. What the value alone decides is decided as for parameters; custom
//! ones are looked up by name.

pub(crate) mod custom;
mod local;

use serde_json::Value;

use crate::template::constraints::{Constraint, ValueType};

/// Whether the value, which has its schema's type by now, satisfies the constraint as far as the
/// value alone can tell; the text is the constraint's own description, or Heat's.
pub(crate) fn check(constraint: &Constraint, value: &Value) -> Result<(), String> {
    constraint.check(value, ValueType::Any)
}
