//! CloudFormation's API and CloudWatch's, over HTTP, with signatures of our own making.

mod actions;
mod addresses;
mod clouds;
mod desk;
mod keys;
mod protocols;
mod refusals;
mod signals;
pub(crate) mod signer;
mod watch;
