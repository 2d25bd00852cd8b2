//! Ids and names, each with a type of its own, so that one is never taken for another.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
        )]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::try_parse(text).map(Self)
            }
        }
    )*};
}

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    )*};
}

uuid_ids! {
    /// A stack, for ever, whatever becomes of its name.
    StackId,
    /// One incarnation of a resource: a replacement has an id of its own.
    ResourceId,
    /// One traversal of a stack's graph for one action.
    TraversalId,
    /// A command; the same id again gets the first receipt.
    CommandId,
    /// A software configuration.
    ConfigId,
    /// A software configuration on its way to a server.
    DeploymentId,
    /// Where a project has its events told.
    WebhookId,
    /// An alarm that watches metric data.
    AlarmId,
}

text_ids! {
    /// Keystone's project id, as it writes it (32 hex digits, usually).
    ProjectId,
    /// The name under which a stack is found in its project.
    StackName,
    /// The logical name of a resource in its template.
    ResourceName,
    /// `req-…`, as in `x-openstack-request-id`.
    RequestId,
}

/// The number of an accepted revision of a stack's definition: 1, 2, 3, …
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct StackRevision(pub u32);

impl StackRevision {
    /// Whether it is none: revisions are counted from 1.
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for StackRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
