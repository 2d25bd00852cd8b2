//! A resource's decisions, one file per command.

pub(in crate::actors::resource) mod act;
mod adjust;
mod answered;
pub(in crate::actors::resource) mod begin;
mod cancel;
mod clean_up;
mod come_to_be;
mod compare;
mod converge;
mod hear;
mod hook;
mod look;
mod observe;
mod proceed;
mod repeat;
mod settle;
mod signal;

use super::command::StackIdentity;
use crate::events::resource::ActionStarted;
use crate::model::{Action, ResourceName, TraversalId, TraversalOptions, Trustor};

/// The start of an action that keeps the definition and waits at no hook.
fn started(
    action: Action,
    traversal: TraversalId,
    stack: &StackIdentity,
    name: &ResourceName,
    type_name: &str,
    trustor: &Trustor,
    options: TraversalOptions,
) -> ActionStarted {
    ActionStarted {
        action,
        traversal,
        stack_id: stack.id,
        stack_name: stack.name.clone(),
        project_id: stack.project_id.clone(),
        name: name.clone(),
        type_name: type_name.to_owned(),
        definition: None,
        deadline: None,
        user_id: trustor.user_id.clone(),
        roles: trustor.roles.clone(),
        hooks: Vec::new(),
        observes: options.observes,
        replaces: Vec::new(),
        retains: options.retains,
    }
}
