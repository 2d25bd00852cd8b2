//! Stacks: list, create, show, update, delete, and the redirects to where they live.

pub(in crate::api) mod bundle;
pub(in crate::api) mod create;
pub(in crate::api) mod definition;
pub(in crate::api) mod delete;
pub(in crate::api) mod drift;
pub(in crate::api) mod history;
pub(in crate::api) mod keep;
pub(in crate::api) mod list;
pub(in crate::api) mod lookup;
pub(in crate::api) mod plan;
pub(in crate::api) mod show;
pub(in crate::api) mod update;

mod container;
mod preview;
pub(in crate::api::v1) mod source;
mod view;
