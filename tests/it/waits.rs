//! A test waits for what happens, by `support::wait`, and lets no time pass on the real clock, but
//! where time itself is what happens.

use std::collections::BTreeMap;
use std::path::Path;

use crate::layers::rust_files;

/// Where time passes all the same: the file, in how many places, and why.
const LET_TIME_PASS: [(&str, usize, &str); 22] = [
    ("src/openstack/fetch/tests.rs", 1, "a server that sends byte after byte"),
    ("src/outlets/place.rs", 1, "the clock is paused"),
    ("tests/it/api/front/slow.rs", 2, "a client that takes his time"),
    (
        "tests/it/api/past.rs",
        1,
        "that a request waits shows nowhere: it has so long to be answered",
    ),
    ("tests/it/crash_process/backup.rs", 2, "a process is killed at any moment"),
    ("tests/it/crash_process/cluster.rs", 2, "a server is killed or paused for so long"),
    ("tests/it/crash_process/load.rs", 1, "so many ask in a second while servers are killed"),
    ("tests/it/crash_process/mod.rs", 1, "a server is killed at any moment"),
    ("tests/it/crash_process/process.rs", 1, "a process is killed after so long"),
    ("tests/it/crash_process/story.rs", 2, "asked at any moment while the process is killed"),
    ("tests/it/crash_process/told.rs", 1, "so many ask in a second while the process is killed"),
    ("tests/it/eventstore/faults.rs", 4, "a server that fails for so long"),
    ("tests/it/journeys/drift.rs", 1, "a request that is late shows nowhere before its answer"),
    ("tests/it/journeys/polled.rs", 1, "a stack that stays awake does nothing"),
    ("tests/it/journeys/scaling.rs", 1, "an engine ends at any moment"),
    ("tests/it/journeys/update.rs", 1, "a log that keeps a stack waiting for so long"),
    ("tests/it/serve/guests.rs", 1, "a server is killed at any moment"),
    ("tests/it/simulation/outlets.rs", 2, "a process is killed at any moment"),
    ("tests/it/support/bell.rs", 1, "a receiver that answers late"),
    ("tests/it/support/cut_log.rs", 1, "a log that is silent for so long"),
    ("tests/it/support/eventstore", 9, "a server that is silent or late for so long"),
    ("tests/it/support/wait.rs", 3, "the pause between two looks at another process"),
];

/// What is looked for, which does not stand here as a whole.
const SLEEP: &str = concat!("sleep", "(");

#[test]
fn no_test_sleeps_on_the_real_clock_but_where_time_itself_is_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for file in rust_files(&root.join("tests/it")).into_iter().chain(rust_files(&root.join("src")))
    {
        let path = file.strip_prefix(root).unwrap().display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let of_tests = if path.starts_with("src/") { tests_of(&path, &text) } else { &text };
        let count = sleeps(of_tests);
        let known = LET_TIME_PASS.iter().find(|(known, ..)| path.starts_with(known));
        if count > 0 {
            *found.entry(known.map_or(path, |(known, ..)| (*known).to_owned())).or_default() +=
                count;
        }
    }
    let allowed: BTreeMap<String, usize> =
        LET_TIME_PASS.iter().map(|(path, count, _)| ((*path).to_owned(), *count)).collect();
    assert_eq!(found, allowed, "wait by `support::wait`, or say here why time has to pass");
}

/// The part of a file of `src` that is compiled for tests alone.
fn tests_of<'a>(path: &str, text: &'a str) -> &'a str {
    let is_of_tests = ["/tests/", "/tests.rs", "/story.rs", "/transcripts.rs", "/properties.rs"];
    if is_of_tests.iter().any(|part| path.contains(part)) {
        return text;
    }
    text.find("#[cfg(test)]\nmod tests {").map_or("", |begin| &text[begin..])
}

/// In how many places a text sleeps.
fn sleeps(text: &str) -> usize {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let in_line = |line: &str| {
        let begins = line.match_indices(SLEEP);
        begins
            .filter(|(at, _)| !line[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            .count()
    };
    code.map(in_line).sum()
}

#[test]
fn sleeps_are_told_from_what_is_called_like_them() {
    let text = format!(
        "    // {SLEEP}1)\n    std::thread::{SLEEP}a); {SLEEP}b);\n    fn a{SLEEP}c) {{}}\n"
    );
    assert_eq!(sleeps(&text), 2);
    let file = format!(
        "fn a() {{ {SLEEP}b); }}\n#[cfg(test)]\nmod tests {{\n    {SLEEP}c);\n    {SLEEP}d);\n}}\n"
    );
    assert_eq!(sleeps(tests_of("src/a.rs", &file)), 2);
    assert_eq!(sleeps(tests_of("src/a/tests.rs", &file)), 3);
}
