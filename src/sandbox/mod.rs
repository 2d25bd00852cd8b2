//! A stateful look-alike of OpenStack's services over real HTTP, for first steps, tests and load.
//!
//! Keystone, Nova, Neutron, Glance, Cinder, Swift, Barbican and Zaqar share one listen address and
//! differ by path prefix. Every service is a plain function of the cloud's state and one request
//! (`Ask` in, `Answer` out), so nothing here waits: what takes time is a `Later` that the next
//! request carries out when its moment has passed. A change is in the journal before its answer
//! leaves.

mod admin;
mod answer;
mod ask;
mod at_work;
mod barbican;
mod cinder;
mod cloud;
mod collections;
mod config;
mod doc;
mod faults;
mod glance;
mod guest_limits;
mod guests;
mod keystone;
mod later;
mod listing;
mod neutron;
mod nova;
mod rules;
mod seed;
mod server;
mod shared;
mod store;
mod swift;
mod trove;
mod unserved;
mod zaqar;

pub use config::{Latencies, PASSWORD, Quotas, SandboxConfig, usual_password};
pub use faults::{Fault, FaultRule};
pub use guest_limits::GuestLimits;
#[doc(hidden)]
pub use guests::boot_of;
pub use server::{RunningSandbox, Sandbox, SandboxError};
pub use shared::RequestSeen;
pub use unserved::{PlainAnswer, PlainRequest, UnservedSandbox};
