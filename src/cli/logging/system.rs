//! The log of the system: systemd's journal, or syslog. Each line is one datagram.

use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

use super::LogError;

const JOURNAL: &str = "/run/systemd/journal/socket";
const SYSLOG: &str = "/dev/log";
const PROGRAM: &str = "hearth";
/// Longer lines are cut: a datagram holds no more than the socket's buffer.
const LINE_MAX_BYTES: usize = 48 * 1024;

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Journal,
    /// With the facility.
    Syslog(u8),
}

/// See the module. Clones are the same.
#[derive(Clone)]
pub(super) struct SystemLog {
    socket: Arc<UnixDatagram>,
    protocol: Protocol,
    /// Of the line that is written: a severity of syslog's.
    severity: u8,
}

impl SystemLog {
    pub(super) fn journal() -> Result<Self, LogError> {
        Self::open(Protocol::Journal).map_err(|source| LogError::System {
            option: "use_journal",
            socket: JOURNAL,
            source,
        })
    }

    pub(super) fn syslog(facility: u8) -> Result<Self, LogError> {
        Self::open(Protocol::Syslog(facility)).map_err(|source| LogError::System {
            option: "use_syslog",
            socket: SYSLOG,
            source,
        })
    }

    fn open(protocol: Protocol) -> io::Result<Self> {
        // Whether somebody listens now; later lines find the one who listens then.
        UnixDatagram::unbound()?.connect(path(protocol))?;
        let socket = Arc::new(UnixDatagram::unbound()?);
        Ok(Self { socket, protocol, severity: severity(Level::INFO) })
    }
}

fn path(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Journal => JOURNAL,
        Protocol::Syslog(_) => SYSLOG,
    }
}

fn severity(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

/// A line as it is sent.
fn datagram(protocol: Protocol, severity: u8, line: &[u8]) -> Vec<u8> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = &line[..line.len().min(LINE_MAX_BYTES)];
    let mut sent = match protocol {
        // A message may have more than one line, so its length goes before it.
        Protocol::Journal => {
            let head = format!("PRIORITY={severity}\nSYSLOG_IDENTIFIER={PROGRAM}\nMESSAGE\n");
            let length = line.len() as u64;
            [head.as_bytes(), &length.to_le_bytes()].concat()
        }
        Protocol::Syslog(facility) => {
            let priority = u32::from(facility) * 8 + u32::from(severity);
            format!("<{priority}>{PROGRAM}[{}]: ", std::process::id()).into_bytes()
        }
    };
    sent.extend_from_slice(line);
    if protocol == Protocol::Journal {
        sent.push(b'\n');
    }
    sent
}

impl Write for SystemLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let sent = datagram(self.protocol, self.severity, line);
        self.socket.send_to(&sent, path(self.protocol))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for SystemLog {
    type Writer = SystemLog;

    fn make_writer(&'w self) -> SystemLog {
        self.clone()
    }

    fn make_writer_for(&'w self, meta: &Metadata<'_>) -> SystemLog {
        SystemLog { severity: severity(*meta.level()), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_datagram_with_its_severity() {
        let sent = datagram(Protocol::Journal, severity(Level::WARN), b"a\nb\n");
        let expected =
            b"PRIORITY=4\nSYSLOG_IDENTIFIER=hearth\nMESSAGE\n\x03\0\0\0\0\0\0\0a\nb\n".as_slice();
        assert_eq!(sent, expected);
        let sent = datagram(Protocol::Syslog(19), severity(Level::ERROR), b"a\n");
        let expected = format!("<155>hearth[{}]: a", std::process::id());
        assert_eq!(sent, expected.into_bytes());
    }
}
