//! Files that change, break and go while they are in force.

use std::path::Path;

use super::*;
use crate::clock::SimulatedClock;

struct Watched {
    directory: tempfile::TempDir,
    clock: Arc<SimulatedClock>,
    policy: Policy,
}

impl Watched {
    fn with(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("policy.yaml"), text).unwrap();
        let clock = Arc::new(SimulatedClock::new(1));
        let policy = Policy::load(settings(directory.path()), clock.clone()).unwrap();
        Self { directory, clock, policy }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.directory.path().join("policy.d")).unwrap();
        std::fs::write(self.directory.path().join(name), text).unwrap();
    }

    /// Whether a member may create a stack, twice a second from now.
    async fn soon(&self) -> bool {
        let member = caller(&["member", "reader"]);
        for _ in 0..2 {
            self.clock.advance(TimeDelta::seconds(1));
            self.policy.may(&member, "stacks:create").await;
        }
        self.policy.may(&member, "stacks:create").await
    }
}

fn settings(directory: &Path) -> PolicySettings {
    PolicySettings {
        paths: PolicyPaths {
            file: Some(directory.join("policy.yaml")),
            is_named: false,
            directories: vec![directory.join("policy.d")],
        },
        ..PolicySettings::default()
    }
}

const CLOSED: &str = "\"stacks:create\": \"!\"\n";

#[tokio::test]
async fn a_file_that_changes_is_in_force_within_seconds() {
    let watched = Watched::with("");
    assert!(watched.soon().await);
    watched.write("policy.yaml", CLOSED);
    assert!(!watched.soon().await);
    watched.write("policy.d/10-open.json", "{\n\t\"stacks:create\": \"role:member\"}");
    assert!(watched.soon().await, "a directory's file holds over the file");
}

#[tokio::test]
async fn a_file_that_breaks_or_goes_opens_nothing() {
    let watched = Watched::with(CLOSED);
    for broken in ["- a list\n", "\"stacks:create\": [\n", "a: rule:a\n", "a: role:b role:c\n"] {
        watched.write("policy.yaml", broken);
        assert!(!watched.soon().await, "{broken}");
    }
    std::fs::remove_file(watched.directory.path().join("policy.yaml")).unwrap();
    assert!(!watched.soon().await, "it is gone");
    watched.write("policy.d/other.yaml", "a: \"@\"\n");
    assert!(!watched.soon().await, "it is still gone");
    watched.write("policy.yaml", "a: \"@\"\n");
    assert!(watched.soon().await);
}

#[test]
fn hearth_does_not_start_with_rules_that_it_cannot_read() {
    for (text, reason) in [
        ("a: role:b role:c", "cannot be read: `and` or `or` is missing before `role:c`"),
        ("a: rule:b\nb: rule:a", "names itself"),
        ("a: {b: c}", "neither a text nor a list"),
        // YAML takes an exclamation mark without quotes for a tag of nothing.
        ("a: !", "cannot be read"),
        ("a: @", "cannot be read"),
        ("a:", "neither a text nor a list"),
        ("{\"a\": ", "cannot be read"),
        ("just text", "cannot be read"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("policy.yaml"), text).unwrap();
        let clock = Arc::new(SimulatedClock::new(1));
        let refused = Policy::load(settings(directory.path()), clock).err().unwrap().to_string();
        assert!(refused.contains(reason), "{text}: {refused}");
    }
}

#[test]
fn a_file_that_somebody_named_must_be_there() {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings(directory.path());
    let clock = Arc::new(SimulatedClock::new(1));
    assert!(Policy::load(settings.clone(), clock.clone()).is_ok());
    settings.paths.is_named = true;
    assert!(matches!(Policy::load(settings, clock), Err(PolicyError::File(_))));
}
