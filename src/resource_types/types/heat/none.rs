//! OS::Heat::None: stands in for any type, takes anything and does nothing; and what does nothing
//! either but has properties.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Declared, Progress, Special};
use crate::resource_types::driver::{
    Driver, DriverError, Learned, LocalOutcome, Subject, UpdateKind, Work,
};

struct Nothing;

/// A type whose properties are all there is (OS::Heat::AccessPolicy).
pub(crate) struct WithoutId;

impl Special for WithoutId {
    fn first(&self, _declared: &Declared, _work: &Work, _subject: &Subject) -> Step {
        Progress::default().look("done")
    }
}

/// The driver: the schema says nothing that it needs.
pub(crate) fn driver(_: Arc<Declared>) -> impl Driver {
    Nothing
}

impl Driver for Nothing {
    fn local(
        &self,
        work: &Work,
        _subject: &Subject,
        moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, DriverError>> {
        let mut outcome = LocalOutcome::default();
        if *work == Work::Create {
            let physical_id = Some(moment.fresh_id().to_string());
            outcome.learned = Learned { physical_id, ..Learned::default() };
        }
        Some(Ok(outcome))
    }

    fn on_change(
        &self,
        _subject: &Subject,
        _before: &JsonMap,
        _changed: &BTreeSet<String>,
    ) -> UpdateKind {
        UpdateKind::Nothing
    }

    fn is_kept(&self) -> bool {
        true
    }

    fn attributes(
        &self,
        _cloud: &Asks<'_>,
        _subject: &Subject,
        wanted: &[String],
    ) -> Result<JsonMap, DriverError> {
        Ok(wanted.iter().map(|name| (name.clone(), Value::Null)).collect())
    }
}
