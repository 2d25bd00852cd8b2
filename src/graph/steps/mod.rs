//! The steps that build a stack's graph, one file each.

mod declared;
mod implied;
mod reject_cycles;

pub use declared::Declared;
pub use implied::Implied;
pub use reject_cycles::RejectCycles;
