//! Conditions: named truths. They are looked at only when something asks for them, and each is
//! worked out once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::error::{Outcome, TemplateError};
use super::functions::table::Position;
use super::node::{ConditionsNamed, Form, Node, NodeMap, Scope};
use super::value::Datum;
use super::{parse, python, walk};

/// The conditions of a template.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// As written, each parsed on its own.
    parsed: NodeMap,
    known: Mutex<HashMap<String, Known>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    /// Being worked out: to meet it again is a circle.
    InProgress,
    Holds(bool),
}

impl Conditions {
    /// Parses the section. The calls in it may speak of conditions, but none is looked at yet.
    pub(crate) fn parse(section: Option<&Node>, scope: &Scope<'_>) -> Outcome<Self> {
        let Some(section) = section else { return Ok(Self::default()) };
        let Some(written) = section.as_map() else {
            let kind = section.type_name();
            let message = format!("Condition definitions must be a map. Found a {kind} instead");
            let error = TemplateError::validation(message).headed("Conditions validation error");
            return Err(error.placed(section.place));
        };
        let mut parsed = NodeMap::with_capacity_and_hasher(written.len(), Default::default());
        let section = scope.version.dialect.sections.conditions;
        for (name, node) in written {
            let mut path = format!("{section}.{name}");
            let node = parse::parse(node, Position::Condition, scope, &mut path)?;
            parsed.insert(name.clone(), node);
        }
        Ok(Self { parsed, known: Mutex::default() })
    }

    /// The names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.parsed.keys().map(|name| name.as_str())
    }

    /// Checks every definition without working it out.
    pub(crate) fn check(&self, scope: &Scope<'_>) -> Outcome<()> {
        for (name, node) in &self.parsed {
            if !matches!(node.form, Form::Bool(_) | Form::Call(_)) {
                return Err(invalid(name, &node.to_datum()).placed(node.place));
            }
            walk::check(node, &mut Vec::new(), scope)?;
        }
        Ok(())
    }

    fn recall(&self, name: &str) -> Option<Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    fn remember(&self, name: &str, known: Option<Known>) {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known {
            Some(known) => all.insert(name.to_owned(), known),
            None => all.remove(name),
        };
    }
}

impl ConditionsNamed for Conditions {
    fn is_enabled(&self, condition: &Datum, scope: &Scope<'_>) -> Outcome<bool> {
        let unknown = || {
            let shown = python::text_of(condition);
            TemplateError::value(format!("Invalid condition \"{shown}\""))
        };
        let name = match condition {
            Datum::Null => return Ok(true),
            Datum::Bool(truth) => return Ok(*truth),
            Datum::Text(name) => name,
            Datum::Int(_) | Datum::Float(_) | Datum::List(_) | Datum::Map(_) => {
                return Err(unknown());
            }
        };
        let node = self.parsed.get(name).ok_or_else(unknown)?;
        match self.recall(name) {
            Some(Known::Holds(holds)) => return Ok(holds),
            Some(Known::InProgress) => {
                let message = format!("Circular definition for condition \"{name}\"");
                return Err(TemplateError::validation(message)
                    .headed("Condition validation error")
                    .placed(node.key_place));
            }
            None => {}
        }
        self.remember(name, Some(Known::InProgress));
        let resolved = walk::resolve(node, scope).and_then(|value| match value {
            Datum::Bool(holds) => Ok(holds),
            other => Err(invalid(name, &other).placed(node.place)),
        });
        self.remember(name, resolved.as_ref().ok().map(|holds| Known::Holds(*holds)));
        resolved
    }
}

fn invalid(name: &str, definition: &Datum) -> TemplateError {
    let shown = python::text_of(definition);
    TemplateError::validation(format!("The definition of condition \"{name}\" is invalid: {shown}"))
        .headed("Condition validation error")
}
