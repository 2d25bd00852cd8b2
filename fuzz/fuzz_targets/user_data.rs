//! `cargo fuzz run user_data`: whatever user data are, a guest and a server read them.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../sent_input.rs"]
#[allow(dead_code, reason = "each target has its own function")]
mod sent_input;

fuzz_target!(|input: &[u8]| sent_input::user_data(input));
