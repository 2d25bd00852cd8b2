//! `POST …/stacks/plan` and `POST …/stacks/{name}/{id}/plan`: what a change will do, with an id by
//! which the change does just that or is refused.

use actix_web::{HttpRequest, web};
use serde_json::{Map, Value, json};

use super::create;
use super::update::{self, Existing};
use crate::actors::plan::{Listed, Plan, UNCHANGED};
use crate::actors::previewed::Difference;
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::past;
use crate::api::query::AT;
use crate::api::request::{Body, Params};
use crate::api::v1::asked::{destination, only};
use crate::api::v1::{Answer, StackPath, State, answer_large, any_stack, living_stack, requester};
use crate::model::{Action, JsonMap};

/// What can be planned of a stack that there is, and the rule of who may: that of whoever may see
/// it previewed, or do it.
const PLANNED: &[(&str, &str, Planned)] = &[
    ("update", "stacks:preview_update", Planned::Update(Existing::Forgotten)),
    ("patch", "stacks:preview_update_patch", Planned::Update(Existing::Kept)),
    ("rollback", "stacks:preview_update", Planned::Rollback),
    ("delete", "stacks:delete", Planned::Delete),
    ("suspend", "actions:suspend", Planned::Act(Action::Suspend)),
    ("resume", "actions:resume", Planned::Act(Action::Resume)),
];

#[derive(Clone, Copy)]
enum Planned {
    /// With the body of the PUT or the PATCH.
    Update(Existing),
    /// With what the action takes.
    Rollback,
    Delete,
    Act(Action),
}

/// What can be planned of a stack.
pub(in crate::api) fn names() -> impl Iterator<Item = &'static str> {
    PLANNED.iter().map(|(name, _, _)| *name)
}

/// The plan of a stack that there is not yet, from the body of its create.
pub(super) async fn of_create(state: &ApiState, context: &Context, body: Body) -> Answer {
    context.require("stacks:preview").await?;
    let who = requester(state, context);
    let mut ask = create::read(state, &who, &body.required()?).await?;
    let plan = state.engine.plan_create(&who, &mut ask).await?;
    answer(state, context, plan).await
}

/// The plan of what is asked for: `{"update": {…}}`, `{"rollback": {"to": 1}}`, `{"delete": {}}`.
/// With `?at=`, what an update would have done then.
pub(in crate::api) async fn of_stack(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
    body: Body,
) -> Answer {
    let asked = body.0.unwrap_or_default();
    let (name, arguments) = only(&asked)?;
    let (_, rule, planned) = PLANNED
        .iter()
        .find(|(known, _, _)| *known == name)
        .ok_or_else(|| Fault::bad_request(format!("Invalid action {name} specified")))?;
    context.require(rule).await?;
    if let Some(at) = Params::of(&request).one(AT.name) {
        let Planned::Update(existing @ Existing::Forgotten) = *planned else {
            return Err(Fault::bad_request("Only an update is planned for what is past."));
        };
        let stack = any_stack(&state, &context, &path).await?;
        let at = past::of_stack(&state, &stack, at).await?;
        let body = arguments.as_object().ok_or_else(Fault::malformed)?;
        let who = requester(&state, &context);
        let ask = update::read(&state, &who, stack.id, body, existing).await?;
        let plan = state.engine.plan_update_then(&who, stack.id, &ask, at).await?;
        return answer(&state, &context, plan).await;
    }
    let row = living_stack(&state, &context, &path).await?;
    let stack = row.id;
    let who = requester(&state, &context);
    let engine = &state.engine;
    let plan = match *planned {
        Planned::Update(existing) => {
            let body = arguments.as_object().ok_or_else(Fault::malformed)?;
            let ask = update::read(&state, &who, stack, body, existing).await?;
            engine.plan_update(&who, stack, &ask).await?
        }
        Planned::Rollback => {
            let to = destination(&state, &row, arguments).await?;
            engine.preview_roll_back_to(&who, stack, to).await?
        }
        Planned::Delete => engine.plan_delete(&who, stack).await?,
        Planned::Act(action) => engine.plan_act(&who, stack, action).await?,
    };
    answer(&state, &context, plan).await
}

async fn answer(state: &ApiState, context: &Context, plan: Plan) -> Answer {
    let view = move || json!({ "plan": view(&plan) });
    answer_large(state, &context.caller.project_id, view).await
}

fn view(plan: &Plan) -> Value {
    let listed = plan.listed();
    let mut counts: Map<String, Value> = Map::new();
    for resource in &listed {
        let count = counts.entry(resource.change).or_insert_with(|| 0.into());
        *count = (count.as_u64().unwrap_or_default() + 1).into();
    }
    json!({
        "id": plan.id.map(|id| id.to_string()),
        "action": plan.action.as_str(),
        "stack_name": plan.name,
        "stack_id": plan.stack,
        "back_to": plan.back_to,
        "revision": plan.seen.0,
        "position": plan.seen.1,
        "changes": listed.iter().any(|resource| resource.change != UNCHANGED),
        "counts": counts,
        "resources": listed.iter().map(resource).collect::<Vec<_>>(),
    })
}

/// A plan as a list: each resource, what becomes of it, and why.
pub(in crate::api::v1) fn resources(plan: &Plan) -> Vec<Value> {
    plan.listed().iter().map(resource).collect()
}

fn resource(listed: &Listed<'_>) -> Value {
    let entry = listed.entry;
    json!({
        "resource_name": listed.path,
        "resource_type": entry.type_name,
        "physical_resource_id": entry.physical_id,
        "change": listed.change,
        "at_least": listed.at_least,
        "why": entry.why,
        "loses": entry.loses,
        "stays_suspended": entry.stays_suspended,
        "properties": entry.differs.iter().map(property).collect::<Vec<_>>(),
        "leads_to": listed.leads_to,
    })
}

/// What stood there and what will; `known` says whether that is known beforehand.
fn property(differs: &Difference) -> JsonMap {
    JsonMap::from_iter([
        ("name".to_owned(), differs.name.as_str().into()),
        ("old".to_owned(), differs.old.clone()),
        ("new".to_owned(), differs.new.clone().unwrap_or_default()),
        ("known".to_owned(), differs.new.is_some().into()),
    ])
}
