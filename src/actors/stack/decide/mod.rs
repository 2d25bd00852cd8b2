//! A stack's decisions, one file per command or turn of a traversal.

pub(super) mod act;
mod advance;
mod cancel;
mod create;
mod delete;
mod hear;
mod report;
mod reset;
mod restart;
mod revise;
mod settle;
mod snapshot;
mod timeout;
mod traverse;
mod update;
mod users;

pub(in crate::actors) use snapshot::snapshot_not_found;
pub(in crate::actors) use update::{refuse_going_back, refuse_resting};
