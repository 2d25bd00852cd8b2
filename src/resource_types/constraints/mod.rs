//! Custom constraints on properties and parameters, looked up by name.

pub(crate) mod custom;
mod local;
