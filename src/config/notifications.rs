//! Notifications: whether there are any, and what they say of themselves, under the names of Heat and
//! of the library that sends them there.

use std::str::FromStr;

use super::{ConfigError, Layers};

/// How notifications are sent; `None` where they are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notifications {
    /// `default_notification_level`, in capitals.
    pub level: String,
    /// `default_publisher_id`.
    pub publisher_id: String,
}

/// `driver` of `[oslo_messaging_notifications]`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Driver {
    /// A line of the log for each.
    Log,
    Noop,
    /// One of those that need a message bus, which there is none of.
    Bus,
}

impl FromStr for Driver {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "log" => Self::Log,
            "" | "noop" | "test" => Self::Noop,
            "messaging" | "messagingv2" | "routing" => Self::Bus,
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

impl Notifications {
    /// The settings, and the driver that was asked for and has no effect.
    pub(super) fn from_layers(
        layers: &Layers,
        host: &str,
    ) -> Result<(Option<Self>, Option<String>), ConfigError> {
        let group = "oslo_messaging_notifications";
        let driver = layers.parsed::<Driver>(group, "driver", "a driver of oslo.messaging")?;
        let level = layers.parsed::<Level>(
            "DEFAULT",
            "default_notification_level",
            "a level of notifications",
        )?;
        let publisher_id = layers.text("DEFAULT", "default_publisher_id");
        Ok(match driver {
            Some(Driver::Log) => {
                let settings = Self {
                    level: level.map_or_else(|| "INFO".to_owned(), |level| level.0),
                    publisher_id: publisher_id.unwrap_or_else(|| format!("orchestration.{host}")),
                };
                (Some(settings), None)
            }
            Some(Driver::Bus) => {
                let named = layers.text(group, "driver").unwrap_or_default();
                (None, Some(format!("[{group}] driver = {named}")))
            }
            Some(Driver::Noop) | None => (None, None),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &str) -> Result<(Option<Notifications>, Option<String>), ConfigError> {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), file).unwrap();
        let mut layers = Layers::default();
        layers.add_file(path.path().into()).unwrap();
        Notifications::from_layers(&layers, "node-1")
    }

    #[test]
    fn there_are_notifications_where_the_driver_is_the_log() {
        assert_eq!(of("").unwrap(), (None, None));
        assert_eq!(of("[oslo_messaging_notifications]\ndriver = noop\n").unwrap(), (None, None));
        let (told, unused) = of("[oslo_messaging_notifications]\ndriver = log\n").unwrap();
        let told = told.unwrap();
        assert_eq!(
            (told.level.as_str(), told.publisher_id.as_str()),
            ("INFO", "orchestration.node-1")
        );
        assert_eq!(unused, None);
    }

    #[test]
    fn a_driver_that_needs_a_bus_is_named_and_one_that_nobody_knows_is_refused() {
        let (told, unused) = of("[oslo_messaging_notifications]\ndriver = messagingv2\n").unwrap();
        assert_eq!(told, None);
        assert_eq!(unused.unwrap(), "[oslo_messaging_notifications] driver = messagingv2");
        assert!(of("[oslo_messaging_notifications]\ndriver = pigeon\n").is_err());
        assert!(of("[DEFAULT]\ndefault_notification_level = loud\n").is_err());
    }
}
