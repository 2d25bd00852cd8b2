//! Against a real OpenStack: what the unit tests and the sandbox take for granted is asked of the
//! real services. `tests/cloud/up` starts one; where none answers, every test says so and passes.

#![expect(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

mod amazon;
mod bus;
#[path = "../it/support/case.rs"]
mod case;
mod commands;
mod federated;
mod inventory;
mod openstack;
mod real_cloud;
mod resized;
mod runner;
mod scopes;
mod served;
#[path = "../it/cfn/signer.rs"]
mod signer;
mod story;
#[expect(dead_code, reason = "some of it is the other suite's")]
mod walk;
mod walks;
