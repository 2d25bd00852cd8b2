//! The API of Amazon's CloudFormation, as Heat has it: actions by name, answers in XML, requests
//! that are signed. What an action does, the Orchestration API does, too: here are its names and
//! shapes.

mod answer;
mod arn;
pub(super) mod asked;
mod auth;
mod cost;
pub(super) mod fault;
#[doc(hidden)]
pub mod inputs;
mod list_stacks;
mod pages;
mod resources;
mod shape;
mod signal;
pub(super) mod signature;
pub(super) mod stacks;

use actix_web::{HttpRequest, HttpResponse, web};

pub use self::cost::Prices;

pub(super) use self::answer::Given;
use self::asked::Asked;
use self::fault::{ACCESS_DENIED, CfnFault, INVALID_ACTION};
use self::shape::Format;
use self::signature::Window;
use self::stacks::{Outcome, Served};
use super::context::Context;
use super::front::Admitted;
use super::request::state;
use super::{ApiState, versions};

/// What can be asked for by `Action`, each under a rule of its own name.
const ACTIONS: [&str; 13] = [
    "CancelUpdateStack",
    "CreateStack",
    "DeleteStack",
    "DescribeStackEvents",
    "DescribeStackResource",
    "DescribeStackResources",
    "DescribeStacks",
    "EstimateTemplateCost",
    "GetTemplate",
    "ListStackResources",
    "ListStacks",
    "UpdateStack",
    "ValidateTemplate",
];

/// The routes below a version.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource(["", "/"]).to(act))
        .service(web::resource(["/stacks", "/stacks/{rest:.*}"]).to(refuse))
        .service(signal::route("/waitcondition/{arn:.*}", signal::wait_condition))
        .service(signal::route("/signal/{arn:.*}", signal::signal))
        .default_service(web::to(versions::not_found));
}

/// One of Amazon's APIs: its name, which rules of policy begin with, and its actions.
pub(super) type Api = (&'static str, &'static [&'static str]);

/// An action, by any verb.
async fn act(request: HttpRequest, payload: web::Payload) -> HttpResponse {
    answer(request, payload, ("cloudformation", &ACTIONS), perform).await
}

/// Where the other API has its stacks there is no action, as in Heat.
async fn refuse(request: HttpRequest, payload: web::Payload) -> HttpResponse {
    answer(request, payload, ("cloudformation", &[]), perform).await
}

/// Answers an action in the query protocol.
pub(super) async fn answer(
    request: HttpRequest,
    payload: web::Payload,
    api: Api,
    perform: impl AsyncFn(&Served<'_>, &str) -> Result<Given, CfnFault>,
) -> HttpResponse {
    let asked = match Asked::action(&request, payload.into_inner()).await {
        Ok(asked) => asked,
        Err(fault) => return fault.answer(Format::Xml),
    };
    let format = asked.format();
    let action = asked.param("Action").unwrap_or_default();
    let outcome = async {
        let (state, request) = (state(&request)?, &request);
        let (context, _admitted) = admit(state, request, &asked, action, api).await?;
        perform(&Served { state, context: &context, request, asked: &asked }, action).await
    };
    match outcome.await {
        Ok(given) => answer::answer(format, action, given),
        Err(fault) => fault.answer(format),
    }
}

/// Lets in who may have an action done, for as long as what is returned beside lives.
pub(super) async fn admit(
    state: &ApiState,
    request: &HttpRequest,
    asked: &Asked,
    action: &str,
    (api, actions): Api,
) -> Result<(Context, Admitted), CfnFault> {
    // Whoever is nobody does not learn what there is.
    let window = if action == "DescribeStackResource" { Window::Look } else { Window::Now };
    let (context, admitted) = auth::authenticate(state, request, asked, window).await?;
    if !actions.contains(&action) {
        return Err(INVALID_ACTION.into());
    }
    if context.require(&format!("{api}:{action}")).await.is_err() {
        let text = format!("Action {action} not allowed for user");
        return Err(CfnFault::new(ACCESS_DENIED, text));
    }
    Ok((context, admitted))
}

async fn perform(served: &Served<'_>, action: &str) -> Result<Given, CfnFault> {
    match action {
        "DescribeStackResource" => served.describe_stack_resource(action).await.map(Given::Body),
        action => result_of(served, action).await.map(Given::Result),
    }
}

async fn result_of(served: &Served<'_>, action: &str) -> Outcome {
    match action {
        "CancelUpdateStack" => served.cancel_update().await,
        "CreateStack" => served.create_stack().await,
        "DeleteStack" => served.delete_stack().await,
        "DescribeStackEvents" => served.describe_stack_events().await,
        "DescribeStackResources" => served.describe_stack_resources().await,
        "DescribeStacks" => served.describe_stacks().await,
        "EstimateTemplateCost" => served.estimate_template_cost().await,
        "GetTemplate" => served.get_template().await,
        "ListStackResources" => served.list_stack_resources().await,
        "ListStacks" => served.list_stacks().await,
        "UpdateStack" => served.update_stack().await,
        "ValidateTemplate" => served.validate_template().await,
        _ => Err(INVALID_ACTION.into()),
    }
}
