//! Reading given values by a schema: Heat's conversions, and its words where a value does not fit.

use serde_json::{Number, Value};

use super::schema::{Kind, Properties, PropertySchema};
use super::{constraints, python};
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::template::TemplateError;

/// Where in the properties a value does not fit, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Names of properties and keys, and indexes of lists.
    pub path: Vec<String>,
    pub message: String,
}

/// How much is checked of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// All: constraints, unknown keys, required keys.
    All,
    /// Only that the type can be read: the value is not final, as it comes from a resource that
    /// does not exist yet.
    Type,
}

impl Problem {
    fn here(message: impl Into<String>) -> Self {
        Self { path: Vec::new(), message: message.into() }
    }

    fn under(mut self, step: impl Into<String>) -> Self {
        self.path.insert(0, step.into());
        self
    }

    /// The refusal in Heat's words. Its API shows the text rebuilt from parts that were formatted
    /// before, hence the doubled colons.
    pub fn refusal(&self, before: &[&str]) -> Refusal {
        let path = python::path(before.iter().copied().chain(self.path.iter().map(String::as_str)));
        Refusal::validation(format!("Property error: : {path}: : {}", self.message))
    }

    /// The error at its place in the template.
    pub(super) fn error(self, before: &[&str]) -> TemplateError {
        let before = before.iter().map(|step| (*step).to_owned());
        TemplateError::validation(self.message)
            .headed("Property error")
            .in_path(before.chain(self.path))
    }

    /// The same as Heat words it for a resource in an action, where nothing is rebuilt.
    pub fn refusal_in_action(&self, resource: &ResourceName) -> Refusal {
        let start = [resource.as_str(), "Properties"];
        let path = python::path(start.into_iter().chain(self.path.iter().map(String::as_str)));
        Refusal::validation(format!("Property error: {path}: {}", self.message))
    }
}

/// The given values, each read as its type. `check` says how much is checked of which property.
pub fn read(
    schema: &Properties,
    given: &JsonMap,
    check: &dyn Fn(&str) -> Check,
) -> Result<JsonMap, Problem> {
    if let Some(unknown) = given.keys().find(|name| !schema.contains_key(*name)) {
        return Err(Problem::here(format!("Unknown Property {unknown}")));
    }
    let mut read = JsonMap::new();
    for (name, property) in schema {
        match given.get(name) {
            Some(value) => {
                let value = property
                    .read(value, check(name))
                    .map_err(|problem| problem.under(name.as_str()))?;
                read.insert(name.clone(), value);
            }
            None if property.required && property.default.is_none() => {
                return Err(Problem::here(format!("Property {name} not assigned")));
            }
            None => {}
        }
    }
    Ok(read)
}

impl PropertySchema {
    /// The value as this type has it.
    pub fn read(&self, value: &Value, check: Check) -> Result<Value, Problem> {
        // An explicit null counts as the default, or as the type's empty value.
        let value = match (value, &self.default) {
            (Value::Null, Some(default)) => default,
            (value, _) => value,
        };
        let read = match self.kind {
            Kind::String => read_string(value),
            Kind::Integer => read_integer(value),
            Kind::Number => read_number(value),
            Kind::Boolean => read_boolean(value),
            Kind::Map => return self.checked(self.read_map(value, check)?, check),
            Kind::List => return self.checked(self.read_list(value, check)?, check),
            Kind::Any => Ok(value.clone()),
        };
        self.checked(read.map_err(Problem::here)?, check)
    }

    fn checked(&self, value: Value, check: Check) -> Result<Value, Problem> {
        if check == Check::All {
            for constraint in &self.constraints {
                constraints::check(constraint, &value).map_err(Problem::here)?;
            }
        }
        Ok(value)
    }

    fn read_map(&self, value: &Value, check: Check) -> Result<Value, Problem> {
        let empty = JsonMap::new();
        let map = match value {
            Value::Null => &empty,
            Value::Object(map) => map,
            Value::String(_) | Value::Array(_) if self.from_parameter => return Ok(value.clone()),
            other => {
                return Err(Problem::here(format!("\"{}\" is not a map", python::text(other))));
            }
        };
        let Some(keys) = &self.keys else { return Ok(Value::Object(map.clone())) };
        match check {
            Check::All => read(keys, map, &|_| check).map(Value::Object),
            Check::Type => Ok(Value::Object(map.clone())),
        }
    }

    fn read_list(&self, value: &Value, check: Check) -> Result<Value, Problem> {
        let list = match value {
            Value::Null => return Ok(Value::Array(Vec::new())),
            Value::String(text) if self.from_parameter && text.is_empty() => {
                return Ok(Value::Array(Vec::new()));
            }
            Value::String(text) if self.from_parameter => {
                return Ok(text.split(',').map(Value::from).collect());
            }
            Value::Array(list) => list,
            other => {
                return Err(Problem::here(format!("\"{}\" is not a list", python::repr(other))));
            }
        };
        let Some(items) = &self.items else { return Ok(value.clone()) };
        let read = list.iter().enumerate().map(|(index, item)| {
            items.read(item, check).map_err(|problem| problem.under(index.to_string()))
        });
        read.collect::<Result<Vec<_>, _>>().map(Value::Array)
    }
}

fn read_string(value: &Value) -> Result<Value, String> {
    match value {
        Value::Null => Ok("".into()),
        Value::String(_) => Ok(value.clone()),
        Value::Bool(_) => Ok(python::text(value).into()),
        Value::Number(number) if !number.is_f64() => Ok(python::text(value).into()),
        other => Err(format!("Value must be a string; got {}", python::repr(other))),
    }
}

fn read_integer(value: &Value) -> Result<Value, String> {
    match value {
        Value::Null => Ok(0.into()),
        Value::Bool(truth) => Ok(i64::from(*truth).into()),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => Ok((float.trunc() as i64).into()),
            _ => Ok(value.clone()),
        },
        Value::String(text) => match text.trim().replace('_', "").parse::<i64>() {
            Ok(integer) => Ok(integer.into()),
            Err(_) => Err(format!("Value '{text}' is not an integer")),
        },
        Value::Array(_) | Value::Object(_) => Err(format!(
            "int() argument must be a string, a bytes-like object or a real number, not '{}'",
            python::type_name(value)
        )),
    }
}

fn read_number(value: &Value) -> Result<Value, String> {
    match value {
        Value::Null => Ok(0.into()),
        Value::Number(_) | Value::Bool(_) => Ok(value.clone()),
        Value::String(text) => number(text)
            .ok_or_else(|| format!("could not convert string to float: {}", python::repr(value))),
        Value::Array(_) | Value::Object(_) => Err(format!(
            "int() argument must be a string, a bytes-like object or a real number, not '{}'",
            python::type_name(value)
        )),
    }
}

/// The number that a text stands for.
fn number(text: &str) -> Option<Value> {
    let text = text.trim().replace('_', "");
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    Number::from_f64(text.parse().ok()?).map(Value::Number)
}

fn read_boolean(value: &Value) -> Result<Value, String> {
    match value {
        Value::Null => Ok(false.into()),
        Value::Bool(_) => Ok(value.clone()),
        Value::String(text) => match text.to_lowercase().as_str() {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            other => Err(format!("\"{other}\" is not a valid boolean")),
        },
        other => Err(format!("\"{}\" is not a valid boolean", python::text(other))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(yaml: &str) -> Properties {
        serde_yaml::from_str(yaml).unwrap()
    }

    fn check(yaml: &str, given: Value) -> Result<Value, String> {
        let Value::Object(given) = given else { panic!("properties are a map") };
        read(&schema(yaml), &given, &|_| Check::All)
            .map(Value::Object)
            .map_err(|problem| problem.refusal(&["resources", "a", "properties"]).message)
    }

    #[test]
    fn texts_become_what_the_schema_says() {
        let yaml = "{i: {type: integer}, n: {type: number}, b: {type: boolean}, s: {type: string}}";
        let read = check(yaml, json!({"i": "7", "n": "1.5", "b": "TRUE", "s": 5})).unwrap();
        assert_eq!(read, json!({"i": 7, "n": 1.5, "b": true, "s": "5"}));
    }

    #[test]
    fn an_unknown_property_is_refused_in_heats_words() {
        assert_eq!(
            check("{a: {type: string}}", json!({"x": 1})).unwrap_err(),
            "Property error: : resources.a.properties: : Unknown Property x"
        );
    }

    #[test]
    fn a_missing_required_property_is_named() {
        assert_eq!(
            check("{a: {type: string, required: true}}", json!({})).unwrap_err(),
            "Property error: : resources.a.properties: : Property a not assigned"
        );
    }

    #[test]
    fn a_nested_problem_says_where_it_is() {
        let yaml = "pools: {type: list, items: {type: map, keys: {end: {type: string}}}}";
        assert_eq!(
            check(yaml, json!({"pools": [{"end": [1]}]})).unwrap_err(),
            "Property error: : resources.a.properties.pools[0].end: : \
             Value must be a string; got [1]"
        );
    }
}
