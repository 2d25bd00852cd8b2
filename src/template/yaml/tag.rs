//! Tags: what a scalar or collection is, said in the text or told by the looks of a plain scalar.

use std::fmt;

/// A tag that the safe loader knows, or another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Null,
    Bool,
    Int,
    Float,
    Str,
    Timestamp,
    Binary,
    Seq,
    Omap,
    Pairs,
    Map,
    Set,
    /// `<<`, a key that stands for the entries of other maps.
    Merge,
    /// `=`, a key with the value that a map has as a scalar.
    Value,
    Other(String),
}

const PREFIX: &str = "tag:yaml.org,2002:";

const NAMES: [(Tag, &str); 14] = [
    (Tag::Null, "null"),
    (Tag::Bool, "bool"),
    (Tag::Int, "int"),
    (Tag::Float, "float"),
    (Tag::Str, "str"),
    (Tag::Timestamp, "timestamp"),
    (Tag::Binary, "binary"),
    (Tag::Seq, "seq"),
    (Tag::Omap, "omap"),
    (Tag::Pairs, "pairs"),
    (Tag::Map, "map"),
    (Tag::Set, "set"),
    (Tag::Merge, "merge"),
    (Tag::Value, "value"),
];

impl From<String> for Tag {
    fn from(full: String) -> Self {
        let name = full.strip_prefix(PREFIX);
        let known = NAMES.iter().find(|(_, known)| name == Some(known));
        known.map_or(Self::Other(full), |(tag, _)| tag.clone())
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, NAMES.iter().find(|(tag, _)| tag == self)) {
            (Self::Other(full), _) => f.write_str(full),
            (_, Some((_, name))) => write!(f, "{PREFIX}{name}"),
            (_, None) => f.write_str(PREFIX),
        }
    }
}
