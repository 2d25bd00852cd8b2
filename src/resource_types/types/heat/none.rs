//! Types that do nothing: OS::Heat::None and what has been retired, which take anything, and a type
//! whose properties are all there is.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Declared, PlainStage, Special};
use crate::resource_types::driver::{
    Driver, DriverError, Learned, LocalOutcome, Subject, UpdateKind, Work,
};
use crate::resource_types::stage::Stages;

/// A type whose properties are all there is (OS::Heat::AccessPolicy).
pub(crate) struct PropertiesAlone;

impl Special for PropertiesAlone {
    fn first(&self, _declared: &Declared, _work: &Work, _subject: &Subject) -> Step {
        PlainStage::Done.step()
    }
}

/// The driver: the schema says nothing that it needs.
pub(crate) struct Nothing;

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
