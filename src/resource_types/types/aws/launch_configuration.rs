//! AWS::AutoScaling::LaunchConfiguration: what the instances of a group are made from. It is
//! nothing in the cloud.

use serde_json::Value;

use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::declared::{Beating, Declared};
use crate::resource_types::failure::Failure;
use crate::resource_types::groups::{from_instance, names_instance};
use crate::resource_types::job::{Beat, Change, Learned, LocalOutcome, Subject, UpdateKind, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct LaunchConfiguration;

stages! {
    /// An instance is looked at.
    enum Stage {
        Look = "look" Looks,
    }
}

impl ResourceType for LaunchConfiguration {
    fn local(
        &self,
        _declared: &Declared,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        let asks = *work == Work::Create && names_instance(subject);
        (!asks).then(|| Ok(LocalOutcome::default()))
    }

    fn first(&self, _declared: &Declared, _work: &Work, _subject: &Subject) -> Step {
        Stage::Look.step()
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, .. } = *beating;
        let data = from_instance(cloud, subject)?;
        Ok(Beat::Done { learned: Learned { data, ..Learned::default() } })
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        declared.change_by_schema(subject, changed, true)
    }

    fn attributes(&self, _at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        Ok(JsonMap::new())
    }

    /// Its name, though there is nothing of that name in the cloud.
    fn reference(&self, _declared: &Declared, subject: &Subject) -> Value {
        subject.physical_name.as_str().into()
    }
}
