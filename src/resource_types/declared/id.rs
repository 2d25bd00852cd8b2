//! What a resource is known by in the cloud.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::dotted;
use super::{Declaration, Declared, words};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;

/// The physical id: `FIELD`, `{ made_of: "{router}:{network}" }` or `{ is: name }`. Of several forms
/// that it may be made of the first counts all of whose words stand for something; ids that are on
/// record are read by all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Id {
    /// A field of the object, by its dotted path.
    Field(String),
    /// Parts that are known before the object is made; words as in paths.
    MadeOf(Vec<String>),
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
    made_of: Option<Forms>,
    is: Option<Known>,
}

/// One text or several.
struct Forms(Vec<String>);

impl<'de> Deserialize<'de> for Forms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Forms;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: de::Error>(self, form: &str) -> Result<Forms, E> {
                Ok(Forms(vec![form.to_owned()]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Forms, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Forms)
            }
        }

        deserializer.deserialize_any(Reader)
    }
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
                    Written { made_of: Some(Forms(forms)), is: None } => Ok(Id::MadeOf(forms)),
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

    /// The forms that an id is made of, if it is.
    pub(super) fn forms(&self) -> &[String] {
        match &self.id {
            Id::MadeOf(forms) => forms,
            Id::Field(_) | Id::Is(_) => &[],
        }
    }

    /// What an id that was made of words tells of them.
    pub(super) fn told_by(&self, id: &str) -> Vec<(&str, String)> {
        self.forms().iter().find_map(|form| read_back(form, id)).unwrap_or_default()
    }

    /// Whether there is no id at all.
    pub fn has_no_id(&self) -> bool {
        matches!(self.id, Id::Is(Known::None))
    }

    /// Whether the id is known before the object is made.
    pub(super) fn knows_id(&self) -> bool {
        !matches!(self.id, Id::Field(_))
    }

    /// Whether its user may give the id, so that another project's object may have it too.
    pub(super) fn is_named(&self) -> bool {
        match &self.id {
            Id::Field(field) => field == "name",
            Id::MadeOf(_) | Id::Is(_) => true,
        }
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
            Id::MadeOf(forms) => {
                let properties = Value::Object(self.properties(&subject.properties));
                let is_set = |word: &str| {
                    let has_property = self.declaration().properties.contains_key(word);
                    let value = dotted::one(&properties, word);
                    !has_property || value.is_some_and(|value| !value.is_null() && value != "")
                };
                let form = forms.iter().find(|form| words(form).all(is_set));
                let form = form.or(forms.first()).map_or("", String::as_str);
                self.filled(cloud, subject, form, str::to_owned).map(Some)
            }
            Id::Is(known) => Ok(known.of(subject)),
        }
    }
}

/// The words of a form and what stands for each in an id that was made of it.
fn read_back<'f>(form: &'f str, id: &str) -> Option<Vec<(&'f str, String)>> {
    let (mut form, mut id) = (form, id);
    let mut found = Vec::new();
    while let Some((before, rest)) = form.split_once('{') {
        let (word, rest) = rest.split_once('}')?;
        id = id.strip_prefix(before)?;
        let until = rest.split('{').next().unwrap_or_default();
        let length = if until.is_empty() { id.len() } else { id.find(until)? };
        let (value, left) = id.split_at(length);
        found.push((word, value.to_owned()));
        (form, id) = (rest, left);
    }
    (form == id).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_what_it_was_made_of() {
        let parts = Some(vec![("a", "1".to_owned()), ("b", "2:3".to_owned())]);
        assert_eq!(read_back("{a}:of={b}", "1:of=2:3"), parts);
        assert_eq!(read_back("{a}:{b}", "1:2:3"), parts);
        assert_eq!(read_back("{a}:of={b}", "1:2:3"), None);
        assert_eq!(read_back("{a}.", "1"), None);
    }
}
