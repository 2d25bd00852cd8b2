//! Merging environment files into what a request sent, by the strategies that they ask for.

use std::collections::BTreeMap;

use crate::model::IndexMap;

use super::check_sections;
use crate::template::document;
use crate::template::error::{Outcome, TemplateError};
use crate::template::json;
use crate::template::node::Node;
use crate::template::parameters::{ParameterType, Schema};
use crate::template::python;
use crate::template::value::{Datum, DatumMap};

/// How a parameter of one file meets that of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    Overwrite,
    Merge,
    DeepMerge,
}

impl Strategy {
    fn of(word: Option<&Datum>) -> Option<Self> {
        Some(match word?.as_text()? {
            "overwrite" => Self::Overwrite,
            "merge" => Self::Merge,
            "deep_merge" => Self::DeepMerge,
            _ => return None,
        })
    }

    fn word(self) -> &'static str {
        match self {
            Self::Overwrite => "overwrite",
            Self::Merge => "merge",
            Self::DeepMerge => "deep_merge",
        }
    }
}

/// Merges files, in their order, into an environment's sections.
pub(crate) fn merge_files(
    sections: &mut DatumMap,
    names: &[String],
    files: &BTreeMap<String, String>,
    schemas: &IndexMap<String, Schema>,
) -> Outcome<()> {
    let mut merger = Merger { schemas, strategies: BTreeMap::new() };
    for name in names {
        let Some(text) = files.get(name) else {
            let message =
                format!("The environment file {} is not among the files.", python::quoted(name));
            return Err(TemplateError::new("KeyError", message));
        };
        let node = document::environment_text(text)?;
        check_sections(&node)?;
        let Datum::Map(mut file) = node.to_datum() else { continue };
        let words = file.shift_remove("parameter_merge_strategies");
        for (section, value) in file {
            if !value.is_truthy() {
                continue;
            }
            let old = sections.shift_remove(&section).unwrap_or(Datum::Map(DatumMap::default()));
            let merged = match section.as_str() {
                "parameters" | "parameter_defaults" => {
                    merger.parameters(old, value, words.as_ref(), name)?
                }
                _ => merge_map(old, value, false)?,
            };
            sections.insert(section, merged);
        }
    }
    Ok(())
}

struct Merger<'a> {
    schemas: &'a IndexMap<String, Schema>,
    /// The strategy that each parameter came to, which later files must not change.
    strategies: BTreeMap<String, Strategy>,
}

impl Merger<'_> {
    fn parameters(
        &mut self,
        old: Datum,
        new: Datum,
        words: Option<&Datum>,
        file: &str,
    ) -> Outcome<Datum> {
        let Datum::Map(new) = new else { return Err(not_a_map(&new)) };
        let known = |name: &str, value: &Datum| {
            self.schemas.contains_key(name) && !matches!(value, Datum::Null)
        };
        let merged: Vec<(String, Datum)> = new
            .iter()
            .filter(|(name, value)| known(name, value))
            .map(|(n, v)| (n.to_string(), v.clone()))
            .collect();
        for (name, _) in &merged {
            let strategy = self.strategy(words, name);
            let first = *self.strategies.entry(name.clone()).or_insert(strategy);
            if first != strategy {
                return Err(TemplateError::new(
                    "ConflictingMergeStrategyForParam",
                    format!(
                        "Conflicting merge strategy '{}' for parameter '{name}' in file '{file}'.",
                        strategy.word()
                    ),
                ));
            }
        }
        let Datum::Map(mut old) = old else { return Err(not_a_map(&old)) };
        // The first file to fill a section fills it as it is.
        if old.is_empty() {
            return Ok(Datum::Map(new));
        }
        for (name, value) in merged {
            let strategy = self.strategies.get(&name).copied().unwrap_or(Strategy::Overwrite);
            let value = match strategy {
                Strategy::Overwrite => value,
                _ => {
                    let kind = self.schemas[&name].kind;
                    let before = old.get(name.as_str()).cloned();
                    merge_value(&name, kind, before, value, strategy == Strategy::DeepMerge)?
                }
            };
            old.insert(name.into(), value);
        }
        Ok(Datum::Map(old))
    }

    fn strategy(&self, words: Option<&Datum>, name: &str) -> Strategy {
        let Some(Datum::Map(words)) = words else { return Strategy::Overwrite };
        let default = Strategy::of(words.get("default")).unwrap_or(Strategy::Overwrite);
        match words.get(name) {
            Some(word) => Strategy::of(Some(word)).unwrap_or(default),
            None => self.strategies.get(name).copied().unwrap_or(default),
        }
    }
}

/// Merges two values of a parameter.
fn merge_value(
    name: &str,
    kind: ParameterType,
    old: Option<Datum>,
    new: Datum,
    deep: bool,
) -> Outcome<Datum> {
    let invalid = || TemplateError::value("Invalid parameter in environment .");
    let new = match (kind, new) {
        (ParameterType::Json, Datum::Text(text)) if !text.is_empty() => json::parse(&text)
            .map_err(|error| {
                TemplateError::value(format!("Invalid parameter in environment {error}."))
            })?
            .to_datum(),
        (ParameterType::Json, other) | (_, other @ (Datum::Text(_) | Datum::List(_))) => other,
        // A number is no sequence.
        _ => return Err(invalid()),
    };
    match kind {
        ParameterType::Json => merge_map(old.unwrap_or(Datum::Map(DatumMap::default())), new, deep),
        ParameterType::CommaDelimitedList => merge_list(old, new),
        ParameterType::String | ParameterType::Number => match (old, new) {
            (None, new) if kind == ParameterType::String => Ok(new),
            (Some(Datum::Text(old)), Datum::Text(new)) => Ok(Datum::Text(old + new.as_str())),
            _ => Err(TemplateError::kind("values of different types cannot be merged")),
        },
        ParameterType::Boolean => Err(TemplateError::new(
            "InvalidMergeStrategyForParam",
            format!("Invalid merge strategy 'merge' for parameter '{name}'."),
        )),
    }
}

fn merge_list(old: Option<Datum>, new: Datum) -> Outcome<Datum> {
    match (old.filter(Datum::is_truthy), new) {
        (None, new) => Ok(new),
        (Some(Datum::List(mut old)), Datum::List(new)) => {
            old.extend(new);
            Ok(Datum::List(old))
        }
        (Some(Datum::Text(old)), Datum::Text(new)) => {
            Ok(Datum::Text(format!("{old},{new}").into()))
        }
        _ => Err(TemplateError::kind("values of different types cannot be merged")),
    }
}

fn merge_map(old: Datum, new: Datum, deep: bool) -> Outcome<Datum> {
    if !old.is_truthy() {
        return Ok(new);
    }
    let (mut old, new) = match (old, new) {
        (Datum::Map(old), Datum::Map(new)) => (old, new),
        // Lists of sinks and of names: a map cannot take them in.
        (_, other) => return Err(not_a_map(&other)),
    };
    for (key, value) in new {
        let before = old.get(&key).cloned().filter(Datum::is_truthy);
        let merged = match (value, before) {
            (Datum::Null, _) => continue,
            (value @ Datum::Map(_), Some(before)) if deep => merge_map(before, value, true)?,
            (value @ Datum::List(_), Some(before)) if deep => merge_list(Some(before), value)?,
            (Datum::Text(text), Some(Datum::Text(before))) if deep => {
                Datum::Text(before + text.as_str())
            }
            (value, _) => value,
        };
        old.insert(key, merged);
    }
    Ok(Datum::Map(old))
}

fn not_a_map(value: &Datum) -> TemplateError {
    let kind = python::type_name(value);
    TemplateError::new("AttributeError", format!("'{kind}' object has no attribute 'items'"))
}

/// The schemas of all templates that were sent: those among the files, and above them the
/// template's own.
pub(crate) fn all_schemas(
    files: &BTreeMap<String, String>,
    own: IndexMap<String, Schema>,
) -> Outcome<IndexMap<String, Schema>> {
    let mut schemas = IndexMap::default();
    for text in files.values() {
        if !document::may_be_template(text)? {
            continue;
        }
        match document::template_text(text, document::ROOT) {
            Ok(node) => schemas.extend(nested_schemas(&node)?),
            // Most files are no templates.
            Err(error) if error.class == "ValueError" => {}
            Err(error) => return Err(error),
        }
    }
    schemas.extend(own);
    Ok(schemas)
}

fn nested_schemas(node: &Node) -> Outcome<IndexMap<String, Schema>> {
    let version = crate::template::version::Version::of(node)?;
    crate::template::parameters::schema::read_all(node, version)
}
