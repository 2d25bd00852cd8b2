//! What stands between the network and the routes: it takes connections, speaks TLS on them where
//! that is wanted, and bounds how many there are and how slow their clients may be.

mod admit;
mod bounds;
mod cors;
mod head;
mod origin;
mod stream;
mod tls;
mod visit;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_http::error::DispatchError;
use tokio::net::TcpStream;
use tokio::time::timeout;

pub(in crate::api) use admit::{Admitted, admit, feed};
pub(in crate::api) use bounds::Bounds;
pub(in crate::api) use head::check;
pub use origin::Proxy;
pub(in crate::api) use origin::root;
pub(in crate::api) use stream::Guarded;
use stream::Wire;
pub(in crate::api) use tls::Tls;
pub use tls::TlsError;
pub(in crate::api) use visit::Visit;

use crate::model::Secret;
use crate::model::front::HEADER_LINE_MAX_BYTES;
pub use crate::model::front::{Cors, OpenLimits, Patience, TlsFiles};
use crate::openstack::AuthBackend;

/// How long a fresh socket may take to be writable, which it is at once.
const WORD_TIME: Duration = Duration::from_secs(1);

/// Bytes of a body in a second.
pub(in crate::api) const BODY_RATE_MIN: u32 = 1024;

/// What an operator can set of all this.
#[derive(Clone, Debug)]
pub struct FrontSettings {
    pub tls: Option<TlsFiles>,
    pub limits: OpenLimits,
    pub patience: Patience,
    /// Bytes of a header, and of a URL (`max_header_line`).
    pub header_line_max: usize,
    /// `max_request_body_size`, in bytes.
    pub body_size_max: Option<usize>,
    pub proxy: Proxy,
    pub cors: Cors,
    pub auth: Auth,
}

/// By what a request shows whose it is.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// A token.
    #[default]
    Token,
    /// A token, or a user's name and password.
    Password,
    /// Nothing: he is who he says he is, and every user's password is this one.
    Nothing { password: Secret<String> },
    /// Whatever a server of the operator's knows him by.
    Backend(AuthBackend),
}

impl Default for FrontSettings {
    fn default() -> Self {
        Self {
            tls: None,
            limits: OpenLimits::default(),
            patience: Patience::default(),
            header_line_max: HEADER_LINE_MAX_BYTES,
            body_size_max: None,
            proxy: Proxy::default(),
            cors: Cors::default(),
            auth: Auth::default(),
        }
    }
}

/// What all connections share.
pub(in crate::api) struct Front {
    pub(in crate::api) bounds: Arc<Bounds>,
    pub(in crate::api) tls: Option<Arc<Tls>>,
    pub(in crate::api) patience: Patience,
}

impl Front {
    /// Takes a connection, or turns it away.
    pub(in crate::api) async fn open(
        &self,
        socket: TcpStream,
    ) -> Result<(Guarded, Option<SocketAddr>), DispatchError> {
        let peer = socket.peer_addr()?;
        let Some(place) = self.bounds.connections.take(()) else {
            return Err(self.turn_away(socket, peer.ip(), &TOO_MANY).await);
        };
        let Some(stranger) = self.bounds.addresses.take(bounds::counted_as(peer.ip())) else {
            return Err(self.turn_away(socket, peer.ip(), &TOO_MANY_FROM_ADDRESS).await);
        };
        // Answers are small, and wait for nothing that would be worth sending with them.
        socket.set_nodelay(true)?;
        let wire = match &self.tls {
            None => Wire::Plain(socket),
            Some(tls) => {
                let shaken = timeout(self.patience.head, tls.acceptor().accept(socket)).await;
                let shaken = shaken.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
                Wire::Tls(Box::new(shaken?))
            }
        };
        let visit = Rc::new(Visit::new(self.patience, place, stranger));
        Ok((Guarded::new(wire, visit, self.patience), Some(peer)))
    }

    /// Says why, as far as the buffers of a fresh socket take it, or in a handshake that a few may
    /// have at a time: whoever floods is not worth any waiting.
    async fn turn_away(&self, socket: TcpStream, peer: IpAddr, why: &TurnedAway) -> DispatchError {
        tracing::debug!(%peer, reason = why.reason, "a connection was turned away");
        let answer = why.answer();
        // Over TLS to a few at a time: a handshake is work, too.
        let farewell = self.tls.as_ref().map(|tls| (tls, self.bounds.farewells.take(())));
        let word = match &farewell {
            Some((tls, Some(_place))) => {
                let _ = timeout(WORD_TIME, tls.say(socket, answer.as_bytes())).await;
                return refused();
            }
            Some((_, None)) => tls::ALERT.as_slice(),
            None => answer.as_bytes(),
        };
        if let Ok(Ok(())) = timeout(WORD_TIME, socket.writable()).await {
            let _ = socket.try_write(word);
        }
        refused()
    }
}

fn refused() -> DispatchError {
    DispatchError::Io(io::ErrorKind::ConnectionRefused.into())
}

/// Why a connection is turned away, as its client sees it.
struct TurnedAway {
    code: u16,
    title: &'static str,
    class: &'static str,
    reason: &'static str,
}

impl TurnedAway {
    /// The whole answer, as it goes over the wire.
    fn answer(&self) -> String {
        let Self { code, title, class, reason } = self;
        let body = format!(
            "{{\"code\": {code}, \"title\": \"{title}\", \"explanation\": \"{reason}\", \"error\": \
             {{\"type\": \"{class}\", \"message\": \"{reason}\", \"traceback\": null}}}}"
        );
        format!(
            "HTTP/1.1 {code} {title}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             retry-after: 5\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    }
}

const TOO_MANY: TurnedAway = TurnedAway {
    code: 503,
    title: "Service Unavailable",
    class: "HTTPServiceUnavailable",
    reason: "The server has as many connections as it may have.",
};

const TOO_MANY_FROM_ADDRESS: TurnedAway = TurnedAway {
    code: 429,
    title: "Too Many Requests",
    class: "HTTPTooManyRequests",
    reason: "There are too many connections from this address on which nobody has signed in.",
};
