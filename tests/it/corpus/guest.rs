//! The servers of templates, which the sandbox does not run: they signal that all is well.

use std::time::{Duration, Instant};

use hearth::actors::{Accepted, RequestContext};
use hearth::clock::{Clock, SystemClock};
use hearth::model::{Action, ResourceName, StackId, Status};
use hearth::projections::StackQuery;
use serde_json::{Value, json};

use crate::support::wait::{WAIT_MAX, polled};
use crate::support::world::World;

/// How long an action may take.
const ACTION_MAX: Duration = Duration::from_secs(30);

/// Waits until a stack comes to an end, while those signal who are waited for. An error says how
/// it ended instead.
pub(super) async fn attend(world: &World, told: &Accepted, wanted: &str) -> Result<(), String> {
    let (stack, began) = (told.stack, Instant::now());
    world.views.after(told.position).await.unwrap();
    let attended = async || {
        let row = world.views.stack(stack).await.unwrap().unwrap();
        let state = format!("{}_{}", row.action, row.status);
        match row.status {
            Status::Complete if state == wanted => Some(Ok(())),
            Status::Failed => Some(Err(format!("{state}: {}", row.reason))),
            _ if began.elapsed() > ACTION_MAX => {
                let mut waiting = world.resources(stack).await;
                waiting.retain(|line| line.ends_with("IN_PROGRESS"));
                Some(Err(format!("{state} for ever: {}", waiting.join(", "))))
            }
            _ => {
                signal_all(world).await;
                None
            }
        }
    };
    polled(WAIT_MAX, wanted, attended).await
}

/// Signals to deployments at work, and to handles where something waits for them. What is being
/// deleted waits for nothing: a signal would be put beside the deletion of its object.
async fn signal_all(world: &World) {
    let query = StackQuery { nested: true, ..StackQuery::default() };
    let mut handles = Vec::new();
    let mut are_waited_for = false;
    for stack in world.views.stacks(query).await.unwrap() {
        let mut resources = world.views.resources(stack.id).await.unwrap();
        resources.retain(|resource| resource.action != Action::Delete);
        for resource in resources {
            let class = resource.type_name.rsplit("::").next().unwrap_or_default();
            match (class, resource.status) {
                ("SoftwareDeployment" | "StructuredDeployment", Status::InProgress) => {
                    signal(world, stack.id, &resource.name, &json!({ "deploy_status_code": 0 }))
                        .await;
                }
                ("WaitCondition" | "SwiftSignal", Status::InProgress) => are_waited_for = true,
                _ if class.ends_with("Handle") => handles.push((stack.id, resource)),
                _ => {}
            }
        }
    }
    for (stack, resource) in handles.into_iter().filter(|_| are_waited_for) {
        match resource.type_name.as_str() {
            "OS::Heat::SwiftSignalHandle" => {
                let (who, wanted) = (world.requester(), ["endpoint".to_owned()]);
                let seen = world.engine.inspect_resource(&who, stack, &resource.name, &wanted);
                let Ok(seen) = seen.await else { continue };
                let Some(url) = seen["endpoint"].as_str() else { continue };
                let put = reqwest::Client::new().put(url).body(r#"{ "status": "SUCCESS" }"#);
                put.send().await.unwrap();
            }
            "OS::Heat::WaitConditionHandle" => {
                signal(world, stack, &resource.name, &json!({})).await
            }
            _ => {
                let id = SystemClock.fresh_id().to_string();
                let details =
                    json!({ "Status": "SUCCESS", "Reason": "", "Data": "", "UniqueId": id });
                signal(world, stack, &resource.name, &details).await;
            }
        }
    }
}

/// One that comes too late is refused.
async fn signal(world: &World, stack: StackId, name: &ResourceName, details: &Value) {
    let who: RequestContext = world.requester();
    let _ = world.engine.signal_resource(&who, stack, name, details).await;
}
