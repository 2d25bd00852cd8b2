//! The dependency graph of a stack: built by named steps, then traversed.
//!
//! `Dependencies` says which resource requires which; `TaskGraph` says what may be done next while a
//! traversal runs. Both are pure; running what they say is the work of `actors`.

pub mod dependencies;
pub mod steps;
pub mod task_graph;

pub use dependencies::{Dependencies, GraphStep, build};
pub use task_graph::{Task, TaskGraph};
