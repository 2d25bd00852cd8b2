//! The read models and the API over them.

pub(crate) mod app;
mod bad_input;
mod cloudformation;
mod commands;
mod cves;
mod exposure;
mod feed;
mod flavors;
mod front;
mod groups;
mod growth;
mod health;
mod hostile;
mod moved;
mod nested;
mod previews;
mod reads;
mod regions;
mod sizes;
mod snapshots;
mod software;
mod stack_users;
mod story;
mod updates;
mod validations;
mod views;
