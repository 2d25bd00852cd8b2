//! What a call may look at while it is parsed, checked and resolved.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::Value;

use super::Node;
use crate::model::{IndexMap, taint};
use crate::template::budget::Budget;
use crate::template::error::Outcome;
use crate::template::value::Datum;
use crate::template::version::Version;
use crate::template::{Facade, ResourceValues, TypeLookup};

/// The resources whose condition holds, with the type that each has behind its alias.
pub(crate) type ResourceTypes = IndexMap<String, String>;

/// What calls ask of the parameters.
pub(crate) trait ParametersGiven {
    /// What `get_param` gives for a name.
    fn value(&self, name: &str) -> Outcome<&Datum>;

    /// Whether there is a parameter of this name.
    fn contains(&self, name: &str) -> bool;

    /// Whether the value of this name must not be seen.
    fn is_secret(&self, name: &str) -> bool;
}

/// What calls ask of the conditions.
pub(crate) trait ConditionsNamed {
    /// Whether a condition holds: a boolean does so by itself, a name is looked up, and null, which
    /// is no condition at all, always holds.
    fn is_enabled(&self, condition: &Datum, scope: &Scope<'_>) -> Outcome<bool>;
}

/// What a call may look at.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) version: &'static Version,
    pub(crate) parameters: &'a dyn ParametersGiven,
    pub(crate) conditions: &'a dyn ConditionsNamed,
    pub(crate) files: &'a BTreeMap<String, String>,
    /// What `Fn::FindInMap` looks in, as written.
    pub(crate) mappings: &'a Node,
    /// The resources whose condition holds, with their types; as long as that is not known, all.
    pub(crate) resources: &'a ResourceTypes,
    /// The resource that the stack stands for, if it is a nested one's.
    pub(crate) facade: Option<&'a Facade>,
    pub(crate) values: &'a dyn ResourceValues,
    pub(crate) types: &'a dyn TypeLookup,
    /// What functions may still make.
    pub(crate) budget: &'a Budget,
    /// Set when something secret is read, where somebody asks.
    pub(crate) is_tainted: Option<&'a Cell<bool>>,
}

impl<'a> Scope<'a> {
    /// Notes that something secret was read.
    pub(crate) fn note_taint(&self) {
        if let Some(is_tainted) = self.is_tainted {
            is_tainted.set(true);
        }
    }

    /// A parameter's value.
    pub(crate) fn parameter(&self, name: &str) -> Outcome<&'a Datum> {
        if self.parameters.is_secret(name) {
            self.note_taint();
        }
        self.parameters.value(name)
    }

    /// What came from elsewhere, its marks taken off and noted.
    pub(crate) fn read(&self, value: &Value) -> Datum {
        if taint::is_tainted(value) {
            self.note_taint();
            return Datum::from(&taint::plain(value.clone()));
        }
        Datum::from(value)
    }

    /// Whether an argument of a condition function holds: a boolean, or a condition's name.
    pub(crate) fn holds(&self, condition: &Datum) -> Outcome<bool> {
        self.conditions.is_enabled(condition, self)
    }
}
