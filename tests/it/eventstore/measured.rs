//! `hearth bench --log` on the server that stands in for an EventStoreDB.
//!
//! `BENCH=target/release/hearth cargo test --test it -- --nocapture eventstore::measured` plays
//! it in full with another program and prints the figures; whether they keep their budgets is not
//! tested.

use std::process::Command;

use crate::support::eventstore::StandIn;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test is told which program it measures")]
fn a_log_on_a_server_of_events_is_measured_against_one_in_a_file() {
    let server = StandIn::start(1);
    let directory = tempfile::tempdir().unwrap();
    let measured = std::env::var("BENCH").ok();
    let program = measured.as_deref().unwrap_or(env!("CARGO_BIN_EXE_hearth"));
    let mut bench = Command::new(program);
    bench.args(["bench", "--log", &server.url(), "--data-dir"]).arg(directory.path());
    if measured.is_none() {
        bench.arg("--quick");
    }
    let output = bench.output().unwrap();
    let printed = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    let [figures, errors] = &printed;
    println!("{figures}{errors}");
    for name in ["stacks of 3, log elsewhere", "50 chained resources, log elsewhere"] {
        assert!(figures.contains(name), "{figures}{errors}");
    }
}
