//! The resources of a stack: list, show, metadata.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::stacks::list::split_states;
use super::{
    Answer, StackPath, State, answer, answer_nothing, any_stack, living_stack, requester, seen,
    software_configs, time, writer, writer_of,
};
use crate::actors::RequestContext;
use crate::actors::stack_users::forbidden;
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::past::state_at;
use crate::api::query::{self, Param, texts};
use crate::api::request::{Body, Params, boolean};
use crate::api::url::{Link, Links, link};
use crate::model::sizes::{RESOURCE_REASON, answer_json};
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::projections::{ResourceRow, StackRow};
use crate::resource_types::python;

/// The attribute that is the whole object of a resource.
const SHOW: &str = "show";

/// What a list can be filtered by, and what else may be in its query.
pub(in crate::api) const LIST_QUERY: &[Param] = &[
    texts("type"),
    texts("status"),
    texts("name"),
    texts("action"),
    texts("id"),
    texts("physical_resource_id"),
    query::number("nested_depth"),
    query::boolean("with_detail"),
];

pub(in crate::api) async fn list(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
) -> Answer {
    context.require("resource:index").await?;
    let params = Params::of(&request);
    let unknown: Vec<String> = params.unknown().map(|name| format!("'{name}'")).collect();
    if !unknown.is_empty() {
        let message = format!("Invalid filter parameters [{}]", unknown.join(", "));
        return Err(Fault::bad_request(message));
    }
    let depth = params.number("nested_depth")?.unwrap_or(0);
    let with_detail = params.boolean("with_detail")?.unwrap_or(false);
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = any_stack(&state, &context, &path).await?;
    let filter = ResourceFilter::of(&params);
    let links = Links::of(&request);
    let mut views = Vec::new();
    // A stack's own resources come first, then those of each stack within it.
    let mut stacks = vec![(stack, depth)];
    while let Some((stack, depth)) = stacks.pop() {
        let resources = state.views.resources(stack.id).await?;
        let children = state.views.children(stack.clone()).await?;
        if depth > 0 {
            let nested = resources.iter().rev().filter_map(|it| child_of(it, &children));
            stacks.extend(nested.map(|child| (child.clone(), depth - 1)));
        }
        for resource in resources.into_iter().filter(|resource| filter.takes(resource)) {
            let detail = match with_detail {
                true => detail(&state, &context, &stack, &resource, &[]).await?,
                false => JsonMap::new(),
            };
            views.push(Summary::of(&links, &stack, resource, &children, detail));
        }
    }
    answer(&Listed { resources: views })
}

#[derive(Serialize)]
struct Listed {
    resources: Vec<Summary>,
}

/// The stack that a resource stands for.
pub(in crate::api::v1) fn child_of<'a>(
    resource: &ResourceRow,
    children: &'a [StackRow],
) -> Option<&'a StackRow> {
    let physical_id = resource.physical_id.as_deref()?;
    children.iter().find(|child| child.id.to_string() == physical_id)
}

/// Which resources of a stack. Empty takes all.
struct ResourceFilter {
    types: Vec<String>,
    names: Vec<String>,
    ids: Vec<String>,
    physical_ids: Vec<String>,
    actions: Vec<String>,
    statuses: Vec<String>,
}

impl ResourceFilter {
    fn of(params: &Params) -> Self {
        let (mut actions, statuses) = split_states(&params.all("status"));
        actions.extend(params.all("action"));
        Self {
            types: params.all("type"),
            names: params.all("name"),
            ids: params.all("id"),
            physical_ids: params.all("physical_resource_id"),
            actions,
            statuses,
        }
    }

    fn takes(&self, resource: &ResourceRow) -> bool {
        let among = |wanted: &[String], value: &str| {
            wanted.is_empty() || wanted.iter().any(|wanted| wanted == value)
        };
        // As in Heat, a part of the type is enough.
        let is_of_type = self.types.is_empty()
            || self.types.iter().any(|part| resource.type_name.contains(part.as_str()));
        is_of_type
            && among(&self.names, resource.name.as_str())
            && among(&self.ids, &resource.id.to_string())
            && among(&self.physical_ids, resource.physical_id.as_deref().unwrap_or_default())
            && among(&self.actions, resource.action.as_str())
            && among(&self.statuses, resource.status.as_str())
    }
}

/// `…/resources/{resource}`.
#[derive(Deserialize)]
pub(in crate::api) struct ResourcePath {
    resource: String,
}

/// What a resource's show reads of its query.
pub(in crate::api) const SHOW_QUERY: &[Param] = &[texts("with_attr")];

pub(in crate::api) async fn show(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
    wanted: web::Path<ResourcePath>,
) -> Answer {
    context.require("resource:show").await?;
    let state = state_at(&state, &context, &request, &path).await?;
    let stack = living_stack(&state, &context, &path).await?;
    let resource = named(&state, &stack, &wanted.resource).await?;
    let children = state.views.children(stack.clone()).await?;
    let extra = Params::of(&request).all("with_attr");
    let detail = detail(&state, &context, &stack, &resource, &extra).await?;
    let view = Summary::of(&Links::of(&request), &stack, resource, &children, detail);
    answer(&Shown { resource: view })
}

#[derive(Serialize)]
struct Shown {
    resource: Summary,
}

/// `PATCH …/resources/{resource}`: the resource is healthy, or is not.
pub(in crate::api) async fn mark(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
    wanted: web::Path<ResourcePath>,
    body: Body,
) -> Answer {
    context.require("resource:mark_unhealthy").await?;
    let stack = living_stack(&state, &context, &path).await?;
    let asked = body.required()?;
    let unknown: Vec<_> = asked
        .keys()
        .filter(|key| !["mark_unhealthy", "resource_status_reason"].contains(&key.as_str()))
        .map(|key| format!("'{key}'"))
        .collect();
    if !unknown.is_empty() {
        let message = format!("Invalid keys in resource mark unhealthy {{{}}}", unknown.join(", "));
        return Err(Fault::bad_request(message));
    }
    let Some(mark) = asked.get("mark_unhealthy") else {
        return Err(Fault::bad_request(
            "Missing mandatory (mark_unhealthy) key from mark unhealthy request",
        ));
    };
    let unhealthy = boolean("mark_unhealthy", &python::text(mark))?;
    let reason = match asked.get("resource_status_reason") {
        None | Some(Value::Null) => String::new(),
        Some(reason) => python::text(reason),
    };
    let reason = match reason.as_str() {
        "" => "state changed by resource_mark_unhealthy api",
        reason => reason,
    };
    let resource = named_or_physical(&state, &stack, &wanted.resource).await?;
    RESOURCE_REASON.check_text(Some(reason))?;
    let who = writer(&state, &context, &stack.project_id).await?;
    let accepted =
        state.engine.mark_resource(&who, stack.id, &resource.name, !unhealthy, reason).await?;
    seen(&state, &accepted).await?;
    Ok(answer_nothing())
}

/// `POST …/resources/{resource}/signal`: an object, or nothing.
pub(in crate::api) async fn signal(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
    wanted: web::Path<ResourcePath>,
    body: Body,
) -> Answer {
    context.require("resource:signal").await?;
    let stack = living_stack(&state, &context, &path).await?;
    let resource = named_for(&state, &context, &stack, &wanted.resource).await?;
    let details = body.0.map_or(Value::Null, Value::Object);
    let who = writer_of(&state, &context, &stack).await?;
    let accepted = state.engine.signal_resource(&who, stack.id, &resource.name, &details).await?;
    seen(&state, &accepted).await?;
    Ok(answer_nothing())
}

pub(in crate::api) async fn metadata(
    state: State,
    context: Context,
    path: web::Path<StackPath>,
    wanted: web::Path<ResourcePath>,
) -> Answer {
    context.require("resource:metadata").await?;
    let question = [path.name.clone(), path.id.clone(), wanted.resource.clone()];
    let made = async {
        let stack = living_stack(&state, &context, &path).await?;
        let who = requester(&state, &context);
        let resource = named_for(&state, &context, &stack, &wanted.resource).await?;
        let metadata = metadata_now(&state, &who, &stack, &resource).await?;
        Ok::<_, Fault>((stack.project_id, answer_json(&json!({ "metadata": metadata }))?))
    };
    let body = state.polled.answer(&context.caller, ("metadata", question), made).await?;
    Ok(HttpResponse::Ok().content_type("application/json").body(body))
}

/// A resource's metadata as it is now. It is read by the resource's own agent, for which it was
/// written, and by who may write the stack: secrets are open.
pub(in crate::api) async fn metadata_now(
    state: &ApiState,
    who: &RequestContext,
    stack: &StackRow,
    resource: &ResourceRow,
) -> Result<JsonMap, Fault> {
    let mut metadata = state.engine.resource_metadata(who, stack.id, &resource.name).await?;
    if let (Some(deployments), Some(server)) =
        (metadata.get_mut("deployments").filter(|it| it.is_array()), &resource.physical_id)
    {
        let project = Some(stack.project_id.clone());
        let rows = state.views.configs_of_server(project, server).await?;
        let views: Result<Vec<Value>, Fault> =
            rows.iter().map(|row| software_configs::view(state, row)).collect();
        *deployments = views?.into();
    }
    Ok(metadata)
}

/// The resource of a name, with who requires it.
async fn named(state: &ApiState, stack: &StackRow, name: &str) -> Result<ResourceRow, Fault> {
    let resources = state.views.resources(stack.id).await?;
    let mut resources = resources.into_iter();
    resources
        .find(|resource| resource.name.as_str() == name)
        .ok_or_else(|| resource_missing(stack, name))
}

/// The resource of a name, without who requires it, for somebody who may be one of the stack's
/// users: to them a name that nothing has is as forbidden as what is not theirs.
pub(in crate::api) async fn named_for(
    state: &ApiState,
    context: &Context,
    stack: &StackRow,
    name: &str,
) -> Result<ResourceRow, Fault> {
    let is_user = stack.user_project.as_ref() == Some(&context.caller.project_id);
    match state.views.resource(stack.id, name).await? {
        Some(found) => Ok(found),
        None if is_user => Err(forbidden().into()),
        None => Err(resource_missing(stack, name)),
    }
}

/// The resource of a name, or of a physical id.
async fn named_or_physical(
    state: &ApiState,
    stack: &StackRow,
    wanted: &str,
) -> Result<ResourceRow, Fault> {
    let mut resources = state.views.resources(stack.id).await?;
    if !resources.iter().any(|resource| resource.name.as_str() == wanted) {
        resources.retain(|resource| resource.physical_id.as_deref() == Some(wanted));
        return match resources.len() {
            1 => resources.pop().ok_or_else(|| resource_missing(stack, wanted)),
            0 => Err(resource_missing(stack, wanted)),
            _ => Err(Fault::new(
                "PhysicalResourceIDAmbiguity",
                format!("Multiple resources were found with the physical ID ({wanted})."),
            )),
        };
    }
    resources.retain(|resource| resource.name.as_str() == wanted);
    resources.pop().ok_or_else(|| resource_missing(stack, wanted))
}

fn resource_missing(stack: &StackRow, name: &str) -> Fault {
    let message = format!("The Resource ({name}) could not be found in Stack {}.", stack.name);
    Fault::new("ResourceNotFound", message)
}

/// A resource as lists and its own view show it, with what only some of them have.
#[derive(Serialize)]
struct Summary {
    resource_name: ResourceName,
    logical_resource_id: ResourceName,
    physical_resource_id: String,
    resource_type: String,
    resource_status: String,
    resource_status_reason: String,
    creation_time: String,
    updated_time: String,
    links: Vec<Link>,
    required_by: Vec<ResourceName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_resource: Option<ResourceName>,
    #[serde(flatten)]
    detail: JsonMap,
}

impl Summary {
    fn of(
        links: &Links,
        stack: &StackRow,
        resource: ResourceRow,
        children: &[StackRow],
        detail: JsonMap,
    ) -> Self {
        let href = links.stack(stack);
        let own = links.resource(&href, resource.name.as_str());
        let mut links_of = vec![link(own, "self"), link(href, "stack")];
        if let Some(child) = child_of(&resource, children) {
            links_of.push(link(links.stack(child), "nested"));
        }
        Self {
            logical_resource_id: resource.name.clone(),
            resource_name: resource.name,
            resource_status: format!("{}_{}", resource.action, resource.status),
            physical_resource_id: resource.physical_id.unwrap_or_default(),
            resource_type: resource.type_name,
            resource_status_reason: resource.reason,
            creation_time: time(resource.created_at),
            updated_time: time(resource.updated_at.unwrap_or(resource.created_at)),
            links: links_of,
            required_by: resource.required_by,
            parent_resource: stack.within.as_ref().map(|within| within.resource.clone()),
            detail,
        }
    }
}

/// The description, and the attributes as the cloud has them now; of the past, as they were
/// recorded: what was not cannot be asked for any more.
async fn detail(
    state: &ApiState,
    context: &Context,
    stack: &StackRow,
    resource: &ResourceRow,
    extra: &[String],
) -> Result<JsonMap, Fault> {
    let who = requester(state, context);
    let attributes = match state.past {
        None => attributes_now(state, &who, stack, &resource.name, extra).await,
        Some(at) => state.engine.recorded_attributes(resource.id, at).await,
    };
    if let (Some(_), Ok(recorded)) = (state.past, &attributes)
        && let Some(missing) = extra.iter().find(|name| !recorded.contains_key(*name))
    {
        let name = &resource.name;
        return Err(Fault::bad_request(format!(
            "The attribute {missing} of the Resource ({name}) is not known of that moment: only \
             attributes that were on record by then are."
        )));
    }
    let mut attributes = match attributes {
        Ok(attributes) => attributes,
        // As in Heat, what cannot be looked up is left out rather than the whole answer.
        Err(error) => {
            tracing::warn!(stack.id = %stack.id, resource = %resource.name, %error, "attributes cannot be looked up");
            JsonMap::new()
        }
    };
    // Nor is it left out that there are some: they are null.
    if (attributes.is_empty() || state.past.is_some())
        && let Some(schema) = state.registry.schema(&resource.type_name)
    {
        // On record are also the parts of attributes that a template reads.
        let names = schema.attributes.keys();
        let names = names.filter(|name| state.past.is_some() || *name != SHOW).chain(extra);
        let value = |name| attributes.get(name).cloned().unwrap_or_default();
        attributes = names.map(|name| (name.clone(), value(name))).collect();
    }
    let description = resource.description.as_str().into();
    Ok(JsonMap::from_iter([
        ("description".to_owned(), description),
        ("attributes".to_owned(), Value::Object(attributes)),
    ]))
}

/// What is shown of a resource's attributes, and beside it what else is asked for, null where it
/// cannot be had. As in Heat: where a resource has an object in the cloud, that is shown in the
/// attributes' place.
pub(in crate::api) async fn attributes_now(
    state: &ApiState,
    who: &RequestContext,
    stack: &StackRow,
    name: &ResourceName,
    extra: &[String],
) -> Result<JsonMap, Refusal> {
    let inspect =
        async |wanted: &[String]| state.engine.inspect_resource(who, stack.id, name, wanted).await;
    let object = inspect(&[SHOW.to_owned()]).await.unwrap_or_default();
    let mut shown = match object.get(SHOW) {
        Some(Value::Object(object)) => object.clone(),
        Some(_) | None => {
            let mut all = inspect(&[]).await?;
            all.shift_remove(SHOW);
            all
        }
    };
    for wanted in extra {
        if !shown.contains_key(wanted) {
            let found = inspect(std::slice::from_ref(wanted)).await.unwrap_or_default();
            shown.insert(wanted.clone(), found.get(wanted).cloned().unwrap_or_default());
        }
    }
    Ok(shown)
}
