//! What a fuzzer does with what others send: requests of Amazon's APIs, in all their protocols,
//! signals, and user data. Each is read or refused, within bounds. Plain Rust, for `cargo fuzz` and
//! for the tests on stable.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hearth::api::inputs::{Sent, is_signal, parameters_of};
use hearth::resource_types::rewritten;
use hearth::sandbox::boot_of;

/// How many parameters a request may have, and a signal values.
const PARAMETERS_MAX: usize = 4096;
const VALUES_MAX: usize = 1000;

/// A request: its query, a header in each line, and its body, with a NUL between them.
pub(crate) fn request(input: &[u8]) {
    each_verb(input, |sent| match sent.parameters() {
        Ok(count) => assert!(count <= PARAMETERS_MAX, "{count} parameters"),
        Err(status) => refused(status),
    });
}

/// A request as above, for its signature.
pub(crate) fn signature(input: &[u8]) {
    let now = chrono::DateTime::UNIX_EPOCH + chrono::TimeDelta::days(20_000);
    each_verb(input, |sent| match sent.is_signed(now) {
        Ok(_) => {}
        Err(status) => refused(status),
    });
}

/// The input of an operation, as JSON and as CBOR.
pub(crate) fn document(input: &[u8]) {
    for read in parameters_of(input, VALUES_MAX) {
        match read {
            Ok(count) => assert!(count <= VALUES_MAX, "{count} parameters"),
            Err(status) => refused(status),
        }
    }
}

/// The body of a signal.
pub(crate) fn signal(input: &[u8]) {
    if let Err(status) = is_signal(input, VALUES_MAX) {
        refused(status);
    }
}

/// User data, before they are encoded for Nova: what a server reads of them and what a guest does.
pub(crate) fn user_data(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (scripts, _) = boot_of(&STANDARD.encode(input));
    // What is no UTF-8 is a character of three bytes.
    let bytes: usize = scripts.iter().map(String::len).sum();
    assert!(bytes <= 3 * input.len(), "{bytes} bytes of scripts");
    boot_of(&text);
    if let Some((count @ 1.., again)) = rewritten(&text) {
        assert_eq!(rewritten(&again).map(|(count, _)| count), Some(count), "{again}");
    }
}

fn each_verb(input: &[u8], read: impl Fn(&Sent<'_>)) {
    let mut parts = input.splitn(3, |byte| *byte == 0).map(String::from_utf8_lossy);
    let query = parts.next().unwrap_or_default();
    let headers = parts.next().unwrap_or_default();
    let headers: Vec<(&str, &str)> =
        headers.lines().filter_map(|line| line.split_once(':')).collect();
    let body = input.splitn(3, |byte| *byte == 0).nth(2).unwrap_or_default();
    for verb in ["GET", "POST"] {
        read(&Sent { verb, query: &query, headers: &headers, body });
    }
}

fn refused(status: u16) {
    assert!((400..500).contains(&status), "it is answered {status}");
}
