//! For whom calls are made.

use crate::model::RequestId;
use crate::traces::SpanId;

/// The request of ours that calls are made for, and the span that they are part of.
#[derive(Clone, Debug)]
pub struct Behalf {
    pub request_id: RequestId,
    pub span: SpanId,
}

impl Behalf {
    /// Of the request itself.
    pub fn of(request_id: RequestId) -> Self {
        Self { span: SpanId::of_request(&request_id), request_id }
    }

    /// Has the calls of some work made for somebody that do not say themselves for whom they are:
    /// those to Keystone, which sessions, tokens and trusts need.
    pub async fn cover<T>(behalf: Option<Self>, work: impl Future<Output = T>) -> T {
        match behalf {
            Some(behalf) => COVERING.scope(behalf, work).await,
            None => work.await,
        }
    }

    /// What covers the work that is under way.
    pub(crate) fn covering() -> Option<Self> {
        COVERING.try_with(Clone::clone).ok()
    }
}

tokio::task_local! {
    static COVERING: Behalf;
}
