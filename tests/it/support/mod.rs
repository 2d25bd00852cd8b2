//! What tests share: the whole engine over a sandbox, the language as a process, and a log that breaks off where it is told.

pub(crate) mod batch;
pub(crate) mod bell;
pub(crate) mod broker;
pub(crate) mod case;
pub(crate) mod chance;
pub(crate) mod cut_log;
pub(crate) mod eventstore;
pub(crate) mod far;
pub(crate) mod guest;
pub(crate) mod heard;
pub(crate) mod kept;
pub(crate) mod keystone;
pub(crate) mod planned;
pub(crate) mod plans;
pub(crate) mod printed;
pub(crate) mod queue;
pub(crate) mod shelf;
pub(crate) mod tls;
pub(crate) mod wait;
pub(crate) mod world;
