//! What an operator can set of the message bus that notifications go to.

use std::path::PathBuf;
use std::time::Duration;

use super::Secret;

/// A broker of AMQP 0-9-1, and how it is told of something, as oslo.messaging's driver for RabbitMQ
/// does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusSettings {
    /// Tried in turn.
    pub nodes: Vec<BusNode>,
    pub virtual_host: String,
    /// A topic exchange, `control_exchange`.
    pub exchange: String,
    /// Each has a queue for each priority, `TOPIC.PRIORITY`.
    pub topics: Vec<String>,
    pub format: MessageFormat,
    pub queues: QueueKind,
    /// Without it, passwords and messages go over the network in clear.
    pub tls: Option<BusTls>,
    /// After how long without a sign of life a connection counts as lost; zero is never.
    pub heartbeat: Duration,
}

/// A node of the broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusNode {
    /// An IPv6 address stands in brackets.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Secret<String>,
}

/// How a message is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFormat {
    /// The message alone, the driver `messaging`.
    Plain,
    /// As text within an envelope of version 2.0, the driver `messagingv2`.
    Envelope,
}

/// What queues and their exchange are declared as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueKind {
    /// They outlive the broker's restart.
    pub is_durable: bool,
    /// They go with their last consumer.
    pub is_auto_deleted: bool,
    /// They are kept by several nodes, and are durable for that.
    pub is_quorum: bool,
}

/// The authorities whose certificates a broker may show, and the certificate shown to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusTls {
    pub authorities: PathBuf,
    /// A certificate and its key.
    pub own: Option<(PathBuf, PathBuf)>,
}
