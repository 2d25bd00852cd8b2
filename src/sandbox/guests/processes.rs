//! The processes that come of a script, in whatever group or session: they are known by a variable
//! of their environment, which each inherits, and as children of one that has it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// The variable; its value begins with the mark of the sandbox.
pub(super) const VARIABLE: &str = "HEARTH_GUEST";
/// How often those that are left are ended: one may start another meanwhile.
const ROUNDS_MAX: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// A process at work.
struct Process {
    id: i32,
    parent: i32,
    is_marked: bool,
}

/// How many processes of a script are at work; none where the system does not tell.
pub(super) fn count(mark: &str) -> usize {
    of(mark).len()
}

/// Ends all processes of a script.
pub(super) fn end(mark: &str) {
    let mut seen_none = false;
    for _ in 0..ROUNDS_MAX {
        let left = of(mark);
        // One that came while it was looked is seen the next time.
        if left.is_empty() && seen_none {
            return;
        }
        seen_none = left.is_empty();
        for id in left.into_iter().filter_map(Pid::from_raw) {
            // One that is gone meanwhile is as good.
            let _ = kill_process(id, Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
    tracing::error!(mark, "processes of a guest are left");
}

fn of(mark: &str) -> BTreeSet<i32> {
    let marked = format!("{VARIABLE}={mark}");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: Vec<Process> =
        entries.filter_map(|entry| process(&entry.path(), marked.as_bytes())).collect();
    let is_marked = all.iter().filter(|process| process.is_marked);
    let mut found: BTreeSet<i32> = is_marked.map(|process| process.id).collect();
    loop {
        let known = found.len();
        let children = all.iter().filter(|process| found.contains(&process.parent));
        let children: Vec<i32> = children.map(|process| process.id).collect();
        found.extend(children);
        if found.len() == known {
            return found;
        }
    }
}

/// A process as the system shows it, where it is one that is at work.
fn process(path: &Path, marked: &[u8]) -> Option<Process> {
    let id = path.file_name()?.to_str()?.parse().ok()?;
    let stat = fs::read_to_string(path.join("stat")).ok()?;
    // Behind the name, which may have anything in it: state, parent.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
    // Those of others are closed to this process.
    let environment = fs::read(path.join("environ")).unwrap_or_default();
    let is_marked = environment.split(|byte| *byte == 0).any(|it| it.starts_with(marked));
    (state != "Z").then_some(Process { id, parent, is_marked })
}
