//! Wire shapes of plans. As in Heat they keep the split keys that other views join.

use std::borrow::Cow;
use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::view::{add_definition, add_settings};
use crate::actors::previewed::{Preview, PreviewedResource};
use crate::actors::{CreateStack, RequestContext};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::url::{Links, link};
use crate::api::v1::resources::{attributes_now, child_of, metadata_now};
use crate::api::v1::{outputs, time};
use crate::model::JsonMap;
use crate::projections::{ResourceRow, StackRow};

/// What Heat writes in place of the id that a planned stack does not have.
const NO_ID: &str = "None";

/// Which stack a resource is of.
#[derive(Clone)]
struct Identity<'a> {
    project: &'a str,
    name: &'a str,
    id: Cow<'a, str>,
}

impl<'a> Identity<'a> {
    fn of(stack: &'a StackRow) -> Self {
        let (project, name) = (stack.project_id.as_str(), stack.name.as_str());
        Self { project, name, id: Cow::Owned(stack.id.to_string()) }
    }

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
    let identity = Identity { project, name: ask.name.as_str(), id: NO_ID.into() };
    let href = links.stack_path(project, ask.name.as_str(), NO_ID);
    let mut view = Map::new();
    view.insert("id".into(), NO_ID.into());
    view.insert("links".into(), json!([link(&href, "self")]));
    view.insert("stack_name".into(), ask.name.as_str().into());
    add_definition(&mut view, &plan.description, plan.parameters.clone());
    add_settings(&mut view, &ask.settings);
    view.insert("creation_time".into(), time(now).into());
    view.insert("updated_time".into(), Value::Null);
    view.insert("deletion_time".into(), Value::Null);
    view.insert("stack_owner".into(), context.caller.user_name.as_str().into());
    view.insert("parent".into(), Value::Null);
    view.insert("stack_user_project_id".into(), Value::Null);
    let outputs = plan.outputs.iter().map(|output| {
        let mut view = json!({
            "output_key": output.key,
            "description": outputs::description(&output.description),
            "output_value": output.value,
        });
        if let Some(error) = &output.error {
            view["output_error"] = error.as_str().into();
        }
        view
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
    let users = users(resources.iter());
    let views = resources.iter().map(|resource| {
        if let Some(nested) = &resource.nested {
            let within = Identity { name: &nested.name, ..identity.clone() };
            return all_planned(&within, &nested.resources, Some(&resource.name));
        }
        let mut view = future(identity, resource, parent, &users);
        view.insert("properties".into(), Value::Object(resource.properties.clone()));
        Value::Object(view)
    });
    views.collect::<Vec<_>>().into()
}

/// The kinds of changes, in the order of the answer.
const KINDS: [&str; 5] = ["unchanged", "updated", "replaced", "added", "deleted"];

/// A stack of a plan, as it is and as it would be.
struct Planned<'a> {
    /// The resource that stands for it.
    parent: Option<&'a str>,
    plan: &'a Preview,
    /// `None` where it is about to be made.
    present: Option<StackRow>,
    resources: Vec<ResourceRow>,
    children: Vec<StackRow>,
    /// As in Heat, a stack within another is told without the end of its name and its id where it
    /// is shown as it would be.
    future_name: String,
    future_id: String,
}

impl<'a> Planned<'a> {
    async fn of(
        state: &ApiState,
        parent: Option<&'a str>,
        plan: &'a Preview,
        present: Option<StackRow>,
        (future_name, future_id): (String, String),
    ) -> Result<Self, Fault> {
        let (mut resources, mut children) = (Vec::new(), Vec::new());
        if let Some(stack) = &present {
            resources = state.views.resources(stack.id).await?;
            children = state.views.children(stack.clone()).await?;
        }
        Ok(Self { parent, plan, present, resources, children, future_name, future_id })
    }

    /// The resources by kind.
    fn lists(&self) -> [&'a [PreviewedResource]; 5] {
        let plan = self.plan;
        [&plan.unchanged, &plan.updated, &plan.replaced, &plan.added, &plan.deleted]
    }

    /// The row of a resource that is shown as it is.
    fn row(&self, kind: &str, resource: &PreviewedResource) -> Option<(&StackRow, &ResourceRow)> {
        let stack = self.present.as_ref().filter(|_| matches!(kind, "updated" | "deleted"))?;
        let row = self.resources.iter().find(|row| row.name.as_str() == resource.name)?;
        Some((stack, row))
    }
}

/// What an update would do to each resource, those of the stacks within after its own. As in Heat,
/// what is updated or deleted is shown as it is, and all else as the resource that it would be.
pub(super) async fn of_update(
    state: &ApiState,
    who: &RequestContext,
    stack: &StackRow,
    plan: &Preview,
) -> Result<Value, Fault> {
    let mut changes = KINDS.map(|_| Vec::new());
    let future = (stack.name.to_string(), stack.id.to_string());
    let mut left = vec![Planned::of(state, None, plan, Some(stack.clone()), future).await?];
    while let Some(planned) = left.pop() {
        let project = stack.project_id.as_str();
        let (name, id) = (planned.future_name.as_str(), planned.future_id.as_str().into());
        let identity = Identity { project, name, id };
        let [unchanged, updated, replaced, added, _] = planned.lists();
        let users = users([unchanged, updated, replaced, added].into_iter().flatten());
        for ((kind, resources), views) in KINDS.iter().zip(planned.lists()).zip(&mut changes) {
            for resource in resources {
                views.push(match planned.row(kind, resource) {
                    Some((stack, row)) => planned.present(state, who, stack, row).await,
                    None => self::future(&identity, resource, planned.parent, &users),
                });
            }
        }
        for within in planned.plan.within.iter().rev() {
            let parent = Some(within.resource.as_str());
            let present = match within.stack {
                Some(id) => state.views.stack(id).await?,
                None => None,
            };
            let name = format!("{}-{}", planned.future_name, within.resource);
            let future = (name, NO_ID.to_owned());
            left.push(Planned::of(state, parent, &within.plan, present, future).await?);
        }
    }
    let named = KINDS.iter().zip(changes);
    Ok(named.map(|(kind, views)| ((*kind).to_owned(), Value::from(views))).collect())
}

impl Planned<'_> {
    /// A resource as it is.
    async fn present(
        &self,
        state: &ApiState,
        who: &RequestContext,
        stack: &StackRow,
        row: &ResourceRow,
    ) -> JsonMap {
        let identity = Identity::of(stack);
        let mut view = resource_view(&identity, row.name.as_str(), self.parent);
        // What cannot be looked up is left out rather than the whole answer.
        let attributes = attributes_now(state, who, stack, &row.name, &[]).await;
        let metadata = metadata_now(state, who, stack, row).await;
        view.extend(shape(json!({
            "resource_type": row.type_name,
            "resource_action": row.action.as_str(),
            "resource_status": row.status.as_str(),
            "resource_status_reason": row.reason,
            "physical_resource_id": row.physical_id.as_deref().unwrap_or_default(),
            "creation_time": time(row.created_at),
            "updated_time": time(row.updated_at.unwrap_or(row.created_at)),
            "required_by": row.required_by,
            "description": row.description,
            "metadata": metadata.unwrap_or_default(),
            "attributes": attributes.unwrap_or_default(),
        })));
        if let Some(child) = child_of(row, &self.children) {
            view.insert("nested_stack_id".into(), Identity::of(child).view(""));
        }
        view
    }
}

/// By name, the resources that need it.
fn users<'a>(
    resources: impl Iterator<Item = &'a PreviewedResource>,
) -> HashMap<&'a str, Vec<&'a str>> {
    let mut users: HashMap<&str, Vec<&str>> = HashMap::new();
    for resource in resources {
        for required in &resource.requires {
            users.entry(required).or_default().push(&resource.name);
        }
    }
    users
}

/// What all views have.
fn resource_view(identity: &Identity<'_>, name: &str, parent: Option<&str>) -> JsonMap {
    let mut view = shape(json!({
        "resource_name": name,
        "resource_identity": identity.view(&format!("/resources/{name}")),
        "stack_identity": identity.view(""),
        "stack_name": identity.name,
    }));
    if let Some(parent) = parent {
        view.insert("parent_resource".into(), parent.into());
    }
    view
}

/// A resource that is not made yet.
fn future(
    identity: &Identity<'_>,
    resource: &PreviewedResource,
    parent: Option<&str>,
    users: &HashMap<&str, Vec<&str>>,
) -> JsonMap {
    let mut view = resource_view(identity, &resource.name, parent);
    view.extend(shape(json!({
        "resource_type": resource.type_name,
        "resource_action": "INIT",
        "resource_status": "COMPLETE",
        "resource_status_reason": "",
        "physical_resource_id": "",
        "creation_time": null,
        "updated_time": null,
        "required_by": users.get(resource.name.as_str()).cloned().unwrap_or_default(),
        "description": resource.description,
        "metadata": resource.metadata,
        "attributes": resource.attributes,
    })));
    view
}

fn shape(view: Value) -> JsonMap {
    match view {
        Value::Object(map) => map,
        _ => JsonMap::new(),
    }
}
