//! OS::Heat::None: stands in for any type, takes anything and does nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::Session;
use crate::resource_types::declared::Declared;
use crate::resource_types::driver::{
    Attempt, Beat, Driver, DriverError, Learned, LocalOutcome, Subject, UpdateKind, Work,
};

pub(crate) struct Nothing(pub(crate) Arc<Declared>);

#[async_trait]
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

    fn first(&self, work: &Work, subject: &Subject) -> Step {
        self.0.first(work, subject)
    }

    async fn beat(
        &self,
        _cloud: &Session,
        _work: &Work,
        _subject: &Subject,
        _step: &Step,
        _attempt: Attempt,
    ) -> Result<Beat, DriverError> {
        Ok(Beat::Done { learned: Learned::default() })
    }

    fn on_change(
        &self,
        _subject: &Subject,
        _before: &JsonMap,
        _changed: &BTreeSet<String>,
    ) -> UpdateKind {
        UpdateKind::Nothing
    }

    async fn attributes(
        &self,
        _cloud: &Session,
        _subject: &Subject,
        wanted: &[String],
    ) -> Result<JsonMap, DriverError> {
        Ok(wanted.iter().map(|name| (name.clone(), Value::Null)).collect())
    }
}
