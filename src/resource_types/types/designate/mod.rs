//! Types of the DNS service.

pub(super) mod record_set;
pub(super) mod zone;
