//! What stands where something was wrong while the rest of a template is looked at: a call that
//! never has a value, a type that takes anything. Nothing that follows from them is reported.

use std::sync::{Arc, LazyLock};

use crate::template::TypeLookup;
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Call, Form, Function, Node, Scope};
use crate::template::value::Datum;

/// The type of a resource of which nothing more is known; no name of a type has a line break.
pub(super) const TYPE: &str = "set\naside";

/// The message of every error that only follows from another.
const MESSAGE: &str = "set\naside";

/// A call without a value.
#[derive(Debug)]
struct SetAside(Call);

impl Function for SetAside {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, _scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        Err(TemplateError::value(MESSAGE))
    }
}

/// What takes the place of a node.
pub(super) fn form() -> Form {
    static CALL: LazyLock<Arc<dyn Function>> = LazyLock::new(|| {
        let call = Call { name: "set aside".to_owned(), class: "SetAside", args: Node::default() };
        Arc::new(SetAside(call))
    });
    Form::Call(Arc::clone(&CALL))
}

/// Whether an error only says that something was set aside.
pub(crate) fn follows(message: &str) -> bool {
    message.contains(MESSAGE)
}

/// The types that there are, and the one of what was set aside, which has every attribute.
pub(super) struct Types<'a>(pub(super) &'a dyn TypeLookup);

impl TypeLookup for Types<'_> {
    fn exists(&self, type_name: &str) -> bool {
        type_name == TYPE || self.0.exists(type_name)
    }

    fn takes_anything(&self, type_name: &str) -> bool {
        self.0.takes_anything(type_name)
    }

    fn has_attribute(&self, type_name: &str, attribute: &str) -> bool {
        type_name == TYPE || self.0.has_attribute(type_name, attribute)
    }
}
