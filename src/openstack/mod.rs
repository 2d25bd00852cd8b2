//! Talking to an OpenStack: a request is a value, a session sends it.
//!
//! `Cloud` is one per process: the pooled client, Hearth's own credentials, the limits. A `Session`
//! is the cloud as one user in one project sees it; it authenticates when it must, finds the
//! endpoint and the microversion, and repeats what may be repeated: reads, and calls of which
//! nothing was sent. What a call that changes the cloud came to when its answer is lost, nobody
//! knows here: `CloudError::is_unanswered` says so, and the caller looks before it calls again.

mod backend;
mod behalf;
mod catalog;
mod cloud;
mod egress;
mod elsewhere;
pub mod error;
mod fault;
mod fetch;
mod keystone;
mod limits;
pub mod microversion;
mod poll;
mod post;
pub mod request;
mod service;
mod session;
mod survey;
mod transport;
mod waiting;

pub use backend::{AuthBackend, SENT_TO_BACKEND};
pub use behalf::Behalf;
pub use cloud::{CfnPlaces, Cloud, CloudSettings};
pub use elsewhere::Elsewhere;
pub use error::CloudError;
pub use fault::answered;
pub use fetch::{FetchBudget, Fetcher, not_fetched};
pub use keystone::credentials::{Credentials, Domain};
pub use keystone::domain_known::UserDomainSettings;
pub use keystone::ec2::{SignatureError, SignedRequest};
pub use keystone::given::Given;
pub use keystone::password::{NameAndPassword, ProjectNamed};
pub use keystone::several::{EntranceError, Home};
pub use keystone::user_domain::UserDomain;
pub use keystone::validate::Identity;
pub use limits::CloudLimits;
pub use microversion::Microversion;
pub use post::Poster;
pub use request::{Body, Method, Request, Response, path_segment};
pub use service::Service;
pub use session::Session;
pub use survey::Surveyed;
pub use waiting::Collection;

#[cfg(test)]
mod tests;
