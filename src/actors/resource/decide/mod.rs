//! A resource's decisions, one file per command.

pub(in crate::actors::resource) mod act;
mod adjust;
mod answered;
mod cancel;
mod clean_up;
mod come_to_be;
mod compare;
pub(in crate::actors::resource) mod converge;
mod hear;
pub(in crate::actors::resource) mod hook;
mod look;
mod observe;
mod proceed;
mod repeat;
mod signal;
