//! A name and the id that it stands for are the same value. Where an update writes one for the
//! other, both are looked up before anything else is done, as Heat does it; what comes to the same
//! counts as unchanged for the rest of the action.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::beating::Beating;
use super::{Declared, done};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, UpdateKind, Work};

/// The properties that come to the same, in the state of each step behind it.
const SAME: &str = "same";

impl Declared {
    /// The changed properties that may come to the same: both values have names or ids in them.
    pub(super) fn doubtful(
        &self,
        before: &JsonMap,
        after: &JsonMap,
        changed: &BTreeSet<String>,
    ) -> BTreeSet<String> {
        let rules = self.declaration.translation.iter();
        let resolved = rules.filter_map(|rule| rule.named()?.split('.').next());
        let (before, after) = (self.properties(before), self.properties(after));
        let is_set = |of: &JsonMap, name: &str| of.get(name).is_some_and(|value| !value.is_null());
        resolved
            .filter(|name| changed.contains(*name))
            .filter(|name| is_set(&before, name) && is_set(&after, name))
            .filter(|name| before.get(*name) != after.get(*name))
            .map(str::to_owned)
            .collect()
    }

    /// The look, and how the action goes on without what comes to the same.
    pub(super) fn compare(&self, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, .. } = *beating;
        let Work::Update { before, changed } = work else { return Ok(done()) };
        let doubtful = self.doubtful(before, &subject.properties, changed);
        // Of what kind something is, another property may say.
        let resolved = |properties: &JsonMap| {
            let properties = self.properties(properties);
            self.declaration.compared_in(cloud, properties, |name| doubtful.contains(name))
        };
        let after = resolved(&subject.properties)?;
        // What is there no more under its name is something else.
        let former = match resolved(before) {
            Ok(former) => former,
            Err(error) if error.is_transient() => return Err(error),
            Err(_) => JsonMap::new(),
        };
        let same =
            |name: &String| former.get(name).is_some() && former.get(name) == after.get(name);
        let (same, changed): (Vec<String>, BTreeSet<String>) =
            (doubtful.iter().filter(|name| same(name)).cloned().collect(), changed.clone());
        let changed: BTreeSet<String> =
            changed.into_iter().filter(|name| !same.contains(name)).collect();
        if changed.is_empty() {
            return Ok(done());
        }
        match self.on_change(subject, before, &changed) {
            UpdateKind::Nothing => Ok(done()),
            UpdateKind::Replace { reason } => Ok(Beat::Replace { reason }),
            UpdateKind::Refuse(text) => Err(Failure::Unsupported(text)),
            UpdateKind::InPlace => {
                let work = Work::Update { before: before.clone(), changed };
                let next = remembering(self.program().first(self, &work, subject), &json!(same));
                Ok(Beat::Next { learned: Learned::default(), next })
            }
        }
    }
}

/// The work without what came to the same, as far as the step remembers some.
pub(super) fn reduced(work: &Work, step: &Step) -> Option<Work> {
    let same = step.state.get(SAME)?.as_array()?;
    let Work::Update { before, changed } = work else { return None };
    let is_left = |name: &&String| !same.iter().any(|it| it == name.as_str());
    let changed = changed.iter().filter(is_left).cloned().collect();
    Some(Work::Update { before: before.clone(), changed })
}

/// What follows remembers it too.
pub(super) fn carried_on(beat: Beat, step: &Step) -> Beat {
    match (beat, step.state.get(SAME)) {
        (Beat::Next { learned, next }, Some(same)) => {
            Beat::Next { learned, next: remembering(next, same) }
        }
        (beat, _) => beat,
    }
}

fn remembering(mut step: Step, same: &Value) -> Step {
    if step.state.is_null() {
        step.state = json!({});
    }
    if let Some(state) = step.state.as_object_mut() {
        state.insert(SAME.to_owned(), same.clone());
    }
    step
}
