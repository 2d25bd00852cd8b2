//! OS::Heat::ScalingPolicy, AWS::AutoScaling::ScalingPolicy: a signal to it changes the size of a
//! group.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::wait_handle::ADDRESS;
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::declared::{Beating, Declared};
use crate::resource_types::failure::Failure;
use crate::resource_types::groups::{Adjustment, CapacityKind};
use crate::resource_types::job::{
    Beat, Change, Learned, LocalOutcome, Signaled, StackUser, Subject, UpdateKind, Work,
};
use crate::resource_types::presigned::{self, Door};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stack_user::{self, Proof};
use crate::resource_types::stage::{Stages, stages};

/// The attribute that says where the policy is signaled with a token.
const SIGNAL_URL: &str = "signal_url";

/// The names of a policy's properties and of one value.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PolicyNames {
    group: String,
    adjustment: String,
    pub(crate) kind: String,
    /// The kind whose adjustments are percentages.
    pub(crate) percent: String,
    pub(crate) min_step: String,
    cooldown: String,
    /// Whether its reference is the address where it is signaled.
    #[serde(default)]
    is_address: bool,
}

pub(crate) struct ScalingPolicy(pub(crate) PolicyNames);

stages! {
    /// The end of a creation, besides what the policy's user does.
    enum Stage {
        Settle = "settle" Looks,
    }
}

impl ResourceType for ScalingPolicy {
    fn local(
        &self,
        declared: &Declared,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        local(declared, work, subject)
    }

    fn first(&self, _declared: &Declared, work: &Work, subject: &Subject) -> Step {
        first(work, subject)
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        beat(beating)
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        declared.change_by_schema(subject, changed, true)
    }

    fn signal(&self, _subject: &Subject, _details: &Value) -> Signaled {
        // Whatever state an alarm tells: which signals come here, its author decides.
        Signaled::Work
    }

    fn adjustment(&self, declared: &Declared, subject: &Subject) -> Option<Adjustment> {
        let properties = declared.properties(&subject.properties);
        let PolicyNames { group, adjustment, kind, min_step, cooldown, .. } = &self.0;
        let text = |name: &String| properties.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |name: &String| properties.get(name).and_then(Value::as_f64);
        Some(Adjustment {
            group: text(group).to_owned(),
            by: number(adjustment).unwrap_or(0.0),
            kind: CapacityKind::named(text(kind)),
            kind_name: text(kind).to_owned(),
            step_min: number(min_step).map(|step| step as i64),
            cooldown_secs: number(cooldown).map(|seconds| seconds as i64),
        })
    }

    fn attributes(&self, at: At<'_>, wanted: &[String]) -> Result<JsonMap, Failure> {
        attributes(at, wanted)
    }

    fn reference(&self, declared: &Declared, subject: &Subject) -> Value {
        match subject.data.get(ADDRESS) {
            Some(address) if self.0.is_address => address.clone(),
            Some(_) | None => declared.plain_reference(subject),
        }
    }
}

/// What has no beats: what the user of a resource that is signaled has no part in.
pub(super) fn local(
    declared: &Declared,
    work: &Work,
    subject: &Subject,
) -> Option<Result<LocalOutcome, Failure>> {
    let has_beats = match work {
        Work::Create | Work::Update { .. } | Work::Delete => true,
        Work::Act(action) => declared.acts(*action) && StackUser::made(subject).is_some(),
    };
    (!has_beats).then(|| Ok(LocalOutcome::default()))
}

pub(super) fn first(work: &Work, subject: &Subject) -> Step {
    match work {
        Work::Update { .. } if stack_user::has(subject, Proof::Key) => Stage::Settle.step(),
        // One that was made by an earlier version has no user.
        Work::Create | Work::Update { .. } => stack_user::first(Value::Null),
        Work::Delete => stack_user::removal(),
        Work::Act(_) => stack_user::enabling(),
    }
}

/// The beats of a resource that is signaled at an address which its user's key has signed.
pub(super) fn beat(beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, work, subject, step, .. } = *beating;
    let end = || Stage::Settle.step();
    if let Some(beat) = stack_user::make(cloud, subject, step, Proof::Key, end) {
        return beat;
    }
    if let Some(beat) = stack_user::keep(cloud, work, subject, step) {
        return beat;
    }
    let mut data = BTreeMap::new();
    if let Some(address) = presigned::address(cloud, subject, Door::Signal)? {
        data.insert(ADDRESS.to_owned(), address.into());
    }
    let physical_id = match work {
        Work::Create => StackUser::made(subject)
            .map(|user| user.id)
            .or_else(|| Some(subject.physical_name.clone())),
        Work::Update { .. } | Work::Delete | Work::Act(_) => None,
    };
    Ok(Beat::Done { learned: Learned { physical_id, data, ..Learned::default() } })
}

/// The addresses at which it is signaled.
pub(super) fn attributes(at: At<'_>, wanted: &[String]) -> Result<JsonMap, Failure> {
    let At { declared, cloud, subject, .. } = at;
    let names = declared.declaration().attributes.keys();
    let mut attributes = JsonMap::new();
    for name in names.filter(|name| wanted.is_empty() || wanted.contains(name)) {
        let value = match name.as_str() {
            SIGNAL_URL => {
                let project = subject.project_id.clone().unwrap_or_default();
                stack_user::signal_url(cloud, subject, project.as_str())?.into()
            }
            // The other one, whichever its name.
            _ => subject.data.get(ADDRESS).cloned().unwrap_or_default(),
        };
        attributes.insert(name.clone(), value);
    }
    Ok(attributes)
}
