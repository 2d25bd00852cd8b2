//! A connection that ends where its client is too slow: a head that trickles in, and an answer
//! that is not taken. Whether a body trickles is its reader's to see, because only he knows that
//! there is one.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use actix_web::dev::Extensions;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_rustls::server::TlsStream;

use super::Patience;
use super::visit::Visit;

/// What bytes come over.
pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The connection as the HTTP library sees it.
pub(in crate::api) struct Guarded {
    wire: Wire,
    visit: Rc<Visit>,
    patience: Patience,
    head: Alarm,
    /// Set while the client takes nothing of what there is for it.
    stalled: Option<Alarm>,
}

impl Guarded {
    pub(super) fn new(wire: Wire, visit: Rc<Visit>, patience: Patience) -> Self {
        let head = Alarm::at(Instant::now() + patience.head);
        Self { wire, visit, patience, head, stalled: None }
    }

    /// Lets the connection's requests find the visit.
    pub(in crate::api) fn tell(&self, requests: &mut Extensions) {
        requests.insert(Rc::clone(&self.visit));
    }

    /// What a write or a flush came to: an error where nothing has moved for too long.
    fn watched<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let until = Instant::now() + self.patience.answer;
        let stalled = self.stalled.get_or_insert_with(|| Alarm::at(until));
        ready!(stalled.poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes no answer")))
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = match &mut self.wire {
            Wire::Plain(wire) => Pin::new(wire).poll_read(context, buffer),
            Wire::Tls(wire) => Pin::new(wire).poll_read(context, buffer),
        };
        if read.is_ready() {
            if buffer.filled().len() > before {
                self.visit.heard();
            }
            return read;
        }
        let Some(deadline) = self.visit.deadline() else { return Poll::Pending };
        ready!(self.head.poll_until(deadline, context));
        // As if the client had ended the connection itself.
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.wire {
            Wire::Plain(wire) => Pin::new(wire).poll_write(context, bytes),
            Wire::Tls(wire) => Pin::new(wire).poll_write(context, bytes),
        };
        self.watched(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.wire {
            Wire::Plain(wire) => Pin::new(wire).poll_flush(context),
            Wire::Tls(wire) => Pin::new(wire).poll_flush(context),
        };
        self.watched(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = match &mut self.wire {
            Wire::Plain(wire) => Pin::new(wire).poll_shutdown(context),
            Wire::Tls(wire) => Pin::new(wire).poll_shutdown(context),
        };
        self.watched(shut, context)
    }
}

/// A timer that is set anew only where it would ring too late: most of what it watches over is
/// done long before.
struct Alarm(Pin<Box<Sleep>>);

impl Alarm {
    fn at(deadline: Instant) -> Self {
        Self(Box::pin(sleep_until(deadline)))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(context)
    }

    /// Ready from the deadline on, wherever it stood before.
    fn poll_until(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        if deadline < self.0.deadline() {
            self.0.as_mut().reset(deadline);
        }
        loop {
            ready!(self.0.as_mut().poll(context));
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            self.0.as_mut().reset(deadline);
        }
    }
}
