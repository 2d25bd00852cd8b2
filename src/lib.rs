//! Hearth: an event-sourced, actor-based orchestration service that speaks OpenStack Heat's APIs.
//! `ARCHITECTURE.md` is the map.

pub mod actors;
pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod events;
pub mod graph;
pub mod metrics;
pub mod model;
pub mod openstack;
pub mod outlets;
pub mod policy;
pub mod private_files;
pub mod projections;
pub mod resource_types;
pub mod sandbox;
pub mod template;
pub mod traces;
