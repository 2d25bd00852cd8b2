//! Every resource type of the cloud, there and back: created, looked at, updated in place,
//! checked, deleted; with answers that arrive and with answers that are lost. Nothing may be left.

mod compute;
mod network;
mod storage;
