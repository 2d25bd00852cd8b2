//! The deletion of what a snapshot made in the cloud.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tracing::warn;

use super::executor;
use super::services::Services;
use crate::events::stack::ResourceKept;
use crate::model::{JsonMap, ProjectId, StackId, Trustor, taint};

/// The pause before something that is not gone yet is asked for again; it doubles up to the longest.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How often a deletion that fails transiently is made.
const DROP_ATTEMPTS_MAX: u32 = 10;

/// A resource's data without marks.
pub(super) fn opened(data: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    data.iter().map(|(key, value)| (key.clone(), taint::plain(value.clone()))).collect()
}

/// Deletes what a snapshot made, each thing until it is gone; safe to repeat.
pub(super) async fn drop_snapshot(
    services: &Arc<Services>,
    stack: StackId,
    project: &ProjectId,
    trustor: &Trustor,
    resources: Vec<ResourceKept>,
) -> Result<(), String> {
    for kept in resources {
        let Some(driver) = services.registry.driver(&kept.driver_type) else { continue };
        let data = opened(&kept.data);
        if driver.program().restored(&JsonMap::new(), &data).is_empty() {
            continue;
        }
        let (mut attempts, mut pause) = (0, PAUSE_MIN);
        loop {
            let dropped = async {
                let session = services.credentials.session(services, project, trustor).await?;
                executor::run(services, &session, |it| driver.program().delete_snapshot(it, &data))
                    .await
            };
            match dropped.await {
                Ok(true) => break,
                Ok(false) => tokio::time::sleep(pause).await,
                Err(error) if error.is_transient() && attempts + 1 < DROP_ATTEMPTS_MAX => {
                    attempts += 1;
                    warn!(stack.id = %stack, %error, "a snapshot is not deleted yet");
                    tokio::time::sleep(error.retry_after().unwrap_or(pause)).await;
                }
                Err(error) => {
                    let (class, name) = (error.class(), &kept.name);
                    return Err(format!(
                        "Resource snapshot DELETE failed: {class}: resources.{name}: {error}"
                    ));
                }
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
    Ok(())
}
