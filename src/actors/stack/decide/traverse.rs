//! Start a traversal: which incarnation of each resource goes on, and until when.

use std::sync::Arc;

use chrono::TimeDelta;

use crate::actors::stack::command::StackEffect;
use crate::actors::stack::known::Known;
use crate::actors::stack::state::{Decider, Stack};
use crate::events::stack::{Node, RevisionAccepted, TraversalStarted};
use crate::model::{Action, ResourceId, TraversalId, TraversalOptions, Trustor};

impl Decider<'_> {
    /// A traversal towards a revision, or away from everything (`None`).
    pub(super) fn traversal_of(
        &self,
        action: Action,
        accepted: &RevisionAccepted,
        known: Option<&Arc<Known>>,
    ) -> TraversalStarted {
        let former = self.revision().map(|newest| newest.origin);
        let nodes = known.into_iter().flat_map(|known| {
            known.dependencies.iter().filter_map(move |(name, requires)| {
                let declared = known.definition.resources().get(name)?;
                let id = self.view().incarnation_for(name, accepted.origin, former);
                Some(Node {
                    name: name.clone(),
                    id: id.unwrap_or_else(|| ResourceId(self.moment.fresh_id())),
                    type_name: declared.declared_type.clone(),
                    requires: requires.iter().cloned().collect(),
                    description: declared.description.clone(),
                })
            })
        });
        let timeout = match accepted.settings.timeout_mins {
            Some(minutes) => TimeDelta::minutes(i64::from(minutes)),
            None => {
                TimeDelta::from_std(self.knowledge.stack_action_timeout).unwrap_or(TimeDelta::MAX)
            }
        };
        TraversalStarted {
            traversal: TraversalId(self.moment.fresh_id()),
            action,
            revision: accepted.revision,
            nodes: nodes.collect(),
            rows: self.in_progress().then(|| self.view().current_rows().cloned().collect()),
            deadline: self.moment.now.checked_add_signed(timeout),
            options: TraversalOptions::default(),
            trustor: None,
        }
    }

    /// In whose name the traversal is.
    pub(super) fn acting(&self) -> Trustor {
        self.traversal.as_ref().map_or(&self.trustor, |traversal| &traversal.trustor).clone()
    }
}

impl Stack {
    /// The timer of a traversal.
    pub(super) fn deadline_of(started: &TraversalStarted) -> StackEffect {
        StackEffect::Deadline {
            traversal: started.traversal,
            at: started.deadline.unwrap_or(chrono::DateTime::<chrono::Utc>::MAX_UTC),
        }
    }
}
