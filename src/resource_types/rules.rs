//! What several properties, or the keys of each entry of a list, must or must not be together.

use std::borrow::Cow;
use std::collections::HashSet;

use chrono::DateTime;
use serde::Deserialize;
use serde_json::Value;

use super::constraints::custom;
use super::finders::Finders;
use super::python;
use crate::model::python::is_truthy;
use crate::model::{IndexMap, JsonMap, Refusal};
use crate::template::constraints::{self, Constraint, ValueType};

/// A rule of a type's file. Null counts as unset; a text that comes of what is not there yet is empty,
/// and set.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "WrittenRule")]
pub struct Rule {
    /// The dotted path of the list whose entries are held to it; else the properties are.
    pub(super) each: Option<String>,
    /// It holds for entries only where these properties have one of the values.
    pub(super) given: IndexMap<String, Vec<Value>>,
    /// It holds only where these have one of the values, null being unset.
    pub(super) when: IndexMap<String, Vec<Value>>,
    /// It does not hold where one of these has one of the values.
    pub(super) unless: IndexMap<String, Vec<Value>>,
    pub(super) kind: Kind,
    /// Whether what is not true in Python, such as 0 and the empty text, counts as unset, too.
    truthy: bool,
    /// Whether those alone exclude one another that have the same value.
    alike: bool,
    /// The text of the refusal, with `{property}` in it, where it is not one that Heat has for all.
    pub(super) says: Option<String>,
    /// The class of a refusal with such a text.
    error: Option<String>,
}

/// What is asked. All names are dotted paths.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    AtMostOne(Vec<String>),
    AtLeastOne(Vec<String>),
    ExactlyOne(Vec<String>),
    /// All of them are set; without `when`, if the first is.
    Needs(Vec<String>),
    /// None of them is set.
    Refuses(Vec<String>),
    /// No two values along the path are the same.
    Differ(String),
    /// Numbers that do not fall, as far as they are set.
    Ascending(Vec<String>),
    /// A value, if set, is matched as a whole.
    Matches(IndexMap<String, String>),
    /// A value, if set, satisfies a custom constraint that needs nothing else.
    Satisfies(IndexMap<String, String>),
}

/// A rule as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    at_most_one: Option<Vec<String>>,
    at_least_one: Option<Vec<String>>,
    exactly_one: Option<Vec<String>>,
    needs: Option<Vec<String>>,
    refuses: Option<Vec<String>>,
    differ: Option<String>,
    ascending: Option<Vec<String>>,
    matches: Option<IndexMap<String, String>>,
    satisfies: Option<IndexMap<String, String>>,
    each: Option<String>,
    #[serde(default)]
    given: IndexMap<String, Vec<Value>>,
    #[serde(default)]
    when: IndexMap<String, Vec<Value>>,
    #[serde(default)]
    unless: IndexMap<String, Vec<Value>>,
    #[serde(default)]
    truthy: bool,
    #[serde(default)]
    alike: bool,
    says: Option<String>,
    error: Option<String>,
}

impl TryFrom<WrittenRule> for Rule {
    type Error = &'static str;

    fn try_from(written: WrittenRule) -> Result<Self, Self::Error> {
        let kinds = [
            written.at_most_one.map(Kind::AtMostOne),
            written.at_least_one.map(Kind::AtLeastOne),
            written.exactly_one.map(Kind::ExactlyOne),
            written.needs.map(Kind::Needs),
            written.refuses.map(Kind::Refuses),
            written.differ.map(Kind::Differ),
            written.ascending.map(Kind::Ascending),
            written.matches.map(Kind::Matches),
            written.satisfies.map(Kind::Satisfies),
        ];
        let mut kinds = kinds.into_iter().flatten();
        let (Some(kind), None) = (kinds.next(), kinds.next()) else {
            return Err("a rule is one of `at_most_one`, `at_least_one`, `exactly_one`, `needs`, \
                        `refuses`, `differ`, `ascending`, `matches` and `satisfies`");
        };
        let WrittenRule { each, given, when, unless, truthy, alike, says, error, .. } = written;
        if !given.is_empty() && each.is_none() {
            return Err("`given` goes with `each`");
        }
        if alike && !matches!(kind, Kind::AtMostOne(_)) {
            return Err("`alike` goes with `at_most_one`");
        }
        match &kind {
            Kind::Needs(names) if when.is_empty() && names.len() < 2 => {
                return Err("`needs` without `when` is what its first property needs: the others");
            }
            Kind::Refuses(_) if when.is_empty() && given.is_empty() => {
                return Err("`refuses` goes with `when` or `given`");
            }
            _ => {}
        }
        Ok(Self { each, given, when, unless, kind, truthy, alike, says, error })
    }
}

/// Refuses properties of the resource of a name that break a rule, in Heat's words.
pub(super) fn check(rules: &[Rule], name: &str, properties: &JsonMap) -> Result<(), Refusal> {
    // Heat goes through a list once: its first entry is held to all rules before the second is.
    rules.chunk_by(|rule, next| rule.each == next.each).try_for_each(|rules| {
        let each = rules.first().and_then(|rule| rule.each.as_deref());
        let held = match each {
            None => vec![properties],
            Some(list) => {
                along(properties, list).into_iter().filter_map(Value::as_object).collect()
            }
        };
        held.into_iter().try_for_each(|values| {
            let mut holding = rules.iter().filter(|rule| are_met(&rule.given, properties));
            holding.try_for_each(|rule| rule.keep(name, values))
        })
    })
}

/// Whether values meet all of some conditions.
fn are_met(conditions: &IndexMap<String, Vec<Value>>, values: &JsonMap) -> bool {
    conditions.iter().all(|(path, wanted)| is_one_of(one(values, path), wanted))
}

/// Whether a value is one of those wanted, null being unset.
fn is_one_of(value: Option<&Value>, wanted: &[Value]) -> bool {
    wanted.iter().any(|wanted| match value {
        Some(value) => python::equal(value, wanted),
        None => wanted.is_null(),
    })
}

impl Rule {
    fn keep(&self, name: &str, values: &JsonMap) -> Result<(), Refusal> {
        let mut exceptions = self.unless.iter();
        if !are_met(&self.when, values)
            || exceptions.any(|(path, wanted)| is_one_of(one(values, path), wanted))
        {
            return Ok(());
        }
        match (self.broken(values), &self.says) {
            (None, _) => Ok(()),
            (Some(refusal), None) => Err(refusal),
            // The words are for what is missing.
            (Some(refusal), Some(_)) if self.has_too_many(values) => Err(refusal),
            (Some(_), Some(says)) => {
                let refusal = Refusal::validation(said(says, name, values));
                let class = self.error.clone().map_or(refusal.class, Cow::Owned);
                Err(Refusal { class, ..refusal })
            }
        }
    }

    fn has_too_many(&self, values: &JsonMap) -> bool {
        matches!(&self.kind, Kind::ExactlyOne(names) if self.set(values, names).count() > 1)
    }

    fn is_set(&self, values: &JsonMap, name: &str) -> bool {
        one(values, name).is_some_and(|value| !self.truthy || is_truthy(value))
    }

    fn set<'a>(&self, values: &JsonMap, names: &'a [String]) -> impl Iterator<Item = &'a String> {
        names.iter().filter(|name| self.is_set(values, name))
    }

    /// What breaks it, in the words that Heat has for all such rules.
    fn broken(&self, values: &JsonMap) -> Option<Refusal> {
        match &self.kind {
            Kind::AtMostOne(names) => {
                let mut set = self.set(values, names).filter_map(|name| one(values, name));
                let are_too_many =
                    if self.alike { twice(set).is_some() } else { set.nth(1).is_some() };
                are_too_many.then(|| conflict(names))
            }
            Kind::AtLeastOne(names) => {
                self.set(values, names).next().is_none().then(|| unset(names))
            }
            Kind::ExactlyOne(names) => match self.set(values, names).count() {
                0 => Some(unset(names)),
                1 => None,
                _ => Some(conflict(names)),
            },
            Kind::Needs(names) => {
                let (first, needed) = match (self.when.keys().next(), names.split_first()) {
                    (Some(condition), _) => (condition, names.as_slice()),
                    (None, Some((first, rest))) if self.is_set(values, first) => (first, rest),
                    (None, _) => return None,
                };
                let missing = needed.iter().find(|name| !self.is_set(values, name))?;
                Some(Refusal::new(
                    "ResourcePropertyDependency",
                    format!("{first} cannot be specified without {missing}."),
                ))
            }
            Kind::Refuses(names) => {
                let found = self.set(values, names).next()?;
                let condition =
                    self.when.keys().chain(self.given.keys()).next().map(String::as_str);
                Some(conflict(&[condition.unwrap_or_default(), found.as_str()]))
            }
            Kind::Differ(path) => {
                let twice = twice(along(values, path).into_iter())?;
                let text = format!("Duplicate {path}: {}.", python::text(twice));
                Some(Refusal::validation(text))
            }
            Kind::Ascending(names) => {
                let set = self.set(values, names);
                let numbered = set.filter_map(|name| Some((name, one(values, name)?.as_f64()?)));
                let numbers: Vec<(&String, f64)> = numbered.collect();
                let ((low, _), (high, _)) = numbers
                    .iter()
                    .zip(numbers.iter().skip(1))
                    .find(|((_, low), (_, high))| low > high)?;
                Some(Refusal::validation(format!("{low} cannot be greater than {high}.")))
            }
            Kind::Matches(patterns) => patterns.iter().find_map(|(path, pattern)| {
                // Heat's patterns stop at the first alternative that fits.
                let rule = constraints::Rule::AllowedPattern(format!("(?:{pattern})$"));
                let whole = Constraint { rule, description: None };
                let text = python::text(one(values, path)?);
                let words = format!("\"{text}\" does not match pattern \"{pattern}\"");
                let checked = whole.check(&text.into(), ValueType::String);
                checked.err().map(|_| Refusal::validation(words))
            }),
            Kind::Satisfies(constraints) => constraints.iter().find_map(|(path, name)| {
                let value = one(values, path)?;
                // Of an address: none that rules name asks for the time of day.
                let any = DateTime::UNIX_EPOCH;
                let checked = custom::check_local(&Finders::default(), name, value, any);
                checked.err().map(Refusal::validation)
            }),
        }
    }
}

/// The values that a dotted path reaches, through lists as well, without those that are unset; of
/// one entry of a list each counts once.
fn along<'a>(values: &'a JsonMap, path: &str) -> Vec<&'a Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
    let Some(value) = values.get(first) else { return Vec::new() };
    let items = match value {
        Value::Array(items) => items.iter().collect(),
        value => vec![value],
    };
    let is_set = |value: &&Value| !value.is_null();
    match rest {
        None => items.into_iter().filter(is_set).collect(),
        Some(rest) => {
            let maps = items.into_iter().filter_map(Value::as_object);
            maps.flat_map(|map| once(along(map, rest))).collect()
        }
    }
}

/// The first value that was there before.
fn twice<'a>(mut values: impl Iterator<Item = &'a Value>) -> Option<&'a Value> {
    let (mut texts, mut others) = (HashSet::new(), Vec::<&Value>::new());
    values.find(|&value| match value {
        // Of these there may be many.
        Value::String(text) => !texts.insert(text),
        _ => {
            let is_seen = others.iter().any(|other| python::equal(value, other));
            others.push(value);
            is_seen
        }
    })
}

/// Each value once.
fn once(values: Vec<&Value>) -> Vec<&Value> {
    let mut once: Vec<&Value> = Vec::new();
    for value in values {
        if !once.iter().any(|other| python::equal(value, other)) {
            once.push(value);
        }
    }
    once
}

/// The value at a dotted path, if it is set; `list.0` is the first of a list.
fn one<'a>(values: &'a JsonMap, path: &str) -> Option<&'a Value> {
    let mut steps = path.split('.');
    let mut value = values.get(steps.next()?)?;
    for step in steps {
        value = value.get(step).or_else(|| value.get(step.parse::<usize>().ok()?))?;
    }
    Some(value).filter(|value| !value.is_null())
}

/// Words with values in them; `{resource}` is the resource's name.
fn said(says: &str, name: &str, values: &JsonMap) -> String {
    let mut parts = says.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (word, rest) = part.split_once('}').unwrap_or(("", part));
        match one(values, word) {
            Some(value) => text.push_str(&python::text(value)),
            None => text.push_str(if word == "resource" { name } else { "None" }),
        }
        text.push_str(rest);
    }
    text
}

fn unset(names: &[String]) -> Refusal {
    let names = names.join(", ");
    Refusal::new(
        "PropertyUnspecifiedError",
        format!("At least one of the following properties must be specified: {names}."),
    )
}

/// Heat's refusal of properties that exclude one another.
pub(super) fn conflict(names: &[impl AsRef<str>]) -> Refusal {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    Refusal::new(
        "ResourcePropertyConflict",
        format!("Cannot define the following properties at the same time: {}.", names.join(", ")),
    )
}

#[cfg(test)]
mod tests;
