//! EventStoreDB: the server that stands in for it is held to what a real one answered, and the log
//! on it to what a real one does under load.

mod claims;
mod copies;
mod faults;
mod guarded;
mod lives;
mod measured;
mod recorded;
