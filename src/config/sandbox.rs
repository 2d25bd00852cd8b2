//! What is chosen of the sandbox, in `[sandbox]`: how slow it is made, its users' password, whether
//! its servers run anything, and which services it lacks.

use std::time::Duration;

use super::{ConfigError, Layers};
use crate::model::Secret;

/// The password that was chosen for the sandbox's users, for who reads the environment alone.
pub fn sandbox_password(
    environment: impl Iterator<Item = (String, String)>,
) -> Option<Secret<String>> {
    let mut layers = Layers::default();
    layers.add_environment(environment);
    password(&layers)
}

pub(super) fn password(layers: &Layers) -> Option<Secret<String>> {
    layers.text("sandbox", "password").map(Secret::new)
}

/// `without`: the types of services that it does not have.
pub(super) fn without(layers: &Layers) -> Vec<String> {
    layers.list("sandbox", "without").unwrap_or_default()
}

/// `guests`: whether servers run what they are told.
pub(super) fn has_guests(layers: &Layers) -> Result<bool, ConfigError> {
    struct Named(bool);

    impl std::str::FromStr for Named {
        type Err = ();

        fn from_str(text: &str) -> Result<Self, ()> {
            match text {
                "" | "none" => Ok(Self(false)),
                "process" => Ok(Self(true)),
                _ => Err(()),
            }
        }
    }

    let given: Option<Named> = layers.parsed("sandbox", "guests", "none or process")?;
    Ok(given.is_some_and(|Named(guests)| guests))
}

/// How long things take in the sandbox, where that differs from its own choice.
#[derive(Clone, Debug, Default)]
pub struct SandboxDelays {
    /// `request_ms`: every request.
    pub request: Option<Duration>,
    /// `server_ms`: a server from BUILD to ACTIVE.
    pub server: Option<Duration>,
    /// `server_delete_ms`: a server's disappearance.
    pub server_delete: Option<Duration>,
    /// `volume_ms`: a volume until it is available.
    pub volume: Option<Duration>,
    /// `attachment_ms`: a volume's attaching and detaching.
    pub attachment: Option<Duration>,
    /// `floating_ip_ms`: a floating IP until it is ACTIVE.
    pub floating_ip: Option<Duration>,
}

impl SandboxDelays {
    pub(super) fn from_layers(layers: &Layers) -> Result<SandboxDelays, ConfigError> {
        let millis = |name: &str| {
            let given: Option<u64> = layers.parsed("sandbox", name, "milliseconds")?;
            Ok(given.map(Duration::from_millis))
        };
        Ok(SandboxDelays {
            request: millis("request_ms")?,
            server: millis("server_ms")?,
            server_delete: millis("server_delete_ms")?,
            volume: millis("volume_ms")?,
            attachment: millis("attachment_ms")?,
            floating_ip: millis("floating_ip_ms")?,
        })
    }
}
