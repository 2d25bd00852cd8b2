//! What the scanner cuts a text into.

use crate::template::place::Place;

/// A token, from its first character to behind its last.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) start: Place,
    pub(super) end: Place,
    pub(super) kind: TokenKind,
}

/// What a token is.
#[derive(Debug)]
pub(super) enum TokenKind {
    StreamStart,
    StreamEnd,
    Directive(Directive),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowMappingStart,
    FlowSequenceEnd,
    FlowMappingEnd,
    Key,
    Value,
    BlockEntry,
    FlowEntry,
    Alias(String),
    Anchor(String),
    Tag { handle: Option<String>, suffix: String },
    Scalar { text: String, plain: bool },
}

/// A line that begins with `%`.
#[derive(Debug)]
pub(super) enum Directive {
    /// `%YAML major.minor`, of which the major number counts.
    Yaml { major: String },
    /// `%TAG handle prefix`.
    Tag { handle: String, prefix: String },
    /// One that means nothing here.
    Other,
}

impl TokenKind {
    /// PyYAML's word for it.
    pub(super) fn id(&self) -> &'static str {
        match self {
            Self::StreamStart => "<stream start>",
            Self::StreamEnd => "<stream end>",
            Self::Directive(_) => "<directive>",
            Self::DocumentStart => "<document start>",
            Self::DocumentEnd => "<document end>",
            Self::BlockSequenceStart => "<block sequence start>",
            Self::BlockMappingStart => "<block mapping start>",
            Self::BlockEnd => "<block end>",
            Self::FlowSequenceStart => "[",
            Self::FlowMappingStart => "{",
            Self::FlowSequenceEnd => "]",
            Self::FlowMappingEnd => "}",
            Self::Key => "?",
            Self::Value => ":",
            Self::BlockEntry => "-",
            Self::FlowEntry => ",",
            Self::Alias(_) => "<alias>",
            Self::Anchor(_) => "<anchor>",
            Self::Tag { .. } => "<tag>",
            Self::Scalar { .. } => "<scalar>",
        }
    }
}
