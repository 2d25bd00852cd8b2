//! `hearth policy` and `hearth serve` over an operator's files.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A directory with settings and rules beside them.
fn with(rules: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("heat.conf"), "[hearth]\ndata = data\n").unwrap();
    std::fs::write(directory.path().join("policy.yaml"), rules).unwrap();
    directory
}

fn hearth(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(arguments)
        .args(["--config-file", "heat.conf"])
        .current_dir(directory)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_rules_in_force_are_shown_with_where_they_are_from() {
    let directory = with("\"stacks:create\": \"role:maker\"\n");
    let shown = said(&hearth(directory.path(), &["policy", "show"]));
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.contains(&"stacks:create\trole:maker\tpolicy.yaml"), "{shown}");
    assert!(lines.contains(&"context_is_admin\t(role:admin and is_admin_project:True)\tdefault"));
    assert!(lines.len() > 100);
}

#[test]
fn a_check_says_who_passes_and_what_decided_it() {
    let directory = with("\"stacks:create\": \"role:maker or rule:context_is_admin\"\n");
    let check = |arguments: &[&str]| {
        let output = hearth(directory.path(), &[&["policy", "check"], arguments].concat());
        (output.status.code(), said(&output))
    };
    let (code, text) = check(&["--role", "member", "stacks:create"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "refused",
            "  no  stacks:create: \"role:maker or rule:context_is_admin\" (policy.yaml)",
            "    no  role:maker",
            "    no  context_is_admin: \"(role:admin and is_admin_project:True)\" (default)",
            "      no  role:admin",
        ]
    );
    assert_eq!(check(&["--role", "Maker", "stacks:create"]).0, Some(0));
    assert_eq!(check(&["--role", "maker", "--domain", "d", "stacks:create"]).0, Some(1));
    assert_eq!(check(&["--role", "maker", "--system", "stacks:create"]).0, Some(1));
    assert_eq!(check(&["--role", "admin", "stacks:unheard_of"]).0, Some(1));
}

#[test]
fn a_server_with_rules_that_cannot_be_read_does_not_start() {
    let directory = with("\"stacks:create\": \"role:maker and\"\n");
    let output = hearth(directory.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(1));
    let reason = String::from_utf8(output.stderr).unwrap();
    assert!(reason.contains("the rule stacks:create of policy.yaml cannot be read"), "{reason}");
    assert!(!directory.path().join("data").exists(), "it had begun");
}
