//! OS::Heat::Value: an expression of the template as an attribute, held to a type of its choice.

use serde_json::Value;

use super::named;
use crate::clock::Moment;
use crate::model::JsonMap;
use crate::resource_types::convert;
use crate::resource_types::declared::Declared;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{LocalOutcome, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::schema::Kind;

/// The type that a value is held to, by the name that the property has for it.
pub(super) fn kind(name: &str) -> Option<Kind> {
    match name {
        "string" => Some(Kind::String),
        "number" => Some(Kind::Number),
        "comma_delimited_list" => Some(Kind::List),
        "json" => Some(Kind::Map),
        "boolean" => Some(Kind::Boolean),
        _ => None,
    }
}

pub(crate) struct StoredValue;

impl StoredValue {
    /// The value as it was given, as in Heat; it has to be one of the type.
    fn attributes_of(&self, properties: &JsonMap) -> Result<JsonMap, Failure> {
        let value = properties.get("value").cloned().unwrap_or_default();
        if let Some(kind) = properties.get("type").and_then(Value::as_str).and_then(kind) {
            convert::whole(kind, &value).map_err(Failure::Invalid)?;
        }
        Ok(JsonMap::from_iter([("value".to_owned(), value)]))
    }
}

impl ResourceType for StoredValue {
    fn local(
        &self,
        _declared: &Declared,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        Some(match work {
            Work::Create => self
                .attributes_of(&subject.properties)
                .map(|attributes| LocalOutcome { attributes, ..named(subject) }),
            Work::Update { .. } | Work::Act(_) => self
                .attributes_of(&subject.properties)
                .map(|attributes| LocalOutcome { attributes, ..LocalOutcome::default() }),
            Work::Delete => Ok(LocalOutcome::default()),
        })
    }

    /// As in Heat, as it was given.
    fn unmade(&self, _declared: &Declared, subject: &Subject) -> JsonMap {
        let value = subject.properties.get("value").cloned().unwrap_or_default();
        JsonMap::from_iter([("value".to_owned(), value)])
    }

    fn attributes(&self, at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { subject, .. } = at;
        self.attributes_of(&subject.properties)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_stays_as_it_was_given_and_is_one_of_its_type() {
        let attributes = |kind: &str, value: &str| {
            let properties = json!({ "type": kind, "value": value });
            StoredValue.attributes_of(&serde_json::from_value(properties).unwrap())
        };
        for (kind, value) in [("boolean", "true"), ("number", "7")] {
            assert_eq!(attributes(kind, value).unwrap()["value"], value);
        }
        for (kind, value) in [("number", "seven"), ("boolean", "yes"), ("json", "{}")] {
            assert!(attributes(kind, value).is_err());
        }
    }
}
