//! Constraints as CloudFormation's language writes them: flat, among the keys of the parameter,
//! with one description for all.

use super::rules::{allowed_pattern, allowed_values, bound, length, range};
use crate::template::constraints::{Constraint, Rule};
use crate::template::error::Outcome;
use crate::template::node::{Node, NodeMap};
use crate::template::python;

/// Reads the constraints of a parameter, in the order in which Heat checks them.
pub(super) fn read(declared: &NodeMap) -> Outcome<Vec<Constraint>> {
    let mut rules: Vec<Rule> = Vec::new();
    let has = |keys: [&str; 2]| keys.into_iter().any(|key| declared.contains_key(key));
    if has(["MinValue", "MaxValue"]) {
        rules.push(range(bound(declared, "MinValue")?, bound(declared, "MaxValue")?)?);
    }
    if has(["MinLength", "MaxLength"]) {
        rules.push(length(bound(declared, "MinLength")?, bound(declared, "MaxLength")?)?);
    }
    if let Some(node) = declared.get("AllowedValues") {
        rules.push(allowed_values(node)?);
    }
    if let Some(node) = declared.get("AllowedPattern") {
        rules.push(allowed_pattern(node)?);
    }
    let description = declared.get("ConstraintDescription").filter(|node: &&Node| !node.is_null());
    let description = description.map(|node| python::text_of(&node.to_datum()));
    let with_description = |rule| Constraint { rule, description: description.clone() };
    Ok(rules.into_iter().map(with_description).collect())
}
