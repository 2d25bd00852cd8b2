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

/// How a parameter of one file meets that of another, where it is not `overwrite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    Merge,
    DeepMerge,
}

impl Strategy {
    fn of(word: &Datum) -> Option<Self> {
        match word.as_text()? {
            "merge" => Some(Self::Merge),
            "deep_merge" => Some(Self::DeepMerge),
            _ => None,
        }
    }
}

fn overwrite() -> Datum {
    Datum::from("overwrite")
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
        let words = words.unwrap_or(Datum::Map(DatumMap::default()));
        for (section, value) in file {
            if !value.is_truthy() {
                continue;
            }
            let old = sections.shift_remove(&section).unwrap_or(Datum::Map(DatumMap::default()));
            let merged = match section.as_str() {
                "parameters" | "parameter_defaults" => {
                    merger.parameters(old, value, &words, name)?
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
    /// The strategy that each parameter came to, which later files must not change. It may be a
    /// word that is none, and then overwrites.
    strategies: BTreeMap<String, Datum>,
}

impl Merger<'_> {
    fn parameters(&mut self, old: Datum, new: Datum, words: &Datum, file: &str) -> Outcome<Datum> {
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
            let strategy = self.strategy(words, name)?;
            let first = self.strategies.entry(name.clone()).or_insert_with(|| strategy.clone());
            if *first != strategy {
                return Err(TemplateError::new(
                    "ConflictingMergeStrategyForParam",
                    format!(
                        "Conflicting merge strategy '{}' for parameter '{name}' in file '{file}'.",
                        python::text_of(&strategy)
                    ),
                ));
            }
        }
        // The first file to fill a section fills it as it is.
        if !old.is_truthy() {
            return Ok(Datum::Map(new));
        }
        let Datum::Map(mut old) = old else { return Err(not_a_map(&old)) };
        for (name, value) in merged {
            let value = match self.strategies.get(&name).and_then(Strategy::of) {
                None => value,
                Some(strategy) => {
                    let kind = self.schemas[&name].kind;
                    let before = old.get(name.as_str()).cloned();
                    merge_value(&name, kind, before, value, strategy == Strategy::DeepMerge)?
                }
            };
            old.insert(name.into(), value);
        }
        Ok(Datum::Map(old))
    }

    /// The word for a parameter: the file's own, that of files before, or the file's default. The
    /// default also stands in for a word that is none.
    fn strategy(&self, words: &Datum, name: &str) -> Outcome<Datum> {
        let Datum::Map(words) = words else { return Err(no_attribute(words, "get")) };
        let default = words.get("default").cloned().unwrap_or_else(overwrite);
        let word = words.get(name).or_else(|| self.strategies.get(name));
        let is_known = |word: &&Datum| **word == overwrite() || Strategy::of(word).is_some();
        Ok(word.filter(is_known).cloned().unwrap_or(default))
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
    let invalid =
        |what: &str| TemplateError::value(format!("Invalid parameter in environment {what}."));
    let new = match (kind, new) {
        (ParameterType::Json, Datum::Text(text)) if !text.is_empty() => {
            json::parse(&text).map_err(|error| invalid(&error))?.to_datum()
        }
        (ParameterType::Json, other) | (_, other @ (Datum::Text(_) | Datum::List(_))) => other,
        // A number is no sequence.
        _ => return Err(invalid("")),
    };
    match kind {
        ParameterType::Json => merge_map(old.unwrap_or(Datum::Null), new, deep),
        ParameterType::CommaDelimitedList => merge_list(old.unwrap_or(Datum::Null), new),
        ParameterType::String => join("", old.unwrap_or_else(|| "".into()), new),
        ParameterType::Number => match (old, new) {
            (Some(Datum::List(mut old)), Datum::List(new)) => {
                old.extend(new);
                Ok(Datum::List(old))
            }
            (old, new) => join("", old.unwrap_or(Datum::Int(0)), new),
        },
        ParameterType::Boolean => Err(TemplateError::new(
            "InvalidMergeStrategyForParam",
            format!("Invalid merge strategy 'merge' for parameter '{name}'."),
        )),
    }
}

/// Two texts as one.
fn join(separator: &str, old: Datum, new: Datum) -> Outcome<Datum> {
    match (old, new) {
        (Datum::Text(old), Datum::Text(new)) => Ok(format!("{old}{separator}{new}").into()),
        _ => Err(TemplateError::kind("values of different types cannot be merged")),
    }
}

fn merge_list(old: Datum, new: Datum) -> Outcome<Datum> {
    match (old, new) {
        (old, new) if !old.is_truthy() => Ok(new),
        (Datum::List(mut old), Datum::List(new)) => {
            old.extend(new);
            Ok(Datum::List(old))
        }
        (old, Datum::List(_)) => Err(no_attribute(&old, "extend")),
        (old, new) => join(",", old, new),
    }
}

fn merge_map(old: Datum, new: Datum, deep: bool) -> Outcome<Datum> {
    if !old.is_truthy() {
        return Ok(new);
    }
    let Datum::Map(new) = new else { return Err(not_a_map(&new)) };
    let Datum::Map(mut old) = old else {
        let is_changed = new.values().any(|value| !matches!(value, Datum::Null));
        return if is_changed { Err(no_attribute(&old, "get")) } else { Ok(old) };
    };
    for (key, value) in new {
        let before = old.get(&key).cloned();
        let merged = match (value, before) {
            (Datum::Null, _) => continue,
            (value @ Datum::Map(_), Some(before)) if deep => merge_map(before, value, true)?,
            (value @ Datum::List(_), Some(before)) if deep => merge_list(before, value)?,
            (value @ Datum::Text(_), Some(before)) if deep => join("", before, value)?,
            (value, _) => value,
        };
        old.insert(key, merged);
    }
    Ok(Datum::Map(old))
}

fn not_a_map(value: &Datum) -> TemplateError {
    no_attribute(value, "items")
}

/// Python's refusal of a value that is not of the kind that something asks for.
fn no_attribute(value: &Datum, attribute: &str) -> TemplateError {
    let kind = python::type_name(value);
    TemplateError::new("AttributeError", format!("'{kind}' object has no attribute '{attribute}'"))
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
