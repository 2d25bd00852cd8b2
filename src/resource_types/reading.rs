//! Reading given properties by a schema, as Heat reads them: conversions, older names, unknown and
//! missing properties, constraints; its order and its words. All that is wrong is told, and the
//! first is what Heat refuses with.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde_json::Value;

use super::convert;
use super::declared::Translation;
use super::schema::{Kind, Properties, PropertySchema};
use crate::model::JsonMap;
use crate::model::python::is_truthy;
use crate::template::constraints::{Rule, ValueType};
use crate::template::{AllGiven, Given};

/// Where in the properties something is wrong, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Names of properties and keys, and indexes of lists.
    pub path: Vec<String>,
    pub message: String,
    /// The name of the exception, where reading raised one of Python's: it is told of the resource
    /// as a whole.
    pub fallen: Option<&'static str>,
}

/// Asks a custom constraint of a value; the error is the whole text.
pub(crate) type AskCustom<'a> = &'a dyn Fn(&str, &Value) -> Result<(), String>;

/// What has been read: the values in their types, without defaults, and all that is wrong.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) properties: JsonMap,
    pub(crate) problems: Vec<Problem>,
    /// What could not be read and is not held against anybody, by property.
    pub(crate) forgiven: IndexMap<String, String>,
}

/// Why a value could not be read.
enum Raised {
    /// Something about the value itself (Python's ValueError).
    Here(String),
    /// Something that Heat does not expect (Python's TypeError).
    Fallen(String),
    /// Things within it.
    Within(Vec<Problem>),
}

type Reading<T> = Result<T, Raised>;

/// A map that is being read, as it was given.
#[derive(Clone, Copy)]
enum Level<'a> {
    Top(&'a AllGiven),
    Inner(&'a JsonMap),
}

/// How much is held against a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// All.
    Strict,
    /// Nothing but its name: what cannot be read counts as unset.
    NamesAlone,
}

/// Reads all properties.
pub(crate) fn read(
    schema: &Properties,
    translation: &[Translation],
    given: &AllGiven,
    strictness: Strictness,
    ask_custom: AskCustom<'_>,
) -> Read {
    let reader = Reader { schema, translation, given, strictness, ask_custom };
    let mut read = Read::default();
    reader.level(Level::Top(given), schema, "", &mut read);
    read
}

impl Problem {
    pub(crate) fn here(message: impl Into<String>) -> Self {
        Self { path: Vec::new(), message: message.into(), fallen: None }
    }

    pub(crate) fn under(mut self, step: impl Into<String>) -> Self {
        self.path.insert(0, step.into());
        self
    }
}

impl Raised {
    fn at(self, step: impl Into<String>) -> Vec<Problem> {
        let step = step.into();
        match self {
            Raised::Here(message) => vec![Problem::here(message).under(step)],
            Raised::Fallen(message) => {
                vec![Problem { fallen: Some("TypeError"), ..Problem::here(message) }]
            }
            Raised::Within(problems) => {
                problems.into_iter().map(|problem| problem.under(step.clone())).collect()
            }
        }
    }

    fn problem(message: String) -> Self {
        Raised::Within(vec![Problem::here(message)])
    }
}

impl<'a> Level<'a> {
    fn has(self, key: &str) -> bool {
        match self {
            Level::Top(given) => given.contains_key(key),
            Level::Inner(map) => map.contains_key(key),
        }
    }

    fn unknown(self, schema: &Properties) -> Vec<&'a str> {
        let is_unknown = |key: &&String| !schema.contains_key(*key);
        match self {
            Level::Top(given) => given.keys().filter(is_unknown).map(String::as_str).collect(),
            Level::Inner(map) => map.keys().filter(is_unknown).map(String::as_str).collect(),
        }
    }
}

struct Reader<'a> {
    schema: &'a Properties,
    translation: &'a [Translation],
    given: &'a AllGiven,
    strictness: Strictness,
    ask_custom: AskCustom<'a>,
}

impl Reader<'_> {
    /// Reads a map whose keys have schemas, all of it. `path` is where it is, without indexes.
    fn level(&self, level: Level<'_>, schema: &Properties, path: &str, read: &mut Read) {
        for key in level.unknown(schema) {
            read.problems.push(Problem::here(format!("Unknown Property {key}")));
        }
        for (key, property) in schema {
            let path = joined(path, key);
            if self.is_gone(&path) {
                // What another property takes over stays visible to the type's own rules.
                if let (Level::Top(given), true) = (level, self.is_added(&path))
                    && let Some(Given::Value { value, .. }) = given.get(key)
                {
                    let typed = convert::value(property.kind, value, property.from_parameter);
                    if let Err(message) = typed {
                        read.problems.extend(Raised::Here(message).at(key));
                    }
                    read.properties.insert(key.clone(), value.clone());
                }
                continue;
            }
            let is_strict = self.strictness == Strictness::Strict;
            match self.property(level, key, property, &path, is_strict) {
                Ok(Some(value)) => drop(read.properties.insert(key.clone(), value)),
                Ok(None) => {}
                Err(raised) if !is_strict => {
                    if let Raised::Here(message) = as_a_whole(raised) {
                        read.forgiven.insert(key.clone(), message);
                    }
                }
                Err(Raised::Here(message)) if property.required && !level.has(key) => {
                    read.problems.push(Problem::here(message));
                }
                Err(raised) => read.problems.extend(raised.at(key)),
            }
            if !property.implemented && level.has(key) {
                let message = format!("Property {key} not implemented yet");
                read.problems.push(Problem::here(message));
            }
        }
    }

    /// The value of one property; none where it is unset.
    fn property(
        &self,
        level: Level<'_>,
        key: &str,
        property: &PropertySchema,
        path: &str,
        is_checked: bool,
    ) -> Reading<Option<Value>> {
        let (found, is_checked) = match level {
            Level::Inner(map) => (map.get(key), is_checked),
            Level::Top(given) => match given.get(key) {
                Some(Given::Value { value, is_final }) => (Some(value), is_checked && *is_final),
                Some(Given::Failed(message)) => return Err(Raised::Here(message.clone())),
                Some(Given::Open) => return Ok(None),
                Some(Given::Vanished) | None => (None, is_checked),
            },
        };
        let translated = self.translated(level, found, path, is_checked)?;
        if found.is_some() {
            let value = translated.as_deref().unwrap_or(&Value::Null);
            return self.value(property, value, path, is_checked).map(Some);
        }
        if let Some(value) = translated {
            return self.value(property, &value, path, false).map(Some);
        }
        match &property.default {
            // As in Heat an empty map is an empty list as well.
            Some(default @ (Value::Array(_) | Value::Object(_))) if is_truthy(default) => {
                self.value(property, default, path, is_checked).map(|_| None)
            }
            Some(_) => Ok(None),
            None if property.required => Err(Raised::Here(format!("Property {key} not assigned"))),
            None => Ok(None),
        }
    }

    /// A value as its type has it.
    fn value(
        &self,
        property: &PropertySchema,
        value: &Value,
        path: &str,
        is_checked: bool,
    ) -> Reading<Value> {
        // An explicit null counts as the default, or as the type's empty value.
        let value = match (value, &property.default) {
            (Value::Null, Some(default)) if property.kind != Kind::Any => default,
            (value, _) => value,
        };
        let read = match (property.kind, value) {
            (Kind::Map, Value::Object(map)) => self.map(property, map, path, is_checked)?,
            (Kind::Map, Value::Null) => self.map(property, &JsonMap::new(), path, is_checked)?,
            (Kind::List, Value::Array(list)) => self.list(property, list, path, is_checked)?,
            (kind, value) => {
                convert::value(kind, value, property.from_parameter).map_err(Raised::Here)?
            }
        };
        if is_checked {
            self.constraints(property, &read)?;
        }
        Ok(read)
    }

    fn map(
        &self,
        property: &PropertySchema,
        map: &JsonMap,
        path: &str,
        is_checked: bool,
    ) -> Reading<Value> {
        let Some(keys) = &property.keys else { return Ok(Value::Object(map.clone())) };
        let level = Level::Inner(map);
        if is_checked {
            let mut read = Read::default();
            self.level(level, keys, path, &mut read);
            return match read.problems.is_empty() {
                true => Ok(Value::Object(read.properties)),
                false => Err(Raised::Within(read.problems)),
            };
        }
        let mut read = JsonMap::new();
        for (key, property) in keys {
            let path = joined(path, key);
            if self.is_gone(&path) {
                continue;
            }
            // What is wrong within a value that is not final is told of the value as a whole.
            let value = self.property(level, key, property, &path, false);
            if let Some(value) = value.map_err(as_a_whole)? {
                read.insert(key.clone(), value);
            }
        }
        Ok(Value::Object(read))
    }

    fn list(
        &self,
        property: &PropertySchema,
        list: &[Value],
        path: &str,
        is_checked: bool,
    ) -> Reading<Value> {
        let Some(item) = &property.items else { return Ok(Value::Array(list.to_vec())) };
        let mut read = Vec::with_capacity(list.len());
        let mut problems = Vec::new();
        for (index, value) in list.iter().enumerate() {
            match self.value(item, value, path, is_checked) {
                Ok(value) => read.push(value),
                Err(raised) if is_checked => problems.extend(raised.at(index.to_string())),
                Err(raised) => return Err(as_a_whole(raised)),
            }
            if is_checked && !item.implemented {
                let message = format!("Property {index} not implemented yet");
                problems.push(Problem::here(message));
            }
        }
        match problems.is_empty() {
            true => Ok(Value::Array(read)),
            false => Err(Raised::Within(problems)),
        }
    }

    fn constraints(&self, property: &PropertySchema, value: &Value) -> Reading<()> {
        let of = match property.kind {
            Kind::String => ValueType::String,
            Kind::Integer => ValueType::Integer,
            Kind::Number => ValueType::Number,
            Kind::Boolean => ValueType::Boolean,
            Kind::List => ValueType::List,
            Kind::Map => ValueType::Map,
            Kind::Any => ValueType::Any,
        };
        for constraint in &property.constraints {
            let checked = match &constraint.rule {
                Rule::CustomConstraint(name) => (self.ask_custom)(name, value)
                    .map_err(|text| constraint.description.clone().unwrap_or(text)),
                _ => constraint.check(value, of),
            };
            checked.map_err(Raised::problem)?;
        }
        Ok(())
    }

    /// Whether another property stands for the one at a path, or none does.
    fn is_gone(&self, path: &str) -> bool {
        self.translation.iter().any(|rule| match rule {
            Translation::Replace { replace, with } => is_beside(path, replace, with),
            Translation::Delete { delete } => delete == path,
            Translation::Add { .. } => false,
            Translation::Resolve { .. } | Translation::Same { .. } => false,
        }) || self.is_added(path)
    }

    /// Whether a property is set and its value goes to another that is a list.
    fn is_added(&self, path: &str) -> bool {
        self.translation.iter().any(|rule| match rule {
            Translation::Add { from, .. } => from == path && self.is_set(from),
            _ => false,
        })
    }

    /// Whether a property is a list or a map.
    fn is_whole(&self, name: &str) -> bool {
        let property = self.schema.get(name);
        property.is_some_and(|property| matches!(property.kind, Kind::List | Kind::Map))
    }

    fn is_set(&self, name: &str) -> bool {
        matches!(self.given.get(name), Some(Given::Value { value, .. }) if is_truthy(value))
    }

    /// The value that a property has after older names have given theirs to it.
    fn translated<'v>(
        &self,
        level: Level<'v>,
        value: Option<&'v Value>,
        path: &str,
        is_checked: bool,
    ) -> Reading<Option<Cow<'v, Value>>> {
        for rule in self.translation {
            match rule {
                Translation::Replace { replace, with } if replace == path => {
                    let other = self.other(level, with, value.is_none() && is_checked);
                    // What takes the place of nothing is given its type outside of Heat's nets.
                    let other = match other {
                        Err(Raised::Here(message)) if value.is_none() && self.is_whole(with) => {
                            return Err(Raised::Fallen(message));
                        }
                        other => other?,
                    };
                    if other.as_deref().is_some_and(is_truthy) && value.is_some_and(is_truthy) {
                        return Err(Raised::problem(format!(
                            "Cannot define the following properties at the same time: {path}, {}",
                            beside(replace, with)
                        )));
                    }
                    if other.as_deref().is_some_and(|other| !other.is_null()) {
                        return Ok(other);
                    }
                }
                // Heat applies the rule to the items once more, and stumbles.
                Translation::Add { add, from }
                    if add == path && value.is_some() && self.is_set(from) =>
                {
                    let problem = Problem::here(format!(
                        "Incorrect translation rule using - cannot resolve Add rule for non-list \
                         translation value \"{path}.0\"."
                    ));
                    return Err(Raised::Within(vec![problem.under("0")]));
                }
                _ => {}
            }
        }
        Ok(value.map(Cow::Borrowed))
    }

    /// The value of an older name beside a property.
    fn other<'v>(
        &self,
        level: Level<'v>,
        with: &str,
        is_checked: bool,
    ) -> Reading<Option<Cow<'v, Value>>> {
        match level {
            Level::Inner(map) => {
                let mut steps = with.split('.');
                let first = steps.next().and_then(|name| map.get(name));
                let value = steps.fold(first, |value, step| value?.get(step));
                Ok(value.map(Cow::Borrowed))
            }
            Level::Top(_) => {
                let Some(property) = self.schema.get(with) else { return Ok(None) };
                let plain = Reader { translation: &[], ..*self };
                let value = plain.property(level, with, property, with, is_checked)?;
                Ok(value.map(Cow::Owned))
            }
        }
    }
}

/// What is wrong within a value, told of the value as a whole.
fn as_a_whole(raised: Raised) -> Raised {
    match raised {
        Raised::Here(message) | Raised::Fallen(message) => Raised::Here(message),
        Raised::Within(problems) => {
            Raised::Here(problems.into_iter().next().map_or_else(String::new, |it| it.message))
        }
    }
}

fn joined<'a>(path: &str, key: &'a str) -> Cow<'a, str> {
    match path {
        "" => key.into(),
        path => format!("{path}.{key}").into(),
    }
}

/// Whether a path is that of a sibling of another's.
fn is_beside(path: &str, other: &str, sibling: &str) -> bool {
    let Some(before) = path.strip_suffix(sibling) else { return false };
    match before.strip_suffix('.') {
        None => before.is_empty() && !other.contains('.'),
        Some(above) => other.rsplit_once('.').is_some_and(|(theirs, _)| theirs == above),
    }
}

/// The path of a sibling.
fn beside(path: &str, sibling: &str) -> String {
    match path.rsplit_once('.') {
        None => sibling.to_owned(),
        Some((above, _)) => format!("{above}.{sibling}"),
    }
}
