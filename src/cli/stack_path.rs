//! A stack by its name or id, as the API has it.

use serde_json::Value;

use super::client::{Client, ClientError};

/// A stack that was found.
pub(super) struct StackPath {
    pub(super) name: String,
    pub(super) id: String,
    /// As the API shows it.
    pub(super) shown: Value,
}

impl StackPath {
    /// Looks it up.
    pub(super) async fn find(client: &Client, name_or_id: &str) -> Result<StackPath, ClientError> {
        let shown = client.get(&format!("/stacks/{name_or_id}")).await?["stack"].take();
        let text = |key: &str| shown[key].as_str().unwrap_or_default().to_owned();
        Ok(StackPath { name: text("stack_name"), id: text("id"), shown })
    }

    /// `/stacks/{name}/{id}`.
    pub(super) fn path(&self) -> String {
        format!("/stacks/{}/{}", self.name, self.id)
    }
}
