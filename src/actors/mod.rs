//! Where decisions become events and effects: machines for stacks, resources and projects, the
//! shell that runs them, and the engine, the one handle that others hold.
//!
//! A machine is pure: `decide` asks no clock, no cloud and no log; what it needs it is handed.
//! `shell` is the one place where actix, the log and a machine meet.
#![warn(clippy::wildcard_enum_match_arm)]

mod accept;
mod alarms;
mod asks;
mod bundle;
pub mod claims;
pub mod credentials;
pub mod definition;
pub mod directory;
pub mod drift;
mod drop_snapshot;
pub mod engine;
pub mod executor;
pub mod export;
mod exposure;
mod extensions;
mod fetch;
mod history;
mod look;
mod looks;
mod measures;
mod neighbors;
mod nest;
pub mod nested;
mod once;
mod outside;
pub mod plan;
mod pool;
pub mod preview;
pub mod previewed;
pub mod project;
mod project_actor;
mod recorded;
pub mod resource;
pub mod resource_actor;
mod resources;
pub mod services;
mod sessions;
pub mod shell;
mod snapshots;
pub mod software;
pub mod source;
pub mod sourced;
pub mod stack;
pub mod stack_actor;
pub mod stack_users;
mod tallies;
mod turns;
mod types_allowed;
mod unclaimed;
mod unmade;
mod webhooks;

pub use alarms::AlarmKeeper;
pub use asks::{
    Accepted, AskedOnce, Conditions, CreateStack, Login, RequestContext, SettingsGiven,
    StackSummary, UpdateStack,
};
pub use bundle::bundle;
pub use engine::{Engine, EngineParts};
pub use pool::TemplateLoad;
pub use previewed::{Preview, PreviewWithin, PreviewedResource};
pub use services::{EngineLimits, ForbiddenTypes, Services};
pub use webhooks::WebhookTarget;
