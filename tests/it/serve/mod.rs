//! `hearth serve` as a process: what it makes, what it refuses to start with, what it hears.

mod calls;
mod desk;
mod eventstore;
mod files;
mod followed;
mod guests;
mod inputs;
mod manage;
mod manager;
mod metrics;
mod operator;
mod options;
mod pages;
mod places;
mod process;
mod reading;
mod replays;
mod sandbox;
mod tls;
mod traces;
mod types;
