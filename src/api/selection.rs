//! Which events a client asks for: by a query, or by the body of a webhook.

use super::ApiState;
use super::context::Context;
use super::error::Fault;
use super::query::{Param, boolean, texts};
use super::request::Params;
use super::v1::stack_named;
use crate::events::{ProjectEvent, ResourceEvent, StackEvent};
use crate::model::{Action, NamedStack, ProjectId, Selection, Status};
use crate::projections::StackRow;

/// The filters.
pub(super) const FILTERS: &[Param] = &[
    boolean("nested"),
    texts("resource"),
    texts("type"),
    texts("action"),
    texts("status"),
    texts("caller"),
];

/// What is a filter, too, where the path names no stack.
pub(super) const STACK: Param = texts("stack");

/// The values that one filter has at most.
const VALUES_MAX: usize = 100;

/// Reads the filters; a stack that is named must exist, or have existed.
pub(super) async fn read(
    state: &ApiState,
    context: &Context,
    params: &Params,
    project: Option<ProjectId>,
    of_path: Option<StackRow>,
) -> Result<Selection, Fault> {
    let all = |name: &str| {
        let values = params.all(name);
        match values.len() > VALUES_MAX {
            true => {
                Err(Fault::bad_request(format!("There may be {VALUES_MAX} values of \"{name}\".")))
            }
            false => Ok(values),
        }
    };
    // What is misspelled would be waited for in vain.
    let known = |name: &str, is_known: fn(&str) -> bool, such_as: &str| {
        let values = all(name)?;
        match values.iter().find(|value| !is_known(value)) {
            Some(value) => Err(Fault::bad_request(format!(
                "There is no {name} \"{value}\" of events: they are such as {such_as}."
            ))),
            None => Ok(values),
        }
    };
    let with_nested = params.boolean("nested")?.unwrap_or(of_path.is_some());
    let mut stacks = Vec::new();
    match of_path {
        Some(stack) => stacks.push(named(&stack)),
        None => {
            for stack in all(STACK.name)? {
                let found = match stack_named(state, context, &stack).await? {
                    Some(found) => Some(found),
                    None => {
                        let own = context.caller.project_id.clone();
                        state.views.once_named(own, stack.clone()).await?
                    }
                };
                let is_followed = |found: &StackRow| {
                    project.as_ref().is_none_or(|project| found.is_seen_from(project))
                };
                let found = found.filter(is_followed);
                stacks.push(named(&found.ok_or_else(|| Fault::no_stack(&stack))?));
            }
        }
    }
    Ok(Selection {
        project,
        stacks,
        with_nested,
        resources: all("resource")?,
        types: known("type", is_type, "TraversalSettled")?,
        actions: known("action", is_action, "CREATE")?,
        statuses: known("status", is_status, "FAILED and CREATE_FAILED")?,
        callers: all("caller")?,
    })
}

/// Of the streams that events are told of, which are those of `projections::TOLD_KINDS`.
fn is_type(word: &str) -> bool {
    let kinds = [StackEvent::TYPES, ResourceEvent::TYPES, ProjectEvent::TYPES];
    kinds.concat().iter().any(|(name, _)| *name == word)
}

fn is_action(word: &str) -> bool {
    serde_json::from_value::<Action>(word.into()).is_ok()
}

fn is_status(word: &str) -> bool {
    let is_plain = |word: &str| serde_json::from_value::<Status>(word.into()).is_ok();
    let with_action = |(action, status): (&str, &str)| is_action(action) && is_plain(status);
    is_plain(word) || word.split_once('_').is_some_and(with_action)
}

fn named(stack: &StackRow) -> NamedStack {
    let root = stack.within.as_ref().map_or(stack.id, |within| within.root);
    NamedStack { id: stack.id, root }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_have_words_that_events_have() {
        assert!(is_type("TraversalSettled") && !is_type("Zzz"));
        assert!(is_action("CREATE") && !is_action("create") && !is_action("FOO"));
        for status in ["COMPLETE", "IN_PROGRESS", "CREATE_IN_PROGRESS"] {
            assert!(is_status(status), "{status}");
        }
        for status in ["FOO", "CREATE", "FOO_COMPLETE", "CREATE_"] {
            assert!(!is_status(status), "{status}");
        }
    }
}
