//! Faults: what a client sees of an error, in Heat's shape. The only file that knows status codes.

use std::borrow::Cow;

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, RETRY_AFTER};
use actix_web::{HttpResponse, ResponseError};
use serde_json::json;

use crate::events::log::LogError;
use crate::model::Refusal;
use crate::model::sizes::{AnswerError, answer_too_large};
use crate::projections::ViewError;

/// Heat's exception classes with another status than 500, by class.
const STATUS_OF_CLASS: &[(&str, u16)] = &[
    ("ActionInProgress", 409),
    ("AttributeError", 400),
    ("CircularDependencyException", 400),
    ("DownloadLimitExceeded", 400),
    ("EntityNotFound", 404),
    ("Forbidden", 403),
    ("HTTPBadRequest", 400),
    ("HTTPConflict", 409),
    ("HTTPForbidden", 403),
    ("HTTPMethodNotAllowed", 405),
    ("HTTPNotFound", 404),
    ("HTTPPreconditionFailed", 412),
    ("HTTPRequestEntityTooLarge", 413),
    ("HTTPRequestHeaderFieldsTooLarge", 431),
    ("HTTPRequestTimeout", 408),
    ("HTTPRequestURITooLong", 414),
    ("HTTPServiceUnavailable", 503),
    ("HTTPTooManyRequests", 429),
    ("ImmutableParameterModified", 400),
    ("HTTPUnprocessableEntity", 422),
    ("IncompatibleObjectVersion", 400),
    ("Invalid", 400),
    ("InvalidBreakPointHook", 400),
    ("InvalidSchemaError", 400),
    ("InvalidTemplateReference", 400),
    ("InvalidTemplateSection", 400),
    ("InvalidTemplateVersion", 400),
    ("InvalidTenant", 403),
    ("KeyError", 400),
    ("MissingCredentialError", 400),
    ("NotAuthorized", 403),
    ("NotFound", 404),
    ("NotSupported", 400),
    ("ObjectActionError", 400),
    ("ObjectFieldInvalid", 400),
    ("OrphanedObjectError", 400),
    ("PhysicalResourceIDAmbiguity", 400),
    ("PhysicalResourceNameAmbiguity", 400),
    ("PlanOutdated", 409),
    ("PropertyUnspecifiedError", 400),
    ("ReadOnlyFieldError", 400),
    ("RequestLimitExceeded", 400),
    ("ResourceActionNotSupported", 400),
    ("ResourceNotAvailable", 404),
    ("ResourceNotFound", 404),
    ("ResourcePropertyConflict", 400),
    ("ResourceTypeUnavailable", 400),
    ("SnapshotNotFound", 404),
    ("StackExists", 409),
    ("StackValidationFailed", 400),
    // Heat lets this one and KeyError through as 500; what a client sends is the client's fault.
    ("TypeError", 400),
    ("UnknownUserParameter", 400),
    ("UnsupportedObjectError", 400),
    ("UserParameterMissing", 400),
    ("ValueError", 400),
    ("WatchRuleNotFound", 404),
];

/// Every status of a refusal that says what a client may have done wrong, or that he may try again.
pub(super) fn client_statuses() -> impl Iterator<Item = u16> {
    STATUS_OF_CLASS.iter().map(|(_, status)| *status)
}

/// Classes of the language that Heat is written in: their texts are not shown.
const CLASSES_WITHOUT_MESSAGE: &[&str] = &["AttributeError", "ValueError"];

/// What Heat says where the request itself makes no sense to it.
pub(super) const MALFORMED: &str = "The server could not comply with the request since it is either malformed or otherwise \
     incorrect.";

/// Seconds after which a client may try again what was unavailable.
pub(super) const RETRY_AFTER_SECS: &str = "5";

/// An error as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {message}")]
pub(super) struct Fault {
    class: Cow<'static, str>,
    message: String,
}

impl Fault {
    /// A fault of a class with its text.
    pub(super) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class: Cow::Borrowed(class), message: message.into() }
    }

    /// The request has a wrong or missing argument.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new("HTTPBadRequest", message)
    }

    /// A body where none is taken, none where one is needed, or one of another type.
    pub(super) fn malformed() -> Self {
        Self::bad_request(MALFORMED)
    }

    /// The project in the URL is not the token's.
    pub(super) fn other_project() -> Self {
        Self::new("HTTPForbidden", "Access was denied to this resource.")
    }

    /// The caller's roles do not suffice.
    pub(super) fn forbidden(verb: &str) -> Self {
        Self::new("Forbidden", format!("You are not authorized to use {verb}."))
    }

    /// The caller, or his project, has as many at work as it may.
    pub(super) fn too_many(what: &str) -> Self {
        Self::new(
            "HTTPTooManyRequests",
            format!("There are too many {what} of this user or project at work."),
        )
    }

    /// A URL that is known, by a verb that it does not take.
    pub(super) fn method_not_allowed() -> Self {
        Self::new("HTTPMethodNotAllowed", MALFORMED)
    }

    /// No such stack, or not of this project: the same answer, so that its existence stays
    /// unknown.
    pub(super) fn no_stack(name: &str) -> Self {
        Self::from(Refusal::not_found("Stack", name))
    }

    /// Heat's exception class.
    pub(super) fn class(&self) -> &str {
        &self.class
    }

    /// The text, where it is one for clients.
    pub(super) fn shown(&self) -> Option<&str> {
        let is_shown = !CLASSES_WITHOUT_MESSAGE.contains(&self.class.as_ref());
        is_shown.then_some(self.message.as_str())
    }

    /// The status that the class stands for.
    pub(super) fn status(&self) -> StatusCode {
        let code = status_of(&self.class);
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The status that a class of Heat's exceptions stands for.
pub(crate) fn status_of(class: &str) -> u16 {
    let known = STATUS_OF_CLASS.iter().find(|(known, _)| *known == class);
    known.map_or(500, |(_, code)| *code)
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self { class: refusal.class, message: refusal.message }
    }
}

impl From<ViewError> for Fault {
    fn from(error: ViewError) -> Self {
        if !matches!(error, ViewError::TooMuch) {
            tracing::error!(error = &error as &dyn std::error::Error, "the views gave no answer");
        }
        match error {
            ViewError::Log(error) => Self::from(error),
            ViewError::TooMuch => answer_too_large().into(),
            ViewError::Stopped | ViewError::Behind => {
                Self::from(Refusal::unavailable("The event log is not followed at present."))
            }
            ViewError::Sql(_)
            | ViewError::Event(_)
            | ViewError::Json(_)
            | ViewError::File(_)
            | ViewError::Thread(_) => Self::new("Error", "An internal error occurred."),
        }
    }
}

impl From<LogError> for Fault {
    fn from(error: LogError) -> Self {
        tracing::error!(%error, "the log gave no answer");
        Self::from(Refusal::unavailable("The event log is not available at present."))
    }
}

impl From<AnswerError> for Fault {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::TooLarge => answer_too_large().into(),
            AnswerError::Json(error) => error.into(),
        }
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        tracing::error!(%error, "an answer could not be written");
        Self::new("Error", "An internal error occurred.")
    }
}

impl ResponseError for Fault {
    fn status_code(&self) -> StatusCode {
        self.status()
    }

    fn error_response(&self) -> HttpResponse {
        let status = self.status();
        let mut error = json!({ "type": self.class, "traceback": null });
        if let Some(message) = self.shown() {
            error["message"] = message.into();
        }
        let body = json!({
            "code": status.as_u16(),
            "title": status.canonical_reason(),
            "explanation": explanation(status),
            "error": error,
        });
        let mut response = HttpResponse::build(status);
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            response.insert_header((RETRY_AFTER, RETRY_AFTER_SECS));
        }
        response.insert_header((CONTENT_TYPE, "application/json")).body(body.to_string())
    }
}

fn explanation(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 | 405 => MALFORMED,
        403 => "Access was denied to this resource.",
        404 => "The resource could not be found.",
        408 => "The server has waited too long for the request to be sent by the client.",
        409 => "There was a conflict when trying to complete your request.",
        412 => "A precondition of your request does not hold.",
        413 => "The body of your request was too large for this server.",
        414 => "The request URI was too long for this server.",
        422 => "The request cannot be carried out as it is.",
        429 => "The project asks for more than it may at a time.",
        431 => "The request's header fields were too large.",
        503 => "The server is currently unavailable. Please try again at a later time.",
        _ => "The server has either erred or is incapable of performing the requested operation.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_no_table_names_is_an_internal_error() {
        assert_eq!(Fault::new("ResourceFailure", "x").status(), 500);
        assert_eq!(Fault::new("StackExists", "x").status(), 409);
    }
}
