//! How an action begins.

use super::started;
use crate::actors::resource::command::Converge;
use crate::actors::resource::state::{Knowledge, Resource};
use crate::events::resource::{ActionStarted, Definition};
use crate::model::Action;

/// Whether the work of a definition's type is a child stack.
pub(in crate::actors::resource) fn nests(definition: &Definition, knowledge: &Knowledge) -> bool {
    let driver = knowledge.registry.driver(&definition.driver_type);
    driver.is_some_and(|driver| driver.nests().is_some())
}

/// The action begins, so far without a definition.
pub(super) fn begun(action: Action, converge: &Converge, type_name: &str) -> ActionStarted {
    let Converge { traversal, stack, name, trustor, options, .. } = converge;
    ActionStarted {
        deadline: converge.deadline,
        hooks: Resource::hooks_behind(action, converge.stack_action, &converge.hooks),
        replaces: converge.replaces.clone(),
        ..started(action, *traversal, stack, name, type_name, trustor, *options)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::actors::resource::story::{converge, given_nothing, hooked, test_resource, with};
    use crate::events::ResourceEvent;
    use crate::model::{Action, Hook};

    #[test]
    fn an_action_says_what_it_replaces_and_until_when_it_may_take() {
        let until = chrono::DateTime::<chrono::Utc>::MAX_UTC;
        let command = with(test_resource(1, "x"), |converge| {
            converge.replaces = vec!["former".to_owned()];
            converge.deadline = Some(until);
        });
        let story = given_nothing().when(command);
        let [ResourceEvent::ActionStarted(started), ..] = &story.events[..] else {
            panic!("{:?}", story.told())
        };
        assert_eq!(
            (&started.replaces[..], started.deadline),
            (&["former".to_owned()][..], Some(until))
        );
    }

    #[test]
    fn a_resource_waits_behind_its_create_in_the_create_of_its_stack_alone() {
        for (stack_action, hooks) in
            [(Action::Create, vec![Hook::PostCreate]), (Action::Update, vec![])]
        {
            let command = with(hooked(test_resource(1, "x"), Hook::PostCreate), |converge| {
                converge.stack_action = stack_action;
            });
            assert_eq!(given_nothing().when(command).resource.hooks, hooks);
        }
    }

    #[test]
    fn only_a_beat_of_a_child_stack_has_what_a_child_is_made_with() {
        let group = json!({ "count": 1, "resource_def": { "type": "OS::Heat::TestResource" } });
        let story = given_nothing().when(converge(1, "OS::Heat::ResourceGroup", group));
        assert_eq!(story.call().unwrap().nesting.as_ref().unwrap().repetition, 0);
        let story = given_nothing().when(converge(1, "OS::Neutron::Net", json!({})));
        assert!(story.call().unwrap().nesting.is_none());
    }
}
