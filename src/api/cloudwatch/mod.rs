//! The API of Amazon's CloudWatch, as Heat had it: actions by name under the signatures, shapes and
//! errors of CloudFormation's. Its alarms are those of templates, and of clients.

mod alarms;
mod asked;
mod metrics;

use actix_web::{HttpRequest, HttpResponse, web};

use super::cfn;
use super::cfn::fault::INVALID_ACTION;
use super::cfn::stacks::{Outcome, Served};
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

/// The routes below a version.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource(["", "/"]).to(act)).default_service(web::to(versions::not_found));
}

/// An action, by any verb.
async fn act(request: HttpRequest, payload: web::Payload) -> HttpResponse {
    cfn::answer(request, payload, ("cloudwatch", &ACTIONS), perform).await
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
