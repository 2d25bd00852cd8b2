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
}
