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
    /// One driver after the other, each by the bus that it sends to; `None` is lines of the log.
    Bus(Vec<Option<Arc<BusSettings>>>),
}

/// A value of `driver` of `[oslo_messaging_notifications]`, which may have several.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Log,
    Noop,
    Bus(MessageFormat),
}

impl Named {
    /// The driver `routing` would have the rules of a file say which of the others are told.
    const WANTED: &'static str = "log, messaging, messagingv2, noop or test (there is no routing)";
}

impl FromStr for Named {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "log" => Self::Log,
            "noop" | "test" => Self::Noop,
            "messaging" => Self::Bus(MessageFormat::Plain),
            "messagingv2" => Self::Bus(MessageFormat::Envelope),
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
    /// The settings; `None` where no driver sends anything.
    pub(super) fn from_layers(layers: &Layers, host: &str) -> Result<Option<Self>, ConfigError> {
        let named: Vec<Named> = layers.parsed_list(GROUP, "driver", Named::WANTED)?;
        let level = layers.parsed::<Level>(
            "DEFAULT",
            "default_notification_level",
            "a level of notifications",
        )?;
        let publisher_id = layers.text("DEFAULT", "default_publisher_id");
        let Some(driver) = together(layers, &named)? else { return Ok(None) };
        Ok(Some(Self {
            level: level.map_or_else(|| "INFO".to_owned(), |level| level.0),
            publisher_id: publisher_id.unwrap_or_else(|| format!("orchestration.{host}")),
            driver,
        }))
    }
}

/// What the drivers come to, each of which counts once however often it is named. The log is told
/// first, because it takes everything at once, while a bus may be away.
fn together(layers: &Layers, named: &[Named]) -> Result<Option<NotificationDriver>, ConfigError> {
    let is_logged = named.contains(&Named::Log);
    let mut drivers = Vec::new();
    for format in [MessageFormat::Envelope, MessageFormat::Plain] {
        if named.contains(&Named::Bus(format)) {
            drivers.push(Some(Arc::new(bus(layers, format)?)));
        }
    }
    if drivers.is_empty() {
        return Ok(is_logged.then_some(NotificationDriver::Log));
    }
    if is_logged {
        drivers.insert(0, None);
    }
    Ok(Some(NotificationDriver::Bus(drivers)))
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

    fn of_files(files: &[&str]) -> Result<Option<Notifications>, ConfigError> {
        let mut layers = Layers::default();
        for file in files {
            let path = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(path.path(), file).unwrap();
            layers.add_file(path.path().into()).unwrap();
        }
        Notifications::from_layers(&layers, "node-1")
    }

    fn of(file: &str) -> Result<Option<Notifications>, ConfigError> {
        of_files(&[file])
    }

    fn bus_of(file: &str) -> Result<BusSettings, String> {
        let told = of(file).map_err(|error| error.to_string())?.unwrap();
        let NotificationDriver::Bus(drivers) = told.driver else {
            panic!("{file} is of the log");
        };
        assert_eq!(drivers.len(), 1);
        Ok(BusSettings::clone(drivers[0].as_ref().unwrap()))
    }

    /// The form of each driver's messages; `None` is a line of the log.
    fn forms(files: &[&str]) -> Vec<Option<MessageFormat>> {
        let told = of_files(files).unwrap();
        match told.map(|told| told.driver) {
            None => Vec::new(),
            Some(NotificationDriver::Log) => vec![None],
            Some(NotificationDriver::Bus(drivers)) => {
                drivers.iter().map(|bus| bus.as_ref().map(|bus| bus.format)).collect()
            }
        }
    }

    #[test]
    fn there_are_notifications_where_a_driver_sends_them() {
        assert_eq!(of("").unwrap(), None);
        assert_eq!(of("[oslo_messaging_notifications]\ndriver = noop\n").unwrap(), None);
        let told = of("[oslo_messaging_notifications]\ndriver = log\n").unwrap().unwrap();
        assert_eq!(
            (told.level.as_str(), told.publisher_id.as_str(), &told.driver),
            ("INFO", "orchestration.node-1", &NotificationDriver::Log)
        );
    }

    #[test]
    fn every_driver_has_an_effect_that_is_named_once_or_more() {
        let (plain, envelope) = (Some(MessageFormat::Plain), Some(MessageFormat::Envelope));
        for (drivers, expected) in [
            ("driver = messagingv2\ndriver = log\n", vec![None, envelope]),
            ("driver = messaging\ndriver = messagingv2\n", vec![envelope, plain]),
            ("driver = messaging\ndriver = messaging\n", vec![plain]),
            ("driver = messaging\ndriver = noop\ndriver = test\n", vec![plain]),
            ("driver = log, messaging, messagingv2\n", vec![None, envelope, plain]),
            ("driver = log\ndriver = noop\n", vec![None]),
            ("driver = noop\ndriver =\n", Vec::new()),
        ] {
            let file = format!("[{GROUP}]\ntransport_url = rabbit://a\n{drivers}");
            assert_eq!(forms(&[&file]), expected, "{drivers}");
        }
    }

    #[test]
    fn another_file_adds_its_drivers() {
        let first = format!("{BUS}transport_url = rabbit://a\n");
        let second = format!("[{GROUP}]\ndriver = log\n");
        assert_eq!(forms(&[&first, &second]), [None, Some(MessageFormat::Envelope)]);
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
    fn a_driver_that_there_is_not_is_refused_also_beside_others() {
        for drivers in ["driver = routing\n", "driver = log\ndriver = routing\n"] {
            let said = of(&format!("[{GROUP}]\n{drivers}")).unwrap_err().to_string();
            assert!(said.starts_with("[oslo_messaging_notifications] driver (from "), "{said}");
            assert!(said.contains("there is no routing"), "{said}");
        }
        assert!(of("[oslo_messaging_notifications]\ndriver = pigeon\n").is_err());
        assert!(of("[DEFAULT]\ndefault_notification_level = loud\n").is_err());
    }
}
