//! A stack by its name or id, as the API has it.

use serde_json::Value;

use super::client::{Client, ClientError};

/// The newest stack of some name in a project, whether it is there or gone.
const DELETED: &str =
    "show_deleted=True&show_nested=True&sort_keys=created_at&sort_dir=desc&limit=1";

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

    /// Looks it up; of those that are gone the newest, where none of that name is there.
    pub(super) async fn find_even_deleted(
        client: &Client,
        name_or_id: &str,
    ) -> Result<StackPath, ClientError> {
        let missing = match Self::find(client, name_or_id).await {
            Err(error @ ClientError::Refused { status: 404, .. }) => error,
            found => return found,
        };
        let mut query = url::form_urlencoded::Serializer::new(String::from(DELETED));
        query.append_pair("name", name_or_id).append_pair("tenant", &client.project());
        let mut listed = client.get(&format!("/stacks?{}", query.finish())).await?;
        match listed["stacks"].as_array_mut().and_then(|stacks| stacks.first_mut()) {
            Some(stack) => Self::find(client, stack["id"].as_str().unwrap_or_default()).await,
            None => Err(missing),
        }
    }

    /// `/stacks/{name}/{id}`.
    pub(super) fn path(&self) -> String {
        format!("/stacks/{}/{}", self.name, self.id)
    }
}
