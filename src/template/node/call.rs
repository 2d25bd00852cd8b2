//! Calls of functions within a tree: a call knows its arguments, can be checked before any value is
//! there, and resolves within a scope.

use std::fmt;

use super::Node;
use super::scope::Scope;
use crate::model::ResourceName;
use crate::template::AttributeRead;
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;

/// A call of a function: its name as written and its arguments, calls within them parsed.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// Heat's name of the class, which some errors show.
    pub(crate) class: &'static str,
    pub(crate) args: Node,
}

/// What every function does.
pub(crate) trait Function: fmt::Debug + Send + Sync {
    /// The call.
    fn call(&self) -> &Call;

    /// What it gives. `None` is nothing at all: the entry around it vanishes.
    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>>;

    /// Why the call may not be made at all, whatever its arguments are.
    fn refusal(&self) -> Option<TemplateError> {
        None
    }

    /// Checks what can be checked before values are there, the arguments having been checked.
    fn check(&self, _scope: &Scope<'_>) -> Outcome<()> {
        Ok(())
    }

    /// The resource that this very call reads, not those that its arguments read.
    fn reads(&self, _scope: &Scope<'_>) -> Outcome<Option<Read>> {
        Ok(None)
    }

    /// The name as written.
    fn name(&self) -> &str {
        &self.call().name
    }

    /// The parsed arguments.
    fn args(&self) -> &Node {
        &self.call().args
    }
}

/// That a call reads a resource.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) resource: String,
    /// The attribute; none reads the reference alone.
    pub(crate) attribute: Option<String>,
}

impl Read {
    /// The resource and the attribute, where one is read.
    pub(crate) fn of_attribute(self) -> Option<AttributeRead> {
        Some((ResourceName(self.resource), self.attribute?))
    }
}
