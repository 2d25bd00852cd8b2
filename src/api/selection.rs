//! Which events a client asks for: by a query, or by the body of a webhook.

use super::ApiState;
use super::context::Context;
use super::error::Fault;
use super::query::{Param, boolean, texts};
use super::request::Params;
use super::v1::stack_named;
use crate::model::{NamedStack, ProjectId, Selection};
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
        types: all("type")?,
        actions: all("action")?,
        statuses: all("status")?,
        callers: all("caller")?,
    })
}

fn named(stack: &StackRow) -> NamedStack {
    let root = stack.within.as_ref().map_or(stack.id, |within| within.root);
    NamedStack { id: stack.id, root }
}
