//! The schema of a type: its properties, nested as deep as they go, and its attributes, as its
//! YAML file declares them.

use std::fmt;

use crate::model::IndexMap;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::declared::flat;
use crate::model::{JsonMap, taint};
use crate::template::constraints::Constraint;

/// Properties or keys by name, in the order of the file.
pub type Properties = IndexMap<String, PropertySchema>;

/// The data types of Heat's properties and attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    List,
    Map,
    Any,
}

impl Kind {
    /// The word that the API shows: `string`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::List => "list",
            Kind::Map => "map",
            Kind::Any => "any",
        }
    }
}

impl Kind {
    /// The type that a parameter of this word has in templates.
    fn of_parameter(word: &str) -> Option<Self> {
        match word {
            "string" => Some(Kind::String),
            "number" => Some(Kind::Number),
            "comma_delimited_list" => Some(Kind::List),
            "json" => Some(Kind::Map),
            "boolean" => Some(Kind::Boolean),
            _ => None,
        }
    }
}

/// One property, one key of a map or the items of a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertySchema {
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The property whose word says of what type it is, where that is a type of parameters.
    #[serde(default)]
    pub typed_by: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub default: Option<Value>,
    #[serde(default)]
    pub required: bool,
    #[serde(default)]
    pub update_allowed: bool,
    #[serde(default)]
    pub immutable: bool,
    /// Heat knows the name, and refuses it.
    #[serde(default = "yes")]
    pub implemented: bool,
    #[serde(default, deserialize_with = "flat::constraints")]
    pub constraints: Vec<Constraint>,
    /// What each item of a list is.
    #[serde(default)]
    pub items: Option<Box<PropertySchema>>,
    /// The keys of a map that has a fixed set of them.
    #[serde(default)]
    pub keys: Option<Properties>,
    #[serde(default)]
    pub support: Support,
    /// Its value must not be seen, whatever it is.
    #[serde(default)]
    pub secret: bool,
    /// It stands for a parameter of a template: lists and maps may come as text.
    #[serde(skip)]
    pub from_parameter: bool,
}

impl PropertySchema {
    /// The type that another property says it has; `word` is what there is of a property.
    pub(crate) fn told_kind<'a>(&self, word: impl Fn(&str) -> Option<&'a Value>) -> Option<Kind> {
        Kind::of_parameter(word(self.typed_by.as_ref()?)?.as_str()?)
    }

    /// Whether it is a secret, or has one within.
    pub(crate) fn has_secret(&self) -> bool {
        let mut within = self
            .items
            .as_deref()
            .into_iter()
            .chain(self.keys.iter().flat_map(|keys| keys.values()));
        self.secret || within.any(Self::has_secret)
    }

    /// Puts marks on what in a value of it is secret.
    pub(crate) fn mark_secrets(&self, value: &mut Value) {
        match value {
            _ if taint::marked(value).is_some() => {}
            _ if self.secret && !value.is_null() => *value = taint::taint(value.take()),
            Value::Array(values) => {
                for value in values {
                    self.items.iter().for_each(|items| items.mark_secrets(value));
                }
            }
            Value::Object(map) => {
                for (key, schema) in self.keys.iter().flatten() {
                    map.get_mut(key).into_iter().for_each(|value| schema.mark_secrets(value));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// One attribute.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributeSchema {
    #[serde(rename = "type", default)]
    pub kind: Option<Kind>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub support: Support,
    /// Where the value lies in the shown object, by a dotted path, when not under the attribute's
    /// own name.
    #[serde(default)]
    pub field: Option<String>,
    /// The value as text.
    #[serde(default)]
    pub text: bool,
    /// The path that shows it, where it is no part of the shown object.
    #[serde(default)]
    pub get: Option<String>,
    #[serde(default)]
    pub query: IndexMap<String, String>,
    /// The dotted path of a list in that answer.
    #[serde(default)]
    pub list: Option<String>,
    /// A list's items become a map: the key of one that is its name, and the key of its value;
    /// with the latter alone they become their values.
    #[serde(default)]
    pub by: Option<String>,
    #[serde(default)]
    pub value: Option<String>,
    /// The property that it repeats, so that it is known before the resource is made.
    #[serde(default)]
    pub repeats: Option<String>,
    /// The cloud is asked for it whenever an output that reads it is shown.
    #[serde(default)]
    pub live: bool,
}

/// Since when and how well something is supported; the newest status first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support(pub Vec<SupportStatus>);

/// One status in the life of a type, property or attribute.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupportStatus {
    pub status: String,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub message: Option<String>,
}

impl Default for Support {
    fn default() -> Self {
        Self::since(None)
    }
}

impl Support {
    fn since(version: Option<String>) -> Self {
        Self(vec![SupportStatus { status: "SUPPORTED".into(), version, message: None }])
    }

    /// The present status.
    pub fn status(&self) -> &str {
        self.0.first().map_or("SUPPORTED", |newest| &newest.status)
    }

    /// The release of the present status.
    pub fn version(&self) -> Option<&str> {
        self.0.first().and_then(|newest| newest.version.as_deref())
    }

    /// Hidden things still work, but no list shows them.
    pub fn is_hidden(&self) -> bool {
        self.status() == "HIDDEN"
    }
}

/// A release (`"5.0.0"`), or the statuses, newest first.
impl<'de> Deserialize<'de> for Support {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Support;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a release in quotes or a list of statuses")
            }

            fn visit_str<E: de::Error>(self, release: &str) -> Result<Support, E> {
                Ok(Support::since(Some(release.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Support, A::Error> {
                let mut statuses = Vec::new();
                while let Some(status) = items.next_element()? {
                    statuses.push(status);
                }
                Ok(Support(statuses))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

impl PropertySchema {
    /// A property of which nothing but its type is known.
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            typed_by: None,
            description: None,
            default: None,
            required: false,
            update_allowed: false,
            immutable: false,
            implemented: true,
            constraints: Vec::new(),
            items: None,
            keys: None,
            support: Support::default(),
            secret: false,
            from_parameter: false,
        }
    }

    /// Whether lists, schemas and generated templates have it.
    pub fn is_shown(&self) -> bool {
        self.implemented && !self.support.is_hidden()
    }

    /// The keys of the map, or of the maps in the list, that this is.
    pub fn inner_keys(&self) -> Option<&Properties> {
        self.keys.as_ref().or_else(|| self.items.as_ref()?.inner_keys())
    }

    /// What counts where nothing is given. A schema may have a boolean's default as text, which
    /// Heat shows so and reads like a given one.
    pub(in crate::resource_types) fn default_value(&self) -> Option<Value> {
        match (self.kind, &self.default) {
            (Kind::Boolean, Some(Value::String(text))) => {
                Some(text.eq_ignore_ascii_case("true").into())
            }
            (_, default) => default.clone(),
        }
    }

    /// The value with the defaults of all unset keys filled in.
    pub fn filled(&self, value: &Value) -> Value {
        match (value, &self.keys, &self.items) {
            (Value::Object(map), Some(keys), _) => Value::Object(filled(keys, map)),
            (Value::Array(list), _, Some(items)) => {
                Value::Array(list.iter().map(|item| items.filled(item)).collect())
            }
            _ => value.clone(),
        }
    }

    /// The value with all keys that its maps may have.
    fn spread(&self, value: Value) -> Value {
        match (value, &self.keys, &self.items) {
            (Value::Object(map), Some(keys), _) => Value::Object(spread(keys, map)),
            (Value::Array(list), _, Some(items)) => {
                list.into_iter().map(|item| items.spread(item)).collect()
            }
            (value, _, _) => value,
        }
    }
}

/// All that the schema has, as deep as it goes: what is given, else the default, else null.
pub fn spread(schema: &Properties, mut given: JsonMap) -> JsonMap {
    let value = |(name, property): (&String, &PropertySchema)| {
        let value = given.shift_remove(name).or_else(|| property.default_value());
        (name.clone(), property.spread(value.unwrap_or_default()))
    };
    schema.iter().map(value).collect()
}

fn yes() -> bool {
    true
}

/// The given values with the defaults of all unset properties filled in, in the schema's order;
/// what has neither stays out.
pub fn filled(schema: &Properties, given: &JsonMap) -> JsonMap {
    let mut all = JsonMap::new();
    for (name, property) in schema {
        if let Some(value) = given.get(name).cloned().or_else(|| property.default_value()) {
            all.insert(name.clone(), property.filled(&value));
        }
    }
    all
}
