//! `cargo fuzz run cfn_request`: whatever the query and the form of a request are, its parameters are
//! read or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../sent_input.rs"]
#[allow(dead_code, reason = "each target has its own function")]
mod sent_input;

fuzz_target!(|input: &[u8]| sent_input::request(input));
