//! `POST …/actions`: what can be done to a stack besides changing it.

use actix_web::web;
use serde_json::{Value, json};

use super::asked::{destination, only};
use super::{
    Answer, StackPath, State, answer_large, answer_nothing, answered, living_stack, once,
    requester, seen, stacks, writer,
};
use crate::actors::RequestContext;
use crate::api::conditions::no_plan;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::request::{Body, boolean};
use crate::model::Action;
use crate::resource_types::python;

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
    ("rollback", "stacks:update", Asked::Rollback),
    ("repair", "stacks:update", Asked::Repair),
    ("accept", "stacks:update", Asked::Accept),
];

#[derive(Clone, Copy)]
enum Asked {
    Act(Action),
    Cancel {
        rollback: bool,
    },
    /// Hearth's own: `{"rollback": {"to": REVISION, "plan": true}}`, or `at` a position or a time.
    Rollback,
    /// Hearth's own, of what differs in the cloud: it is brought back, or becomes the definition.
    Repair,
    Accept,
}

/// What can be asked for.
pub(in crate::api) fn names() -> impl Iterator<Item = &'static str> {
    ACTIONS.iter().map(|(name, _, _)| *name)
}

pub(in crate::api) async fn act(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
    body: Body,
) -> Answer {
    let asked = body.0.unwrap_or_default();
    let (name, arguments) = only(&asked)?;
    let (_, verb, action) = ACTIONS
        .iter()
        .find(|(known, _, _)| *known == name)
        .ok_or_else(|| Fault::bad_request(format!("Invalid action {name} specified")))?;
    context.require(verb).await?;
    let plans = matches!(action, Asked::Rollback) && plans(arguments)?;
    let mut who = requester(&state, &context);
    match action {
        Asked::Cancel { .. } if who.conditions.plan.is_some() => return Err(no_plan()),
        Asked::Rollback | Asked::Repair | Asked::Accept if !plans => {
            let kind = format!("POST {}/actions", path.canonical_id());
            who = once(&state, &context, who, (&kind, &asked))?;
            if answered(&state, &who).await? {
                return Ok(answer_nothing());
            }
        }
        Asked::Cancel { .. } | Asked::Rollback | Asked::Repair | Asked::Accept | Asked::Act(_) => {}
    }
    let stack = living_stack(&state, &context, &path).await?;
    if !matches!(action, Asked::Cancel { .. }) {
        let conditions = who.conditions;
        who = RequestContext { conditions, ..writer(&state, &context, &stack.project_id).await? };
    }
    let accepted = match *action {
        Asked::Act(action) => state.engine.act_on_stack(&who, stack.id, action).await?,
        Asked::Rollback => {
            let to = destination(&state, &stack, arguments).await?;
            if plans {
                let plan = state.engine.preview_roll_back_to(&who, stack.id, to).await?;
                let view = move || {
                    let resources = stacks::plan::resources(&plan);
                    json!({ "rollback": { "to": to.0, "resources": resources } })
                };
                return answer_large(&state, &context.caller.project_id, view).await;
            }
            state.engine.roll_back_to(&who, stack.id, to).await?
        }
        Asked::Repair => state.engine.repair_drift(&who, stack.id).await?,
        Asked::Accept => state.engine.accept_drift(&who, stack.id).await?,
        Asked::Cancel { rollback } => state.engine.cancel_update(&who, stack.id, rollback).await?,
    };
    seen(&state, &accepted).await?;
    Ok(answer_nothing())
}

/// Whether of a rollback only the plan is asked for.
fn plans(arguments: &Value) -> Result<bool, Fault> {
    match &arguments["plan"] {
        Value::Null => Ok(false),
        Value::Bool(plans) => Ok(*plans),
        other => boolean("plan", &python::text(other)),
    }
}
