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
