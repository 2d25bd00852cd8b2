//! Keys of maps. In a template they are texts; what `yaql` makes may have other keys, which are the
//! texts that JSON has for them, and here remember what they were.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use ecow::EcoString;

/// A key. Keys of the same text are equal, whatever they were.
#[derive(Clone)]
pub(crate) struct Key {
    text: EcoString,
    /// None: it is one. Few keys are anything else, and there are many keys.
    was: Option<Box<Was>>,
}

/// What a key was before it was a text.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Was {
    Text,
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    /// What JSON has no keys for, such as a date.
    Object,
}

impl Key {
    /// A key that was something else, with the text that JSON has for it.
    pub(super) fn new(text: impl Into<EcoString>, was: Was) -> Self {
        Self { text: text.into(), was: was.boxed() }
    }

    /// A key that JSON cannot have, with the text that is shown for it.
    pub(crate) fn object(text: impl Into<EcoString>) -> Self {
        Self { text: text.into(), was: Was::Object.boxed() }
    }

    /// What it was.
    pub(super) fn was(&self) -> Was {
        self.was.as_deref().copied().unwrap_or(Was::Text)
    }

    /// Whether JSON can have it.
    pub(crate) fn is_json(&self) -> bool {
        self.was() != Was::Object
    }

    /// Python's order, where it has one.
    pub(crate) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self.was(), other.was()) {
            (Was::Text, Was::Text) => Some(self.text.cmp(&other.text)),
            (Was::Int(left), Was::Int(right)) => Some(left.cmp(&right)),
            (left, right) => {
                let ordered = left.number()?.partial_cmp(&right.number()?);
                Some(ordered.unwrap_or(Ordering::Equal))
            }
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl Was {
    fn boxed(self) -> Option<Box<Self>> {
        (self != Self::Text).then(|| Box::new(self))
    }

    fn number(self) -> Option<f64> {
        match self {
            Was::Bool(truth) => Some(f64::from(u8::from(truth))),
            Was::Int(number) => Some(number as f64),
            Was::Float(number) => Some(number),
            Was::Text | Was::Null | Was::Object => None,
        }
    }
}

impl Deref for Key {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl From<EcoString> for Key {
    fn from(text: EcoString) -> Self {
        Self { text, was: None }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        EcoString::from(text).into()
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        EcoString::from(text).into()
    }
}

impl From<&String> for Key {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Key> for EcoString {
    fn from(key: Key) -> Self {
        key.text
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::Datum;
    use super::*;

    #[test]
    fn keys_have_pythons_order() {
        let number = |number: i128| Key::of(&Datum::Int(number), number.to_string());
        let half = Key::of(&Datum::Float(9.5), "9.5");
        assert_eq!(number(9).order(&number(10)), Some(Ordering::Less));
        assert_eq!(half.order(&number(10)), Some(Ordering::Less));
        assert_eq!(Key::from("9").order(&"10".into()), Some(Ordering::Greater));
        assert_eq!(number(9).order(&"10".into()), None);
        assert_eq!(Key::of(&Datum::Null, "null").order(&number(1)), None);
    }
}
