//! Values of the template language, with the meaning that Python gives them: `1`, `1.0` and true
//! are equal, integers are wide, and floats may be infinite.

use crate::model::IndexMap;
use ecow::EcoString;
use serde_json::Value;

use super::key::{Key, Was};
use crate::model::JsonMap;

/// A value that no longer depends on anything.
#[derive(Clone, Debug)]
pub(crate) enum Datum {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(EcoString),
    List(Vec<Datum>),
    Map(DatumMap),
}

/// A map in the order of its template. Keys that are no strings became strings on their way in.
pub(crate) type DatumMap = IndexMap<Key, Datum>;

impl Datum {
    /// The text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Datum::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Python's truth: empty and zero are false.
    pub(crate) fn is_truthy(&self) -> bool {
        match self {
            Datum::Null => false,
            Datum::Bool(truth) => *truth,
            Datum::Int(number) => *number != 0,
            Datum::Float(number) => *number != 0.0,
            Datum::Text(text) => !text.is_empty(),
            Datum::List(items) => !items.is_empty(),
            Datum::Map(map) => !map.is_empty(),
        }
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.size().bytes
    }

    /// How large it is.
    pub(crate) fn size(&self) -> Size {
        const NODE: usize = size_of::<Datum>();
        let mut size = Size { bytes: NODE, depth: 0 };
        match self {
            Datum::Null | Datum::Bool(_) | Datum::Int(_) | Datum::Float(_) => {}
            Datum::Text(text) => size.bytes += text.len(),
            Datum::List(items) => {
                size.depth = 1;
                items.iter().for_each(|item| size.hold(0, item.size()));
            }
            Datum::Map(map) => {
                size.depth = 1;
                map.iter().for_each(|(key, item)| size.hold(NODE + key.len(), item.size()));
            }
        }
        size
    }

    /// As JSON. What JSON cannot say (NaN, infinities) is null there, and an integer beyond 64
    /// bits is a float.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Datum::Null => Value::Null,
            Datum::Bool(truth) => Value::Bool(*truth),
            Datum::Int(number) => json_integer(*number),
            Datum::Float(number) => Value::from(*number),
            Datum::Text(text) => Value::String(text.to_string()),
            Datum::List(items) => Value::Array(items.iter().map(Datum::to_json).collect()),
            Datum::Map(map) => Value::Object(to_json_map(map)),
        }
    }
}

impl Key {
    /// A key that was this value, with the text that JSON has for it.
    pub(crate) fn of(value: &Datum, text: impl Into<EcoString>) -> Self {
        let was = match value {
            Datum::Null => Was::Null,
            Datum::Bool(truth) => Was::Bool(*truth),
            Datum::Int(number) => Was::Int(*number),
            Datum::Float(number) => Was::Float(*number),
            Datum::Text(_) => Was::Text,
            Datum::List(_) | Datum::Map(_) => Was::Object,
        };
        Self::new(text, was)
    }

    /// The value that it was.
    pub(crate) fn datum(&self) -> Datum {
        match self.was() {
            Was::Text | Was::Object => Datum::Text(self.clone().into()),
            Was::Null => Datum::Null,
            Was::Bool(truth) => Datum::Bool(truth),
            Was::Int(number) => Datum::Int(number),
            Was::Float(number) => Datum::Float(number),
        }
    }
}

/// How large a value is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    /// About how much memory it takes.
    pub(crate) bytes: usize,
    /// How many collections stand within each other.
    pub(crate) depth: u32,
}

impl Size {
    /// Takes an item in, and the bytes that it takes beside its own.
    fn hold(&mut self, more: usize, item: Size) {
        self.bytes += more + item.bytes;
        self.depth = self.depth.max(item.depth + 1);
    }
}

/// A map as JSON.
pub(crate) fn to_json_map(map: &DatumMap) -> JsonMap {
    map.iter().map(|(key, value)| (key.to_string(), value.to_json())).collect()
}

/// The number as JSON has it.
pub(crate) fn json_integer(number: i128) -> Value {
    if let Ok(small) = i64::try_from(number) {
        Value::from(small)
    } else if let Ok(large) = u64::try_from(number) {
        Value::from(large)
    } else {
        Value::from(number as f64)
    }
}

impl From<&Value> for Datum {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Datum::Null,
            Value::Bool(truth) => Datum::Bool(*truth),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(small), _) => Datum::Int(small.into()),
                (None, Some(large)) => Datum::Int(large.into()),
                (None, None) => Datum::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Datum::Text(text.as_str().into()),
            Value::Array(items) => Datum::List(items.iter().map(Datum::from).collect()),
            Value::Object(map) => Datum::Map(
                map.iter().map(|(key, value)| (key.as_str().into(), value.into())).collect(),
            ),
        }
    }
}

impl From<String> for Datum {
    fn from(text: String) -> Self {
        Datum::Text(text.into())
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Datum::Text(text.into())
    }
}

/// Python's equality: booleans are numbers, and an integer equals the float of its value.
impl PartialEq for Datum {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Datum::Null, Datum::Null) => true,
            (Datum::Text(left), Datum::Text(right)) => left == right,
            (Datum::List(left), Datum::List(right)) => left == right,
            (Datum::Map(left), Datum::Map(right)) => left == right,
            (Datum::Float(left), Datum::Float(right)) => left == right,
            (Datum::Float(float), other) | (other, Datum::Float(float)) => {
                other.as_whole().is_some_and(|whole| whole_equals(whole, *float))
            }
            (left, right) => match (left.as_whole(), right.as_whole()) {
                (Some(left), Some(right)) => left == right,
                _ => false,
            },
        }
    }
}

impl Datum {
    /// The number that an integer or a boolean is.
    fn as_whole(&self) -> Option<i128> {
        match self {
            Datum::Int(number) => Some(*number),
            Datum::Bool(truth) => Some(i128::from(*truth)),
            _ => None,
        }
    }
}

fn whole_equals(whole: i128, float: f64) -> bool {
    float.is_finite() && float.fract() == 0.0 && float.abs() < 1e38 && float as i128 == whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_pythons() {
        assert_eq!(Datum::Int(1), Datum::Bool(true));
        assert_eq!(Datum::Float(1.0), Datum::Bool(true));
        assert_eq!(Datum::List(vec![Datum::Int(0)]), Datum::List(vec![Datum::Bool(false)]));
        assert_ne!(Datum::from("1"), Datum::Int(1));
        assert_ne!(Datum::Float(f64::NAN), Datum::Float(f64::NAN));
        assert_ne!(Datum::Null, Datum::Bool(false));
    }
}
