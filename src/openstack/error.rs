//! Why a call to the cloud failed, in the words that a Heat client is used to.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::service::Service;

/// Nova's words for a server that is in the middle of something. A resize that is being confirmed
/// shows no task: until its end the server is as it was before.
const BUSY: [&str; 3] = [
    "while it is in task_state ",
    "while it is in vm_state resized",
    "while it is in vm_state building",
];

/// What the check in front of a service says where Keystone gives it no word on a token.
const UNCHECKED: &str = "The Keystone service is temporarily unavailable";

/// An error of a call. Its text is what Heat's client library for the service prints, so that a
/// status reason reads the same: `CLASS: resources.NAME: TEXT`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum CloudError {
    /// The service answered with an error.
    #[error("{message}")]
    Answered {
        status: u16,
        /// The exception class of Heat's client library: `BadRequest`, `OverQuotaClient`, …
        class: Cow<'static, str>,
        /// The service's words, as that library prints them.
        message: String,
        retry_after: Option<Duration>,
    },
    /// No connection came to stand: nothing was sent.
    #[error("Unable to establish connection to {url}: {reason}")]
    Unreachable { url: String, reason: String },
    /// The call may have been sent; its answer did not come whole.
    #[error("{reason}: no answer from {url}")]
    Unanswered { url: String, reason: String },
    /// Where a user said that another cloud is, there is none: what there is instead is not told.
    #[error("Unable to establish connection to {url}")]
    NoCloud {
        url: String,
        /// Whether the call may have been carried out nevertheless.
        sent: bool,
    },
    /// The answer is not what its content type says.
    #[error("The {service} service gave an answer that cannot be read: {reason}")]
    Unreadable { service: Service, reason: String },
    /// The catalog has no such service.
    #[error("{interface} endpoint for {service} service in {region} region not found")]
    NoEndpoint { service: Service, interface: String, region: String },
    /// The cloud no longer has a microversion as old as the one asked for.
    #[error("The {service} service does not support version {wanted}")]
    NoMicroversion { service: Service, wanted: String },
    /// The token is unknown to Keystone, expired or revoked.
    #[error("The request you have made requires authentication. (HTTP 401)")]
    InvalidToken,
    /// A credential for another cloud cannot be had, or opens nothing there.
    #[error("{message}")]
    Credential { class: Cow<'static, str>, message: String, is_transient: bool },
    /// Whoever only looks asked for what would change something.
    #[error("{0} would change something, and whoever asks only looks")]
    OnlyLooks(String),
    /// The session reaches no cloud, or the request cannot be put on the wire.
    #[error("{0}")]
    Unsendable(String),
}

impl CloudError {
    /// The class name that Heat's status reasons show.
    pub fn class(&self) -> &str {
        match self {
            CloudError::Answered { class, .. } => class,
            CloudError::Unreachable { .. } | CloudError::NoCloud { .. } => "ConnectFailure",
            CloudError::Unanswered { .. } => "ConnectTimeout",
            CloudError::Unreadable { .. } => "MalformedResponseBody",
            CloudError::NoEndpoint { .. } => "EndpointNotFound",
            CloudError::NoMicroversion { .. } => "InvalidServiceVersion",
            CloudError::InvalidToken => "Unauthorized",
            CloudError::Credential { class, .. } => class,
            CloudError::OnlyLooks(_) | CloudError::Unsendable(_) => "ClientException",
        }
    }

    /// The HTTP status, where the service answered.
    pub fn status(&self) -> Option<u16> {
        match self {
            CloudError::Answered { status, .. } => Some(*status),
            CloudError::InvalidToken => Some(401),
            CloudError::Unreachable { .. }
            | CloudError::NoCloud { .. }
            | CloudError::Unanswered { .. }
            | CloudError::Unreadable { .. }
            | CloudError::NoEndpoint { .. }
            | CloudError::NoMicroversion { .. }
            | CloudError::Credential { .. }
            | CloudError::OnlyLooks(_)
            | CloudError::Unsendable(_) => None,
        }
    }

    /// The object is not there.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// The object's state does not allow it (now). Neutron says 409 of a spent quota too, which
    /// Heat does not count as a conflict: waiting does not help.
    pub fn is_conflict(&self) -> bool {
        self.status() == Some(409) && self.class() != "OverQuotaClient"
    }

    /// The token or credentials do not hold (any longer).
    pub fn is_unauthorized(&self) -> bool {
        self.status() == Some(401)
    }

    /// Whether the token was not checked, because Keystone was away or would not speak of it: so it
    /// does of a trust's when the trustor has lost a role that the trust delegates.
    pub(super) fn is_unchecked(&self) -> bool {
        matches!(self, CloudError::Answered { status: 503, message, .. }
            if message.contains(UNCHECKED))
    }

    /// Whether the service has refused the call, and done nothing.
    pub fn is_refusal(&self) -> bool {
        let is_client_error = self.status().is_some_and(|status| (400..500).contains(&status));
        is_client_error && !self.is_unanswered()
    }

    /// Whether the same call may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            CloudError::Unreachable { .. }
            | CloudError::Unanswered { .. }
            | CloudError::NoCloud { .. } => true,
            CloudError::Credential { is_transient, .. } => *is_transient,
            // 413 is Nova's and Cinder's old way to say that calls come too fast; there it has a
            // Retry-After, while a body or quota that is too large has none.
            CloudError::Answered { status: 413, retry_after, .. } => retry_after.is_some(),
            CloudError::Answered { status: 409, message, .. } => {
                BUSY.iter().any(|words| message.contains(words))
            }
            CloudError::Answered { status, .. } => {
                matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
            }
            CloudError::Unreadable { .. }
            | CloudError::NoEndpoint { .. }
            | CloudError::NoMicroversion { .. }
            | CloudError::InvalidToken
            | CloudError::OnlyLooks(_)
            | CloudError::Unsendable(_) => false,
        }
    }

    /// Whether a call that changes the cloud may have been carried out nevertheless.
    pub fn is_unanswered(&self) -> bool {
        match self {
            CloudError::Unanswered { .. } | CloudError::Unreadable { .. } => true,
            CloudError::NoCloud { sent, .. } => *sent,
            // A proxy says these of a service that is still at work, and a service of itself
            // after half of the work.
            CloudError::Answered { status, .. } => matches!(status, 408 | 500 | 502 | 503 | 504),
            CloudError::Unreachable { .. }
            | CloudError::NoEndpoint { .. }
            | CloudError::NoMicroversion { .. }
            | CloudError::InvalidToken
            | CloudError::Credential { .. }
            | CloudError::OnlyLooks(_)
            | CloudError::Unsendable(_) => false,
        }
    }

    /// The same with a note, where the service has forbidden the call.
    pub(super) fn with_note(mut self, note: &str) -> Self {
        if let CloudError::Answered { status: 403, message, .. } = &mut self {
            message.push(' ');
            message.push_str(note);
        }
        self
    }

    /// How long the service wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            CloudError::Answered { retry_after, .. } => *retry_after,
            CloudError::Unreachable { .. }
            | CloudError::NoCloud { .. }
            | CloudError::Unanswered { .. }
            | CloudError::Unreadable { .. }
            | CloudError::NoEndpoint { .. }
            | CloudError::NoMicroversion { .. }
            | CloudError::InvalidToken
            | CloudError::Credential { .. }
            | CloudError::OnlyLooks(_)
            | CloudError::Unsendable(_) => None,
        }
    }
}
