//! Wire shapes of plans. As in Heat they keep the split keys that other views join.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::view::add_definition;
use crate::actors::preview::{Preview, PreviewedResource};
use crate::actors::{CreateStack, Requester};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::url::{Links, link};
use crate::api::v1::{outputs, time};
use crate::model::JsonMap;
use crate::projections::{ResourceRow, StackRow};

/// What Heat writes in place of the id that a planned stack does not have.
const NO_ID: &str = "None";

/// Which stack a resource is of.
#[derive(Clone, Copy)]
struct Identity<'a> {
    project: &'a str,
    name: &'a str,
    id: &'a str,
}

impl Identity<'_> {
    fn view(&self, path: &str) -> Value {
        json!({
            "tenant": self.project,
            "stack_name": self.name,
            "stack_id": self.id,
            "path": path,
        })
    }
}

/// The stack that a create would make.
pub(super) fn of_create(
    links: &Links,
    context: &Context,
    ask: &CreateStack,
    plan: &Preview,
    now: DateTime<Utc>,
) -> Value {
    let project = context.caller.project_id.as_str();
    let identity = Identity { project, name: ask.name.as_str(), id: NO_ID };
    let href = links.stack_path(project, ask.name.as_str(), NO_ID);
    let mut view = Map::new();
    view.insert("id".into(), NO_ID.into());
    view.insert("links".into(), json!([link(&href, "self")]));
    view.insert("stack_name".into(), ask.name.as_str().into());
    add_definition(&mut view, &plan.description, plan.parameters.clone());
    view.insert("disable_rollback".into(), ask.disable_rollback.into());
    view.insert("timeout_mins".into(), ask.timeout_mins.into());
    view.insert("tags".into(), json!(ask.tags));
    view.insert("creation_time".into(), time(now).into());
    view.insert("updated_time".into(), Value::Null);
    view.insert("deletion_time".into(), Value::Null);
    view.insert("stack_owner".into(), context.caller.user_name.as_str().into());
    view.insert("parent".into(), Value::Null);
    view.insert("stack_user_project_id".into(), Value::Null);
    let outputs = plan.outputs.iter().map(|output| {
        json!({
            "output_key": output.key,
            "description": outputs::description(&output.description),
            "output_value": output.value,
        })
    });
    view.insert("outputs".into(), outputs.collect());
    view.insert("resources".into(), all_planned(&identity, &plan.added, None));
    Value::Object(view)
}

/// The resources of a stack, which stands for a resource of its `parent`'s or for none; one that
/// stands for a stack is the list of that one's.
fn all_planned(
    identity: &Identity<'_>,
    resources: &[PreviewedResource],
    parent: Option<&str>,
) -> Value {
    let users = users(resources);
    let views = resources.iter().map(|resource| {
        if let Some(nested) = &resource.nested {
            let within = Identity { name: &nested.name, ..*identity };
            return all_planned(&within, &nested.resources, Some(&resource.name));
        }
        let mut view = planned(identity, resource, None, &users);
        view["properties"] = Value::Object(resource.properties.clone());
        if let Some(parent) = parent {
            view["parent_resource"] = parent.into();
        }
        view
    });
    views.collect::<Vec<_>>().into()
}

/// What an update would do to each resource, those of the stacks within after its own. As in Heat,
/// what is updated or deleted is shown as it is, and all else as the resource that it would be.
pub(super) async fn of_update(
    state: &ApiState,
    who: &Requester,
    stack: &StackRow,
    plan: &Preview,
) -> Result<Value, Fault> {
    let mut changes = JsonMap::new();
    let mut plans = vec![(None, stack.name.to_string(), Some(stack.id), plan)];
    while let Some((parent, name, id, plan)) = plans.pop() {
        let present = match id {
            Some(id) => state.views.resources(id).await?,
            None => Vec::new(),
        };
        let shown_id = id.map_or_else(|| NO_ID.to_owned(), |id| id.to_string());
        let identity = Identity { project: stack.project_id.as_str(), name: &name, id: &shown_id };
        let kept: Vec<PreviewedResource> =
            [&plan.unchanged, &plan.updated, &plan.replaced, &plan.added]
                .into_iter()
                .flatten()
                .cloned()
                .collect();
        let users = users(&kept);
        for (kind, resources) in [
            ("unchanged", &plan.unchanged),
            ("updated", &plan.updated),
            ("replaced", &plan.replaced),
            ("added", &plan.added),
            ("deleted", &plan.deleted),
        ] {
            let mut views = Vec::new();
            for resource in resources {
                let is_shown = matches!(kind, "updated" | "deleted");
                let named = |row: &&ResourceRow| row.name.as_str() == resource.name;
                let row = present.iter().find(named).filter(|_| is_shown);
                let mut view = planned(&identity, resource, row, &users);
                if let (Some(row), Some(id)) = (row, id) {
                    let found = state.engine.inspect_resource(who, id, &row.name, &[]).await;
                    view["attributes"] = Value::Object(found.unwrap_or_default());
                }
                if let Some(parent) = parent {
                    view["parent_resource"] = Value::from(parent);
                }
                views.push(view);
            }
            let all = changes.entry(kind).or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.append(&mut views);
            }
        }
        let within = plan.within.iter().rev();
        plans.extend(within.map(|within| {
            let parent = Some(within.resource.as_str());
            (parent, within.name.clone(), within.stack, &within.plan)
        }));
    }
    Ok(Value::Object(changes))
}

/// By name, the resources that need it.
fn users(resources: &[PreviewedResource]) -> HashMap<&str, Vec<&str>> {
    let mut users: HashMap<&str, Vec<&str>> = HashMap::new();
    for resource in resources {
        for required in &resource.requires {
            users.entry(required).or_default().push(&resource.name);
        }
    }
    users
}

fn planned(
    identity: &Identity<'_>,
    resource: &PreviewedResource,
    row: Option<&ResourceRow>,
    users: &HashMap<&str, Vec<&str>>,
) -> Value {
    let attributes = resource.attributes.iter().map(|name| (name.clone(), Value::Null));
    let required_by = match row {
        Some(row) => json!(row.required_by),
        None => json!(users.get(resource.name.as_str()).cloned().unwrap_or_default()),
    };
    let physical_id = row.and_then(|row| row.physical_id.as_deref()).unwrap_or_default();
    json!({
        "resource_name": resource.name,
        "resource_type": row.map_or(resource.type_name.as_str(), |row| match &*resource.type_name {
            "" => row.type_name.as_str(),
            planned => planned,
        }),
        "resource_action": row.map_or("INIT", |row| row.action.as_str()),
        "resource_status": row.map_or("COMPLETE", |row| row.status.as_str()),
        "resource_status_reason": row.map_or("", |row| row.reason.as_str()),
        "physical_resource_id": physical_id,
        "resource_identity": identity.view(&format!("/resources/{}", resource.name)),
        "stack_identity": identity.view(""),
        "stack_name": identity.name,
        "creation_time": row.map(|row| time(row.created_at)),
        "updated_time": row.map(|row| time(row.updated_at.unwrap_or(row.created_at))),
        "required_by": required_by,
        "description": resource.description,
        "metadata": resource.metadata,
        "attributes": attributes.collect::<JsonMap>(),
    })
}
