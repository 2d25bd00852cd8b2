//! `cargo fuzz run operation_input`: whatever the input of an operation of CloudWatch's is, it is read
//! or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../sent_input.rs"]
#[allow(dead_code, reason = "each target has its own function")]
mod sent_input;

fuzz_target!(|input: &[u8]| sent_input::document(input));
