//! Notifications: whether there are any, where they go, and what they say of themselves, under the
//! names of Heat and of the library that sends them there.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::transport_url::{self, TransportUrl};
use super::{ConfigError, Layers};
use crate::model::bus::{BusSettings, BusTls, MessageFormat, QueueKind};

const GROUP: &str = "oslo_messaging_notifications";
const RABBIT: &str = "oslo_messaging_rabbit";

/// How notifications are sent; `None` where they are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notifications {
    /// `default_notification_level`, in capitals.
    pub level: String,
    /// `default_publisher_id`.
    pub publisher_id: String,
    pub driver: NotificationDriver,
}

/// Where notifications go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotificationDriver {
    /// Lines of the log.
    Log,
    Bus(Arc<BusSettings>),
}

/// `driver` of `[oslo_messaging_notifications]`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Log,
    Noop,
    Bus(MessageFormat),
    /// Rules of a file say which of the others; there is none of this.
    Routing,
}

impl FromStr for Named {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "log" => Self::Log,
            "" | "noop" | "test" => Self::Noop,
            "messaging" => Self::Bus(MessageFormat::Plain),
            "messagingv2" => Self::Bus(MessageFormat::Envelope),
            "routing" => Self::Routing,
            _ => return Err(()),
        })
    }
}

/// A level that the library knows.
struct Level(String);

impl FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        const KNOWN: [&str; 7] = ["AUDIT", "DEBUG", "INFO", "WARN", "ERROR", "CRITICAL", "SAMPLE"];
        let level = text.to_uppercase();
        if KNOWN.contains(&level.as_str()) { Ok(Self(level)) } else { Err(()) }
    }
}

/// A name on the bus, with room for a priority after it.
struct BusName(String);

impl BusName {
    const WANTED: &'static str = "a name of 1 to 200 bytes";
}

impl FromStr for BusName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if (1..=200).contains(&text.len()) { Ok(Self(text.to_owned())) } else { Err(()) }
    }
}

impl Notifications {
    /// The settings, and the driver that was asked for and has no effect.
    pub(super) fn from_layers(
        layers: &Layers,
        host: &str,
    ) -> Result<(Option<Self>, Option<String>), ConfigError> {
        let named = layers.parsed::<Named>(GROUP, "driver", "a driver of oslo.messaging")?;
        let level = layers.parsed::<Level>(
            "DEFAULT",
            "default_notification_level",
            "a level of notifications",
        )?;
        let publisher_id = layers.text("DEFAULT", "default_publisher_id");
        let driver = match named {
            Some(Named::Log) => NotificationDriver::Log,
            Some(Named::Bus(format)) => NotificationDriver::Bus(Arc::new(bus(layers, format)?)),
            Some(Named::Routing) => return Ok((None, Some(format!("[{GROUP}] driver = routing")))),
            Some(Named::Noop) | None => return Ok((None, None)),
        };
        let settings = Self {
            level: level.map_or_else(|| "INFO".to_owned(), |level| level.0),
            publisher_id: publisher_id.unwrap_or_else(|| format!("orchestration.{host}")),
            driver,
        };
        Ok((Some(settings), None))
    }
}

/// The bus, by the options of oslo.messaging.
fn bus(layers: &Layers, format: MessageFormat) -> Result<BusSettings, ConfigError> {
    let own = layers.secret_parsed(GROUP, "transport_url", transport_url::WANTED)?;
    let common = layers.secret_parsed("DEFAULT", "transport_url", transport_url::WANTED)?;
    let url: Option<TransportUrl> = own.or(common);
    let TransportUrl { nodes, virtual_host } = url.ok_or_else(|| ConfigError::Missing {
        name: format!("[{GROUP}] transport_url, or that of [DEFAULT],"),
        why: "notifications are to go to a message bus",
    })?;
    let is = |name: &str| layers.flag(RABBIT, name).map(Option::unwrap_or_default);
    let is_quorum = is("rabbit_quorum_queue")?;
    let is_durable = is("amqp_durable_queues")? || is_quorum;
    let queues = QueueKind { is_durable, is_auto_deleted: is("amqp_auto_delete")?, is_quorum };
    let heartbeat: Option<u16> =
        layers.parsed(RABBIT, "heartbeat_timeout_threshold", "seconds, at most 65535")?;
    let topics: Vec<BusName> = layers.parsed_list(GROUP, "topics", BusName::WANTED)?;
    let topics = match topics.is_empty() {
        true => vec!["notifications".to_owned()],
        false => topics.into_iter().map(|BusName(name)| name).collect(),
    };
    let exchange: Option<BusName> =
        layers.parsed("DEFAULT", "control_exchange", BusName::WANTED)?;
    Ok(BusSettings {
        nodes,
        virtual_host,
        exchange: exchange.map_or_else(|| "heat".to_owned(), |BusName(name)| name),
        topics,
        format,
        queues,
        tls: tls(layers)?,
        heartbeat: Duration::from_secs(heartbeat.unwrap_or(60).into()),
    })
}

/// Unlike oslo.messaging, which with `ssl` alone believes every broker, Hearth checks who it is.
fn tls(layers: &Layers) -> Result<Option<BusTls>, ConfigError> {
    let is_wanted = layers.flag(RABBIT, "ssl")?.unwrap_or_default();
    let file = |name: &str| layers.text(RABBIT, name).filter(|path| !path.is_empty());
    let (authorities, certificate, key) =
        (file("ssl_ca_file"), file("ssl_cert_file"), file("ssl_key_file"));
    if !is_wanted {
        return Ok(None);
    }
    let missing =
        |name: &str, why| ConfigError::Missing { name: format!("[{RABBIT}] {name}"), why };
    let authorities = authorities.ok_or_else(|| {
        missing("ssl_ca_file", "with ssl, the broker's certificate is checked by it")
    })?;
    let own = match (certificate, key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((PathBuf::from(certificate), PathBuf::from(key))),
        (None, Some(_)) => return Err(missing("ssl_cert_file", "there is an ssl_key_file")),
        (Some(_), None) => return Err(missing("ssl_key_file", "there is an ssl_cert_file")),
    };
    Ok(Some(BusTls { authorities: authorities.into(), own }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUS: &str = "[oslo_messaging_notifications]\ndriver = messagingv2\n";

    fn of(file: &str) -> Result<(Option<Notifications>, Option<String>), ConfigError> {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), file).unwrap();
        let mut layers = Layers::default();
        layers.add_file(path.path().into()).unwrap();
        Notifications::from_layers(&layers, "node-1")
    }

    fn bus_of(file: &str) -> Result<BusSettings, String> {
        let (told, unused) = of(file).map_err(|error| error.to_string())?;
        assert_eq!(unused, None);
        match told.unwrap().driver {
            NotificationDriver::Bus(bus) => Ok(BusSettings::clone(&bus)),
            NotificationDriver::Log => panic!("{file} is of the log"),
        }
    }

    #[test]
    fn there_are_notifications_where_a_driver_sends_them() {
        assert_eq!(of("").unwrap(), (None, None));
        assert_eq!(of("[oslo_messaging_notifications]\ndriver = noop\n").unwrap(), (None, None));
        let (told, unused) = of("[oslo_messaging_notifications]\ndriver = log\n").unwrap();
        let told = told.unwrap();
        assert_eq!(
            (told.level.as_str(), told.publisher_id.as_str(), &told.driver),
            ("INFO", "orchestration.node-1", &NotificationDriver::Log)
        );
        assert_eq!(unused, None);
    }

    #[test]
    fn a_bus_is_what_oslo_messaging_would_take_it_for() {
        let url = "[DEFAULT]\ntransport_url = rabbit://u:p@a:5673/v\n";
        let bus = bus_of(&format!("{BUS}{url}")).unwrap();
        assert_eq!((bus.nodes.len(), bus.nodes[0].port), (1, 5673));
        assert_eq!((bus.virtual_host.as_str(), bus.exchange.as_str()), ("v", "heat"));
        assert_eq!(
            (bus.topics, bus.format),
            (vec!["notifications".into()], MessageFormat::Envelope)
        );
        assert_eq!((bus.queues, bus.tls), (QueueKind::default(), None));
        let more = "transport_url = rabbit://other\ntopics = a, b\n[DEFAULT]\ncontrol_exchange = x\n\
                    [oslo_messaging_rabbit]\nrabbit_quorum_queue = true\nssl = true\n\
                    ssl_ca_file = /ca.pem\n";
        let bus = bus_of(&format!("{url}{BUS}{more}")).unwrap();
        assert_eq!(bus.nodes[0].host, "other");
        assert_eq!((bus.exchange.as_str(), bus.topics.len()), ("x", 2));
        let durable = QueueKind { is_durable: true, is_auto_deleted: false, is_quorum: true };
        assert_eq!(bus.queues, durable);
        let authorities = PathBuf::from("/ca.pem");
        assert_eq!(bus.tls, Some(BusTls { authorities, own: None }));
    }

    #[test]
    fn a_bus_that_cannot_be_used_is_refused_and_no_password_is_shown() {
        let refused = |rest: &str| bus_of(&format!("{BUS}{rest}")).unwrap_err();
        assert!(refused("").starts_with("[oslo_messaging_notifications] transport_url"));
        let shown = refused("transport_url = kafka://u:s3cret@a/\n");
        assert!(shown.contains("must be rabbit://") && !shown.contains("s3cret"), "{shown}");
        let url = "transport_url = rabbit://a\n[oslo_messaging_rabbit]\nssl = true\n";
        let long = format!("topics = {}\n{url}", "t".repeat(201));
        assert!(refused(&long).contains("a name of 1 to 200 bytes"));
        assert!(refused(url).starts_with("[oslo_messaging_rabbit] ssl_ca_file must be set"));
        let half = format!("{url}ssl_ca_file = /ca.pem\nssl_cert_file = /c.pem\n");
        assert!(refused(&half).starts_with("[oslo_messaging_rabbit] ssl_key_file must be set"));
    }

    #[test]
    fn a_driver_without_effect_is_named_and_one_that_nobody_knows_is_refused() {
        let (told, unused) = of("[oslo_messaging_notifications]\ndriver = routing\n").unwrap();
        assert_eq!(told, None);
        assert_eq!(unused.unwrap(), "[oslo_messaging_notifications] driver = routing");
        assert!(of("[oslo_messaging_notifications]\ndriver = pigeon\n").is_err());
        assert!(of("[DEFAULT]\ndefault_notification_level = loud\n").is_err());
    }
}
