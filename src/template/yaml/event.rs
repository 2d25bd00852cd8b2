//! What a text is scanned into: events, the same from both scanners.

use ecow::EcoString;

use super::error::YamlError;
use crate::template::place::Place;

/// One event of a YAML stream.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) place: Place,
    pub(super) kind: EventKind,
}

/// What an event says. Tags are full (`tag:yaml.org,2002:str`), or absent.
#[derive(Debug)]
pub(super) enum EventKind {
    DocumentStart,
    DocumentEnd,
    StreamStart,
    StreamEnd,
    Alias { anchor: String },
    Scalar { anchor: Option<String>, tag: Option<String>, text: EcoString, plain: bool },
    SequenceStart { anchor: Option<String>, tag: Option<String> },
    SequenceEnd,
    MappingStart { anchor: Option<String>, tag: Option<String> },
    MappingEnd,
}

/// Where events come from.
pub(super) trait Events {
    /// The next event.
    fn next(&mut self) -> Result<Event, YamlError>;
}
