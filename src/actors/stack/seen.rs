//! A stack as the resource sees it that it stands for.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::known::Known;
use super::state::Knowledge;
use super::values::Values;
use super::view::StackView;
use crate::model::{Action, Status};
use crate::resource_types::child::{ChildSeen, MemberSeen, REFERENCE};

/// How a child's action ended.
#[derive(Clone, Debug)]
pub struct ChildEnd {
    pub action: Action,
    pub status: Status,
    pub reason: String,
    pub deleted: bool,
    /// What the child itself gives for its reference.
    pub reference: Option<Value>,
}

impl StackView<'_> {
    /// How the newest action ended; `None` while it runs.
    pub fn end(self, knowledge: &Knowledge) -> Option<ChildEnd> {
        let gives = |known: &Arc<Known>| known.definition.has_output(REFERENCE);
        let reference = || self.seen(knowledge).outputs.shift_remove(REFERENCE);
        (!self.in_progress()).then(|| ChildEnd {
            action: self.action,
            status: self.status,
            reason: self.reason.clone(),
            deleted: self.is_deleted() || !self.exists(),
            reference: (self.known().filter(|it| gives(it)))
                .and_then(|_| reference())
                .filter(|reference| !reference.is_null()),
        })
    }

    /// The stack with marks on what is secret.
    pub fn seen(self, knowledge: &Knowledge) -> ChildSeen {
        let values = Values::of(self, knowledge);
        let mut seen =
            ChildSeen { action: self.action, status: self.status, ..ChildSeen::default() };
        let nodes = self.traversal.iter().flat_map(|traversal| &traversal.nodes);
        for (name, id) in nodes {
            let Some(report) = self.reports().get(id) else { continue };
            seen.members.push(MemberSeen {
                name: name.clone(),
                action: report.action,
                status: report.status,
                physical_id: report.physical_id.clone(),
                reference: report.reference.clone().unwrap_or_default(),
                created_at: report.created_at,
                changed_at: report.changed_at,
            });
        }
        let Some(known) = self.known() else { return seen };
        seen.template = known.definition.template();
        for output in known.definition.resolve_outputs(&values) {
            let failed = output.error.map(|error| (output.key.clone(), error));
            seen.failed_outputs.extend(failed);
            seen.outputs.insert(output.key, output.value);
        }
        seen
    }

    /// Whether the newest action was completed, no resource is unhealthy or has failed, and
    /// none is left that another stands in for.
    pub fn is_healthy(self) -> bool {
        let failed = |status| status == Status::Failed;
        let nodes = self.traversal.iter().flat_map(|traversal| traversal.nodes.values());
        let nodes: HashSet<_> = nodes.collect();
        let mut reports = self.reports().iter();
        self.status == Status::Complete
            && reports.all(|(id, report)| !failed(report.status) && nodes.contains(id))
    }
}
