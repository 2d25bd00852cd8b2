//! Templates that stand elsewhere: what the reading of a source misses is fetched, and the source
//! is read again with it. It is then one of the revision's files, so that it is on record before
//! anything is made of it, and is never fetched again for that revision.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream;

use super::engine::Engine;
use crate::model::{ProjectId, Refusal};
use crate::template::StackSource;

/// How many templates are fetched for one request.
const FETCHED_MAX: usize = 200;

/// How many are fetched at a time.
const FETCHES_AT_A_TIME: usize = 8;

impl Engine {
    /// The text that stands at a URL, or why there is none.
    pub async fn fetch(&self, url: &str) -> Result<String, String> {
        self.services.fetcher.get(url).await
    }

    /// Reads a source until it misses nothing more. `read` also says which URLs it misses; it runs
    /// where templates are worked on.
    pub async fn with_templates<T: Send + 'static>(
        &self,
        project: &ProjectId,
        source: &mut StackSource,
        read: impl Fn(&StackSource) -> (Result<T, Refusal>, BTreeSet<String>) + Send + Sync + 'static,
    ) -> Result<T, Refusal> {
        let read = Arc::new(read);
        loop {
            let (read, taken) = (Arc::clone(&read), std::mem::take(source));
            let job = move || (read(&taken), taken);
            let ((outcome, missed), given_back) = self.work(project, job).await?;
            *source = given_back;
            if missed.is_empty() {
                return outcome;
            }
            let left = FETCHED_MAX.saturating_sub(source.fetched.len());
            if left == 0 {
                let text = "Request limit exceeded: Maximum resources per stack exceeded.";
                return Err(Refusal::new("RequestLimitExceeded", text));
            }
            let fetch = |url: String| async move {
                let text = self.fetch(&url).await;
                (url, text)
            };
            let fetching = stream::iter(missed.into_iter().take(left)).map(fetch);
            let fetched: Vec<_> = fetching.buffer_unordered(FETCHES_AT_A_TIME).collect().await;
            for (url, text) in fetched {
                let outcome = text.map(|text| {
                    source.files.insert(url.clone(), text);
                });
                source.fetched.insert(url, outcome);
            }
        }
    }
}
