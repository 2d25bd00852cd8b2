//! A recorded life: what was written to the log and to the cloud's journal, in the order in which
//! it was written, so that each prefix is what a process finds that was killed just then.

use std::collections::{BTreeMap, HashMap};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use hearth::events::log::{EventLog, Head, MemoryLog};
use hearth::events::master_key::KeyRing;
use hearth::events::{Meta, NewEvent, StreamId};
use hearth::model::StackId;
use serde::Deserialize;
use serde_json::Value;

/// Tables of the cloud that a life does not own: what logs in, what is lent for the next stack,
/// what is still to come, and the versions of a signal that may come twice.
const NOT_COMPARED: [&str; 4] = ["tokens", "trusts", "laters", "objects"];

/// A line of a tape.
#[derive(Clone, Debug)]
pub(super) enum Line {
    /// What one request changed, as the sandbox's journal says it.
    Cloud(String),
    /// What was appended to a stream.
    Log(StreamId, Vec<NewEvent>),
    /// What events of other lines carry beside their body.
    Meta,
    Blob(String),
    /// The sealed key of a scope.
    Key(String, Vec<u8>),
    Destroyed(String),
    /// Somebody asks for something; what is done from outside until its end.
    Phase(String, Vec<Help>),
    /// How the stacks are when it is done.
    End(Vec<String>),
}

/// What somebody outside does while a resource waits for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Help {
    #[serde(rename = "while")]
    pub(super) waits: String,
    /// A resource that is signaled.
    pub(super) signal: Option<String>,
    /// A handle whose object is put.
    pub(super) put: Option<String>,
    pub(super) details: Value,
}

/// Everything that was recorded of a life.
pub(super) struct Tape {
    pub(super) name: String,
    /// Who asks for everything.
    pub(super) user: String,
    pub(super) lines: Vec<Line>,
    pub(super) stack: StackId,
}

/// How many objects there are, by table and status.
pub(super) type Holdings = BTreeMap<String, BTreeMap<String, usize>>;

pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/histories/cuts")
}

impl Tape {
    pub(super) fn read(name: &str) -> Self {
        let text = std::fs::read_to_string(folder().join(format!("{name}.jsonl"))).unwrap();
        let mut values = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let head = values.next().unwrap();
        let said = |key: &str| head[key].as_str().unwrap().to_owned();
        let mut metas = Vec::new();
        let lines: Vec<Line> = values.map(|value| line(value, &mut metas)).collect();
        let stack = lines.iter().find_map(|line| match line {
            Line::Log(stream, _) => stream.as_str().strip_prefix("stack-")?.parse().ok(),
            _ => None,
        });
        Self { name: said("life"), user: said("user"), lines, stack: stack.unwrap() }
    }

    /// How many lines there are before each cut: behind whatever was written since the first phase.
    pub(super) fn cuts(&self) -> Vec<usize> {
        let begins = self.lines.iter().position(|line| matches!(line, Line::Phase(..))).unwrap();
        let written = |at: &usize| matches!(self.lines[at - 1], Line::Cloud(_) | Line::Log(..));
        (begins + 2..=self.lines.len()).filter(written).collect()
    }

    /// The phase that stands before a cut, by the place of its line.
    pub(super) fn phase(&self, cut: usize) -> usize {
        self.lines[..cut].iter().rposition(|line| matches!(line, Line::Phase(..))).unwrap()
    }

    /// Whether what a phase asks for is on record before a cut.
    pub(super) fn has_begun(&self, phase: usize, cut: usize) -> bool {
        self.lines[phase..cut].iter().any(|line| match line {
            Line::Log(stream, _) => matches!(stream.kind(), "stack" | "resource"),
            _ => false,
        })
    }

    /// Where a phase is at its end.
    pub(super) fn end(&self, phase: usize) -> usize {
        let ends = |line: &Line| matches!(line, Line::End(_));
        phase + self.lines[phase..].iter().position(ends).unwrap()
    }

    /// The end before a phase, if there is one.
    pub(super) fn end_before(&self, phase: usize) -> Option<usize> {
        self.lines[..phase].iter().rposition(|line| matches!(line, Line::End(_)))
    }

    /// The journal of the cloud before a cut; every life begins in the same cloud.
    pub(super) fn journal(&self, cut: usize) -> String {
        let seed = std::fs::read_to_string(folder().join("cloud.jsonl")).unwrap();
        let lines = self.lines[..cut].iter().filter_map(|line| match line {
            Line::Cloud(entries) => Some(format!("{entries}\n")),
            _ => None,
        });
        std::iter::once(seed).chain(lines).collect()
    }

    /// The log before a cut, and when its last event was written.
    pub(super) async fn log(&self, cut: usize) -> (MemoryLog, DateTime<Utc>) {
        let log = MemoryLog::new();
        let last = self.write(cut, &log).await;
        (log, last + TimeDelta::seconds(1))
    }

    /// Writes what there is before a cut into a log; when its last event was written.
    pub(super) async fn write(&self, cut: usize, log: &dyn EventLog) -> DateTime<Utc> {
        let mut heads: HashMap<StreamId, Head> = HashMap::new();
        let mut last = None;
        for line in &self.lines[..cut] {
            match line {
                Line::Log(stream, events) => {
                    let head = heads.entry(stream.clone()).or_default();
                    *head = log.append(stream, *head, events.clone()).await.unwrap().head;
                    last = events.last().map(|event| event.at).max(last);
                }
                Line::Blob(text) => drop(log.put_blob(text.as_bytes()).await.unwrap()),
                Line::Key(scope, key) => drop(log.key(scope, &|| key.clone()).unwrap()),
                Line::Destroyed(scope) => log.destroy_key(scope).await.unwrap(),
                Line::Cloud(_) | Line::Meta | Line::Phase(..) | Line::End(_) => {}
            }
        }
        last.unwrap()
    }

    /// A cut as a sentence's beginning.
    pub(super) fn place(&self, cut: usize) -> String {
        let Line::Phase(phase, _) = &self.lines[self.phase(cut)] else { unreachable!() };
        let last = match &self.lines[cut - 1] {
            Line::Log(stream, events) => {
                let last = events.last().unwrap();
                format!("{} in {stream}: {}", last.event_type, last.body)
            }
            other => format!("{other:?}"),
        };
        let last: String = last.chars().take(300).collect();
        format!("{}, {phase}, cut after line {} ({last})", self.name, cut + 1)
    }
}

/// The master key of all tapes; a repository keeps no modes.
pub(super) fn master() -> KeyRing {
    let home = tempfile::tempdir().unwrap();
    let copy = home.path().join("master.key");
    std::fs::copy(folder().join("master.key"), &copy).unwrap();
    std::fs::set_permissions(&copy, Permissions::from_mode(0o600)).unwrap();
    KeyRing::load(&copy).unwrap().unwrap()
}

/// What a cloud holds whose journal this is, in the tables of another's.
pub(super) fn holdings(journal: &str) -> Holdings {
    let mut rows: BTreeMap<(String, String), Value> = BTreeMap::new();
    for line in journal.lines() {
        let entries: Vec<(String, u64, String, Value)> = serde_json::from_str(line).unwrap();
        for (table, _, id, row) in entries {
            rows.insert((table, id), row);
        }
    }
    let mut found = Holdings::new();
    for ((table, _), row) in rows {
        if NOT_COMPARED.contains(&table.as_str()) {
            continue;
        }
        let counts = found.entry(table).or_default();
        if !row.is_null() {
            let status = row["status"].as_str().unwrap_or_default().to_owned();
            *counts.entry(status).or_default() += 1;
        }
    }
    found.retain(|_, counts| !counts.is_empty());
    found
}

/// Reads a line; what events carry besides their body is kept once for all that carry the same.
fn line(mut value: Value, metas: &mut Vec<Arc<Meta>>) -> Line {
    let map = value.as_object_mut().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match map.keys().next().unwrap().as_str() {
        "meta" => {
            metas.push(Arc::new(serde_json::from_value(map["meta"].take()).unwrap()));
            Line::Meta
        }
        "cloud" => Line::Cloud(map["cloud"].to_string()),
        "log" => {
            let events =
                map["events"].as_array().unwrap().iter().map(|event| event_of(event, metas));
            Line::Log(StreamId(map["log"].as_str().unwrap().into()), events.collect())
        }
        "blob" => Line::Blob(text(&map["blob"])),
        "key" => Line::Key(text(&map["scope"]), serde_json::from_value(map["key"].take()).unwrap()),
        "destroyed" => Line::Destroyed(text(&map["destroyed"])),
        "phase" => {
            Line::Phase(text(&map["phase"]), serde_json::from_value(map["help"].take()).unwrap())
        }
        "end" => Line::End(serde_json::from_value(map["end"].take()).unwrap()),
        other => panic!("a line of {other}"),
    }
}

fn event_of(event: &Value, metas: &[Arc<Meta>]) -> NewEvent {
    NewEvent {
        // An event to be written has its type from the program; these come from a file.
        event_type: Box::leak(event[0].as_str().unwrap().into()),
        version: u16::try_from(event[1].as_u64().unwrap()).unwrap(),
        at: serde_json::from_value(event[2].clone()).unwrap(),
        meta: metas[usize::try_from(event[3].as_u64().unwrap()).unwrap()].clone(),
        body: event[4].to_string(),
    }
}
