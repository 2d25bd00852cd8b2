//! A server that reads a log which another one writes.

use super::desk::Desk;
use super::followed::{SAYS, followed};
use super::process::refused;
use crate::support::eventstore::place::Place;

#[test]
fn a_second_server_shows_what_the_first_writes_and_sends_commands_there() {
    let desk = Desk::with(&[("says.yaml", SAYS)]);
    followed(&desk, &format!("sqlite:{}", desk.path().join("data/log.db").display()));
}

#[test]
fn a_second_server_shows_what_the_first_writes_to_a_server_of_events() {
    let place = Place::fresh();
    followed(&Desk::with(&[("says.yaml", SAYS)]), &place.url);
}

#[test]
fn a_server_that_only_reads_shares_no_directory_and_no_sandbox_and_makes_no_key() {
    let desk = Desk::with(&[("says.yaml", SAYS)]);
    desk.said("up says.yaml --data data");
    let data = desk.path().join("data");
    let elsewhere = desk.path().join("elsewhere");
    let log = format!("sqlite:{}", data.join("log.db").display());
    let sandbox = ["--read-only", "--sandbox", "http://127.0.0.1:9/v3"];
    let why = refused(&data, &sandbox, &[]);
    assert!(why.contains("has a data directory of its own"), "{why}");
    let why = refused(&elsewhere, &["--read-only"], &[("HEARTH_LOG", &log)]);
    assert!(why.contains("has no sandbox of its own"), "{why}");
    let why = refused(&elsewhere, &sandbox, &[("HEARTH_LOG", &log)]);
    assert!(why.contains("master key") || why.contains("master.key"), "{why}");
    assert!(!elsewhere.join("master.key").exists());
}
