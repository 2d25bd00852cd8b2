//! Types of the messaging service.

pub(super) mod queue;
pub(super) mod signed_url;
pub(super) mod subscription;
