//! A project: the single writer of its stream. It makes stack names unique and the quota exact,
//! and keeps the trusts with which Hearth acts for its users.

mod state;

pub use state::{LIMIT_EXCEEDED, Project, ProjectCommand, ProjectEffect};
