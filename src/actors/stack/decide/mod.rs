//! A stack's decisions, one file per command or turn of a traversal.

mod advance;
mod cancel;
mod create;
mod delete;
mod report;
mod revise;
mod settle;
mod timeout;
mod traverse;
mod update;
