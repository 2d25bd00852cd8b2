//! The agent of a server as far as it answers: by the transport that its configuration names.

use std::collections::BTreeMap;

use hearth::model::{ResourceName, StackId};
use hearth::projections::DeploymentRow;
use serde_json::Value;

use super::queue::Queue;
use super::world::World;

/// What a server is told by a deployment that waits for its answer.
pub(crate) struct Told {
    pub(crate) script: Value,
    inputs: BTreeMap<String, Value>,
}

impl Told {
    /// What the only deployment on a server tells it, while that waits.
    pub(crate) async fn on(world: &World, server: &str) -> Option<Self> {
        let waits = |row: &DeploymentRow| {
            row.server_id == server && row.state.status.as_deref() == Some("IN_PROGRESS")
        };
        let rows = world.views.deployments(None, None).await.unwrap();
        let config = rows.into_iter().find(waits)?.state.config_id?.to_string();
        let project = world.requester().caller.project_id.clone();
        let content = world.engine.software().config(&project, &config).await.ok()?.content;
        let input = |input: &serde_json::Map<String, Value>| {
            (input["name"].as_str().unwrap().to_owned(), input["value"].clone())
        };
        Some(Self { inputs: content.inputs.iter().map(input).collect(), script: content.config })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.inputs.get(&format!("deploy_{name}"))?.as_str()
    }

    /// Answers for a deployment; whether that was taken, wherever it has to wait now.
    pub(crate) async fn answer(&self, world: &World, (stack, name): (StackId, &str)) -> bool {
        let word = serde_json::json!({ "deploy_status_code": 0 });
        match self.text("signal_transport").unwrap() {
            "TEMP_URL_SIGNAL" => {
                // By Swift's own name, which no fault befalls that is made for Hearth's calls.
                let address = self.text("signal_id").unwrap().replace("/object-store/", "/");
                let put = reqwest::Client::new().put(address).body(word.to_string()).send();
                put.await.unwrap().status().is_success()
            }
            "ZAQAR_SIGNAL" => {
                let parts = ["auth_url", "user_id", "password", "project_id", "queue_id"];
                let part = |name: &str| (name.to_owned(), Value::from(self.text(name).unwrap()));
                let queue = Queue::open(&parts.into_iter().map(part).collect()).await;
                match queue {
                    Some(queue) => queue.takes(&word).await,
                    None => false,
                }
            }
            // Who has the signed address, and who has a token, comes to the same end.
            _ => {
                let (who, name) = (world.requester(), ResourceName::from(name));
                world.engine.signal_resource(&who, stack, &name, &word).await.is_ok()
            }
        }
    }
}
