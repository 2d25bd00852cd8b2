//! The calls of a type's file: which there are, how they are made, and what their answers mean.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::ready::Ready;
use crate::model::IndexMap;
use crate::openstack::Method;

/// A method and a path: `{ post: /v2.0/networks }`; without a method, a GET of what is at `at`.
/// `paths` has the words that may stand in a path.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    #[serde(default, deserialize_with = "path")]
    pub get: Option<String>,
    #[serde(default, deserialize_with = "path")]
    pub post: Option<String>,
    #[serde(default, deserialize_with = "path")]
    pub put: Option<String>,
    #[serde(default, deserialize_with = "path")]
    pub patch: Option<String>,
    #[serde(default, deserialize_with = "path")]
    pub delete: Option<String>,
    /// Parameters behind the path.
    #[serde(default)]
    pub query: IndexMap<String, String>,
    /// Of a list: the fields that tell an object from others, where it has no name of ours; all
    /// that were sent when left out.
    #[serde(default)]
    pub by: Vec<String>,
    /// Of a list: what the entry has at dotted paths that stands for an object without an id of its
    /// own; a list of values is one of them, and `{property}` alone, where it is set, its value.
    #[serde(default, rename = "where")]
    pub has: IndexMap<String, Value>,
    /// Of a list: it refuses to be filtered by fields.
    #[serde(default)]
    pub unfiltered: bool,
    /// Where it differs from the type's.
    #[serde(default)]
    pub microversion: Option<String>,
}

impl Call {
    /// The method and the path.
    pub(super) fn parts(&self) -> Option<(Method, &str)> {
        named([
            (Method::Get, &self.get),
            (Method::Post, &self.post),
            (Method::Put, &self.put),
            (Method::Patch, &self.patch),
            (Method::Delete, &self.delete),
        ])
    }
}

/// The method that a path is given for.
pub(super) fn named<const N: usize>(
    paths: [(Method, &Option<String>); N],
) -> Option<(Method, &str)> {
    paths.into_iter().find_map(|(method, path)| Some((method, path.as_deref()?)))
}

/// How an object is made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Create {
    #[serde(default, deserialize_with = "path")]
    pub post: Option<String>,
    #[serde(default, deserialize_with = "path")]
    pub put: Option<String>,
    /// Properties that are sent as null while they are unset.
    #[serde(default)]
    pub nulls: Vec<String>,
    /// Parameters behind the path.
    #[serde(default)]
    pub query: IndexMap<String, String>,
}

/// How an object is changed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    #[serde(default, deserialize_with = "path")]
    pub put: Option<String>,
    #[serde(default, deserialize_with = "path")]
    pub patch: Option<String>,
    #[serde(default, deserialize_with = "path")]
    pub post: Option<String>,
    /// These properties are sent, changed or not; without them the changed ones are.
    #[serde(default)]
    pub send: Option<Vec<String>>,
    /// These are sent besides.
    #[serde(default)]
    pub always: Vec<String>,
    /// These have calls of their own.
    #[serde(default)]
    pub omit: Vec<String>,
    /// Where one of these has changed the object is made anew all the same.
    #[serde(default)]
    pub replaces: Vec<String>,
    /// Changes that are refused, by their properties.
    #[serde(default)]
    pub refuses: IndexMap<String, RefusedChange>,
    /// What becomes of properties that are no longer set.
    #[serde(default)]
    pub nulls: Unset,
    /// The form of the body.
    #[serde(default, rename = "as")]
    pub form: Form,
    /// Names of fields where they differ from those of a creation.
    #[serde(default)]
    pub fields: IndexMap<String, String>,
    /// The key around the object where it differs from that of a creation.
    #[serde(default)]
    pub wrap: Option<String>,
    /// Whether the object is awaited as after its creation, or how.
    #[serde(default)]
    pub ready: Awaited,
}

impl Update {
    /// The method and the path.
    pub(super) fn parts(&self) -> Option<(Method, &str)> {
        named([(Method::Put, &self.put), (Method::Patch, &self.patch), (Method::Post, &self.post)])
    }
}

/// A change of a property that is no update.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusedChange {
    /// To one of these values.
    #[serde(default)]
    pub to: Vec<Value>,
    /// To another value where there was one before.
    #[serde(default)]
    pub once_set: bool,
    /// What is said not to be supported.
    pub says: String,
}

impl RefusedChange {
    /// Whether it is this change, from one value to another.
    pub(super) fn is(&self, before: Option<&Value>, after: Option<&Value>) -> bool {
        let is_set = |value: Option<&Value>| value.is_some_and(|value| !value.is_null());
        let is_told = after.is_some_and(|after| self.to.contains(after));
        is_told || (self.once_set && is_set(before) && is_set(after))
    }
}

/// What an update sends for a property that is no longer set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unset {
    #[default]
    Sent,
    Dropped,
}

/// What the body of an update is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    #[default]
    Object,
    /// A list of operations on fields (RFC 6902).
    JsonPatch,
}

/// Whether an object is awaited after an update.
#[derive(Clone, Debug, Default)]
pub enum Awaited {
    #[default]
    No,
    AsCreated,
    With(Box<Ready>),
}

/// `true`, or what to wait for.
impl<'de> Deserialize<'de> for Awaited {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Awaited;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or what to wait for")
            }

            fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Awaited, E> {
                Ok(if truth { Awaited::AsCreated } else { Awaited::No })
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Awaited, A::Error> {
                let map = de::value::MapAccessDeserializer::new(map);
                Ready::deserialize(map).map(Box::new).map(Awaited::With)
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// How an object is removed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    #[serde(default, deserialize_with = "path")]
    pub delete: Option<String>,
    #[serde(default, deserialize_with = "path")]
    pub put: Option<String>,
    #[serde(default, deserialize_with = "path")]
    pub post: Option<String>,
    /// What is sent; the text `{property}` alone stands for a property's value.
    #[serde(default)]
    pub body: Option<Value>,
    /// Parameters behind the path.
    #[serde(default)]
    pub query: IndexMap<String, String>,
    #[serde(default)]
    pub gone: Gone,
    /// States in which a deletion has failed.
    #[serde(default)]
    pub fail: Vec<String>,
}

impl Delete {
    /// The method and the path.
    pub(super) fn parts(&self) -> Option<(Method, &str)> {
        named([
            (Method::Delete, &self.delete),
            (Method::Put, &self.put),
            (Method::Post, &self.post),
        ])
    }
}

/// How the end of a deletion is awaited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    /// It is not.
    #[default]
    Assumed,
    /// One look; while the object is there, the whole deletion is made again.
    Again,
    /// Looks until it is gone.
    Polled,
}

/// An answer that means `not now`: the call is made again at the pace of looks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Busy {
    pub status: u16,
    /// Words in the answer; without them every answer of the status means it.
    #[serde(default)]
    pub says: Option<String>,
}

/// A path, or `true` for that of `at`, which is left empty until the whole file is read.
fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Reader;

    impl Visitor<'_> for Reader {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a path, or true for that of `at`")
        }

        fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Option<String>, E> {
            match truth {
                true => Ok(Some(String::new())),
                false => Err(E::custom("a path, or true for that of `at`, is wanted here")),
            }
        }

        fn visit_str<E: de::Error>(self, path: &str) -> Result<Option<String>, E> {
            Ok(Some(path.to_owned()))
        }

        fn visit_unit<E: de::Error>(self) -> Result<Option<String>, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(Reader)
}
