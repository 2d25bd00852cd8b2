//! What goes wrong in a template, in the classes and words of Heat, with the place in the text.

use std::borrow::Cow;

use super::place::Place;
use super::python;
use crate::model::Refusal;

/// An error of the template language. Its class is one of Heat's exceptions, or one of Python's
/// where Heat lets that through.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TemplateError {
    pub(crate) class: Cow<'static, str>,
    /// Heat's headline (`Property error`), where the class has one.
    pub(crate) headline: String,
    /// Where in the template, name by name, where the class has it.
    pub(crate) path: Vec<String>,
    pub(crate) message: String,
    /// Where in the text, as near as it is known.
    pub(crate) place: Option<Place>,
}

/// What reading, parsing and resolving give.
pub(crate) type Outcome<T> = Result<T, TemplateError>;

impl TemplateError {
    /// An error of a class.
    pub(crate) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self {
            class: Cow::Borrowed(class),
            headline: String::new(),
            path: Vec::new(),
            message: message.into(),
            place: None,
        }
    }

    /// Python's `ValueError`.
    pub(crate) fn value(message: impl Into<String>) -> Self {
        Self::new("ValueError", message)
    }

    /// Python's `TypeError`.
    pub(crate) fn kind(message: impl Into<String>) -> Self {
        Self::new("TypeError", message)
    }

    /// Python's `KeyError`, which quotes its message.
    pub(crate) fn key(message: &str) -> Self {
        Self::new("KeyError", python::quoted(message))
    }

    /// Heat's `StackValidationFailed`.
    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Self::new("StackValidationFailed", message)
    }

    /// Heat's `InvalidSchemaError`.
    pub(crate) fn schema(message: impl Into<String>) -> Self {
        Self::new("InvalidSchemaError", message)
    }

    /// Heat's `UserParameterMissing`.
    pub(crate) fn parameter_missing(name: &str) -> Self {
        Self::new("UserParameterMissing", format!("The Parameter ({name}) was not provided."))
    }

    /// Heat's `InvalidTemplateReference`.
    pub(crate) fn reference(resource: &str, path: &str) -> Self {
        Self::new(
            "InvalidTemplateReference",
            format!("The specified reference \"{resource}\" (in {path}) is incorrect."),
        )
    }

    /// Heat's `InvalidTemplateVersion`.
    pub(crate) fn version(explanation: impl std::fmt::Display) -> Self {
        Self::new(
            "InvalidTemplateVersion",
            format!("The template version is invalid: {explanation}"),
        )
    }

    /// With Heat's headline.
    pub(crate) fn headed(mut self, headline: &str) -> Self {
        headline.clone_into(&mut self.headline);
        self
    }

    /// With its path in the template.
    pub(crate) fn in_path<I: Into<String>>(mut self, path: impl IntoIterator<Item = I>) -> Self {
        self.path = path.into_iter().map(Into::into).collect();
        self
    }

    /// As the error of what stands at a path, from within it: Heat's `StackValidationFailed`, which
    /// keeps another class as its headline.
    pub(crate) fn within(self, path: impl IntoIterator<Item = String>) -> Self {
        let path = path.into_iter();
        if self.class == "StackValidationFailed" {
            return Self { path: path.chain(self.path).collect(), ..self };
        }
        let message = self.text();
        Self {
            class: Cow::Borrowed("StackValidationFailed"),
            headline: self.class.into_owned(),
            path: path.collect(),
            message,
            place: self.place,
        }
    }

    /// The refusal of a template that is only looked at: what does not hold together is a bad
    /// request there.
    pub(crate) fn of_validation(self) -> Refusal {
        match self.class.as_ref() {
            "StackValidationFailed" => Refusal::new("HTTPBadRequest", self.text()),
            _ => self.into(),
        }
    }

    /// With its place in the text, unless it knows a nearer one.
    pub(crate) fn placed(mut self, place: Place) -> Self {
        if place.line > 0 {
            self.place.get_or_insert(place);
        }
        self
    }

    /// Whether Heat's parser turns it into a `StackValidationFailed` with the path of the call.
    pub(crate) fn is_pythons(&self) -> bool {
        matches!(self.class.as_ref(), "ValueError" | "TypeError" | "KeyError")
    }

    /// The path as Heat joins it.
    pub(crate) fn joined_path(&self) -> String {
        joined(&self.path)
    }

    /// What Python's `str` says of the exception: headline, path and message.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        if !self.headline.is_empty() {
            out = format!("{}: ", self.headline);
        }
        let path = self.joined_path();
        if !path.is_empty() {
            out = format!("{out}{path}: ");
        }
        out + &self.message
    }
}

/// A path as Heat joins it: dots between names, brackets around numbers.
fn joined(path: &[String]) -> String {
    let mut out = String::new();
    for item in path {
        let is_index = !item.is_empty() && item.chars().all(|c| c.is_ascii_digit());
        if is_index {
            out = format!("{out}[{item}]");
        } else if out.is_empty() {
            out.clone_from(item);
        } else {
            out = format!("{out}.{item}");
        }
    }
    out
}

/// Taken apart again at the separators that a refusal has twice.
impl From<Refusal> for TemplateError {
    fn from(refusal: Refusal) -> Self {
        let parts: Vec<&str> = refusal.message.splitn(3, ": : ").collect();
        let (headline, path, message) = match parts.as_slice() {
            [headline, path, message] => (*headline, Some(*path), *message),
            [path, message] => ("", Some(*path), *message),
            _ => ("", None, refusal.message.as_str()),
        };
        Self {
            headline: headline.to_owned(),
            path: path.into_iter().map(str::to_owned).collect(),
            message: message.to_owned(),
            class: refusal.class,
            place: None,
        }
    }
}

/// As an API client sees it.
impl From<TemplateError> for Refusal {
    fn from(error: TemplateError) -> Self {
        match error.class.as_ref() {
            "StackValidationFailed" => {
                Refusal::validation_at(&error.headline, &joined(&error.path), &error.message)
            }
            // Heat's API has one text for every TypeError of its engine.
            "TypeError" => Refusal::new(
                "HTTPBadRequest",
                "The server could not comply with the request since it is either malformed or \
                 otherwise incorrect.",
            ),
            _ => Refusal::new(error.class.clone(), error.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_sees_separators_twice_as_from_heat() {
        let error = TemplateError::validation("text").headed("Property error").in_path([
            "resources",
            "a",
            "properties",
            "b",
        ]);
        assert_eq!(error.text(), "Property error: resources.a.properties.b: text");
        let refusal = Refusal::from(error);
        assert_eq!(refusal.message, "Property error: : resources.a.properties.b: : text");
        assert_eq!(Refusal::from(TemplateError::validation("text")).message, "text");
    }
}
