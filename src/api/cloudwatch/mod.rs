//! The API of Amazon's CloudWatch, as Heat had it: actions by name under the signatures, shapes and
//! errors of CloudFormation's. Its alarms are those of templates, and of clients. Beside the query
//! protocol it speaks those of newer clients.

mod alarms;
mod asked;
mod cbor;
pub(super) mod document;
mod metrics;
pub(super) mod protocol;

use actix_web::{HttpRequest, HttpResponse, web};

use self::protocol::Protocol;
use super::cfn;
use super::cfn::asked::Asked;
use super::cfn::fault::INVALID_ACTION;
use super::cfn::stacks::{Outcome, Served};
use super::request::{object, state};
use super::versions;

/// What can be asked for by `Action`, each under a rule of its own name.
const ACTIONS: [&str; 11] = [
    "DeleteAlarms",
    "DescribeAlarmHistory",
    "DescribeAlarms",
    "DescribeAlarmsForMetric",
    "DisableAlarmActions",
    "EnableAlarmActions",
    "GetMetricStatistics",
    "ListMetrics",
    "PutMetricAlarm",
    "PutMetricData",
    "SetAlarmState",
];

const API: cfn::Api = ("cloudwatch", &ACTIONS);

/// The routes below a version.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource(["", "/", protocol::OPERATION]).to(act))
        .default_service(web::to(versions::not_found));
}

/// An action, by any verb.
async fn act(request: HttpRequest, payload: web::Payload) -> HttpResponse {
    let Some(protocol) = Protocol::of(request.method(), request.headers()) else {
        let perform = async |served: &Served<'_>, action: &str| {
            perform(served, action).await.map(cfn::Given::Result)
        };
        return cfn::answer(request, payload, API, perform).await;
    };
    match operate(protocol, &request, payload).await {
        Ok(result) => protocol.answer(&result),
        Err(fault) => protocol.refuse(&fault),
    }
}

/// An action whose input is a document of another protocol: it is read once it is known who asks.
async fn operate(protocol: Protocol, request: &HttpRequest, payload: web::Payload) -> Outcome {
    let state = state(request)?;
    let mut asked = Asked::without_form(request, payload.into_inner()).await?;
    // Version 2 would sign the query and not the body, which is all that counts.
    asked.retain_version_4();
    protocol.require_signed(&asked)?;
    let action = protocol.operation(request);
    let (context, _admitted) = cfn::admit(state, request, &asked, action, API).await?;
    let project = async || Ok(context.caller.project_id.clone());
    let content = asked.content()?.into_owned();
    let document = object(state, content, protocol.reader(), project).await?;
    asked.params = document::parameters(document)?;
    perform(&Served { state, context: &context, request, asked: &asked }, action).await
}

async fn perform(served: &Served<'_>, action: &str) -> Outcome {
    match action {
        "DeleteAlarms" => alarms::delete(served).await,
        "DescribeAlarmHistory" => alarms::history(served).await,
        "DescribeAlarms" => alarms::describe(served).await,
        "DescribeAlarmsForMetric" => alarms::describe_for_metric(served).await,
        "DisableAlarmActions" => alarms::switch(served, false).await,
        "EnableAlarmActions" => alarms::switch(served, true).await,
        "GetMetricStatistics" => metrics::statistics(served).await,
        "ListMetrics" => metrics::list(served).await,
        "PutMetricAlarm" => alarms::put(served).await,
        "PutMetricData" => metrics::put(served).await,
        "SetAlarmState" => alarms::set_state(served).await,
        _ => Err(INVALID_ACTION.into()),
    }
}
