//! The history of a stack in one file, secrets taken out: whoever has it needs neither the log nor
//! its keys. A line of JSON each: of what it is, every event, every source of a revision, and in
//! the end how many there were, so that a file that was cut is known.
//!
//! Whoever reads one knows nothing of where it comes from: it is bounded in size, in the length of
//! a line and in depth, and what does not belong together is refused.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::leaf::unsealed;
use super::log::BlobId;
use super::{Meta, Position, RecordedEvent, StreamId, StreamRevision};
use crate::model::{StackId, StackName};

/// The version of the file.
const FORMAT: u32 = 1;

/// How large a file is at most, and a line of it: the largest source there is, with what JSON adds.
const FILE_BYTES_MAX: usize = 512 << 20;
const LINE_BYTES_MAX: usize = 64 << 20;

/// How many events there are at most.
const EVENTS_MAX: usize = 1_000_000;

/// What a bundle is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    format: u32,
    pub stack_id: StackId,
    pub stack_name: StackName,
    /// Where the log stood.
    pub position: Position,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    History(Heading),
    Event(EventLine),
    Source(SourceLine),
    End(Counts),
}

#[derive(Serialize, Deserialize)]
struct EventLine {
    position: Position,
    stream: StreamId,
    revision: StreamRevision,
    #[serde(rename = "type")]
    event_type: Arc<str>,
    version: u16,
    at: DateTime<Utc>,
    meta: Meta,
    body: Value,
}

#[derive(Serialize, Deserialize)]
struct SourceLine {
    id: BlobId,
    document: Value,
}

/// How much there is in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    events: usize,
    sources: usize,
}

/// Writes the lines of a bundle.
#[derive(Default)]
pub struct Writer(Counts);

impl Writer {
    /// The first line.
    pub fn heading(&self, stack_id: StackId, stack_name: StackName, position: Position) -> String {
        line(&Line::History(Heading { format: FORMAT, stack_id, stack_name, position }))
    }

    /// An event without its secrets.
    pub fn event(&mut self, event: &RecordedEvent) -> String {
        self.0.events += 1;
        let body: Value = serde_json::from_str(&event.body).unwrap_or_default();
        line(&Line::Event(EventLine {
            position: event.position,
            stream: event.stream.clone(),
            revision: event.revision,
            event_type: Arc::clone(&event.event_type),
            version: event.version,
            at: event.at,
            meta: (*event.meta).clone(),
            body: unsealed(&body),
        }))
    }

    /// The source of a revision, without its secrets.
    pub fn source(&mut self, id: BlobId, document: &[u8]) -> String {
        self.0.sources += 1;
        let document: Value = serde_json::from_slice(document).unwrap_or_default();
        line(&Line::Source(SourceLine { id, document: unsealed(&document) }))
    }

    /// The last line.
    pub fn end(self) -> String {
        line(&Line::End(self.0))
    }
}

fn line(line: &Line) -> String {
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}

/// Why a file is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("it cannot be read")]
    Read(#[from] std::io::Error),
    #[error(
        "it is larger than {FILE_BYTES_MAX} bytes, or has a line of more than {LINE_BYTES_MAX}"
    )]
    TooLarge,
    #[error("it has more than {EVENTS_MAX} events")]
    TooMany,
    #[error("line {line} is none of a history that was exported")]
    Line {
        line: usize,
        #[source]
        source: serde_json::Error,
    },
    #[error("it is no history that was exported, or of another version of Hearth")]
    Heading,
    #[error("line {0} does not belong where it stands")]
    Misplaced(usize),
    #[error("it was cut: its end is missing")]
    Cut,
    #[error("events of the stream {0} are missing, or are there twice")]
    Gap(StreamId),
}

/// A bundle that was read.
#[derive(Debug)]
pub struct Bundle {
    pub heading: Heading,
    streams: BTreeMap<StreamId, Vec<Arc<RecordedEvent>>>,
    sources: BTreeMap<BlobId, Value>,
}

impl Bundle {
    /// Reads one.
    pub fn read(mut from: impl BufRead) -> Result<Bundle, BundleError> {
        let mut lines = Lines { number: 0, left: FILE_BYTES_MAX, text: Vec::new() };
        let Some(Line::History(heading)) = lines.next(&mut from)? else {
            return Err(BundleError::Heading);
        };
        if heading.format != FORMAT {
            return Err(BundleError::Heading);
        }
        let mut bundle = Bundle { heading, streams: BTreeMap::new(), sources: BTreeMap::new() };
        let mut counts = Counts::default();
        loop {
            match lines.next(&mut from)?.ok_or(BundleError::Cut)? {
                Line::History(_) => return Err(BundleError::Misplaced(lines.number)),
                Line::Event(event) if counts.events < EVENTS_MAX => {
                    counts.events += 1;
                    let event = recorded(event);
                    bundle.streams.entry(event.stream.clone()).or_default().push(Arc::new(event));
                }
                Line::Event(_) => return Err(BundleError::TooMany),
                Line::Source(source) => {
                    counts.sources += 1;
                    bundle.sources.insert(source.id, source.document);
                }
                Line::End(told) if told == counts => break,
                Line::End(_) => return Err(BundleError::Cut),
            }
        }
        if lines.next(&mut from)?.is_some() {
            return Err(BundleError::Misplaced(lines.number));
        }
        for (stream, events) in &mut bundle.streams {
            events.sort_by_key(|event| event.revision);
            let is_whole = events.iter().zip(0..).all(|(event, at)| event.revision.0 == at)
                && events.is_sorted_by(|one, next| one.position < next.position);
            if !is_whole {
                return Err(BundleError::Gap(stream.clone()));
            }
        }
        Ok(bundle)
    }

    /// The events of a stream; of one that it has not, none.
    pub fn stream(&self, stream: &StreamId) -> &[Arc<RecordedEvent>] {
        self.streams.get(stream).map_or(&[], Vec::as_slice)
    }

    /// Every event, stream by stream.
    pub fn events(&self) -> impl Iterator<Item = &Arc<RecordedEvent>> {
        self.streams.values().flatten()
    }

    /// The source of a revision, as it stands in the log.
    pub fn source(&self, id: &BlobId) -> Option<&Value> {
        self.sources.get(id)
    }
}

fn recorded(line: EventLine) -> RecordedEvent {
    RecordedEvent {
        position: line.position,
        stream: line.stream,
        revision: line.revision,
        event_type: line.event_type,
        version: line.version,
        at: line.at,
        meta: Arc::new(line.meta),
        body: line.body.to_string().into(),
        // It is over what was taken out, too, and proves nothing here.
        hash: [0; 32],
    }
}

/// The lines of a file, one after the other.
struct Lines {
    number: usize,
    /// How many bytes may still come.
    left: usize,
    text: Vec<u8>,
}

impl Lines {
    fn next(&mut self, from: &mut impl BufRead) -> Result<Option<Line>, BundleError> {
        self.number += 1;
        self.text.clear();
        let most = self.left.min(LINE_BYTES_MAX);
        let mut limited = std::io::Read::take(&mut *from, most as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.text)?;
        if read > most {
            return Err(BundleError::TooLarge);
        }
        self.left -= read;
        if read == 0 {
            return Ok(None);
        }
        let line = self.number;
        let parsed = serde_json::from_slice(&self.text);
        parsed.map(Some).map_err(|source| BundleError::Line { line, source })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn event(revision: u64, body: Value) -> RecordedEvent {
        RecordedEvent {
            position: Position(revision + 5),
            stream: StreamId::stack(StackId(Uuid::from_u128(7))),
            revision: StreamRevision(revision),
            event_type: "OutputsChanged".into(),
            version: 1,
            at: DateTime::UNIX_EPOCH,
            meta: Arc::new(Meta::default()),
            body: body.to_string().into(),
            hash: [1; 32],
        }
    }

    /// The lines of a bundle of two events and a source.
    fn lines() -> Vec<String> {
        let mut writer = Writer::default();
        let sealed = json!({ "a": { "sealed": "v2:c2VjcmV0", "at": "p" }, "b": 1 });
        vec![
            writer.heading(StackId(Uuid::from_u128(7)), "web".into(), Position(9)),
            writer.event(&event(1, json!({}))),
            writer.event(&event(0, sealed.clone())),
            writer.source(BlobId("0f".to_owned()), sealed.to_string().as_bytes()),
            writer.end(),
        ]
    }

    fn read(lines: &[String]) -> Result<Bundle, String> {
        Bundle::read(lines.concat().as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_written_is_read_back_without_what_was_sealed() {
        let lines = lines();
        assert!(!lines.concat().contains("c2VjcmV0"));
        let bundle = read(&lines).unwrap();
        assert_eq!((bundle.heading.stack_name.as_str(), bundle.heading.position.0), ("web", 9));
        let stream = StreamId::stack(bundle.heading.stack_id);
        let events = bundle.stream(&stream);
        assert_eq!(events.iter().map(|it| it.position.0).collect::<Vec<_>>(), [5, 6]);
        let left = json!({ "a": { "sealed": "v2:", "at": "" }, "b": 1 });
        assert_eq!(serde_json::from_str::<Value>(&events[0].body).unwrap(), left);
        assert_eq!(bundle.source(&BlobId("0f".to_owned())), Some(&left));
        let masked = json!({ "a": "******", "b": 1 });
        assert_eq!(crate::events::vault::Vault::masked(&left), masked);
    }

    #[test]
    fn what_is_no_bundle_is_refused_with_its_reason() {
        let whole = lines();
        let without = |at: usize| {
            let mut lines = whole.clone();
            lines.remove(at);
            read(&lines).unwrap_err()
        };
        assert_eq!(
            without(0),
            "it is no history that was exported, or of another version of Hearth"
        );
        assert_eq!(without(1), "it was cut: its end is missing");
        assert_eq!(without(4), "it was cut: its end is missing");
        assert_eq!(read(&[]).unwrap_err(), without(0));
        let mut doubled = whole.clone();
        doubled.insert(2, whole[1].clone());
        doubled[5] = doubled[5].replace("\"events\":2", "\"events\":3");
        let twice = read(&doubled).unwrap_err();
        assert!(twice.contains("are missing, or are there twice"), "{twice}");
        let mut more = whole.clone();
        more.push(whole[1].clone());
        assert_eq!(read(&more).unwrap_err(), "line 6 does not belong where it stands");
        let deep = "[".repeat(100_000);
        let nested = format!("{{\"source\":{{\"id\":\"0f\",\"document\":{deep}}}}}\n");
        assert!(read(&[whole[0].clone(), nested]).unwrap_err().starts_with("line 2 is none"));
        assert!(read(&[whole[0].clone(), "{}\n".to_owned()]).unwrap_err().starts_with("line 2"));
    }

    #[test]
    fn no_more_is_read_than_may_be() {
        let mut lines = Lines { number: 0, left: 10, text: Vec::new() };
        let mut from: &[u8] = b"{\"much\":\"more than ten bytes\"}\n";
        assert!(matches!(lines.next(&mut from), Err(BundleError::TooLarge)));
        assert!(lines.text.len() <= 11);
    }
}
