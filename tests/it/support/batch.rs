//! `hearth resolve --batch` as a process of its own.

use std::io::Write;
use std::process::{Command, Stdio};

/// The lines that it writes for these lines.
pub(crate) fn resolve_batch(cases: Vec<u8>) -> Vec<u8> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(["resolve", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(&cases).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{}", output.status);
    output.stdout
}
