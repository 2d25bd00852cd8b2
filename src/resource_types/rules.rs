//! What several properties must or must not be together.

use super::declared::Rule;
use crate::model::{JsonMap, Refusal};

/// Refuses properties that break a rule, in Heat's words.
pub(super) fn check(rules: &[Rule], properties: &JsonMap) -> Result<(), Refusal> {
    rules.iter().try_for_each(|rule| keep(rule, properties))
}

fn keep(rule: &Rule, properties: &JsonMap) -> Result<(), Refusal> {
    let is_set =
        |name: &String| properties.get(name).is_some_and(|value| !value.is_null() && value != "");
    match rule {
        Rule::AtMostOne { at_most_one: names }
            if names.iter().filter(|name| is_set(name)).count() > 1 =>
        {
            Err(conflict(names))
        }
        Rule::AtLeastOne { at_least_one: names } if !names.iter().any(is_set) => Err(Refusal::new(
            "PropertyUnspecifiedError",
            format!(
                "At least one of the following properties must be specified: {}.",
                names.join(", ")
            ),
        )),
        Rule::Needs { needs: (one, other) } if is_set(one) && !is_set(other) => Err(Refusal::new(
            "ResourcePropertyDependency",
            format!("{one} cannot be specified without {other}."),
        )),
        Rule::AtMostOne { .. } | Rule::AtLeastOne { .. } | Rule::Needs { .. } => Ok(()),
    }
}

/// Heat's refusal of properties that exclude one another.
pub(super) fn conflict(names: &[impl AsRef<str>]) -> Refusal {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    Refusal::new(
        "ResourcePropertyConflict",
        format!("Cannot define the following properties at the same time: {}.", names.join(", ")),
    )
}
