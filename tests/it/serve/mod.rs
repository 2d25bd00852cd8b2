//! `hearth serve` as a process: what it makes, what it refuses to start with, what it hears.

mod calls;
mod files;
mod manager;
mod metrics;
mod operator;
mod options;
mod places;
mod process;
mod sandbox;
mod tls;
mod types;
