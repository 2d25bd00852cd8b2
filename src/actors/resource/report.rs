//! How a resource stands: as its stack is told, and as a snapshot keeps it.

use super::command::Report;
use super::state::{Knowledge, Resource, Working};
use crate::actors::nested::own_child;
use crate::events::stack::ResourceKept;
use crate::model::taint::{plain, taint_repeated};
use crate::model::{Action, ProjectId, StackId, Status};
use crate::resource_types::{Signals, stack_user};

impl Resource {
    /// How the resource stands, as its stack is told.
    pub fn report(&self, working: &Working, knowledge: &Knowledge) -> Report {
        let definition = self.definition.as_ref();
        let told = definition.and_then(|definition| {
            let driver = knowledge.registry.driver(&definition.driver_type)?;
            let subject = self.subject_beside_signals(definition, knowledge);
            let secrets = self.secrets_beside_signals();
            let reference = taint_repeated(driver.reference(&subject), &secrets);
            // What signals brought keeps its marks.
            let signals = driver.program().signals(&subject);
            let signals = signals.map(|it| Signals { entries: self.signals.clone(), ..it });
            Some((Some(reference), signals))
        });
        let (reference, signals) = told.unwrap_or_default();
        Report {
            id: self.id,
            name: self.name.clone(),
            action: self.action,
            status: if self.is_pausing() { Status::InProgress } else { self.status },
            traversal: self.traversal,
            outcome: self.outcome_beside(working).filter(|(of, _)| !self.waits_in(*of)).cloned(),
            waits: self.waits(),
            dropped: working.dropped,
            physical_id: self.physical_id.clone(),
            reference,
            attributes: self.attributes.clone(),
            created_at: self.created_at,
            changed_at: self.changed_at,
            signals,
            owes_signal: !self.signals_due.is_empty(),
            user_project: self
                .data
                .get(stack_user::PROJECT)
                .and_then(|id| plain(id.clone()).as_str().map(|id| ProjectId(id.to_owned()))),
            kept: (self.action == Action::Snapshot).then(|| Box::new(self.kept())),
        }
    }

    /// The child stack that stands for it in the cloud's place, where it has one.
    pub fn child_stack(&self) -> Option<StackId> {
        own_child(self.id, self.physical_id.as_deref())
    }

    /// The resource as a snapshot or an export has it.
    pub fn kept(&self) -> ResourceKept {
        let definition = self.definition.as_ref();
        ResourceKept {
            name: self.name.clone(),
            type_name: self.type_name.clone(),
            driver_type: definition.map(|it| it.driver_type.clone()).unwrap_or_default(),
            physical_id: self.physical_id.clone(),
            action: self.action,
            status: self.status,
            metadata: definition.map(|it| it.metadata.clone()).unwrap_or_default(),
            data: self.data.clone().into_iter().collect(),
        }
    }
}
