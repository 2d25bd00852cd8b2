//! Types of the shared file systems.

pub(super) mod share_network;
