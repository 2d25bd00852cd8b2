//! `POST …/actions`: what can be done to a stack besides changing it.

use actix_web::web;

use super::{Answer, StackPath, State, answer_nothing, living_stack, requester, seen};
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::request::Body;
use crate::model::Action;

/// Heat's actions, and what each comes to.
const ACTIONS: &[(&str, &str, Asked)] = &[
    ("suspend", "actions:suspend", Asked::Act(Action::Suspend)),
    ("resume", "actions:resume", Asked::Act(Action::Resume)),
    ("check", "actions:check", Asked::Act(Action::Check)),
    ("cancel_update", "actions:cancel_update", Asked::Cancel { rollback: true }),
    (
        "cancel_without_rollback",
        "actions:cancel_without_rollback",
        Asked::Cancel { rollback: false },
    ),
];

#[derive(Clone, Copy)]
enum Asked {
    Act(Action),
    Cancel { rollback: bool },
}

pub(in crate::api) async fn act(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
    body: Body,
) -> Answer {
    let asked = body.0.unwrap_or_default();
    let mut names = asked.keys();
    let name = names.next().ok_or_else(|| Fault::bad_request("No action specified"))?;
    if names.next().is_some() {
        return Err(Fault::bad_request("Multiple actions specified"));
    }
    let (_, verb, asked) = ACTIONS
        .iter()
        .find(|(known, _, _)| known == name)
        .ok_or_else(|| Fault::bad_request(format!("Invalid action {name} specified")))?;
    context.require(verb)?;
    let stack = living_stack(&state, &context, &path).await?;
    let who = requester(&state, &context);
    let accepted = match *asked {
        Asked::Act(action) => state.engine.act_on_stack(&who, stack.id, action).await?,
        Asked::Cancel { rollback } => state.engine.cancel_update(&who, stack.id, rollback).await?,
    };
    seen(&state, &accepted).await?;
    Ok(answer_nothing())
}
