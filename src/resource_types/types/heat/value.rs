//! OS::Heat::Value: an expression of the template as an attribute, read as a type of its choice.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::named;
use crate::clock::Moment;
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::convert;
use crate::resource_types::declared::Declared;
use crate::resource_types::driver::{Driver, DriverError, LocalOutcome, Subject, UpdateKind, Work};
use crate::resource_types::schema::Kind;

/// The type that a value is read as, by the name that the property has for it.
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

pub(crate) struct StoredValue(pub(crate) Arc<Declared>);

impl StoredValue {
    /// The value as the type says.
    fn value(&self, properties: &JsonMap) -> Result<Value, String> {
        let value = properties.get("value").unwrap_or(&Value::Null);
        match properties.get("type").and_then(Value::as_str).and_then(kind) {
            Some(kind) => convert::whole(kind, value),
            None => Ok(value.clone()),
        }
    }

    fn attributes_of(&self, properties: &JsonMap) -> Result<JsonMap, DriverError> {
        let value =
            self.value(properties).map_err(|text| DriverError::fatal("ValueError", text))?;
        Ok(JsonMap::from_iter([("value".to_owned(), value)]))
    }
}

impl Driver for StoredValue {
    fn local(
        &self,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, DriverError>> {
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

    fn on_change(
        &self,
        subject: &Subject,
        before: &JsonMap,
        changed: &BTreeSet<String>,
    ) -> UpdateKind {
        self.0.on_change(subject, before, changed)
    }

    /// As in Heat, as it was given.
    fn unmade(&self, subject: &Subject) -> JsonMap {
        let value = subject.properties.get("value").cloned().unwrap_or_default();
        JsonMap::from_iter([("value".to_owned(), value)])
    }

    fn attributes(
        &self,
        _cloud: &Asks<'_>,
        subject: &Subject,
        _wanted: &[String],
    ) -> Result<JsonMap, DriverError> {
        self.attributes_of(&subject.properties)
    }
}
