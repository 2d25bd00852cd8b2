//! There is nothing yet: create the resource, or take over what somebody else has made.

use super::begin::{begun, nests};
use crate::actors::resource::command::{Act, Adopted, Converge, ResourceCommand};
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{ActionSettled, ActionStarted, Definition};
use crate::model::{Action, Hook, Status};
use crate::resource_types::stack_user;

impl Decider<'_> {
    pub(super) fn come_to_be(
        &mut self,
        converge: Box<Converge>,
        definition: Definition,
    ) -> Decision<Resource> {
        if let Some(external_id) = definition.external_id.clone() {
            let adopted = Adopted { physical_id: Some(external_id), ..Adopted::default() };
            let decision = self.take_over(&converge, definition, adopted);
            return decision.and_then(ResourceCommand::Converge(converge));
        }
        if converge.stack_action == Action::Adopt {
            if nests(&definition, self.knowledge) {
                return self.start(Action::Adopt, &converge, definition);
            }
            let adopted = converge.adopts.clone().unwrap_or_default();
            let decision = self.take_over(&converge, definition, adopted);
            return decision.and_then(ResourceCommand::Converge(converge));
        }
        if converge.stack_action == Action::Create {
            let held = || ResourceCommand::Converge(converge.clone());
            let (traversal, hooks) = (converge.traversal, converge.hooks.clone());
            if let Some(waits) = self.waits_before(Hook::PreCreate, traversal, &hooks, held) {
                return waits;
            }
        }
        self.start(Action::Create, &converge, definition)
    }

    /// What is there becomes the resource's own, or there is nothing to take over.
    fn take_over(
        &self,
        converge: &Converge,
        definition: Definition,
        mut adopted: Adopted,
    ) -> Decision<Resource> {
        adopted.data.retain(|key, _| !stack_user::OWN_DATA.contains(&key.as_str()));
        let (status, reason) = match &adopted.physical_id {
            Some(_) => (Status::Complete, "state changed".to_owned()),
            None => {
                let name = &self.name;
                let text = format!("Exception: resources.{name}: Resource ID was not provided.");
                (Status::Failed, text)
            }
        };
        Decision::record(ActionStarted {
            definition: Some(definition),
            ..begun(Action::Adopt, converge, &converge.type_name)
        })
        .and_record(ActionSettled {
            physical_id: adopted.physical_id,
            data: adopted.data,
            ..ActionSettled::new(Action::Adopt, converge.traversal, status, reason)
        })
    }
}

/// What is somebody else's is looked at once it is taken over.
pub(super) fn check(converge: &Converge) -> Act {
    Act {
        traversal: converge.traversal,
        action: Action::Check,
        stack: converge.stack.clone(),
        type_name: converge.type_name.clone(),
        driver_type: String::new(),
        deadline: converge.deadline,
        trustor: converge.trustor.clone(),
        in_part: false,
    }
}
