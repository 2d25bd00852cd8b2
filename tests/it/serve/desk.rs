//! A directory from which commands are run.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

/// The directory, with templates.
pub(super) struct Desk(tempfile::TempDir);

impl Desk {
    /// With files of these names.
    pub(super) fn with(files: &[(&str, &str)]) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Desk(folder)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
        command.args(words.split(' ')).current_dir(self.path()).stdin(Stdio::null());
        for name in ["OS_CLOUD", "OS_AUTH_URL", "OS_CLIENT_CONFIG_FILE"] {
            command.env_remove(name);
        }
        command
    }

    pub(super) fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// What a command prints that has to succeed.
    #[track_caller]
    pub(super) fn said(&self, words: &str) -> String {
        let output = self.run(words);
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "hearth {words}: {text}{errors}");
        text
    }

    /// Why a command does not do it.
    #[track_caller]
    pub(super) fn refused(&self, words: &str) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(1), "hearth {words}");
        String::from_utf8(output.stderr).unwrap()
    }

    pub(super) fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.said(words)).unwrap()
    }

    /// Starts a command, and waits until it prints a line with the words.
    pub(super) fn started(&self, words: &str, until: &str) -> (Child, BufReader<ChildStdout>) {
        let mut command = self.command(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains(until) {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "hearth {words} says no {until}");
        }
        (child, out)
    }
}
