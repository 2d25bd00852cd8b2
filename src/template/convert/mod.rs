//! CloudFormation's templates in other forms: JSON as YAML, and the language as HOT.

mod converter;
mod forms;
mod hot;
mod parameters;

use std::fmt;

use super::document;
use super::error::{Outcome, TemplateError};
use super::node::{Form, Node, Place};
use super::value::{Datum, DatumMap};
use super::version::{VERSION_KEYS, Version};
use super::yaml::emit::emit;

/// What stands in the way of a conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Name by name; empty where it is the whole template.
    pub path: String,
    /// Counted from 1; 0 where it is not known.
    pub line: u32,
    pub column: u32,
    pub reason: String,
}

impl Obstacle {
    fn new(path: &str, place: Place, reason: impl Into<String>) -> Self {
        let Place { line, column } = place;
        Self { path: path.to_owned(), line, column, reason: reason.into() }
    }
}

impl From<TemplateError> for Obstacle {
    fn from(error: TemplateError) -> Self {
        Self::new("", error.place.unwrap_or_default(), error.text())
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

/// The key and the version that Heat's own converter gives to templates.
const HEAT_VERSION: (&str, &str) = ("HeatTemplateFormatVersion", "2012-12-12");

/// A template in JSON as YAML, in its order, with the version that Heat's `cfn-json2yaml` gives it.
pub fn json_to_yaml(text: &str) -> Result<String, Obstacle> {
    let root = match (document::json_map(text), read(text)) {
        (_, Ok((root, version))) if version.is_hot() => {
            let reason = "The template is in HOT, and only those of CloudFormation are converted";
            return Err(Obstacle::new("", root.place, reason));
        }
        (Err(_), Ok((root, _))) => {
            return Err(Obstacle::new("", root.place, "The template is in YAML already"));
        }
        (read, _) => read?,
    };
    let (key, version) = HEAT_VERSION;
    let mut out = DatumMap::default();
    out.insert(key.into(), version.into());
    for (key, node) in root.as_map().into_iter().flatten() {
        if key != VERSION_KEYS[0] {
            out.insert(key.clone().into(), node.to_datum());
        }
    }
    Ok(emit(&Datum::Map(out)))
}

/// A template of CloudFormation's language as one of HOT, in YAML; the error is all that has no
/// form there.
pub fn cfn_to_hot(text: &str) -> Result<String, Vec<Obstacle>> {
    let (root, version) = read(text).map_err(|error| vec![error.into()])?;
    if version.is_hot() {
        return Err(vec![Obstacle::new("", root.place, "The template is in HOT already")]);
    }
    hot::convert(&root, version).map(|template| emit(&template))
}

fn read(text: &str) -> Outcome<(Node, &'static Version)> {
    let root = document::template_text(text, document::ROOT)?;
    let version = Version::of(&root)?;
    Ok((root, version))
}

/// A map of one entry: a call.
fn call(name: &str, args: Datum) -> Datum {
    Datum::Map([(name.into(), args)].into_iter().collect())
}

/// The one entry of a map that has no other.
fn only_entry(node: &Node) -> Option<(&str, &Node)> {
    match &node.form {
        Form::Map(map) if map.len() == 1 => map.first().map(|(key, value)| (key.as_str(), value)),
        _ => None,
    }
}
