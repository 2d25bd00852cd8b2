//! Constraints on a value, of parameters and of properties alike, with Heat's messages.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::pattern::{self, Unanswered};
use super::value::Datum;
use super::{python, work};

/// One constraint and the text its author gave for the case that it fails.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    #[serde(flatten)]
    pub rule: Rule,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The rule, in the words of HOT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    Length {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<Number>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<Number>,
    },
    Range {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min: Option<Number>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<Number>,
    },
    Modulo {
        step: Number,
        offset: Number,
    },
    AllowedValues(Vec<Value>),
    AllowedPattern(String),
    /// Asks the cloud: checked by `resource_types::constraints`.
    CustomConstraint(String),
}

/// The type of the value that a constraint is on; it decides what allowed values are compared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueType {
    String,
    Integer,
    Number,
    Boolean,
    List,
    Map,
    Any,
}

/// How a check fails: the value breaks the rule (Python's ValueError), or the rule cannot even be
/// asked of such a value (its TypeError).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Rule(String),
    Kind(String),
}

impl Constraint {
    /// Checks a value; the error is Heat's text. Custom constraints always hold here.
    pub fn check(&self, value: &Value, of: ValueType) -> Result<(), String> {
        self.check_datum(&Datum::from(value), of).map_err(|broken| match broken {
            Broken::Rule(text) | Broken::Kind(text) => text,
        })
    }

    /// Heat's class name of the constraint, as its errors have it.
    pub fn class_name(&self) -> &'static str {
        match self.rule {
            Rule::Length { .. } => "Length",
            Rule::Range { .. } => "Range",
            Rule::Modulo { .. } => "Modulo",
            Rule::AllowedValues(_) => "AllowedValues",
            Rule::AllowedPattern(_) => "AllowedPattern",
            Rule::CustomConstraint(_) => "CustomConstraint",
        }
    }

    /// Checks a value of the language.
    pub(crate) fn check_datum(&self, value: &Datum, of: ValueType) -> Result<(), Broken> {
        let holds = match &self.rule {
            Rule::Length { min, max } => {
                let length = length(value)?;
                let size = Datum::Int(length as i128);
                within(&size, min.as_ref(), max.as_ref())?
            }
            Rule::Range { min, max } => within(&number(value)?, min.as_ref(), max.as_ref())?,
            Rule::Modulo { step, offset } => {
                let remainder = remainder(&number(value)?, &datum(step));
                compare(&remainder, &datum(offset)).is_some_and(std::cmp::Ordering::is_eq)
            }
            Rule::AllowedValues(allowed) => is_allowed(value, allowed, of)?,
            Rule::AllowedPattern(pattern) => matches_whole(pattern, value)?,
            Rule::CustomConstraint(_) => true,
        };
        match holds {
            true => Ok(()),
            false => Err(Broken::Rule(self.failure(value))),
        }
    }

    /// What is said of a value that breaks the rule.
    fn failure(&self, value: &Datum) -> String {
        if let Some(description) = self.description.as_ref().filter(|text| !text.is_empty()) {
            return description.clone();
        }
        let shown = python::text_of(value);
        match &self.rule {
            Rule::Length { min, max } => {
                let length = length(value).unwrap_or_default();
                let (min, max) = (bound(min.as_ref()), bound(max.as_ref()));
                format!("length ({length}) is out of range (min: {min}, max: {max})")
            }
            Rule::Range { min, max } => {
                let (min, max) = (bound(min.as_ref()), bound(max.as_ref()));
                format!("{shown} is out of range (min: {min}, max: {max})")
            }
            Rule::Modulo { step, offset } => {
                let (step, offset) = (bound(Some(step)), bound(Some(offset)));
                format!("{shown} is not a multiple of {step} with an offset of {offset}")
            }
            Rule::AllowedValues(allowed) => {
                let allowed = allowed.iter().map(|value| python::json_text(&value.into(), false));
                let allowed = allowed.collect::<Vec<_>>().join(", ");
                let value = python::json_text(value, false);
                format!("{value} is not an allowed value [{allowed}]")
            }
            Rule::AllowedPattern(pattern) => {
                format!("\"{shown}\" does not match pattern \"{pattern}\"")
            }
            Rule::CustomConstraint(name) => format!("\"{shown}\" does not validate {name}"),
        }
    }
}

/// A bound as Python prints it; one that is not there is `None`.
fn bound(number: Option<&Number>) -> String {
    number.map_or_else(|| "None".to_owned(), |number| python::text_of(&datum(number)))
}

fn datum(number: &Number) -> Datum {
    Datum::from(&Value::Number(number.clone()))
}

fn length(value: &Datum) -> Result<usize, Broken> {
    match value {
        Datum::Text(text) => Ok(text.chars().count()),
        Datum::List(items) => Ok(items.len()),
        Datum::Map(map) => Ok(map.len()),
        Datum::Null | Datum::Bool(_) | Datum::Int(_) | Datum::Float(_) => {
            let kind = python::type_name(value);
            Err(Broken::Kind(format!("object of type '{kind}' has no len()")))
        }
    }
}

/// Python's number of a value: numbers and booleans as they are, text read as `int`, then `float`.
pub(crate) fn number(value: &Datum) -> Result<Datum, Broken> {
    match value {
        Datum::Int(_) | Datum::Float(_) | Datum::Bool(_) => Ok(value.clone()),
        Datum::Text(text) => {
            if let Some(whole) = python::int_of(text) {
                return Ok(Datum::Int(whole));
            }
            python::float_of(text).map(Datum::Float).ok_or_else(|| {
                let quoted = python::quoted(text);
                Broken::Rule(format!("could not convert string to float: {quoted}"))
            })
        }
        Datum::Null | Datum::List(_) | Datum::Map(_) => {
            let kind = python::type_name(value);
            Err(Broken::Kind(format!(
                "int() argument must be a string, a bytes-like object or a real number, not \
                 '{kind}'"
            )))
        }
    }
}

fn within(value: &Datum, min: Option<&Number>, max: Option<&Number>) -> Result<bool, Broken> {
    let above =
        |bound: &Number| compare(value, &datum(bound)).is_none_or(std::cmp::Ordering::is_ge);
    let below =
        |bound: &Number| compare(value, &datum(bound)).is_none_or(std::cmp::Ordering::is_le);
    Ok(min.is_none_or(above) && max.is_none_or(below))
}

/// Python's remainder, which has the sign of the divisor.
fn remainder(value: &Datum, step: &Datum) -> Datum {
    if let (Datum::Int(value), Datum::Int(step)) = (value, step)
        && *step != 0
    {
        let rest = value % step;
        let turned = rest != 0 && (rest < 0) != (*step < 0);
        return Datum::Int(if turned { rest + step } else { rest });
    }
    let step = float(step);
    let rest = float(value) % step;
    let turned = rest != 0.0 && (rest < 0.0) != (step < 0.0);
    Datum::Float(if turned { rest + step } else { rest })
}

/// Orders numbers; NaN is neither less nor more than anything.
fn compare(left: &Datum, right: &Datum) -> Option<std::cmp::Ordering> {
    match (left, right) {
        (Datum::Int(left), Datum::Int(right)) => Some(left.cmp(right)),
        _ => float(left).partial_cmp(&float(right)),
    }
}

fn float(value: &Datum) -> f64 {
    match value {
        Datum::Int(number) => *number as f64,
        Datum::Float(number) => *number,
        Datum::Bool(true) => 1.0,
        _ => 0.0,
    }
}

/// How many values are compared in a step.
const COMPARED_PER_STEP: usize = 8;

/// All items of a list must be allowed as they are; another value is compared in its type.
fn is_allowed(value: &Datum, allowed: &[Value], of: ValueType) -> Result<bool, Broken> {
    let allowed: Vec<Datum> = allowed.iter().map(Datum::from).collect();
    if let Datum::List(items) = value {
        let steps = items.len().saturating_mul(allowed.len()) / COMPARED_PER_STEP;
        work::step_of_request(steps).map_err(|error| Broken::Rule(error.message))?;
        return Ok(items.iter().all(|item| allowed.contains(item)));
    }
    let mut typed = Vec::with_capacity(allowed.len());
    for candidate in &allowed {
        typed.push(in_type(candidate, of)?);
    }
    Ok(typed.contains(&in_type(value, of)?))
}

/// A value in the type that its schema says.
pub(crate) fn in_type(value: &Datum, of: ValueType) -> Result<Datum, Broken> {
    let invalid = || {
        let shown = python::text_of(value);
        let of = match of {
            ValueType::Integer => "Integer",
            ValueType::Number => "number",
            ValueType::Boolean => "boolean",
            ValueType::String => "string",
            ValueType::List => "list",
            ValueType::Map => "map",
            ValueType::Any => "any",
        };
        Broken::Rule(format!("Value \"{shown}\" is invalid for data type \"{of}\"."))
    };
    let as_number = || match number(value) {
        Err(Broken::Rule(_)) => Err(invalid()),
        other => other,
    };
    match of {
        ValueType::Integer => match as_number()? {
            Datum::Float(_) => Err(invalid()),
            whole => Ok(whole),
        },
        ValueType::Number => as_number(),
        ValueType::String => Ok(Datum::Text(python::text_of(value).into())),
        ValueType::Boolean => boolean(&python::text_of(value)).map(Datum::Bool).ok_or_else(invalid),
        ValueType::List | ValueType::Map | ValueType::Any => Ok(value.clone()),
    }
}

/// The words that Heat takes for booleans.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "1" | "t" | "true" | "on" | "y" | "yes" => Some(true),
        "0" | "f" | "false" | "off" | "n" | "no" => Some(false),
        _ => None,
    }
}

/// Why a pattern is no regular expression, if it is none.
pub(crate) fn unusable_pattern(expression: &str) -> Option<String> {
    pattern::compile(expression).err().map(|unusable| unusable.message)
}

/// Whether a pattern matches from the start, and its first match reaches the end.
fn matches_whole(expression: &str, value: &Datum) -> Result<bool, Broken> {
    let Datum::Text(text) = value else {
        let kind = python::type_name(value);
        let message = format!("expected string or bytes-like object, got '{kind}'");
        return Err(Broken::Kind(message));
    };
    let pay = |steps| work::step_of_request(steps).map_err(|error| error.message);
    pay(pattern::steps_to_compile(expression)).map_err(Broken::Rule)?;
    let pattern =
        pattern::compile(expression).map_err(|unusable| Broken::Rule(unusable.message))?;
    let found = pattern.find(text.as_str(), 0, pay).map_err(|unanswered| match unanswered {
        Unanswered::Refused(reason) | Unanswered::GaveUp(reason) => Broken::Rule(reason),
    })?;
    let whole = found.and_then(|found| found.into_iter().next().flatten());
    Ok(whole.is_some_and(|whole| whole.end == text.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(rule: Value, value: Value, of: ValueType) -> Result<(), String> {
        let constraint: Constraint = serde_json::from_value(rule).unwrap();
        constraint.check(&value, of)
    }

    #[test]
    fn a_broken_rule_is_worded_as_in_heat() {
        let cases = [
            (
                json!({"range": {"min": 1, "max": 10}}),
                json!(11),
                ValueType::Number,
                "11 is out of range (min: 1, max: 10)",
            ),
            (
                json!({"range": {"min": 1.5}}),
                json!("1"),
                ValueType::Number,
                "1 is out of range (min: 1.5, max: None)",
            ),
            (
                json!({"length": {"max": 2}}),
                json!("abc"),
                ValueType::String,
                "length (3) is out of range (min: None, max: 2)",
            ),
            (
                json!({"modulo": {"step": 2, "offset": 1}}),
                json!(4),
                ValueType::Number,
                "4 is not a multiple of 2 with an offset of 1",
            ),
            (
                json!({"allowed_values": ["a", 1]}),
                json!("b"),
                ValueType::String,
                "\"b\" is not an allowed value [\"a\", 1]",
            ),
            (
                json!({"allowed_pattern": "[a-z]+"}),
                json!("a1"),
                ValueType::String,
                "\"a1\" does not match pattern \"[a-z]+\"",
            ),
            (
                json!({"allowed_pattern": "[a-z]+", "description": "lower case"}),
                json!("A"),
                ValueType::String,
                "lower case",
            ),
        ];
        for (rule, value, of, message) in cases {
            assert_eq!(check(rule, value, of), Err(message.to_owned()));
        }
    }

    #[test]
    fn values_within_the_rule_pass() {
        let cases = [
            (json!({"range": {"min": 1, "max": 10}}), json!("10"), ValueType::Number),
            (json!({"allowed_values": ["1", "2"]}), json!(1), ValueType::String),
            (json!({"allowed_values": [1, 2]}), json!("1"), ValueType::Integer),
            (json!({"allowed_values": ["a", "b"]}), json!(["b", "a"]), ValueType::List),
            (json!({"modulo": {"step": 10, "offset": 1}}), json!(-9), ValueType::Number),
            (json!({"custom_constraint": "nova.flavor"}), json!("x"), ValueType::String),
        ];
        for (rule, value, of) in cases {
            assert_eq!(check(rule, value, of), Ok(()));
        }
    }

    #[test]
    fn a_pattern_counts_by_its_first_match() {
        assert!(check(json!({"allowed_pattern": "a|ab"}), json!("ab"), ValueType::String).is_err());
        assert!(check(json!({"allowed_pattern": "ab|a"}), json!("ab"), ValueType::String).is_ok());
    }
}
