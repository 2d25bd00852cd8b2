//! Those who are told of what happens, as the workloads stand in for them: each connection has a
//! thread of its own, which notes when it had a message whole.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::clock::{Clock, SystemClock};

/// How long nothing must come for it to be all.
const SILENT_AFTER: Duration = Duration::from_secs(1);

/// A message, and when it was there.
pub(super) struct Told {
    pub at: DateTime<Utc>,
    pub body: Vec<u8>,
}

impl Told {
    pub(super) fn now(body: Vec<u8>) -> Told {
        Told { at: SystemClock.now(), body }
    }
}

/// What listens on a free port until the process ends.
pub(super) struct Listener {
    pub port: u16,
    told: Receiver<Told>,
}

impl Listener {
    /// Begins; `serve` takes what comes on a connection until that is closed.
    pub(super) fn start(
        serve: fn(TcpStream, &Sender<Told>) -> io::Result<()>,
    ) -> io::Result<Listener> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let tell = tell.clone();
                // Whoever goes, goes; what he sent before counts.
                std::thread::spawn(move || serve(connection, &tell));
            }
        });
        Ok(Listener { port, told })
    }

    /// All that came, once nothing comes any more.
    pub(super) fn heard(&self) -> Vec<Told> {
        std::iter::from_fn(|| self.told.recv_timeout(SILENT_AFTER).ok()).collect()
    }
}

/// A server of HTTP that takes what is posted.
pub(super) fn webhook(mut connection: TcpStream, tell: &Sender<Told>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection.try_clone()?);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let header = line.split_once(':');
            let found = header.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            length = found.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(length);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let told = Told::now(body);
        connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")?;
        // Nobody listens any more once all is measured.
        let _ = tell.send(told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_posted_on_one_connection_is_taken_message_by_message() {
        let listener = Listener::start(webhook).unwrap();
        let mut sender = TcpStream::connect(("127.0.0.1", listener.port)).unwrap();
        for body in ["one", "three"] {
            let head = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
            sender.write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
        }
        let heard = listener.heard();
        assert_eq!(
            heard.iter().map(|told| &told.body[..]).collect::<Vec<_>>(),
            [&b"one"[..], b"three"]
        );
    }
}
