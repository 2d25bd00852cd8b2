//! What whoever folds the whole log can say of it.

use async_trait::async_trait;

use super::{Holder, StackId};

/// Answers by all that is in the log when they are asked; an error is why nobody can tell.
#[async_trait]
pub trait OnRecord: Send + Sync {
    /// Who has an object of the cloud.
    async fn holders(&self, physical_id: &str) -> Result<Vec<Holder>, String>;

    /// The stacks that have work left.
    async fn unsettled(&self) -> Result<Vec<StackId>, String>;
}
