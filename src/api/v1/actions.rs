//! `POST …/actions`: what can be done to a stack besides changing it.

use actix_web::web;

use super::{Answer, StackPath, State, answer_nothing, living_stack, requester, seen};
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::request::Body;

/// An action of Heat's, and whether it goes back to the former definition; none where the action
/// is not supported.
const ACTIONS: &[(&str, &str, Option<Rollback>)] = &[
    ("suspend", "actions:suspend", None),
    ("resume", "actions:resume", None),
    ("check", "actions:check", None),
    ("cancel_update", "actions:cancel_update", Some(Rollback::Yes)),
    ("cancel_without_rollback", "actions:cancel_without_rollback", Some(Rollback::No)),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rollback {
    Yes,
    No,
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
    let (_, verb, rollback) = ACTIONS
        .iter()
        .find(|(known, _, _)| known == name)
        .ok_or_else(|| Fault::bad_request(format!("Invalid action {name} specified")))?;
    context.require(verb)?;
    let stack = living_stack(&state, &context, &path).await?;
    let Some(rollback) = rollback else {
        return Err(Fault::new("NotSupported", format!("Stack {name} is not supported.")));
    };
    let who = requester(&state, &context);
    let accepted = state.engine.cancel_update(&who, stack.id, *rollback == Rollback::Yes).await?;
    seen(&state, &accepted).await?;
    Ok(answer_nothing())
}
