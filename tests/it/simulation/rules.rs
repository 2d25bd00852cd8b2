//! What holds at every event: the tables of transitions, and what a settled stack's word is worth.

use std::collections::BTreeMap;

use hearth::actors::resource::Resource;
use hearth::actors::stack::Stack;
use hearth::events::{Event, ResourceEvent, StackEvent};
use hearth::model::{Action, ResourceId, Status};

/// What is wrong with events that follow on a stack's state.
pub(super) fn stack_events(before: &Stack, events: &[StackEvent]) -> Vec<String> {
    let mut running = before.traversal.as_ref().map(|it| (it.id, it.action, it.settled));
    let mut newest = before.revisions.last().map(|revision| revision.revision.0).unwrap_or(0);
    let mut wrongs = Vec::new();
    let mut deleted = before.is_deleted();
    for event in events {
        let wrong = match event {
            StackEvent::StackCreated(_) => newest > 0,
            StackEvent::RevisionAccepted(accepted) => {
                newest += 1;
                accepted.revision.0 != newest || accepted.origin > accepted.revision
            }
            StackEvent::TraversalStarted(started) => {
                let first = running.is_none();
                running = Some((started.traversal, started.action, false));
                let makes = matches!(started.action, Action::Create | Action::Adopt);
                first != makes || started.revision.0 > newest
            }
            StackEvent::ReplacementStarted(replacement) => {
                running.is_none_or(|(id, _, settled)| id != replacement.traversal || settled)
            }
            StackEvent::ActionDeferred(_) => running.is_none_or(|(_, _, settled)| settled),
            StackEvent::TraversalSettled(settled) => {
                let open = running == Some((settled.traversal, settled.action, false));
                running = Some((settled.traversal, settled.action, true));
                !open || settled.status == Status::InProgress
            }
            _ => false,
        };
        if wrong || deleted {
            wrongs.push(format!(
                "{} in {}_{}",
                stack_event_told(event),
                before.action,
                before.status
            ));
        }
        deleted |= matches!(event, StackEvent::TraversalSettled(settled)
            if (settled.action, settled.status) == (Action::Delete, Status::Complete));
    }
    wrongs
}

/// Whether an action takes what is there as it is.
pub(super) fn is_act(action: Action) -> bool {
    matches!(action, Action::Suspend | Action::Resume | Action::Check | Action::Snapshot)
}

/// What is wrong with resources at the moment at which their stack says that all is done.
pub(super) fn stack_settled(
    stack: &Stack,
    events: &[StackEvent],
    resources: &BTreeMap<ResourceId, Resource>,
) -> Vec<String> {
    let complete = events.iter().any(|event| {
        // An act walks over what counts for its name; others may be at work beside it.
        matches!(event, StackEvent::TraversalSettled(settled)
            if settled.status == Status::Complete && !is_act(settled.action))
    });
    if !complete {
        return Vec::new();
    }
    let of_stack = resources
        .values()
        .filter(|resource| resource.stack.as_ref().is_some_and(|of| of.id == stack.id));
    let at_work = of_stack.filter(|resource| resource.in_progress());
    at_work
        .map(|resource| {
            let (name, action) = (&resource.name, resource.action);
            format!("{} is COMPLETE while {name} is in {action}", stack.action)
        })
        .collect()
}

/// What is wrong with events that follow on a resource's state.
pub(super) fn resource_events(before: &Resource, events: &[ResourceEvent]) -> Vec<String> {
    let mut phase = before.phase.clone();
    let mut wrongs = Vec::new();
    for event in events {
        if !phase.allows(event) {
            let told = resource_event_told(event);
            wrongs.push(format!("{}: {told} in {phase:?}", before.name));
        }
        phase.take(event);
    }
    wrongs
}

pub(super) fn stack_event_told(event: &StackEvent) -> String {
    match event {
        StackEvent::TraversalStarted(started) => format!("{} IN_PROGRESS", started.action),
        StackEvent::TraversalSettled(settled) => {
            format!("{} {} {}", settled.action, settled.status, settled.reason)
        }
        other => other.event_type().to_owned(),
    }
}

pub(super) fn resource_event_told(event: &ResourceEvent) -> String {
    match event {
        ResourceEvent::ActionStarted(started) => format!("{} IN_PROGRESS", started.action),
        ResourceEvent::ActionSettled(settled) => {
            let open = if settled.unanswered { " (a call is open)" } else { "" };
            format!("{} {} {}{open}", settled.action, settled.status, settled.reason)
        }
        ResourceEvent::CallIntended(intended) => format!("intends {}", intended.step.name),
        other => other.event_type().to_owned(),
    }
}
