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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::command::Outcome;
    use crate::actors::resource::story::{
        clean_up, converge, given_nothing, hooked, test_resource, traversal, with,
    };
    use crate::events::ResourceEvent;

    fn external(number: u128) -> ResourceCommand {
        with(converge(number, "OS::Neutron::Net", json!({})), |converge| {
            let definition = converge.definition.as_mut().unwrap();
            definition.external_id = Some("theirs".to_owned());
            definition.deletion_policy = "Retain".to_owned();
        })
    }

    fn adopting(adopts: Option<Adopted>) -> ResourceCommand {
        with(test_resource(1, "x"), |converge| {
            converge.stack_action = Action::Adopt;
            converge.adopts = adopts;
        })
    }

    #[test]
    fn what_is_somebody_elses_is_taken_over_looked_at_and_never_deleted() {
        let story = given_nothing().when(external(1));
        assert_eq!(story.told()[..2], ["ActionStarted", "ActionSettled"]);
        assert_eq!(story.settled().action, Action::Adopt);
        assert_eq!(story.resource.physical_id.as_deref(), Some("theirs"));
        let Some(ResourceEvent::ActionSettled(check)) = story.events.last() else {
            panic!("{:?}", story.told())
        };
        assert_eq!(check.action, Action::Check);
        let story = story.when(clean_up(2));
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert!(story.call().is_none());
    }

    #[test]
    fn what_is_adopted_makes_no_call_and_one_that_is_not_named_fails() {
        let named = Adopted { physical_id: Some("n1".to_owned()), ..Adopted::default() };
        let story = given_nothing().when(adopting(Some(named)));
        assert_eq!(story.told(), ["ActionStarted", "ActionSettled"]);
        assert!(story.call().is_none());
        assert_eq!(story.outcome(), Some((traversal(1), Outcome::Converged)));
        let story = given_nothing().when(adopting(None));
        assert_eq!(story.settled().status, Status::Failed);
        let reason = "Exception: resources.a: Resource ID was not provided.";
        assert_eq!(story.settled().reason, reason);
    }

    #[test]
    fn nobody_is_let_in_by_the_data_that_a_stack_is_adopted_from() {
        let mut adopted = Adopted { physical_id: Some("n1".to_owned()), ..Adopted::default() };
        for key in stack_user::OWN_DATA.into_iter().chain(["own"]) {
            adopted.data.insert(key.to_owned(), "x".into());
        }
        let story = given_nothing().when(adopting(Some(adopted)));
        assert_eq!(story.settled().data.keys().collect::<Vec<_>>(), ["own"]);
    }

    #[test]
    fn a_resource_waits_before_its_create_in_the_create_of_its_stack_alone() {
        let waiting = || hooked(test_resource(1, "x"), Hook::PreCreate);
        assert_eq!(given_nothing().when(waiting()).told(), ["HookReached"]);
        let in_update = with(waiting(), |converge| converge.stack_action = Action::Update);
        let wanted = ["ActionStarted", "ActionSettled"];
        assert_eq!(given_nothing().when(in_update).told(), wanted);
    }
}
