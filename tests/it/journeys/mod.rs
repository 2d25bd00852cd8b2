//! Whole lives of stacks, over the engine, the views and a sandbox. The behavior is what was
//! observed on a running Heat.
mod acts;
mod adopt;
mod create;
mod delete;
mod elsewhere;
mod fetched;
mod groups;
mod hooks;
mod late;
mod limits;
mod meeting;
mod nested;
mod outlets;
mod plain;
mod reality;
mod rollback;
mod same;
mod scaling;
mod secrets;
pub(crate) mod servers;
mod signals;
pub(crate) mod snapshots;
mod software;
mod stack_users;
mod trusts;
mod turns;
mod update;
