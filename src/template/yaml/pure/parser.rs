//! From tokens to events: the grammar of YAML as PyYAML's parser has it, one state per event.

use std::collections::HashMap;

use super::scanner::Scanner;
use super::token::{Directive, Token, TokenKind};
use crate::template::place::Place;
use crate::template::python;
use crate::template::yaml::error::YamlError;
use crate::template::yaml::event::{Event, EventKind, Events};

type Parsed = Result<Event, YamlError>;

/// What is parsed next.
#[derive(Clone, Copy)]
enum State {
    StreamStart,
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceFirst,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirst,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirst,
    FlowSequenceEntry,
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowMappingFirst,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

/// Which nodes may stand somewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Flow,
    Block,
    /// A sequence as well whose dashes are not indented.
    BlockOrIndentless,
}

/// Parses a text into events.
pub(in crate::template::yaml) struct Parser {
    scanner: Scanner,
    state: State,
    /// Where to go on after the node at hand.
    states: Vec<State>,
    /// Where the open collections began.
    marks: Vec<Place>,
    handles: HashMap<String, String>,
}

impl Events for Parser {
    fn next(&mut self) -> Parsed {
        match self.state {
            State::StreamStart => {
                let token = self.scanner.take()?;
                self.to(State::ImplicitDocumentStart, token.start, EventKind::StreamStart)
            }
            State::ImplicitDocumentStart => self.implicit_document_start(),
            State::DocumentStart => self.document_start(),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(Allowed::Block),
            State::BlockSequenceFirst => {
                self.open()?;
                self.block_sequence_entry()
            }
            State::BlockSequenceEntry => self.block_sequence_entry(),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingFirst => {
                self.open()?;
                self.block_mapping_key()
            }
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirst => {
                self.open()?;
                self.flow_sequence_entry(true)
            }
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowPairKey => self.flow_pair_key(),
            State::FlowPairValue => self.flow_pair_value(),
            State::FlowPairEnd => {
                let place = self.scanner.peek()?.start;
                self.to(State::FlowSequenceEntry, place, EventKind::MappingEnd)
            }
            State::FlowMappingFirst => {
                self.open()?;
                self.flow_mapping_key(true)
            }
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingEmptyValue => {
                let place = self.scanner.peek()?.start;
                self.empty(State::FlowMappingKey, place)
            }
            State::End => {
                let place = self.scanner.peek()?.start;
                self.to(State::End, place, EventKind::StreamEnd)
            }
        }
    }
}

impl Parser {
    pub(in crate::template::yaml) fn new(text: &str) -> Result<Self, YamlError> {
        Ok(Self {
            scanner: Scanner::new(text)?,
            state: State::StreamStart,
            states: Vec::new(),
            marks: Vec::new(),
            handles: default_handles(),
        })
    }

    // Steps.

    fn to(&mut self, state: State, place: Place, kind: EventKind) -> Parsed {
        self.state = state;
        Ok(Event { place, kind })
    }

    /// A node that is not there.
    fn empty(&mut self, state: State, place: Place) -> Parsed {
        let (anchor, tag, text) = (None, None, String::new());
        self.to(state, place, EventKind::Scalar { anchor, tag, text: text.into(), plain: true })
    }

    /// A node, after which it goes on with a state.
    fn node_then(&mut self, state: State, allowed: Allowed) -> Parsed {
        self.states.push(state);
        self.node(allowed)
    }

    fn pop_state(&mut self) -> State {
        self.states.pop().unwrap_or(State::End)
    }

    /// Takes the token that opens a collection.
    fn open(&mut self) -> Result<(), YamlError> {
        let token = self.scanner.take()?;
        self.marks.push(token.start);
        Ok(())
    }

    /// Takes the token that closes a collection.
    fn close(&mut self, kind: EventKind) -> Parsed {
        let token = self.scanner.take()?;
        self.marks.pop();
        let state = self.pop_state();
        self.to(state, token.start, kind)
    }

    fn is_next(&mut self, fits: impl Fn(&TokenKind) -> bool) -> Result<bool, YamlError> {
        Ok(fits(&self.scanner.peek()?.kind))
    }

    /// Takes the next token if it is of the kind.
    fn take_if(&mut self, fits: impl Fn(&TokenKind) -> bool) -> Result<Option<Token>, YamlError> {
        if self.is_next(fits)? { Ok(Some(self.scanner.take()?)) } else { Ok(None) }
    }

    /// The next token is not what the open collection may have.
    fn unexpected(&mut self, doing: &str, expected: &str) -> YamlError {
        let start = self.marks.last().copied().unwrap_or_default();
        match self.scanner.peek() {
            Err(error) => error,
            Ok(token) => {
                let found = python::quoted(token.kind.id());
                YamlError::at(token.start, format!("{expected} {found}")).since(doing, start)
            }
        }
    }

    // Documents.

    fn implicit_document_start(&mut self) -> Parsed {
        let explicit = self.is_next(|kind| {
            use TokenKind::{Directive, DocumentStart, StreamEnd};
            matches!(kind, Directive(_) | DocumentStart | StreamEnd)
        })?;
        if explicit {
            return self.document_start();
        }
        let place = self.scanner.peek()?.start;
        self.states.push(State::DocumentEnd);
        self.to(State::BlockNode, place, EventKind::DocumentStart)
    }

    fn document_start(&mut self) -> Parsed {
        while self.take_if(|kind| matches!(kind, TokenKind::DocumentEnd))?.is_some() {}
        let place = self.scanner.peek()?.start;
        if self.is_next(|kind| matches!(kind, TokenKind::StreamEnd))? {
            return self.to(State::End, place, EventKind::StreamEnd);
        }
        self.directives()?;
        if self.take_if(|kind| matches!(kind, TokenKind::DocumentStart))?.is_none() {
            let token = self.scanner.peek()?;
            let found = python::quoted(token.kind.id());
            let problem = format!("expected '<document start>', but found {found}");
            return Err(YamlError::at(token.start, problem));
        }
        self.states.push(State::DocumentEnd);
        self.to(State::DocumentContent, place, EventKind::DocumentStart)
    }

    fn directives(&mut self) -> Result<(), YamlError> {
        let mut has_version = false;
        let mut handles = HashMap::new();
        while let Some(token) = self.take_if(|kind| matches!(kind, TokenKind::Directive(_)))? {
            let wrong = |problem: String| Err(YamlError::at(token.start, problem));
            match token.kind {
                TokenKind::Directive(Directive::Yaml { major }) => {
                    if std::mem::replace(&mut has_version, true) {
                        return wrong("found duplicate YAML directive".to_owned());
                    }
                    if major.trim_start_matches('0') != "1" {
                        return wrong(
                            "found incompatible YAML document (version 1.* is required)".to_owned(),
                        );
                    }
                }
                TokenKind::Directive(Directive::Tag { handle, prefix }) => {
                    if handles.contains_key(&handle) {
                        return wrong(format!("duplicate tag handle {}", python::quoted(&handle)));
                    }
                    handles.insert(handle, prefix);
                }
                _ => {}
            }
        }
        self.handles = default_handles();
        self.handles.extend(handles);
        Ok(())
    }

    fn document_content(&mut self) -> Parsed {
        let nothing = self.is_next(|kind| {
            use TokenKind::{Directive, DocumentEnd, DocumentStart, StreamEnd};
            matches!(kind, Directive(_) | DocumentStart | DocumentEnd | StreamEnd)
        })?;
        if nothing {
            let place = self.scanner.peek()?.start;
            let state = self.pop_state();
            return self.empty(state, place);
        }
        self.node(Allowed::Block)
    }

    fn document_end(&mut self) -> Parsed {
        let place = self.scanner.peek()?.start;
        self.take_if(|kind| matches!(kind, TokenKind::DocumentEnd))?;
        self.to(State::DocumentStart, place, EventKind::DocumentEnd)
    }

    // Nodes.

    fn node(&mut self, allowed: Allowed) -> Parsed {
        let is_anchor = |kind: &TokenKind| matches!(kind, TokenKind::Anchor(_));
        let is_tag = |kind: &TokenKind| matches!(kind, TokenKind::Tag { .. });
        if let Some(token) = self.take_if(|kind| matches!(kind, TokenKind::Alias(_)))? {
            let TokenKind::Alias(anchor) = token.kind else { return self.nothing(allowed, None) };
            let state = self.pop_state();
            return self.to(state, token.start, EventKind::Alias { anchor });
        }
        let mut anchor = self.take_if(is_anchor)?;
        let tag = self.take_if(is_tag)?;
        if anchor.is_none() && tag.is_some() {
            anchor = self.take_if(is_anchor)?;
        }
        let places = [&anchor, &tag].into_iter().flatten().map(|token| token.start);
        let start = places.min();
        let tag = tag.map(|token| self.whole_tag(token, start)).transpose()?;
        let anchor = anchor.and_then(|token| match token.kind {
            TokenKind::Anchor(name) => Some(name),
            _ => None,
        });

        let is_block = allowed != Allowed::Flow;
        let next = self.scanner.peek()?;
        let place = start.unwrap_or(next.start);
        match next.kind {
            TokenKind::BlockEntry if allowed == Allowed::BlockOrIndentless => {
                let kind = EventKind::SequenceStart { anchor, tag };
                self.to(State::IndentlessSequenceEntry, place, kind)
            }
            TokenKind::Scalar { .. } => {
                let TokenKind::Scalar { text, plain } = self.scanner.take()?.kind else {
                    return self.nothing(allowed, start);
                };
                let plain = (plain && tag.is_none()) || tag.as_deref() == Some("!");
                let state = self.pop_state();
                self.to(state, place, EventKind::Scalar { anchor, tag, text: text.into(), plain })
            }
            TokenKind::FlowSequenceStart => {
                self.to(State::FlowSequenceFirst, place, EventKind::SequenceStart { anchor, tag })
            }
            TokenKind::FlowMappingStart => {
                self.to(State::FlowMappingFirst, place, EventKind::MappingStart { anchor, tag })
            }
            TokenKind::BlockSequenceStart if is_block => {
                self.to(State::BlockSequenceFirst, place, EventKind::SequenceStart { anchor, tag })
            }
            TokenKind::BlockMappingStart if is_block => {
                self.to(State::BlockMappingFirst, place, EventKind::MappingStart { anchor, tag })
            }
            _ if anchor.is_some() || tag.is_some() => {
                let state = self.pop_state();
                let plain = tag.is_none() || tag.as_deref() == Some("!");
                self.to(state, place, EventKind::Scalar { anchor, tag, text: "".into(), plain })
            }
            _ => self.nothing(allowed, start),
        }
    }

    fn whole_tag(&self, token: Token, start: Option<Place>) -> Result<String, YamlError> {
        let TokenKind::Tag { handle, suffix } = token.kind else { return Ok(String::new()) };
        let Some(handle) = handle else { return Ok(suffix) };
        match self.handles.get(&handle) {
            Some(prefix) => Ok(format!("{prefix}{suffix}")),
            None => {
                let problem = format!("found undefined tag handle {}", python::quoted(&handle));
                let start = start.unwrap_or(token.start);
                Err(YamlError::at(token.start, problem).since("while parsing a node", start))
            }
        }
    }

    /// No node stands here.
    fn nothing(&mut self, allowed: Allowed, start: Option<Place>) -> Parsed {
        let token = self.scanner.peek()?;
        let found = python::quoted(token.kind.id());
        let kind = if allowed == Allowed::Flow { "flow" } else { "block" };
        Err(YamlError::at(token.start, format!("expected the node content, but found {found}"))
            .since(format!("while parsing a {kind} node"), start.unwrap_or(token.start)))
    }

    // Block collections.

    fn block_sequence_entry(&mut self) -> Parsed {
        use TokenKind::{BlockEnd, BlockEntry};
        if let Some(token) = self.take_if(|kind| matches!(kind, BlockEntry))? {
            if self.is_next(|kind| matches!(kind, BlockEntry | BlockEnd))? {
                return self.empty(State::BlockSequenceEntry, token.end);
            }
            return self.node_then(State::BlockSequenceEntry, Allowed::Block);
        }
        if !self.is_next(|kind| matches!(kind, BlockEnd))? {
            let doing = "while parsing a block collection";
            return Err(self.unexpected(doing, "expected <block end>, but found"));
        }
        self.close(EventKind::SequenceEnd)
    }

    fn indentless_sequence_entry(&mut self) -> Parsed {
        use TokenKind::{BlockEnd, BlockEntry, Key, Value};
        if let Some(token) = self.take_if(|kind| matches!(kind, BlockEntry))? {
            if self.is_next(|kind| matches!(kind, BlockEntry | Key | Value | BlockEnd))? {
                return self.empty(State::IndentlessSequenceEntry, token.end);
            }
            return self.node_then(State::IndentlessSequenceEntry, Allowed::Block);
        }
        let place = self.scanner.peek()?.start;
        let state = self.pop_state();
        self.to(state, place, EventKind::SequenceEnd)
    }

    fn block_mapping_key(&mut self) -> Parsed {
        use TokenKind::{BlockEnd, Key, Value};
        if let Some(token) = self.take_if(|kind| matches!(kind, Key))? {
            if self.is_next(|kind| matches!(kind, Key | Value | BlockEnd))? {
                return self.empty(State::BlockMappingValue, token.end);
            }
            return self.node_then(State::BlockMappingValue, Allowed::BlockOrIndentless);
        }
        if !self.is_next(|kind| matches!(kind, BlockEnd))? {
            let doing = "while parsing a block mapping";
            return Err(self.unexpected(doing, "expected <block end>, but found"));
        }
        self.close(EventKind::MappingEnd)
    }

    fn block_mapping_value(&mut self) -> Parsed {
        use TokenKind::{BlockEnd, Key, Value};
        let Some(token) = self.take_if(|kind| matches!(kind, Value))? else {
            let place = self.scanner.peek()?.start;
            return self.empty(State::BlockMappingKey, place);
        };
        if self.is_next(|kind| matches!(kind, Key | Value | BlockEnd))? {
            return self.empty(State::BlockMappingKey, token.end);
        }
        self.node_then(State::BlockMappingKey, Allowed::BlockOrIndentless)
    }

    // Flow collections.

    fn flow_sequence_entry(&mut self, is_first: bool) -> Parsed {
        use TokenKind::{FlowEntry, FlowSequenceEnd, Key};
        if !self.is_next(|kind| matches!(kind, FlowSequenceEnd))? {
            if !is_first && self.take_if(|kind| matches!(kind, FlowEntry))?.is_none() {
                let doing = "while parsing a flow sequence";
                return Err(self.unexpected(doing, "expected ',' or ']', but got"));
            }
            if self.is_next(|kind| matches!(kind, Key))? {
                let place = self.scanner.peek()?.start;
                let kind = EventKind::MappingStart { anchor: None, tag: None };
                return self.to(State::FlowPairKey, place, kind);
            }
            if !self.is_next(|kind| matches!(kind, FlowSequenceEnd))? {
                return self.node_then(State::FlowSequenceEntry, Allowed::Flow);
            }
        }
        self.close(EventKind::SequenceEnd)
    }

    fn flow_pair_key(&mut self) -> Parsed {
        use TokenKind::{FlowEntry, FlowSequenceEnd, Value};
        let token = self.scanner.take()?;
        if self.is_next(|kind| matches!(kind, Value | FlowEntry | FlowSequenceEnd))? {
            return self.empty(State::FlowPairValue, token.end);
        }
        self.node_then(State::FlowPairValue, Allowed::Flow)
    }

    fn flow_pair_value(&mut self) -> Parsed {
        use TokenKind::{FlowEntry, FlowSequenceEnd, Value};
        let Some(token) = self.take_if(|kind| matches!(kind, Value))? else {
            let place = self.scanner.peek()?.start;
            return self.empty(State::FlowPairEnd, place);
        };
        if self.is_next(|kind| matches!(kind, FlowEntry | FlowSequenceEnd))? {
            return self.empty(State::FlowPairEnd, token.end);
        }
        self.node_then(State::FlowPairEnd, Allowed::Flow)
    }

    fn flow_mapping_key(&mut self, is_first: bool) -> Parsed {
        use TokenKind::{FlowEntry, FlowMappingEnd, Key, Value};
        if !self.is_next(|kind| matches!(kind, FlowMappingEnd))? {
            if !is_first && self.take_if(|kind| matches!(kind, FlowEntry))?.is_none() {
                let doing = "while parsing a flow mapping";
                return Err(self.unexpected(doing, "expected ',' or '}', but got"));
            }
            if let Some(token) = self.take_if(|kind| matches!(kind, Key))? {
                if self.is_next(|kind| matches!(kind, Value | FlowEntry | FlowMappingEnd))? {
                    return self.empty(State::FlowMappingValue, token.end);
                }
                return self.node_then(State::FlowMappingValue, Allowed::Flow);
            }
            if !self.is_next(|kind| matches!(kind, FlowMappingEnd))? {
                return self.node_then(State::FlowMappingEmptyValue, Allowed::Flow);
            }
        }
        self.close(EventKind::MappingEnd)
    }

    fn flow_mapping_value(&mut self) -> Parsed {
        use TokenKind::{FlowEntry, FlowMappingEnd, Value};
        let Some(token) = self.take_if(|kind| matches!(kind, Value))? else {
            let place = self.scanner.peek()?.start;
            return self.empty(State::FlowMappingKey, place);
        };
        if self.is_next(|kind| matches!(kind, FlowEntry | FlowMappingEnd))? {
            return self.empty(State::FlowMappingKey, token.end);
        }
        self.node_then(State::FlowMappingKey, Allowed::Flow)
    }
}

fn default_handles() -> HashMap<String, String> {
    [("!", "!"), ("!!", "tag:yaml.org,2002:")]
        .map(|(handle, prefix)| (handle.to_owned(), prefix.to_owned()))
        .into()
}
