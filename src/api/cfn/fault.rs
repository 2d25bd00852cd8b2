//! Errors in Amazon's shape, with Heat's codes and words.

use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError};
use serde_json::json;

use super::shape::{self, Format};
use crate::api::error::{Fault, RETRY_AFTER_SECS};
use crate::model::Refusal;

/// A kind of error: its status, its code, and what Heat says of each of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) struct Kind {
    status: u16,
    code: &'static str,
    words: &'static str,
}

const fn kind(status: u16, code: &'static str, words: &'static str) -> Kind {
    Kind { status, code, words }
}

pub(in crate::api) const ACCESS_DENIED: Kind =
    kind(403, "AccessDenied", "User is not authorized to perform action");
const ALREADY_EXISTS: Kind =
    kind(400, "AlreadyExists", "Resource with the name requested already exists");
const BUSY: Kind = kind(
    400,
    "InvalidAction",
    "Cannot perform action on stack while other actions are in progress",
);
pub(in crate::api) const INCOMPLETE_SIGNATURE: Kind =
    kind(400, "IncompleteSignature", "The request signature does not conform to AWS standards");
const INTERNAL: Kind =
    kind(500, "InternalFailure", "The request processing has failed due to an internal error");
pub(in crate::api) const INVALID_ACTION: Kind =
    kind(400, "InvalidAction", "The action or operation requested is invalid");
pub(in crate::api) const INVALID_COMBINATION: Kind =
    kind(400, "InvalidParameterCombination", "Incompatible parameters were used together");
pub(in crate::api) const INVALID_VALUE: Kind =
    kind(400, "InvalidParameterValue", "A bad or out-of-range value was supplied");
pub(in crate::api) const MISSING_PARAMETER: Kind =
    kind(400, "MissingParameter", "A mandatory input parameter is missing");
pub(in crate::api) const MISSING_TOKEN: Kind = kind(
    403,
    "MissingAuthenticationToken",
    "Does not contain a valid AWS Access Key or certificate",
);
const OVERLOADED: Kind = kind(503, "ServiceUnavailable", "Service temporarily unavailable");
pub(in crate::api) const REQUEST_EXPIRED: Kind =
    kind(400, "RequestExpired", "Request expired or more than 15mins in the future");
pub(in crate::api) const REQUEST_LIMIT: Kind =
    kind(400, "RequestLimitExceeded", "Payload exceeds maximum allowed size");
pub(super) const THROTTLING: Kind =
    kind(400, "Throttling", "Request was denied due to request throttling");
pub(in crate::api) const UNKNOWN_KEY: Kind =
    kind(403, "InvalidClientTokenId", "The certificate or AWS Key ID provided does not exist");
/// Amazon's, for what Heat does not read.
pub(super) const VALIDATION: Kind = kind(
    400,
    "ValidationError",
    "The input fails to satisfy the constraints specified by an AWS service",
);

/// An error as a client of this API sees it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", kind.code, message(*kind, detail))]
pub(in crate::api) struct CfnFault {
    kind: Kind,
    /// What is said beside the kind's own words; empty says nothing.
    detail: String,
}

fn message(kind: Kind, detail: &str) -> String {
    match detail {
        "" => kind.words.to_owned(),
        detail => format!("{}:{detail}", kind.words),
    }
}

impl CfnFault {
    pub(in crate::api) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    pub(in crate::api) fn code(&self) -> &'static str {
        self.kind.code
    }

    /// Whose fault it is, in Amazon's words.
    pub(in crate::api) fn who(&self) -> &'static str {
        if self.kind.status < 500 { "Sender" } else { "Server" }
    }

    /// What is said.
    pub(in crate::api) fn message(&self) -> String {
        message(self.kind, &self.detail)
    }

    /// An answer of its status that has no body yet.
    pub(in crate::api) fn begun(&self) -> HttpResponseBuilder {
        let mut answer = HttpResponse::build(self.status_code());
        if self.kind == OVERLOADED || self.kind == THROTTLING {
            answer.insert_header((RETRY_AFTER, RETRY_AFTER_SECS));
        }
        answer
    }

    /// The answer, in the format that was asked for.
    pub(in crate::api) fn answer(&self, format: Format) -> HttpResponse {
        let (who, code, message) = (self.who(), self.code(), self.message());
        let error = json!({ "Error": { "Type": who, "Code": code, "Message": message } });
        let mut answer = self.begun();
        match shape::body(format, "ErrorResponse", &error) {
            Ok(body) => answer.content_type(format.content_type()).body(body),
            Err(fault) => CfnFault::from(fault).answer(format),
        }
    }
}

impl From<Kind> for CfnFault {
    fn from(kind: Kind) -> Self {
        Self::new(kind, "")
    }
}

/// By Heat's class, as its own table has it; classes that it lacks, by what the other API says of
/// them, where Heat owns itself to be at fault.
impl From<Fault> for CfnFault {
    fn from(fault: Fault) -> Self {
        let kind = match (fault.class(), fault.status().as_u16()) {
            ("Forbidden" | "NotAuthorized", _) => ACCESS_DENIED,
            ("StackExists", _) => ALREADY_EXISTS,
            ("ActionInProgress", _) | (_, 409) => BUSY,
            ("RequestLimitExceeded", _) | (_, 413 | 414 | 431) => REQUEST_LIMIT,
            ("InvalidTenant", _) => INVALID_VALUE,
            (_, 403) => ACCESS_DENIED,
            (_, 429) => THROTTLING,
            (_, 503) => OVERLOADED,
            (_, status) if status < 500 => INVALID_VALUE,
            _ => INTERNAL,
        };
        Self::new(kind, fault.shown().unwrap_or_default())
    }
}

impl From<Refusal> for CfnFault {
    fn from(refusal: Refusal) -> Self {
        Fault::from(refusal).into()
    }
}

impl From<crate::projections::ViewError> for CfnFault {
    fn from(error: crate::projections::ViewError) -> Self {
        Fault::from(error).into()
    }
}

impl ResponseError for CfnFault {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.kind.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        self.answer(Format::Xml)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heats_classes_have_their_codes_and_others_the_nearest() {
        let code = |class: &'static str| CfnFault::from(Fault::new(class, "why")).to_string();
        assert_eq!(
            code("StackExists"),
            "AlreadyExists: Resource with the name requested already exists:why"
        );
        assert_eq!(
            code("EntityNotFound"),
            "InvalidParameterValue: A bad or out-of-range value was supplied:why"
        );
        assert_eq!(
            code("ActionInProgress"),
            "InvalidAction: Cannot perform action on stack while other actions are in progress:why"
        );
        // Python's own errors are not shown.
        assert_eq!(
            code("ValueError"),
            "InvalidParameterValue: A bad or out-of-range value was supplied"
        );
        assert!(code("HTTPServiceUnavailable").starts_with("ServiceUnavailable:"));
        assert!(code("ResourceFailure").starts_with("InternalFailure:"));
    }
}
