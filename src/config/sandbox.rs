//! How slow the embedded sandbox is made, in `[sandbox]`.

use std::time::Duration;

use super::{ConfigError, Layers};

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
