//! `POST …/actions`: what can be done to a stack besides changing it.

use actix_web::web;
use serde_json::{Value, json};

use super::{
    Answer, StackPath, State, answer, answer_nothing, living_stack, requester, seen, writer,
};
use crate::actors::Preview;
use crate::actors::plan::Change;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::request::Body;
use crate::model::{Action, StackRevision};

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
];

#[derive(Clone, Copy)]
enum Asked {
    Act(Action),
    Cancel {
        rollback: bool,
    },
    /// Hearth's own: `{"rollback": {"to": REVISION, "plan": true}}`.
    Rollback,
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
    let arguments = &asked[name];
    let (_, verb, action) = ACTIONS
        .iter()
        .find(|(known, _, _)| known == name)
        .ok_or_else(|| Fault::bad_request(format!("Invalid action {name} specified")))?;
    context.require(verb).await?;
    let stack = living_stack(&state, &context, &path).await?;
    let who = match action {
        Asked::Cancel { .. } => requester(&state, &context),
        Asked::Act(_) | Asked::Rollback => writer(&state, &context, &stack.project_id).await?,
    };
    let accepted = match *action {
        Asked::Act(action) => state.engine.act_on_stack(&who, stack.id, action).await?,
        Asked::Rollback => {
            let (to, plans) = destination(arguments)?;
            if plans {
                let plan = state.engine.preview_roll_back_to(&who, stack.id, to).await?;
                return answer(&json!({ "rollback": { "to": to.0, "resources": changes(&plan) } }));
            }
            state.engine.roll_back_to(&who, stack.id, to).await?
        }
        Asked::Cancel { rollback } => state.engine.cancel_update(&who, stack.id, rollback).await?,
    };
    seen(&state, &accepted).await?;
    Ok(answer_nothing())
}

/// The revision to go back to, and whether only the plan is asked for.
fn destination(arguments: &Value) -> Result<(StackRevision, bool), Fault> {
    let number = arguments["to"].as_u64().and_then(|number| u32::try_from(number).ok());
    let Some(number) = number.filter(|number| *number > 0) else {
        let message = "The action rollback needs the number of a revision: {\"to\": 1}";
        return Err(Fault::bad_request(message));
    };
    Ok((StackRevision(number), arguments["plan"] == true))
}

/// A plan as a list: each resource, what becomes of it, and why. What is in the stack that stands
/// for a resource follows it, under the names that lead there.
fn changes(plan: &Preview) -> Vec<Value> {
    let mut listed = Vec::new();
    list("", plan, &mut listed);
    listed
}

fn list(path: &str, plan: &Preview, listed: &mut Vec<Value>) {
    let kinds = [
        ("created", &plan.added),
        ("updated", &plan.updated),
        ("replaced", &plan.replaced),
        ("deleted", &plan.deleted),
        ("unchanged", &plan.unchanged),
    ];
    for (change, resources) in kinds {
        for resource in resources {
            let path = format!("{path}{}", resource.name);
            listed.push(json!({
                "resource_name": path,
                "resource_type": resource.type_name,
                "change": change,
                "at_least": resource.least.map_or(change, word),
                "why": resource.why,
            }));
            for within in plan.within.iter().filter(|it| it.resource == resource.name) {
                list(&format!("{path}/"), &within.plan, listed);
            }
        }
    }
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Unchanged => "unchanged",
        Change::Updated => "updated",
        Change::Replaced => "replaced",
        Change::Added => "created",
    }
}
