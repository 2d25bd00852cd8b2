//! Types of the reservation service.

pub(super) mod lease;
