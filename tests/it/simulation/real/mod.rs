//! Real types in a share of the lives: their programs ask the state machines of a sandbox, which
//! is nobody's server here, and each ask may go wrong by itself.

mod beats;
mod ends;
mod sandbox;
mod templates;

pub(super) use beats::Late;
pub(super) use sandbox::Sandbox;
