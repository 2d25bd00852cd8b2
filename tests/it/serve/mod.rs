//! `hearth serve` as a process: what it makes, what it refuses to start with, what it hears.

mod files;
mod options;
mod process;
mod sandbox;
mod tls;
