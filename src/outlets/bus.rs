//! Notifications on a message bus: a broker of AMQP 0-9-1, told of them as oslo.messaging's driver
//! for RabbitMQ does it.
//!
//! A message counts as sent once the broker has confirmed it. Until then it is sent again, to one
//! node after the other, however long that takes; oslo.messaging's consumers tell a repetition by
//! its `_unique_id`.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use amqprs::callbacks::ChannelCallback;
use amqprs::channel::{
    BasicPublishArguments, Channel, ConfirmSelectArguments, ExchangeDeclareArguments,
    QueueBindArguments, QueueDeclareArguments,
};
use amqprs::connection::{Connection, OpenConnectionArguments};
use amqprs::error::Error as AmqpError;
use amqprs::tls::TlsAdaptor;
use amqprs::{
    Ack, BasicProperties, Cancel, CloseChannel, DELIVERY_MODE_PERSISTENT, FieldTable, FieldValue,
    Nack, Return,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use uuid::Uuid;

use super::notification::Notification;
use crate::model::bus::{BusNode, BusSettings, BusTls, MessageFormat};

/// How long a node may take to be connected to, and to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// The pause after all nodes have failed, which doubles up to the other.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// A bus, with the connection that is open.
pub(super) struct Bus {
    settings: Arc<BusSettings>,
    open: Option<Open>,
    /// The node that is connected to, or tried next.
    node: usize,
}

/// A channel to a node, on which the broker confirms.
struct Open {
    channel: Channel,
    connection: Connection,
    verdicts: mpsc::UnboundedReceiver<Verdict>,
    /// The queues that are there, so that nothing is lost before somebody listens.
    declared: Vec<String>,
}

/// What the broker says of a message, or of the channel.
#[derive(Debug)]
enum Verdict {
    Taken,
    Refused,
    Closed(String),
}

/// Why a message was not taken.
#[derive(Debug)]
enum Failure {
    Amqp(AmqpError),
    Tls(io::Error),
    Refused,
    Closed(String),
    Silent,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Amqp(error) => write!(f, "{error}"),
            Self::Tls(error) => write!(f, "TLS cannot be used: {error}"),
            Self::Refused => f.write_str("it does not take the message"),
            Self::Closed(reason) => write!(f, "it closed the channel: {reason}"),
            Self::Silent => f.write_str("it does not answer"),
        }
    }
}

impl From<AmqpError> for Failure {
    fn from(error: AmqpError) -> Self {
        Self::Amqp(error)
    }
}

impl Bus {
    pub(super) fn new(settings: Arc<BusSettings>) -> Self {
        Self { settings, open: None, node: 0 }
    }

    /// Comes back once every topic's queue has it.
    pub(super) async fn send(&mut self, notification: &Notification) {
        let body = body(notification, self.settings.format);
        let priority = notification.priority.to_lowercase();
        let nodes = self.settings.nodes.len();
        for topic in self.settings.topics.clone() {
            let queue = format!("{topic}.{priority}");
            let mut failures = 0;
            while let Err(failure) = self.try_send(queue.clone(), body.clone()).await {
                let BusNode { host, port, .. } = &self.settings.nodes[self.node];
                tracing::warn!("notifications wait for the message bus {host}:{port}: {failure}");
                self.node = (self.node + 1) % nodes;
                failures += 1;
                if let Some(pause) = pause_after(failures, nodes) {
                    sleep(pause).await;
                }
            }
            if failures > 0 {
                tracing::info!("notifications go to the message bus again");
            }
        }
    }

    /// Tries once. In a task of its own, because the library's do not stand a request that is
    /// given up before it is sent, as one is that Hearth's stop meets.
    async fn try_send(&mut self, queue: String, body: Vec<u8>) -> Result<(), Failure> {
        let (settings, node, open) = (Arc::clone(&self.settings), self.node, self.open.take());
        let sent = tokio::spawn(async move {
            let mut open = match open {
                Some(open) => open,
                None => within(Open::open(&settings, &settings.nodes[node])).await?,
            };
            within(open.declare(&settings, &queue)).await?;
            open.publish(&settings.exchange, &queue, body).await?;
            Ok::<Open, Failure>(open)
        });
        let ended = sent.await.map_err(|error| Failure::Closed(error.to_string()))?;
        self.open = Some(ended?);
        Ok(())
    }
}

/// How long is waited after so many failures in a row, before the next of so many nodes is tried:
/// only once all have failed, and longer each time.
fn pause_after(failures: usize, nodes: usize) -> Option<Duration> {
    if !failures.is_multiple_of(nodes) {
        return None;
    }
    let doublings = u32::try_from(failures / nodes - 1).unwrap_or(u32::MAX);
    Some(PAUSE_MIN.saturating_mul(2u32.saturating_pow(doublings)).min(PAUSE_MAX))
}

async fn within<T>(answer: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    timeout(ANSWER_WITHIN, answer).await.unwrap_or(Err(Failure::Silent))
}

impl Open {
    async fn open(settings: &BusSettings, node: &BusNode) -> Result<Self, Failure> {
        let password = node.password.reveal();
        let mut arguments =
            OpenConnectionArguments::new(&node.host, node.port, &node.user, password);
        let seconds = u16::try_from(settings.heartbeat.as_secs()).unwrap_or(u16::MAX);
        arguments.virtual_host(&settings.virtual_host).heartbeat(seconds);
        if let Some(tls) = &settings.tls {
            arguments.tls_adaptor(adaptor(tls, &node.host).map_err(Failure::Tls)?);
        }
        let connection = Connection::open(&arguments).await?;
        let (channel, verdicts) = Self::channel(&connection).await?;
        Ok(Self { channel, connection, verdicts, declared: Vec::new() })
    }

    async fn channel(
        connection: &Connection,
    ) -> Result<(Channel, mpsc::UnboundedReceiver<Verdict>), Failure> {
        let channel = connection.open_channel(None).await?;
        let (told, verdicts) = mpsc::unbounded_channel();
        channel.register_callback(Listener(told)).await?;
        channel.confirm_select(ConfirmSelectArguments::default()).await?;
        Ok((channel, verdicts))
    }

    /// The exchange and a queue at it are there. One that somebody has made otherwise is taken as
    /// it is: the broker closes the channel over it.
    async fn declare(&mut self, settings: &BusSettings, queue: &str) -> Result<(), Failure> {
        if self.declared.iter().any(|declared| declared == queue) {
            return Ok(());
        }
        if self.make(settings, queue, false).await.is_err() {
            (self.channel, self.verdicts) = Self::channel(&self.connection).await?;
            self.make(settings, queue, true).await?;
        }
        self.declared.push(queue.to_owned());
        Ok(())
    }

    async fn make(
        &mut self,
        settings: &BusSettings,
        queue: &str,
        is_passive: bool,
    ) -> Result<(), Failure> {
        let kind = settings.queues;
        let exchange = ExchangeDeclareArguments::new(&settings.exchange, "topic")
            .passive(is_passive)
            .durable(kind.is_durable)
            .auto_delete(kind.is_auto_deleted)
            .finish();
        let mut arguments = FieldTable::new();
        if kind.is_quorum {
            let name = "x-queue-type".try_into().map_err(|_| Failure::Refused)?;
            let quorum = "quorum".try_into().map_err(|_| Failure::Refused)?;
            arguments.insert(name, FieldValue::S(quorum));
        }
        let declared = QueueDeclareArguments::new(queue)
            .passive(is_passive)
            .durable(kind.is_durable)
            .auto_delete(kind.is_auto_deleted)
            .arguments(arguments)
            .finish();
        let bound = QueueBindArguments::new(queue, &settings.exchange, queue);
        let Self { channel, verdicts, .. } = self;
        let made = async {
            channel.exchange_declare(exchange).await?;
            channel.queue_declare(declared).await?;
            channel.queue_bind(bound).await?;
            Ok(())
        };
        tokio::select! {
            made = made => made,
            told = verdicts.recv() => Err(closed(told)),
        }
    }

    /// Comes back once the broker has it.
    async fn publish(&mut self, exchange: &str, queue: &str, body: Vec<u8>) -> Result<(), Failure> {
        let mut properties = BasicProperties::default();
        properties
            .with_content_type("application/json")
            .with_content_encoding("utf-8")
            .with_priority(0)
            .with_delivery_mode(DELIVERY_MODE_PERSISTENT);
        let arguments = BasicPublishArguments::new(exchange, queue);
        self.channel.basic_publish(properties, body, arguments).await?;
        within(self.confirmed()).await
    }

    /// The broker has what was published last.
    async fn confirmed(&mut self) -> Result<(), Failure> {
        tokio::select! {
            told = self.verdicts.recv() => match told {
                Some(Verdict::Taken) => Ok(()),
                Some(Verdict::Refused) => Err(Failure::Refused),
                other => Err(closed(other)),
            },
            _ = self.connection.listen_network_io_failure() => {
                Err(Failure::Closed("the connection is lost".to_owned()))
            }
        }
    }
}

fn closed(told: Option<Verdict>) -> Failure {
    match told {
        Some(Verdict::Closed(reason)) => Failure::Closed(reason),
        other => Failure::Closed(format!("{other:?}")),
    }
}

/// Hears what the broker says of a channel.
struct Listener(mpsc::UnboundedSender<Verdict>);

impl Listener {
    fn tell(&self, verdict: Verdict) {
        // Whoever does not listen any more has given the channel up.
        let _ = self.0.send(verdict);
    }
}

#[async_trait]
impl ChannelCallback for Listener {
    async fn close(&mut self, _: &Channel, close: CloseChannel) -> Result<(), AmqpError> {
        self.tell(Verdict::Closed(close.to_string()));
        Ok(())
    }

    async fn cancel(&mut self, _: &Channel, _: Cancel) -> Result<(), AmqpError> {
        Ok(())
    }

    async fn flow(&mut self, _: &Channel, active: bool) -> Result<bool, AmqpError> {
        Ok(active)
    }

    async fn publish_ack(&mut self, _: &Channel, _: Ack) {
        self.tell(Verdict::Taken);
    }

    async fn publish_nack(&mut self, _: &Channel, _: Nack) {
        self.tell(Verdict::Refused);
    }

    async fn publish_return(&mut self, _: &Channel, _: Return, _: BasicProperties, _: Vec<u8>) {}
}

/// The message as it goes over the wire, with the context of the request that led to it.
fn body(notification: &Notification, format: MessageFormat) -> Vec<u8> {
    let mut message = notification.to_json();
    if let Some(fields) = message.as_object_mut() {
        fields.insert("_unique_id".to_owned(), unique_id(notification.id, format).into());
        let context = notification.context.iter();
        fields.extend(context.map(|(key, value)| (format!("_context_{key}"), value.clone())));
    }
    match format {
        MessageFormat::Plain => message.to_string().into_bytes(),
        MessageFormat::Envelope => {
            let message: Value = message.to_string().into();
            json!({ "oslo.version": "2.0", "oslo.message": message }).to_string().into_bytes()
        }
    }
}

/// By what a repetition is told. Each form has its own: consumers would take the second of the two
/// for a repetition of the first.
fn unique_id(id: Uuid, format: MessageFormat) -> String {
    let id = match format {
        MessageFormat::Envelope => id,
        MessageFormat::Plain => Uuid::from_u128(!id.as_u128()),
    };
    id.simple().to_string()
}

fn adaptor(tls: &BusTls, host: &str) -> io::Result<TlsAdaptor> {
    let unusable = |error: &dyn fmt::Display| io::Error::other(error.to_string());
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_file_iter(&tls.authorities).map_err(|e| unusable(&e))? {
        let authority = authority.map_err(|error| unusable(&error))?;
        roots.add(authority).map_err(|error| unusable(&error))?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .with_root_certificates(roots);
    let config = match &tls.own {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = CertificateDer::pem_file_iter(certificate)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| unusable(&error))?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(&error))?;
            config.with_client_auth_cert(chain, key).map_err(|error| unusable(&error))?
        }
    };
    let name = host.trim_matches(['[', ']']).to_owned();
    Ok(TlsAdaptor::new(TlsConnector::from(Arc::new(config)), name))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn notification() -> Notification {
        Notification {
            id: Uuid::from_u128(7),
            publisher_id: "hearth".to_owned(),
            event_type: "orchestration.stack.create.end".to_owned(),
            priority: "INFO".to_owned(),
            payload: json!({ "stack_name": "web" }),
            at: DateTime::from_timestamp(0, 0).unwrap(),
            context: [("user".to_owned(), "alice".into())].into_iter().collect(),
        }
    }

    fn read(body: &[u8]) -> Value {
        serde_json::from_slice(body).unwrap()
    }

    #[test]
    fn nodes_are_tried_one_after_the_other_with_a_longer_pause_once_all_have_failed() {
        let pauses = |nodes| (1..=4).map(move |failures| pause_after(failures, nodes));
        let [short, longer] = [100, 200].map(|millis| Some(Duration::from_millis(millis)));
        assert_eq!(pauses(2).collect::<Vec<_>>(), [None, short, None, longer]);
        assert_eq!(pauses(1).take(2).collect::<Vec<_>>(), [short, longer]);
        assert_eq!(pause_after(9, 1), Some(PAUSE_MIN * 256));
        for failures in [10, 1_000, usize::MAX] {
            assert_eq!(pause_after(failures, 1), Some(PAUSE_MAX));
        }
    }

    #[test]
    fn a_message_carries_the_context_of_its_request_beside_what_it_says() {
        let message = read(&body(&notification(), MessageFormat::Plain));
        assert_eq!(message["_context_user"], "alice");
        assert_eq!(message["payload"]["stack_name"], "web");
        assert_eq!(message["message_id"], notification().id.to_string());
    }

    #[test]
    fn an_envelope_holds_the_message_as_text_under_an_id_of_its_own() {
        let plain = read(&body(&notification(), MessageFormat::Plain));
        let envelope = read(&body(&notification(), MessageFormat::Envelope));
        assert_eq!(envelope["oslo.version"], "2.0");
        let mut message = read(envelope["oslo.message"].as_str().unwrap().as_bytes());
        let id = message["_unique_id"].take();
        assert_eq!(id, notification().id.simple().to_string());
        assert_ne!(plain["_unique_id"], id);
        message["_unique_id"] = plain["_unique_id"].clone();
        assert_eq!(message, plain);
    }

    #[test]
    fn what_is_sent_again_is_the_same_to_the_byte() {
        for format in [MessageFormat::Plain, MessageFormat::Envelope] {
            assert_eq!(body(&notification(), format), body(&notification(), format));
        }
    }

    #[test]
    fn a_channel_that_ends_says_why() {
        let why = |told| closed(told).to_string();
        let said = Verdict::Closed("404: no queue".to_owned());
        assert_eq!(why(Some(said)), "it closed the channel: 404: no queue");
        assert_eq!(why(None), "it closed the channel: None");
    }
}
