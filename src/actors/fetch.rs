//! Templates that stand elsewhere: what the reading of a source misses is fetched, and the source
//! is read again with it. It is then one of the revision's files, so that it is on record before
//! anything is made of it, and is never fetched again for that revision.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream;
use tracing::info;

use super::asks::RequestContext;
use super::engine::Engine;
use crate::model::Refusal;
use crate::openstack::not_fetched;
use crate::template::{StackSource, is_template_text};

/// How many are fetched at a time.
const FETCHES_AT_A_TIME: usize = 8;

impl Engine {
    /// The template that stands at a URL, or why there is none. Another text is as good as none,
    /// so that no error quotes what was not meant to be read by the one who gave the URL.
    pub async fn fetch(&self, who: &RequestContext, url: &str) -> Result<String, String> {
        let text = self.services.fetcher.get(&who.fetches, url).await?;
        let project = &who.caller.project_id;
        let read = self.work(project, move || is_template_text(&text).then_some(text));
        read.await.ok().flatten().ok_or_else(|| {
            info!("what was fetched is no template");
            not_fetched(url)
        })
    }

    /// Reads a source until it misses nothing more. `read` also says which URLs it misses; it runs
    /// where templates are worked on.
    pub async fn with_templates<T: Send + 'static>(
        &self,
        who: &RequestContext,
        source: &mut StackSource,
        read: impl Fn(&StackSource) -> (Result<T, Refusal>, BTreeSet<String>) + Send + Sync + 'static,
    ) -> Result<T, Refusal> {
        let read = Arc::new(read);
        loop {
            let (read, taken) = (Arc::clone(&read), std::mem::take(source));
            let job = move || (read(&taken), taken);
            let ((outcome, missed), given_back) = self.work(&who.caller.project_id, job).await?;
            *source = given_back;
            if missed.is_empty() {
                return outcome;
            }
            let left = who.fetches.left();
            if left == 0 {
                let text = "Request limit exceeded: Maximum resources per stack exceeded.";
                return Err(Refusal::new("RequestLimitExceeded", text));
            }
            let fetch = |url: String| async move {
                let text = self.fetch(who, &url).await;
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
