//! From characters to tokens. Indentation opens and closes block collections; what may turn out to
//! be a key is remembered until its colon is found or can no longer come.

use std::collections::{BTreeMap, VecDeque};

use super::source::{END, Source, ends_line, ends_word};
use super::token::{Token, TokenKind};
use crate::template::place::Place;
use crate::template::yaml::error::YamlError;

/// How far behind the start of a key its colon may stand, in characters.
const SIMPLE_KEY_CHARS_MAX: usize = 1024;

/// Cuts a text into tokens, as many as are asked for.
pub(super) struct Scanner {
    pub(super) source: Source,
    pub(super) tokens: VecDeque<Token>,
    taken: usize,
    done: bool,
    /// Open brackets. A bracket closed too often makes it negative, and that is flow as well.
    flow_level: i32,
    /// The column of the block collection that is open, -1 outside of all.
    pub(super) indent: i64,
    indents: Vec<i64>,
    pub(super) allow_simple_key: bool,
    /// What may be a key, one for each flow level.
    possible_keys: BTreeMap<i32, SimpleKey>,
}

/// The start of what may be a key.
struct SimpleKey {
    token_number: usize,
    /// A block mapping stands here, so there has to be a colon.
    required: bool,
    index: usize,
    place: Place,
}

impl Scanner {
    pub(super) fn new(text: &str) -> Result<Self, YamlError> {
        let mut scanner = Self {
            source: Source::new(text)?,
            tokens: VecDeque::new(),
            taken: 0,
            done: false,
            flow_level: 0,
            indent: -1,
            indents: Vec::new(),
            allow_simple_key: true,
            possible_keys: BTreeMap::new(),
        };
        scanner.push_empty(TokenKind::StreamStart);
        Ok(scanner)
    }

    /// The next token, which stays; after the end of the stream it is that end again.
    pub(super) fn peek(&mut self) -> Result<&Token, YamlError> {
        while self.needs_more()? {
            self.fetch()?;
        }
        if self.tokens.is_empty() {
            self.push_empty(TokenKind::StreamEnd);
        }
        Ok(&self.tokens[0])
    }

    /// The next token.
    pub(super) fn take(&mut self) -> Result<Token, YamlError> {
        let place = self.peek()?.start;
        self.taken += 1;
        let end = Token { start: place, end: place, kind: TokenKind::StreamEnd };
        Ok(self.tokens.pop_front().unwrap_or(end))
    }

    pub(super) fn in_flow(&self) -> bool {
        self.flow_level != 0
    }

    fn needs_more(&mut self) -> Result<bool, YamlError> {
        if self.done {
            return Ok(false);
        }
        if self.tokens.is_empty() {
            return Ok(true);
        }
        self.drop_stale_keys()?;
        // Token numbers grow with the level, so the first is the nearest.
        let nearest = self.possible_keys.values().map(|key| key.token_number).min();
        Ok(nearest == Some(self.taken))
    }

    fn fetch(&mut self) -> Result<(), YamlError> {
        self.go_to_next();
        self.drop_stale_keys()?;
        self.unwind(self.source.column());
        let in_block = !self.in_flow();
        let next_ends_word = ends_word(self.source.peek_at(1));
        let line_starts = self.source.column() == 0;
        match self.source.peek() {
            END => self.fetch_end(),
            '%' if line_starts => self.fetch_directive(),
            '-' if line_starts && self.source.at_separator() => {
                self.fetch_separator(TokenKind::DocumentStart)
            }
            '.' if line_starts && self.source.at_separator() => {
                self.fetch_separator(TokenKind::DocumentEnd)
            }
            '[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            '{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            ']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            '}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            ',' => self.fetch_flow_entry(),
            '-' if next_ends_word => self.fetch_block_entry(),
            '?' if self.in_flow() || next_ends_word => self.fetch_key(),
            ':' if self.in_flow() || next_ends_word => self.fetch_value(),
            '*' | '&' => self.fetch_keyable(Self::scan_anchor),
            '!' => self.fetch_keyable(Self::scan_tag),
            '|' | '>' if in_block => self.fetch_block_scalar(),
            '\'' | '"' => self.fetch_keyable(Self::scan_quoted),
            c if self.starts_plain(c, next_ends_word) => self.fetch_keyable(Self::scan_plain),
            _ => {
                let found = self.source.peek_quoted();
                let problem = format!("found character {found} that cannot start any token");
                Err(self.error(problem).during("while scanning for the next token"))
            }
        }
    }

    fn starts_plain(&self, c: char, next_ends_word: bool) -> bool {
        let indicator = "-?:,[]{}#&*!|>'\"%@`".contains(c);
        let as_word = c == '-' || (!self.in_flow() && matches!(c, '?' | ':'));
        !(ends_word(c) || indicator) || (as_word && !next_ends_word)
    }

    /// Goes over spaces, comments and line ends.
    fn go_to_next(&mut self) {
        if self.source.index() == 0 && self.source.peek() == '\u{feff}' {
            self.source.skip(1);
        }
        loop {
            self.source.skip_while(|c| c == ' ');
            if self.source.peek() == '#' {
                self.source.skip_while(|c| !ends_line(c));
            }
            if self.source.take_break().is_empty() {
                return;
            }
            if !self.in_flow() {
                self.allow_simple_key = true;
            }
        }
    }

    // Keys.

    fn drop_stale_keys(&mut self) -> Result<(), YamlError> {
        let (line, index) = (self.source.place().line, self.source.index());
        let stale =
            |key: &SimpleKey| key.place.line != line || index - key.index > SIMPLE_KEY_CHARS_MAX;
        let missing = self.possible_keys.values().find(|key| key.required && stale(key));
        if let Some(key) = missing {
            return Err(self.colon_missing(key.place));
        }
        self.possible_keys.retain(|_, key| !stale(key));
        Ok(())
    }

    /// Remembers that a key may start here.
    fn save_possible_key(&mut self) -> Result<(), YamlError> {
        let required = !self.in_flow() && self.indent == self.source.column();
        if self.allow_simple_key {
            self.remove_possible_key()?;
            let key = SimpleKey {
                token_number: self.taken + self.tokens.len(),
                required,
                index: self.source.index(),
                place: self.source.place(),
            };
            self.possible_keys.insert(self.flow_level, key);
        }
        Ok(())
    }

    pub(super) fn remove_possible_key(&mut self) -> Result<(), YamlError> {
        match self.possible_keys.remove(&self.flow_level) {
            Some(key) if key.required => Err(self.colon_missing(key.place)),
            _ => Ok(()),
        }
    }

    fn colon_missing(&self, start: Place) -> YamlError {
        self.error("could not find expected ':'").since("while scanning a simple key", start)
    }

    /// Takes the key that a colon belongs to, with its place in the queue of tokens.
    pub(super) fn take_possible_key(&mut self) -> Option<(usize, Place)> {
        let key = self.possible_keys.remove(&self.flow_level)?;
        Some((key.token_number.saturating_sub(self.taken).min(self.tokens.len()), key.place))
    }

    // Indentation.

    pub(super) fn unwind(&mut self, column: i64) {
        if self.in_flow() {
            return;
        }
        while self.indent > column {
            self.indent = self.indents.pop().unwrap_or(-1);
            self.push_empty(TokenKind::BlockEnd);
        }
    }

    /// Whether a collection starts at this column.
    pub(super) fn deepen(&mut self, column: i64) -> bool {
        let deeper = self.indent < column;
        if deeper {
            self.indents.push(self.indent);
            self.indent = column;
        }
        deeper
    }

    // Tokens.

    fn fetch_end(&mut self) -> Result<(), YamlError> {
        self.unwind(-1);
        self.remove_possible_key()?;
        self.allow_simple_key = false;
        self.possible_keys.clear();
        self.push_empty(TokenKind::StreamEnd);
        self.done = true;
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), YamlError> {
        self.unwind(-1);
        self.remove_possible_key()?;
        self.allow_simple_key = false;
        let token = self.scan_directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_separator(&mut self, kind: TokenKind) -> Result<(), YamlError> {
        self.unwind(-1);
        self.remove_possible_key()?;
        self.allow_simple_key = false;
        self.push_indicator(kind, 3);
        Ok(())
    }

    /// What may be a key by itself, and is followed by none.
    fn fetch_keyable(
        &mut self,
        scan: fn(&mut Self) -> Result<Token, YamlError>,
    ) -> Result<(), YamlError> {
        self.save_possible_key()?;
        self.allow_simple_key = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_block_scalar(&mut self) -> Result<(), YamlError> {
        self.allow_simple_key = true;
        self.remove_possible_key()?;
        let token = self.scan_block()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind) -> Result<(), YamlError> {
        self.save_possible_key()?;
        self.flow_level += 1;
        self.allow_simple_key = true;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind) -> Result<(), YamlError> {
        self.remove_possible_key()?;
        self.flow_level -= 1;
        self.allow_simple_key = false;
        self.push_indicator(kind, 1);
        Ok(())
    }

    /// A token of so many characters.
    pub(super) fn push_indicator(&mut self, kind: TokenKind, length: usize) {
        let start = self.source.place();
        self.source.skip(length);
        self.tokens.push_back(Token { start, end: self.source.place(), kind });
    }

    /// A token of no characters.
    pub(super) fn push_empty(&mut self, kind: TokenKind) {
        self.push_indicator(kind, 0);
    }

    pub(super) fn error(&self, problem: impl Into<String>) -> YamlError {
        YamlError::at(self.source.place(), problem)
    }
}
