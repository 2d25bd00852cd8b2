//! Asking before something is changed.

use std::io::{BufRead, IsTerminal, Write};

/// Whether to go on: somebody says so, has said so before, or nobody is there to be asked, as with
/// the openstack client.
pub(super) fn agreed(question: &str, yes: bool) -> bool {
    let stdin = std::io::stdin();
    if yes || !stdin.is_terminal() {
        return true;
    }
    eprint!("{question} [y/N] ");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = stdin.lock().read_line(&mut answer);
    read.is_ok() && is_yes(&answer)
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        assert!(is_yes("y\n") && is_yes(" Yes\n"));
        assert!(!is_yes("\n") && !is_yes("no\n") && !is_yes("yesterday\n"));
    }
}
