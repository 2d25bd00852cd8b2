//! Why a type's program failed, as a kind. Heat's class and words for each kind stand here alone.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::Refusal;
use crate::openstack::CloudError;

const IN_ERROR: &str = "ResourceInError";

/// Why a beat failed. Its text is what Heat's exception says; `class` is that exception.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    // What was asked of others.
    /// A call to the cloud.
    #[error(transparent)]
    Call(#[from] CloudError),
    /// A failure after calls of the same beat were carried out.
    #[error("{0}")]
    AfterChange(Box<Failure>),
    /// A failure whose beat may have been carried out, whatever the failure itself says.
    #[error("{0}")]
    InDoubt(Box<Failure>),
    /// A template, a policy's group or the keeper of software configurations refuses.
    #[error("{0}")]
    Refused(Refusal),
    /// A part of the engine does not answer at present.
    #[error("{0}")]
    Silent(String),
    /// The child stack, in its own words.
    #[error("{0}")]
    Child(String),
    /// A resource of the child stack: its class, its place below the resource and what was said.
    #[error("{words}")]
    BelowChild { class: String, place: String, words: String },
    /// The group of a policy could not be brought to its size.
    #[error("{0}")]
    Scaling(String),
    /// A failure as a step remembers it.
    #[error("{}", .0.message)]
    Recorded(Recorded),
    #[error("Hearth has no trust of user {user_id} in project {project_id}")]
    NoTrust { user_id: String, project_id: String },

    // What was looked up.
    #[error("{}", words.missing(entity, wanted))]
    Missing { entity: String, wanted: String, words: Words },
    #[error("{}", words.ambiguous(entity, wanted))]
    Ambiguous { entity: String, wanted: String, words: Words },
    /// What the resource stands for is not there.
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Gone(&'static str),
    #[error("No network interface found for server {0}.")]
    NoInterface(String),
    /// An attribute that a resource of the stack does not have.
    #[error("The Referenced Attribute ({resource} {attribute}) is incorrect.")]
    NoAttribute { resource: String, attribute: &'static str },

    // What became of an object.
    #[error("Went to status {status} due to \"{reason}\"")]
    InError { status: String, reason: String },
    #[error("{result} - Unknown status {status} due to \"Unknown\"")]
    UnknownStatus { result: String, status: String },
    /// A CHECK found it otherwise.
    #[error("'status': expected '{expected}', got '{status}'")]
    Unhealthy { expected: String, status: String },
    #[error("Failed to detach interface ({port}) from server ({server})")]
    NotDetached { port: String, server: String },
    #[error("The physical resource for ({0}) exists.")]
    StillThere(String),
    /// What has gone wrong, in the type's words.
    #[error("{0}")]
    Failed(String),

    // What was waited for.
    /// A signal says so.
    #[error("{reasons}")]
    SignaledFailure { to: Waiter, reasons: String },
    #[error("{received}")]
    TooFewSignals { to: Waiter, received: String },

    // What a template or a file asks for.
    /// A value that cannot be.
    #[error("{0}")]
    Invalid(String),
    #[error("'{0}'")]
    MissingKey(&'static str),
    #[error("The Parameter ({0}) was not provided.")]
    NoInput(String),
    #[error("{0}")]
    Unsupported(String),
    #[error("{0} is not supported for resource.")]
    UnsupportedAction(String),
    #[error("Resource not created")]
    NotCreated,
    #[error("{0}")]
    TooMuch(String),
    /// The type's file does not say what it has to.
    #[error("{0}")]
    BadFile(String),
}

/// In whose words a look-up failed: the client library's that Heat asks by, or Heat's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    Neutron,
    Glance,
    /// Heat's own of what it searches by an address.
    Address,
    Nova,
    Heat,
    /// Heat's own of what it searches by name.
    HeatByName,
}

/// Who waits for signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    WaitCondition,
    SwiftSignal,
}

/// A failure as a step remembers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    class: String,
    message: String,
}

impl Failure {
    pub(crate) fn in_error(status: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::InError { status: status.into(), reason: reason.into() }
    }

    pub(crate) fn unknown_status(result: impl Into<String>, status: impl Into<String>) -> Self {
        Self::UnknownStatus { result: result.into(), status: status.into() }
    }

    /// Heat's or its client library's exception, as status reasons show it; empty where they show
    /// none.
    pub fn class(&self) -> &str {
        match self {
            Failure::Call(error) => error.class(),
            Failure::AfterChange(failure) | Failure::InDoubt(failure) => failure.class(),
            Failure::Refused(refusal) => &refusal.class,
            Failure::Child(_) => "",
            Failure::BelowChild { class, .. } => class,
            Failure::Recorded(recorded) => &recorded.class,
            Failure::Scaling(_) => "ResourceFailure",
            Failure::NoTrust { .. } => "AuthorizationFailure",
            Failure::Missing { words, .. } => words.class_of_missing(),
            Failure::Ambiguous { words, .. } => words.class_of_ambiguous(),
            Failure::NotFound(_) => "NotFound",
            Failure::Gone(_) => "EntityNotFound",
            Failure::NoInterface(_) => "InterfaceNotFound",
            Failure::NoAttribute { .. } => "InvalidTemplateAttribute",
            Failure::InError { .. } => IN_ERROR,
            Failure::UnknownStatus { .. } => "ResourceUnknownStatus",
            Failure::NotDetached { .. } => "InterfaceDetachFailed",
            Failure::StillThere(_) => "PhysicalResourceExists",
            Failure::Failed(_) | Failure::Silent(_) | Failure::Unhealthy { .. } => "Error",
            Failure::SignaledFailure { to: Waiter::WaitCondition, .. } => "WaitConditionFailure",
            Failure::SignaledFailure { to: Waiter::SwiftSignal, .. } => "SwiftSignalFailure",
            Failure::TooFewSignals { to: Waiter::WaitCondition, .. } => "WaitConditionTimeout",
            Failure::TooFewSignals { to: Waiter::SwiftSignal, .. } => "SwiftSignalTimeout",
            Failure::Invalid(_) => "ValueError",
            Failure::MissingKey(_) => "KeyError",
            Failure::NoInput(_) => "UserParameterMissing",
            Failure::Unsupported(_) => "NotSupported",
            Failure::UnsupportedAction(_) => "ResourceActionNotSupported",
            Failure::NotCreated => "Exception",
            Failure::TooMuch(_) => "RequestLimitExceeded",
            Failure::BadFile(_) => "InvalidSchemaError",
        }
    }

    /// Where below the resource it failed: `.resources.z` of its child stack; else empty.
    pub fn below(&self) -> &str {
        match self.cause() {
            Failure::BelowChild { place, .. } => place,
            _ => "",
        }
    }

    /// The class and the text, as logs have them.
    pub fn told(&self) -> String {
        format!("{}: {self}", self.class())
    }

    /// What failed, whatever came before it.
    fn cause(&self) -> &Self {
        match self {
            Failure::AfterChange(failure) | Failure::InDoubt(failure) => failure.cause(),
            _ => self,
        }
    }

    /// The error of a call, if that is what failed.
    fn call(&self) -> Option<&CloudError> {
        match self.cause() {
            Failure::Call(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the beat is made again, with back-off.
    pub fn is_transient(&self) -> bool {
        match self.cause() {
            Failure::Silent(_) => true,
            Failure::Refused(refusal) => refusal.is_unavailable(),
            _ => self.call().is_some_and(CloudError::is_transient),
        }
    }

    /// Whether the call may have been carried out though no answer came: the next attempt is
    /// `Attempt::Unanswered`.
    pub fn is_unanswered(&self) -> bool {
        let doubted = match self {
            Failure::InDoubt(failure) => failure.is_transient(),
            Failure::AfterChange(failure) => failure.is_unanswered(),
            _ => false,
        };
        doubted || self.call().is_some_and(CloudError::is_unanswered)
    }

    /// The cloud's own wish for the pause.
    pub fn retry_after(&self) -> Option<Duration> {
        self.call().and_then(CloudError::retry_after)
    }

    /// Whether a create is made again as a whole: another object was in the way, or what was made
    /// went to an error state.
    pub fn wants_another(&self) -> bool {
        // Of a child's resource, too.
        self.class() == IN_ERROR || self.call().is_some_and(CloudError::is_conflict)
    }

    /// Whether the cloud refused a call, and before it nothing was changed.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Failure::Call(error) if error.is_refusal())
    }

    /// Whether what was asked for is not there.
    pub fn is_not_found(&self) -> bool {
        match self.cause() {
            Failure::Missing { .. } | Failure::NotFound(_) | Failure::Gone(_) => true,
            Failure::Refused(refusal) => refusal.class == "NotFound",
            _ => self.call().is_some_and(CloudError::is_not_found),
        }
    }

    /// Whether the cloud has no service that could be asked.
    pub fn is_without_service(&self) -> bool {
        self.call().is_some_and(|error| matches!(error, CloudError::NoEndpoint { .. }))
    }

    /// Whether the user may not do it.
    pub fn is_forbidden(&self) -> bool {
        self.call().is_some_and(|error| error.status() == Some(403))
    }

    /// Whether the session's token does not hold any longer.
    pub fn is_unauthorized(&self) -> bool {
        self.call().is_some_and(CloudError::is_unauthorized)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Recorded> for Failure {
    fn from(recorded: Recorded) -> Self {
        Self::Recorded(recorded)
    }
}

impl From<&Failure> for Recorded {
    fn from(failure: &Failure) -> Self {
        Self { class: failure.class().to_owned(), message: failure.to_string() }
    }
}

impl Words {
    fn class_of_missing(self) -> &'static str {
        match self {
            Words::Neutron | Words::Nova => "NotFound",
            Words::Glance | Words::Address => "EntityMatchNotFound",
            Words::Heat | Words::HeatByName => "EntityNotFound",
        }
    }

    fn missing(self, entity: &str, wanted: &str) -> String {
        match self {
            Words::Neutron => format!("Unable to find {entity} with name or id '{wanted}'"),
            Words::Glance => format!("No {entity} matching {{'name': '{wanted}'}}."),
            Words::Address => format!("No {entity} matching {{'ip_address': '{wanted}'}}."),
            Words::Nova => format!("No {entity} matching {{'name': '{wanted}'}}. (HTTP 404)"),
            Words::Heat | Words::HeatByName => {
                format!("The {entity} ({wanted}) could not be found.")
            }
        }
    }

    fn class_of_ambiguous(self) -> &'static str {
        match self {
            Words::Neutron => "NeutronClientNoUniqueMatch",
            Words::Glance | Words::Address | Words::Nova | Words::Heat => {
                "EntityUniqueMatchNotFound"
            }
            Words::HeatByName => "PhysicalResourceNameAmbiguity",
        }
    }

    fn ambiguous(self, entity: &str, wanted: &str) -> String {
        match self {
            Words::Neutron => format!(
                "Multiple {entity} matches found for name '{wanted}', use an ID to be more \
                 specific."
            ),
            Words::Glance | Words::Address | Words::Nova | Words::Heat => {
                format!("No {entity} unique match found for {{'name': '{wanted}'}}.")
            }
            Words::HeatByName => {
                format!("Multiple physical resources were found with name ({wanted}).")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16) -> Failure {
        let (class, message) = ("Sample".into(), "no".to_owned());
        CloudError::Answered { status, class, message, retry_after: None }.into()
    }

    #[test]
    fn what_follows_from_a_failure_follows_from_its_cause() {
        let after = |failure| Failure::AfterChange(Box::new(failure));
        assert!(after(Failure::Silent("silence".to_owned())).is_transient());
        assert!(after(answered(504)).is_unanswered() && after(answered(409)).wants_another());
        assert!(answered(400).is_refusal() && !after(answered(400)).is_refusal());
        let below = Failure::BelowChild {
            class: "ResourceInError".to_owned(),
            place: ".resources.a".to_owned(),
            words: "Went to status ERROR".to_owned(),
        };
        assert_eq!(after(below.clone()).below(), ".resources.a");
        assert!(below.wants_another());
    }

    #[test]
    fn what_may_be_made_again_and_has_left_something_is_looked_for_first() {
        let in_doubt = |failure| Failure::InDoubt(Box::new(failure));
        assert!(!answered(429).is_unanswered() && in_doubt(answered(429)).is_unanswered());
        assert!(!in_doubt(answered(400)).is_unanswered());
        assert!(Failure::AfterChange(Box::new(in_doubt(answered(429)))).is_unanswered());
    }

    #[test]
    fn a_failure_that_a_step_remembers_reads_as_it_did() {
        let failure = Failure::in_error("error", "Unknown");
        let recorded = serde_json::to_value(Recorded::from(&failure)).unwrap();
        let read: Recorded = serde_json::from_value(recorded).unwrap();
        assert_eq!(
            Failure::from(read).told(),
            "ResourceInError: Went to status error due to \"Unknown\""
        );
    }
}
