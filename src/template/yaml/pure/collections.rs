//! The indicators of entries: `-`, `?`, `:` and `,`. In blocks they may open a collection.

use super::scanner::Scanner;
use super::token::{Token, TokenKind};
use crate::template::yaml::error::YamlError;

impl Scanner {
    pub(super) fn fetch_flow_entry(&mut self) -> Result<(), YamlError> {
        self.allow_simple_key = true;
        self.remove_possible_key()?;
        self.push_indicator(TokenKind::FlowEntry, 1);
        Ok(())
    }

    pub(super) fn fetch_block_entry(&mut self) -> Result<(), YamlError> {
        self.open_block("sequence entries", TokenKind::BlockSequenceStart)?;
        self.allow_simple_key = true;
        self.remove_possible_key()?;
        self.push_indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    pub(super) fn fetch_key(&mut self) -> Result<(), YamlError> {
        self.open_block("mapping keys", TokenKind::BlockMappingStart)?;
        self.allow_simple_key = !self.in_flow();
        self.remove_possible_key()?;
        self.push_indicator(TokenKind::Key, 1);
        Ok(())
    }

    pub(super) fn fetch_value(&mut self) -> Result<(), YamlError> {
        if let Some((number, place)) = self.take_possible_key() {
            let key = Token { start: place, end: place, kind: TokenKind::Key };
            self.tokens.insert(number, key);
            if !self.in_flow() && self.deepen(i64::from(place.column) - 1) {
                let kind = TokenKind::BlockMappingStart;
                self.tokens.insert(number, Token { start: place, end: place, kind });
            }
            self.allow_simple_key = false;
        } else {
            self.open_block("mapping values", TokenKind::BlockMappingStart)?;
            self.allow_simple_key = !self.in_flow();
            self.remove_possible_key()?;
        }
        self.push_indicator(TokenKind::Value, 1);
        Ok(())
    }

    /// An entry of a block may stand only where a key may, and further in it opens a collection.
    fn open_block(&mut self, entries: &str, kind: TokenKind) -> Result<(), YamlError> {
        if self.in_flow() {
            return Ok(());
        }
        if !self.allow_simple_key {
            return Err(self.error(format!("{entries} are not allowed here")));
        }
        if self.deepen(self.source.column()) {
            self.push_empty(kind);
        }
        Ok(())
    }
}
