//! Resources that Hearth alone keeps: an action of such a one is over as soon as it is decided on,
//! and what it shows are its properties.

use serde::Deserialize;
use serde_json::Value;

use super::Declared;
use super::id::Id;
use crate::model::JsonMap;
use crate::resource_types::convert;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{LocalOutcome, Subject, Work};

/// That Hearth alone keeps a resource.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    #[serde(default)]
    pub changes: Changes,
}

/// What a change of properties comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changes {
    /// What the schema says.
    #[default]
    Plain,
    /// Nothing, and so does a failure.
    Ignored,
}

impl Declared {
    /// The outcome of an action of a resource that Hearth alone keeps.
    pub(crate) fn plain_local(
        &self,
        work: &Work,
        subject: &Subject,
    ) -> Option<Result<LocalOutcome, Failure>> {
        self.declaration().local.as_ref()?;
        let mut outcome = LocalOutcome::default();
        if let (Work::Create, Id::Is(known)) = (work, &self.declaration().id) {
            outcome.learned.physical_id = known.of(subject);
        }
        if *work == Work::Delete {
            return Some(Ok(outcome));
        }
        let attributes = self.local_attributes(subject, &[]);
        Some(attributes.map(|attributes| LocalOutcome { attributes, ..outcome }))
    }

    /// The attributes asked for: properties that they repeat, as they were given, in which case they
    /// have to be of the types that others say. Empty asks for all.
    pub(super) fn local_attributes(
        &self,
        subject: &Subject,
        wanted: &[String],
    ) -> Result<JsonMap, Failure> {
        let declaration = self.declaration();
        let given = |name: &str| subject.properties.get(name);
        for (name, property) in &declaration.properties {
            if let Some(kind) = property.told_kind(given) {
                let value = given(name).unwrap_or(&Value::Null);
                convert::whole(kind, value).map_err(Failure::Invalid)?;
            }
        }
        let names = match wanted {
            [] => declaration.attributes.keys().collect(),
            some => some.iter().collect::<Vec<_>>(),
        };
        let mut attributes = JsonMap::new();
        for name in names {
            let repeated = declaration.attributes.get(name).map(|it| it.repeats.as_deref());
            let value = match repeated {
                Some(property) => property.and_then(given).cloned().unwrap_or_default(),
                None if declaration.accepts_anything => Value::Null,
                None => continue,
            };
            attributes.insert(name.clone(), value);
        }
        Ok(attributes)
    }
}
