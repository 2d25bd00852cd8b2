//! The dependency graph of a stack: built by named steps, then walked.
//!
//! `Dependencies` says which resource requires which; `Walk` says what may be done next while a
//! traversal runs. Both are pure; running what they say is the work of `actors`.

pub mod dependencies;
pub mod steps;
pub mod walk;

pub use dependencies::{Dependencies, GraphStep, build};
pub use walk::{Task, Walk};
