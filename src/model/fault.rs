//! A refusal: why something asked for will not be done, in the words that a Heat client sees.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

const UNAVAILABLE: &str = "HTTPServiceUnavailable";

/// Heat's exception class and its text. `api` knows which HTTP status a class has
/// (`EntityNotFound` 404, `StackExists` 409, …); no other room does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Refusal {
    /// Heat's class name: `StackValidationFailed`, `EntityNotFound`, `HTTPBadRequest`, …
    pub class: Cow<'static, str>,
    /// The text as the API shows it; never a secret.
    pub message: String,
}

impl Refusal {
    /// A refusal of a class with its text.
    pub fn new(class: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self { class: class.into(), message: message.into() }
    }

    /// Heat's `StackValidationFailed`: the template or its values do not hold together.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new("StackValidationFailed", message)
    }

    /// Heat's `StackValidationFailed` with its headline (`Property error`) and the path in the
    /// template (`resources.a.properties.b`), either of which may be empty. The separators are
    /// doubled, as clients see them from Heat, whose engine words the error once and its API again.
    pub fn validation_at(headline: &str, path: &str, message: &str) -> Self {
        let separated = |part: &str| match part {
            "" => String::new(),
            part => format!("{part}: : "),
        };
        Self::validation(format!("{}{}{message}", separated(headline), separated(path)))
    }

    /// Heat's `EntityNotFound`, worded as Heat words it.
    pub fn not_found(entity: &str, name: impl std::fmt::Display) -> Self {
        Self::new("EntityNotFound", format!("The {entity} ({name}) could not be found."))
    }

    /// The log or another part that commands need is out of reach: 503, ask again later.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(UNAVAILABLE, message)
    }

    /// Whether another part is out of reach at present.
    pub fn is_unavailable(&self) -> bool {
        self.class == UNAVAILABLE
    }
}
