//! What the nodes of the stand-in hold together: the log, its streams, and the server's rules of
//! appending, trimming and deleting.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::wire::{number, size, wide};

/// The most bytes of bodies that one append takes.
const APPEND_SIZE_MAX: usize = 1_048_576;
/// What a record takes in the log beside its names and bodies.
const RECORD_SIZE: u64 = 90;
/// Where the log of a new server begins.
const FIRST_POSITION: u64 = 548;
/// The revision of the event by which a stream is buried.
const BURIED: i128 = i64::MAX as i128;
/// What a new server writes for itself.
const SCAVENGES: &str =
    r#"{"$maxAge":2592000,"$acl":{"$r":"$ops","$w":[],"$d":[],"$mr":[],"$mw":[]}}"#;

/// A place in the log; without an id where it is not for readers.
pub(crate) struct Record {
    pub(crate) position: u64,
    pub(crate) stream: String,
    revision: i128,
    id: Option<String>,
    event_type: String,
    content_type: String,
    custom: Option<Value>,
    data: Option<Value>,
}

impl Record {
    /// Whether a reader without a filter sees it.
    pub(crate) fn is_event(&self) -> bool {
        self.id.is_some()
    }

    pub(crate) fn event_type(&self) -> &str {
        &self.event_type
    }

    /// The event as a read message has it.
    pub(crate) fn message(&self, structured: bool) -> Value {
        let id = self.id.as_deref().unwrap_or_default();
        let position = wide(self.position.into());
        let mut event = json!({
            "id": if structured { halves(id) } else { json!({ "string": id }) },
            "stream_identifier": { "stream_name": self.stream },
            "stream_revision": wide(self.revision),
            "prepare_position": position,
            "commit_position": position,
            "metadata": {
                "type": self.event_type,
                "created": "17953635925059099",
                "content-type": self.content_type,
            },
        });
        for (name, body) in [("custom_metadata", &self.custom), ("data", &self.data)] {
            if let Some(body) = body {
                event[name] = body.clone();
            }
        }
        json!({ "event": { "event": event, "commit_position": position } })
    }
}

#[derive(Default)]
struct Stream {
    records: Vec<usize>,
    buried: bool,
    /// What is before is not read any more.
    before: i128,
    max_count: Option<usize>,
}

/// Where an append wants the stream to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Any,
    Exists,
    /// The last event's revision; -1 where there is no stream.
    At(i128),
}

impl Expected {
    /// Out of the options of a call.
    pub(crate) fn of(options: &Value) -> Self {
        match options {
            options if options.get("any").is_some() => Self::Any,
            options if options.get("stream_exists").is_some() => Self::Exists,
            options if options.get("no_stream").is_some() => Self::At(-1),
            options => {
                let revision = options.get("revision").or_else(|| options.get("stream_position"));
                Self::At(revision.and_then(number).unwrap_or(0))
            }
        }
    }

    /// As the texts of errors write it.
    fn number(self) -> i128 {
        match self {
            Self::Any => -2,
            Self::Exists => -4,
            Self::At(revision) => revision,
        }
    }
}

/// Why an append, or a deletion, was not done.
#[derive(Debug)]
pub(crate) enum No {
    /// The last revision that there is; -1 where there is no stream.
    Wrong(i128),
    Buried,
    TooBig,
}

/// The last revision and position of what was written; no revision where there is no stream.
pub(crate) type Written = (Option<i128>, u64);

pub(crate) struct Store {
    pub(crate) records: Vec<Record>,
    streams: HashMap<String, Stream>,
    next: u64,
    /// How often an event was given an id by the server itself.
    made: u64,
}

impl Store {
    /// The log of a new server; its own first events take up what lies before `first`.
    pub(crate) fn new(first: Option<u64>) -> Self {
        let mut store =
            Self { records: Vec::new(), streams: HashMap::new(), next: FIRST_POSITION, made: 0 };
        // A record of the server's, which readers look at and never see.
        store.records.push(Record {
            position: 0,
            stream: String::new(),
            revision: 0,
            id: None,
            event_type: String::new(),
            content_type: String::new(),
            custom: None,
            data: None,
        });
        store.put_metadata("$$$scavenges", SCAVENGES.into());
        store.next = first.unwrap_or(store.next);
        store
    }

    /// The index of the record at a position.
    pub(crate) fn at(&self, position: u64) -> Option<usize> {
        self.records.binary_search_by_key(&position, |record| record.position).ok()
    }

    /// The last position there is.
    pub(crate) fn end(&self) -> u64 {
        self.records.last().map_or(0, |record| record.position)
    }

    pub(crate) fn is_buried(&self, stream: &str) -> bool {
        self.streams.get(stream).is_some_and(|stream| stream.buried)
    }

    /// The stream's last revision.
    pub(crate) fn current(&self, stream: &str) -> i128 {
        let last = self.streams.get(stream).and_then(|stream| stream.records.last());
        last.map_or(-1, |at| self.records[*at].revision)
    }

    /// Indices of what can be read of a stream, with revisions; `None` where there is none.
    pub(crate) fn readable(&self, stream: &str) -> Option<Vec<(i128, usize)>> {
        let found = self.streams.get(stream)?;
        let from = found.max_count.map_or(0, |max| found.records.len().saturating_sub(max));
        let revision = |at: &usize| (self.records[*at].revision, *at);
        let kept = found.records[from..].iter().map(revision);
        let kept: Vec<_> = kept.filter(|(revision, _)| *revision >= found.before).collect();
        (!kept.is_empty()).then_some(kept)
    }

    pub(crate) fn append(
        &mut self,
        stream: &str,
        expected: Expected,
        events: &[Value],
    ) -> Result<Written, No> {
        let bodies = |event: &Value| size(event.get("data"));
        if events.iter().map(bodies).sum::<usize>() > APPEND_SIZE_MAX {
            return Err(No::TooBig);
        }
        if self.is_buried(stream) {
            return Err(No::Buried);
        }
        let current = self.current(stream);
        let gone = current >= 0 && self.readable(stream).is_none();
        let fits = match expected {
            Expected::Any => true,
            Expected::Exists => current >= 0 && !gone,
            Expected::At(revision) => revision == current || (gone && revision == -1),
        };
        let again = self.written_before(stream, expected, events);
        if let Some(written) = again.filter(|_| !events.is_empty()) {
            return Ok(written);
        }
        if !fits {
            return Err(No::Wrong(current));
        }
        let mut revision = current;
        for event in events {
            revision += 1;
            let metadata = &event["metadata"];
            let text = |name: &str| metadata[name].as_str().unwrap_or_default().to_owned();
            self.put(Record {
                position: 0,
                stream: stream.to_owned(),
                revision,
                id: Some(id_text(&event["id"])),
                event_type: text("type"),
                content_type: match text("content-type").as_str() {
                    json @ "application/json" => json.to_owned(),
                    _ => "application/octet-stream".to_owned(),
                },
                custom: event.get("custom_metadata").filter(|it| size(Some(it)) > 0).cloned(),
                data: event.get("data").filter(|it| size(Some(it)) > 0).cloned(),
            });
        }
        if events.is_empty() {
            // A position is used up, and nothing stands there.
            let position = self.next;
            self.next += RECORD_SIZE + stream.len() as u64;
            return Ok(((current >= 0).then_some(current), position));
        }
        let end = self.end();
        if let Some(of) = stream.strip_prefix("$$") {
            self.heed(of, events.last().map_or(&Value::Null, |event| &event["data"]));
        } else if gone {
            let before = current + 1;
            self.put_metadata(&format!("$${stream}"), json!({ "$tb": wide(before) }).to_string());
        }
        Ok(((revision >= 0).then_some(revision), end))
    }

    /// Where the events stand already, if they do.
    fn written_before(
        &self,
        stream: &str,
        expected: Expected,
        events: &[Value],
    ) -> Option<Written> {
        let found = self.streams.get(stream)?;
        let ids: Vec<_> = events.iter().map(|event| id_text(&event["id"])).collect();
        let from = match expected {
            Expected::At(revision) => {
                found.records.iter().position(|at| self.records[*at].revision == revision + 1)?
            }
            Expected::Any | Expected::Exists => {
                found.records.iter().position(|at| self.records[*at].id.as_ref() == ids.first())?
            }
        };
        let mut there = found.records[from..].iter().take(ids.len());
        let same = there.clone().map(|at| self.records[*at].id.as_ref()).eq(ids.iter().map(Some));
        let last = &self.records[*there.next_back()?];
        same.then_some((Some(last.revision), last.position))
    }

    /// Deletes a stream so that it can be written again.
    pub(crate) fn delete(&mut self, stream: &str, expected: Expected) -> Result<u64, No> {
        self.check(stream, expected)?;
        if self.readable(stream).is_none() {
            return Err(No::Wrong(-1));
        }
        self.put_metadata(&format!("$${stream}"), json!({ "$tb": i64::MAX }).to_string());
        Ok(self.end())
    }

    /// Deletes a stream for ever.
    pub(crate) fn bury(&mut self, stream: &str, expected: Expected) -> Result<u64, No> {
        self.check(stream, expected)?;
        let id = Some(self.fresh_id());
        self.put(Record {
            position: 0,
            stream: stream.to_owned(),
            revision: BURIED,
            id,
            event_type: "$streamDeleted".to_owned(),
            content_type: "application/octet-stream".to_owned(),
            custom: None,
            data: None,
        });
        self.streams.entry(stream.to_owned()).or_default().buried = true;
        Ok(self.end())
    }

    fn check(&self, stream: &str, expected: Expected) -> Result<(), No> {
        if self.is_buried(stream) {
            return Err(No::Buried);
        }
        let current = self.current(stream);
        match expected {
            Expected::At(revision) if revision != current => Err(No::Wrong(current)),
            Expected::Exists if current < 0 => Err(No::Wrong(current)),
            _ => Ok(()),
        }
    }

    /// Heeds what the metadata of a stream says.
    fn heed(&mut self, stream: &str, metadata: &Value) {
        let metadata: Map<String, Value> =
            metadata.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let stream = self.streams.entry(stream.to_owned()).or_default();
        stream.before = metadata.get("$tb").and_then(number).unwrap_or(0);
        stream.max_count =
            metadata.get("$maxCount").and_then(|max| usize::try_from(max.as_u64()?).ok());
    }

    fn put_metadata(&mut self, stream: &str, data: String) {
        let id = Some(self.fresh_id());
        self.put(Record {
            position: 0,
            stream: stream.to_owned(),
            revision: self.current(stream) + 1,
            id,
            event_type: "$metadata".to_owned(),
            content_type: "application/json".to_owned(),
            custom: None,
            data: Some(Value::from(data.clone())),
        });
        self.heed(&stream[2..], &Value::from(data));
    }

    fn put(&mut self, mut record: Record) {
        record.position = self.next;
        let bodies = size(record.custom.as_ref()) + size(record.data.as_ref());
        self.next += RECORD_SIZE + (record.stream.len() + record.event_type.len() + bodies) as u64;
        let at = self.records.len();
        self.streams.entry(record.stream.clone()).or_default().records.push(at);
        self.records.push(record);
    }

    fn fresh_id(&mut self) -> String {
        self.made += 1;
        format!("00000000-0000-4000-9000-{:012}", self.made)
    }

    /// The words in which a refused deletion is told.
    pub(crate) fn refusal(stream: &str, expected: Expected, actual: i128) -> String {
        let expected = expected.number();
        format!(
            "Delete failed due to WrongExpectedVersion. Stream: {stream}, \
             Expected version: {expected}, Actual version: {actual}"
        )
    }

    pub(crate) fn refusal_trailers(
        stream: &str,
        expected: Expected,
        actual: i128,
    ) -> [(&'static str, String); 4] {
        [
            ("exception", "wrong-expected-version".to_owned()),
            ("stream-name", stream.to_owned()),
            ("expected-version", expected.number().to_string()),
            ("actual-version", actual.to_string()),
        ]
    }
}

/// An id of either form as text.
pub(crate) fn id_text(id: &Value) -> String {
    match id.get("string") {
        Some(text) => text.as_str().unwrap_or_default().to_owned(),
        None => {
            let half =
                |name: &str| id["structured"].get(name).and_then(number).unwrap_or(0) as i64 as u64;
            let (most, least) = (half("most_significant_bits"), half("least_significant_bits"));
            uuid::Uuid::from_u64_pair(most, least).to_string()
        }
    }
}

/// An id in the form of two numbers.
pub(crate) fn halves(id: &str) -> Value {
    let (most, least) = uuid::Uuid::parse_str(id).unwrap_or_default().as_u64_pair();
    json!({ "structured": {
        "most_significant_bits": wide((most as i64).into()),
        "least_significant_bits": wide((least as i64).into()),
    }})
}
