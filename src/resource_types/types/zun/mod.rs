//! Types of the container service.

pub(super) mod container;
mod words;
