//! Reads of a stream and of the whole log, and what a filter takes.

use fancy_regex::Regex;
use serde_json::{Value, json};
use tonic::Status;

use super::append::stream_name;
use super::server::buried;
use super::store::Record;
use super::wire::{number, wide};
use super::{Cluster, State};

/// What a reader of the whole log wants to see of it.
pub(super) struct Wanted {
    by_type: bool,
    prefixes: Vec<String>,
    pattern: Option<Regex>,
    /// How many records are looked at before the reader is told how far it is.
    pub(super) window: usize,
    pub(super) multiplier: usize,
}

impl Wanted {
    /// Out of the options of a read; `None` where it has no filter.
    pub(super) fn of(options: &Value) -> Option<Self> {
        let filter = options.get("filter")?;
        let by_type = filter.get("event_type").is_some();
        let expression = filter.get("event_type").or_else(|| filter.get("stream_identifier"))?;
        let prefixes = expression["prefix"].as_array().into_iter().flatten();
        let at_least = |name: &str, least: usize| {
            let found = filter.get(name).and_then(number).and_then(|it| usize::try_from(it).ok());
            found.unwrap_or(least).max(1)
        };
        Some(Self {
            by_type,
            prefixes: prefixes.filter_map(|it| Some(it.as_str()?.to_owned())).collect(),
            pattern: expression["regex"].as_str().map(|regex| Regex::new(regex).unwrap()),
            window: at_least("max", 32),
            multiplier: at_least("checkpointIntervalMultiplier", 1),
        })
    }

    pub(super) fn takes(&self, record: &Record) -> bool {
        let name = if self.by_type { record.event_type() } else { &record.stream };
        match &self.pattern {
            Some(pattern) => record.is_event() && pattern.is_match(name).unwrap(),
            None => record.is_event() && self.prefixes.iter().any(|it| name.starts_with(it)),
        }
    }
}

/// Whether a reader wants ids as two numbers.
pub(super) fn structured(options: &Value) -> bool {
    options["uuid_option"].get("structured").is_some()
}

/// A place as it was asked for: commit and prepare.
pub(super) fn asked(place: &Value) -> (u64, u64) {
    let at = |name: &str| place.get(name).and_then(number).unwrap_or(0) as u64;
    (at("commit_position"), at("prepare_position"))
}

impl State {
    /// How many records a reader of the whole log sees.
    pub(super) fn visible(&self) -> usize {
        let all = self.store.records.len();
        self.faults.hidden_from.map_or(all, |from| from.min(all))
    }
}

impl Cluster {
    /// The answer to a read that ends.
    pub(super) fn read(&self, options: &Value) -> Result<Vec<Value>, Status> {
        self.lock().reads += 1;
        if options.get("uuid_option").is_none() {
            return Err(Status::invalid_argument(""));
        }
        let count = options.get("count").and_then(number).unwrap_or(0);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        match options.get("all") {
            Some(all) => self.read_all(options, all, count),
            None => self.read_stream(options, &options["stream"], count),
        }
    }

    fn read_stream(
        &self,
        options: &Value,
        wanted: &Value,
        count: usize,
    ) -> Result<Vec<Value>, Status> {
        let mut state = self.lock();
        if state.faults.failing_reads > 0 {
            state.faults.failing_reads -= 1;
            return Err(Status::unavailable("Server Is Not Ready"));
        }
        let name = stream_name(wanted);
        if count == 0 {
            return Err(Status::unknown("Unexpected ReadStreamResult: Error"));
        }
        if state.store.is_buried(&name) {
            return Err(buried(&name));
        }
        let Some(mut there) = state.store.readable(&name) else {
            let stream = json!({ "stream_identifier": { "stream_name": name } });
            return Ok(vec![json!({ "stream_not_found": stream })]);
        };
        let last = there.last().map(|(revision, _)| *revision);
        let from = wanted.get("revision").and_then(number);
        if options.get("read_direction").is_some_and(|direction| direction == "Backwards") {
            there.reverse();
            there.retain(|(revision, _)| from.is_none_or(|from| *revision <= from));
        } else {
            there.retain(|(revision, _)| from.is_none_or(|from| *revision >= from));
        }
        let structured = structured(options);
        let message = |(_, at): &(i128, usize)| state.store.records[*at].message(structured);
        let mut messages: Vec<_> = there.iter().take(count).map(message).collect();
        if let (Some(_), Some(last)) = (options.get("control_option"), last) {
            messages.push(json!({ "last_stream_position": wide(last) }));
        }
        Ok(messages)
    }

    fn read_all(&self, options: &Value, from: &Value, count: usize) -> Result<Vec<Value>, Status> {
        let state = self.lock();
        let visible = state.visible();
        let filter = Wanted::of(options);
        let backwards =
            options.get("read_direction").is_some_and(|direction| direction == "Backwards");
        let start = match from.get("position").map(asked) {
            None => {
                if backwards {
                    visible
                } else {
                    0
                }
            }
            Some((commit, prepare)) if prepare > commit => {
                return Err(Status::unknown("Exception was thrown by handler."));
            }
            Some((commit, _)) if commit > state.store.end() => visible,
            Some((commit, _)) => match state.store.at(commit) {
                Some(at) => at.min(visible),
                None => {
                    let kind = if filter.is_some() { "FilteredReadAll" } else { "ReadAll" };
                    let text = format!("Unexpected {kind}Result: InvalidPosition");
                    return Err(Status::unknown(text));
                }
            },
        };
        let records = &state.store.records;
        let takes = |record: &&Record| match &filter {
            Some(filter) => filter.takes(record),
            None => record.is_event(),
        };
        let structured = structured(options);
        let message = |record: &Record| record.message(structured);
        Ok(match backwards {
            true => records[..start].iter().rev().filter(takes).take(count).map(message).collect(),
            false => {
                records[start..visible].iter().filter(takes).take(count).map(message).collect()
            }
        })
    }
}
