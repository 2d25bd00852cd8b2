//! A stack's wire shapes.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::api::url::{Link, Links, link};
use crate::api::v1::time;
use crate::model::{JsonMap, ProjectId, StackId, StackSettings};
use crate::projections::{StackRow, StackShown};

/// What Heat says of a template that says nothing of itself.
const NO_DESCRIPTION: &str = "No description";

/// A stack as lists show it: without its template, so without a description.
#[derive(Serialize)]
pub(super) struct Listed<'a> {
    id: StackId,
    links: [Link; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a ProjectId>,
    stack_name: &'a str,
    description: &'static str,
    stack_status: String,
    stack_status_reason: &'a str,
    creation_time: String,
    updated_time: Option<String>,
    deletion_time: Option<String>,
    stack_owner: &'a str,
    parent: Option<StackId>,
    stack_user_project_id: Option<&'a ProjectId>,
    tags: Option<&'a [String]>,
}

impl<'a> Listed<'a> {
    pub(super) fn of(links: &Links, stack: &'a StackRow, with_project: bool) -> Self {
        Self {
            id: stack.id,
            links: [link(links.stack(stack), "self")],
            project: with_project.then_some(&stack.project_id),
            stack_name: stack.name.as_str(),
            description: "",
            stack_status: state(stack),
            stack_status_reason: &stack.reason,
            creation_time: time(stack.created_at),
            updated_time: stack.updated_at.map(time),
            deletion_time: stack.deleted_at.map(time),
            stack_owner: &stack.owner,
            parent: stack.within.as_ref().map(|within| within.parent),
            stack_user_project_id: stack.user_project.as_ref(),
            tags: Some(stack.settings.tags.as_slice()).filter(|tags| !tags.is_empty()),
        }
    }
}

/// A stack as it is shown alone. `outputs` are there unless the stack is deleted or they are not
/// wanted.
pub(super) fn shown(links: &Links, shown: &StackShown, outputs: Option<Vec<Value>>) -> Value {
    let stack = &shown.stack;
    let mut view = Map::new();
    view.insert("id".into(), stack.id.to_string().into());
    view.insert("links".into(), json!([link(links.stack(stack), "self")]));
    view.insert("stack_name".into(), stack.name.as_str().into());
    let description = shown.revision.as_ref().map_or("", |revision| &revision.description);
    let parameters =
        shown.revision.as_ref().map_or_else(JsonMap::new, |revision| revision.parameters.clone());
    add_definition(&mut view, description, parameters);
    add_settings(&mut view, &stack.settings);
    add_state(&mut view, stack);
    add_times(&mut view, stack);
    add_owner(&mut view, stack);
    if let Some(outputs) = outputs {
        view.insert("outputs".into(), outputs.into());
    }
    Value::Object(view)
}

/// What the template says, and what Heat always says beside it.
pub(super) fn add_definition(view: &mut JsonMap, description: &str, parameters: JsonMap) {
    let description = if description.is_empty() { NO_DESCRIPTION } else { description };
    view.insert("description".into(), description.into());
    view.insert("template_description".into(), description.into());
    view.insert("parameters".into(), Value::Object(parameters));
    view.insert("notification_topics".into(), json!([]));
    view.insert("capabilities".into(), json!([]));
}

pub(super) fn add_settings(view: &mut JsonMap, settings: &StackSettings) {
    view.insert("disable_rollback".into(), settings.disable_rollback.into());
    view.insert("timeout_mins".into(), settings.timeout_mins.into());
    view.insert("tags".into(), json!(settings.tags));
}

fn add_state(view: &mut JsonMap, stack: &StackRow) {
    view.insert("stack_status".into(), state(stack).into());
    view.insert("stack_status_reason".into(), stack.reason.as_str().into());
}

fn state(stack: &StackRow) -> String {
    format!("{}_{}", stack.action, stack.status)
}

fn add_times(view: &mut JsonMap, stack: &StackRow) {
    view.insert("creation_time".into(), time(stack.created_at).into());
    view.insert("updated_time".into(), stack.updated_at.map(time).into());
    view.insert("deletion_time".into(), stack.deleted_at.map(time).into());
}

fn add_owner(view: &mut JsonMap, stack: &StackRow) {
    view.insert("stack_owner".into(), stack.owner.as_str().into());
    let parent = stack.within.as_ref().map(|within| within.parent.to_string());
    view.insert("parent".into(), parent.into());
    let users = stack.user_project.as_ref().map(|project| project.as_str());
    view.insert("stack_user_project_id".into(), users.into());
}
