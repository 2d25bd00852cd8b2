//! The process, its words, and its end.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

/// A server that has said `ready`; killed when it is dropped.
pub(super) struct Served {
    child: Child,
    /// What it said before.
    pub(super) said: Vec<String>,
    errors: BufReader<ChildStderr>,
    /// What was read of its log.
    log: String,
}

impl Served {
    /// Starts it on free ports of loopback, with more arguments and variables.
    #[track_caller]
    pub(super) fn start(data: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::spawn(&mut command(data, arguments, variables))
    }

    /// The same, with the log that its settings say.
    #[track_caller]
    pub(super) fn start_logging(data: &Path, arguments: &[&str]) -> Self {
        Self::spawn(command(data, arguments, &[]).env_remove("HEARTH_LOG_FILTER"))
    }

    #[track_caller]
    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if line == "ready" {
                return Self { child, said, errors, log: String::new() };
            }
            said.push(line);
        }
        let mut reason = String::new();
        errors.read_to_string(&mut reason).unwrap();
        child.wait().unwrap();
        panic!("it did not start: {reason}");
    }

    /// What the line says that begins with a word: an address, or a path.
    pub(super) fn told(&self, what: &str) -> &str {
        let line = self.said.iter().find_map(|line| line.strip_prefix(what));
        line.unwrap_or_else(|| panic!("no {what}: {:?}", self.said)).trim()
    }

    /// Sends a signal by its name.
    pub(super) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// Waits until it writes these words to its log.
    #[track_caller]
    pub(super) fn logs(&mut self, words: &str) {
        loop {
            let read = self.log.len();
            let more = self.errors.read_line(&mut self.log).unwrap();
            assert!(more > 0, "it never says {words:?}: {}", self.log);
            if self.log[read..].contains(words) {
                return;
            }
        }
    }

    /// Ends it in good order; what it wrote to its log.
    pub(super) fn stop(mut self) -> String {
        self.signal("TERM");
        self.errors.read_to_string(&mut self.log).unwrap();
        self.child.wait().unwrap();
        std::mem::take(&mut self.log)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server that has to refuse; its last words.
#[track_caller]
pub(super) fn refused(data: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = command(data, arguments, variables).stdout(Stdio::piped()).output().unwrap();
    assert!(!output.status.success(), "it started");
    String::from_utf8(output.stderr).unwrap()
}

/// With a mask that keeps nothing from anybody.
fn command(data: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hearth"), "serve"])
        .arg("--data")
        .arg(data)
        .args(arguments)
        .env("HEARTH_LOG_FILTER", "warn,hearth=info")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    if !arguments.contains(&"--listen") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    if !arguments.contains(&"--sandbox-listen") {
        command.args(["--sandbox-listen", "127.0.0.1:0"]);
    }
    command
}
