//! Types that do nothing: OS::Heat::None and what has been retired, which take anything, and a type
//! whose properties are all there is.

use serde_json::Value;

use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::declared::{Declared, PlainStage};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Change, Learned, LocalOutcome, Subject, UpdateKind, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::Stages;

/// A type whose properties are all there is (OS::Heat::AccessPolicy).
pub(crate) struct PropertiesAlone;

impl ResourceType for PropertiesAlone {
    fn first(&self, _declared: &Declared, _work: &Work, _subject: &Subject) -> Step {
        PlainStage::Done.step()
    }
}

/// The driver: the schema says nothing that it needs.
pub(crate) struct Nothing;

impl ResourceType for Nothing {
    fn local(
        &self,
        _declared: &Declared,
        work: &Work,
        _subject: &Subject,
        moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        let mut outcome = LocalOutcome::default();
        if *work == Work::Create {
            let physical_id = Some(moment.fresh_id().to_string());
            outcome.learned = Learned { physical_id, ..Learned::default() };
        }
        Some(Ok(outcome))
    }

    fn on_change(&self, _declared: &Declared, _change: Change<'_>) -> UpdateKind {
        UpdateKind::Nothing
    }

    fn attributes(&self, _at: At<'_>, wanted: &[String]) -> Result<JsonMap, Failure> {
        Ok(wanted.iter().map(|name| (name.clone(), Value::Null)).collect())
    }
}
