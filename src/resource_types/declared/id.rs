//! What a resource is known by in the cloud.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::dotted;
use super::{Declaration, Declared};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;

/// The physical id: `FIELD`, `{ made_of: "{router}:{network}" }` or `{ is: name }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    /// A field of the object, by its dotted path.
    Field(String),
    /// Parts that are known before the object is made; words as in paths.
    MadeOf(String),
    Is(Known),
}

/// What is known without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// The physical name.
    Name,
    /// The resource's own.
    Resource,
    /// There is none.
    None,
}

impl Known {
    /// The id of a resource.
    pub(super) fn of(self, subject: &Subject) -> Option<String> {
        let name = || subject.physical_name.clone();
        match self {
            Known::Name => Some(name()),
            Known::Resource => Some(subject.resource_id.map_or_else(name, |id| id.to_string())),
            Known::None => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    made_of: Option<String>,
    is: Option<Known>,
}

impl Default for Id {
    fn default() -> Self {
        Self::Field("id".to_owned())
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field, or a map with `made_of` or `is`")
            }

            fn visit_str<E: de::Error>(self, field: &str) -> Result<Id, E> {
                Ok(Id::Field(field.to_owned()))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Id, A::Error> {
                let written = Written::deserialize(de::value::MapAccessDeserializer::new(map))?;
                match written {
                    Written { made_of: Some(parts), is: None } => Ok(Id::MadeOf(parts)),
                    Written { made_of: None, is: Some(known) } => Ok(Id::Is(known)),
                    _ => Err(de::Error::custom("an id is a field, `made_of` or `is`")),
                }
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

impl Declaration {
    /// The physical id in an object.
    pub(crate) fn id_of(&self, object: &Value) -> Option<String> {
        let Id::Field(field) = &self.id else { return None };
        match dotted::one(object, field)? {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        }
    }

    /// Whether there is no id at all.
    pub fn has_no_id(&self) -> bool {
        matches!(self.id, Id::Is(Known::None))
    }

    /// Whether the id is known before the object is made.
    pub(super) fn knows_id(&self) -> bool {
        !matches!(self.id, Id::Field(_))
    }
}

impl Declared {
    /// The id of an object that was made or found; where it is no field, what is known of it.
    pub(super) fn physical_id(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        object: &Value,
    ) -> Result<Option<String>, Failure> {
        match &self.declaration().id {
            Id::Field(_) => Ok(self.declaration().id_of(object)),
            Id::MadeOf(parts) => self.filled(cloud, subject, parts, str::to_owned).map(Some),
            Id::Is(known) => Ok(known.of(subject)),
        }
    }
}
