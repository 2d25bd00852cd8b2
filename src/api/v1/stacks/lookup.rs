//! Redirects from a stack's name or id alone to its canonical URL.

use actix_web::http::StatusCode;
use actix_web::http::header::LOCATION;
use actix_web::{HttpRequest, HttpResponse, web};

use super::{create, list, plan};
use crate::api::ApiState;
use crate::api::context::Context;
use crate::api::error::Fault;
use crate::api::past::{position_at, revision};
use crate::api::query::AT;
use crate::api::request::{Body, Params};
use crate::api::url::Links;
use crate::api::v1::{Answer, StackPath, State, stack_named};
use crate::api::versions::plain;
use crate::model::Arn;
use crate::projections::{StackField, StackQuery, StackRow};

/// What may follow a stack's name in a URL without its id, by GET and by POST.
pub(super) const SUBPATHS_OF_GET: &[&str] = &[
    "resources",
    "events",
    "template",
    "actions",
    "environment",
    "files",
    "feed",
    "history",
    "drift",
];
const SUBPATHS_OF_POST: &[&str] = &["resources", "events", "template", "actions", "plan"];

/// `GET …/stacks/{name}`; `detail` is no stack.
pub(in crate::api) async fn named(state: State, context: Context, request: HttpRequest) -> Answer {
    if named_in(&request) == "detail" {
        return list::detail(&state, &context, &request).await;
    }
    stack(state, context, request).await
}

/// `POST …/stacks/{name}`; `preview` and `plan` are no stacks.
pub(in crate::api) async fn named_in_post(
    state: State,
    context: Context,
    request: HttpRequest,
    body: Result<Body, Fault>,
) -> Answer {
    match named_in(&request).as_str() {
        "preview" => create::preview(&state, &context, &request, body?).await,
        "plan" => plan::of_create(&state, &context, body?).await,
        _ => stack(state, context, request).await,
    }
}

/// Any other verb on `…/stacks/{name}`.
pub(in crate::api) async fn stack(state: State, context: Context, request: HttpRequest) -> Answer {
    let name = named_in(&request);
    redirect(&state, &context, &request, &name, None).await
}

/// `POST …/stacks/{name}/actions` and the like.
pub(in crate::api) async fn subpath_of_post(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
) -> Answer {
    if !SUBPATHS_OF_POST.contains(&path.id.as_str()) {
        return Err(Fault::method_not_allowed());
    }
    redirect(&state, &context, &request, &path.name, Some(&path.id)).await
}

/// The name, id or ARN in the path.
fn named_in(request: &HttpRequest) -> String {
    let given = request.match_info();
    let given = given.get("arn").or_else(|| given.get("name")).unwrap_or_default();
    percent_decoded(given)
}

fn percent_decoded(text: &str) -> String {
    // The router leaves encoded slashes as they are, so that they do not split a segment.
    text.replace("%2F", "/").replace("%2f", "/").replace("%25", "%")
}

/// The stack of a name or id; with `?at=` a time, the one that had the name then.
async fn named_then(
    state: &ApiState,
    context: &Context,
    request: &HttpRequest,
    name_or_id: &str,
) -> Result<Option<StackRow>, Fault> {
    let params = Params::of(request);
    if params.one(AT.name).is_some_and(|at| revision(at).is_none())
        && let at @ Some(_) = position_at(state, &params).await?
    {
        let filters = vec![(StackField::Name, vec![name_or_id.to_owned()])];
        let project = Some(context.caller.project_id.clone());
        let query = StackQuery { project, filters, nested: true, at, ..StackQuery::default() };
        if let Some(then) = state.views.stacks(query).await?.into_iter().next() {
            return Ok(Some(then));
        }
    }
    stack_named(state, context, name_or_id).await
}

/// 302 with an absolute Location that carries the query: clients follow it with the same verb and
/// body, drop their own query, and some only read the Location.
pub(super) async fn redirect(
    state: &ApiState,
    context: &Context,
    request: &HttpRequest,
    name_or_id: &str,
    subpath: Option<&str>,
) -> Answer {
    context.require("stacks:lookup").await?;
    let links = Links::of(request);
    let mut location = match Arn::read(name_or_id) {
        // As in Heat, an ARN is taken at its word.
        Some(Arn { project, name, id, within }) => {
            let slash = if within.is_empty() { "" } else { "/" };
            let within = within.trim_end_matches('/');
            format!("{}{slash}{within}", links.stack_path(project, name, id))
        }
        None => {
            let found = named_then(state, context, request, name_or_id).await?;
            links.stack(&found.ok_or_else(|| Fault::no_stack(name_or_id))?)
        }
    };
    if let Some(subpath) = subpath {
        location.push('/');
        location.push_str(subpath);
    }
    if !request.query_string().is_empty() {
        location.push('?');
        location.push_str(request.query_string());
    }
    let message =
        format!("The resource was found at {location}; you should be redirected automatically.");
    let mut response: HttpResponse = plain(request, StatusCode::FOUND, &message);
    let location = location
        .parse()
        .map_err(|_| Fault::bad_request("The query cannot be part of a Location."))?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
