//! What a type's file says of members.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::model::IndexMap;
use crate::openstack::Method;
use crate::resource_types::declared::besides::Behind;
use crate::resource_types::declared::calls::named;
use crate::resource_types::declared::dotted;
use crate::resource_types::python;

/// The entries of a list or the keys of a map, and the calls that add and drop them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Members {
    /// The property that is a list, or one entry.
    #[serde(default)]
    pub(in crate::resource_types::declared) of: Option<String>,
    /// The property that is a map: each entry has `key` and `value`.
    #[serde(default)]
    pub(in crate::resource_types::declared) keys_of: Option<String>,
    /// The entries at the creation where the property has none; words as in paths.
    #[serde(default, rename = "or")]
    pub(super) otherwise: Vec<String>,
    /// Where they are shown; left out, they are those that the last action left.
    #[serde(default)]
    pub(super) live: Option<Live>,
    /// A shown entry in the property's words, `{item}` being the entry. Keys that begin with `_` are
    /// for the calls alone.
    #[serde(default)]
    pub(super) entry: Option<Value>,
    /// What the service has for keys that an entry leaves unset.
    #[serde(default)]
    pub(in crate::resource_types::declared) unset: IndexMap<String, Value>,
    #[serde(default)]
    pub(super) takes: Takes,
    #[serde(default)]
    pub(super) first: First,
    #[serde(default, deserialize_with = "one_or_more")]
    pub(super) add: Vec<MemberCall>,
    #[serde(default, deserialize_with = "one_or_more")]
    pub(super) drop: Vec<MemberCall>,
    #[serde(default)]
    pub(super) at_delete: AtDelete,
    /// What they come before, where that is not the wait until the object is ready.
    #[serde(default)]
    pub(super) before: Option<Before>,
    /// What they wait for.
    #[serde(default)]
    pub(super) after: Option<Behind>,
    /// Only where these properties have one of the values, null being unset.
    #[serde(default)]
    pub(in crate::resource_types::declared) when: IndexMap<String, Vec<Value>>,
}

/// Where the entries are shown.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::resource_types::declared) struct Live {
    #[serde(default)]
    pub(super) get: Option<String>,
    /// Where an action shows them.
    #[serde(default)]
    pub(super) post: Option<String>,
    #[serde(default)]
    pub(super) body: Option<Value>,
    #[serde(default)]
    pub(super) query: IndexMap<String, String>,
    /// The dotted path of the list, or of the map, in the answer.
    #[serde(default)]
    pub(super) list: Option<String>,
    /// Asked only where it is not known what the last action left.
    #[serde(default)]
    pub(super) in_doubt: bool,
    #[serde(default)]
    pub(in crate::resource_types::declared) microversion: Option<String>,
}

impl Live {
    /// The method and the path.
    pub(super) fn parts(&self) -> Option<(Method, &str)> {
        named([(Method::Get, &self.get), (Method::Post, &self.post)])
    }
}

/// Which entries are surplus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Takes {
    /// Those that are there, not wanted, and were before.
    #[default]
    Ours,
    /// All that are there and not wanted.
    All,
}

/// What is done first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum First {
    #[default]
    Drop,
    Add,
}

/// What becomes of them when the object goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AtDelete {
    #[default]
    Leave,
    Drop,
}

/// Which of the object's own calls comes behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Before {
    Update,
}

/// A call for one entry, or with `{added}`, `{dropped}` or `{keys}` in its body for all.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::resource_types::declared) struct MemberCall {
    /// The key of the entry that has to be set.
    #[serde(default, rename = "if")]
    pub(super) is_set: Option<String>,
    #[serde(default)]
    pub(super) post: Option<String>,
    #[serde(default)]
    pub(super) put: Option<String>,
    #[serde(default)]
    pub(super) patch: Option<String>,
    #[serde(default)]
    pub(super) delete: Option<String>,
    #[serde(default)]
    pub(super) get: Option<String>,
    #[serde(default)]
    pub(super) query: IndexMap<String, String>,
    #[serde(default)]
    pub(super) body: Option<Value>,
    #[serde(default)]
    pub(in crate::resource_types::declared) microversion: Option<String>,
}

impl Members {
    /// The property whose entries they are.
    pub(in crate::resource_types::declared) fn property(&self) -> &str {
        self.of.as_ref().or(self.keys_of.as_ref()).map(String::as_str).unwrap_or_default()
    }

    pub(in crate::resource_types::declared) fn is_before_update(&self) -> bool {
        self.before == Some(Before::Update)
    }

    pub(in crate::resource_types::declared) fn is_after_ready(&self) -> bool {
        self.after == Some(Behind::Ready)
    }

    pub(in crate::resource_types::declared) fn is_dropped(&self) -> bool {
        self.at_delete == AtDelete::Drop
    }

    /// Whether whatever is shown goes that is not wanted.
    pub(in crate::resource_types::declared) fn takes_all(&self) -> bool {
        self.takes == Takes::All && self.live.is_some()
    }

    /// Whether there are calls that add some.
    pub(in crate::resource_types::declared) fn adds(&self) -> bool {
        !self.add.is_empty()
    }

    /// Whether there are entries without the property.
    pub(in crate::resource_types::declared) fn has_others(&self) -> bool {
        !self.otherwise.is_empty()
    }

    /// Whether the properties have one of the values that `when` asks for.
    pub(in crate::resource_types::declared) fn is_meant(&self, properties: &Value) -> bool {
        self.when.iter().all(|(path, wanted)| {
            let value = dotted::one(properties, path).unwrap_or(&Value::Null);
            wanted.iter().any(|wanted| python::equal(value, wanted))
        })
    }

    /// The calls, with where they stand.
    pub(in crate::resource_types::declared) fn calls(
        &self,
    ) -> impl Iterator<Item = (&'static str, &MemberCall)> {
        let adds = self.add.iter().map(|call| ("add", call));
        adds.chain(self.drop.iter().map(|call| ("drop", call)))
    }

    /// The method and the path where they are shown, if there is one.
    pub(in crate::resource_types::declared) fn shown_at(&self) -> Option<Option<(Method, &str)>> {
        self.live.as_ref().map(Live::parts)
    }

    /// The properties in paths: what the entries belong to.
    pub(in crate::resource_types::declared) fn owners(&self) -> impl Iterator<Item = &str> {
        let paths = self.calls().filter_map(|(_, call)| Some(call.parts()?.1));
        let words = paths.flat_map(super::super::paths::words);
        words.filter(|word| !["id", "uuid", "name", "item"].contains(word))
    }
}

impl MemberCall {
    /// The method and the path.
    pub(in crate::resource_types::declared) fn parts(&self) -> Option<(Method, &str)> {
        named([
            (Method::Post, &self.post),
            (Method::Put, &self.put),
            (Method::Patch, &self.patch),
            (Method::Delete, &self.delete),
            (Method::Get, &self.get),
        ])
    }

    /// Whether it carries all entries at once.
    pub(super) fn is_for_all(&self) -> bool {
        self.body.as_ref().is_some_and(|body| {
            let text = body.to_string();
            ["{added}", "{dropped}", "{keys}", "\"added\"", "\"dropped\""]
                .iter()
                .any(|it| text.contains(it))
        })
    }

    pub(super) fn is_for(&self, entry: &Value) -> bool {
        let is_set = |key: &String| entry.get(key).is_some_and(|value| !value.is_null());
        self.is_set.as_ref().is_none_or(is_set)
    }
}

/// A call, or several.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<MemberCall>, D::Error> {
    struct Reader;

    impl<'de> Visitor<'de> for Reader {
        type Value = Vec<MemberCall>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a call or a list of calls")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Ok(vec![MemberCall::deserialize(MapAccessDeserializer::new(map))?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(seq))
        }
    }

    deserializer.deserialize_any(Reader)
}
