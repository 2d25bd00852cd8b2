//! A broker of AMQP 0-9-1 as far as a publisher sees one: it takes messages, confirms them, and does
//! not when told so.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use futures::future::BoxFuture;
use hearth::model::Secret;
use hearth::model::bus::{BusNode, BusSettings, MessageFormat, QueueKind};
use serde_json::Value;
use tokio::sync::watch;

use super::wait::Tells;

const METHOD: u8 = 1;
const HEADER: u8 = 2;
const BODY: u8 = 3;
const FRAME_END: u8 = 0xCE;

/// What the broker does otherwise, once each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whim {
    /// It takes a message, and dies before it says so.
    DiesBeforeAck,
    /// It refuses a message.
    Nack,
    /// What is declared is there already, made otherwise.
    Precondition,
}

/// A message that was taken.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Taken {
    pub(crate) exchange: String,
    pub(crate) queue: String,
    pub(crate) content_type: String,
    pub(crate) body: Value,
}

impl Taken {
    /// How it came.
    pub(crate) fn format(&self) -> MessageFormat {
        match self.body.get("oslo.version") {
            Some(version) => {
                assert_eq!(version, "2.0");
                MessageFormat::Envelope
            }
            None => MessageFormat::Plain,
        }
    }

    /// The message itself, out of the envelope if it is in one.
    pub(crate) fn message(&self) -> Value {
        match self.format() {
            MessageFormat::Plain => self.body.clone(),
            MessageFormat::Envelope => {
                serde_json::from_str(self.body["oslo.message"].as_str().unwrap()).unwrap()
            }
        }
    }
}

#[derive(Default)]
struct Shared {
    taken: watch::Sender<Vec<Taken>>,
    /// Names of what was declared, and not passively.
    declared: Mutex<Vec<String>>,
    whims: Mutex<Vec<Whim>>,
    open: Mutex<Vec<TcpStream>>,
    stops: AtomicBool,
}

impl Shared {
    fn has(&self, whim: Whim) -> bool {
        let mut whims = self.whims.lock().unwrap();
        let at = whims.iter().position(|it| *it == whim);
        at.map(|at| whims.remove(at)).is_some()
    }
}

/// Of the messages that it takes.
impl Tells for Broker {
    fn change(&self) -> BoxFuture<'_, ()> {
        self.shared.taken.change()
    }
}

/// A broker that listens until it is dropped.
pub(crate) struct Broker {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Broker {
    pub(crate) fn start() -> Broker {
        Self::start_at(([127, 0, 0, 1], 0).into())
    }

    pub(crate) fn start_at(address: SocketAddr) -> Broker {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for connection in listener.incoming() {
                if seen.stops.load(Ordering::SeqCst) {
                    return;
                }
                let connection = connection.unwrap();
                seen.open.lock().unwrap().push(connection.try_clone().unwrap());
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || Session { connection, seen, published: 0 }.serve());
            }
        });
        Broker { address, shared, thread: Some(thread) }
    }

    pub(crate) fn taken(&self) -> Vec<Taken> {
        self.shared.taken.borrow().clone()
    }

    pub(crate) fn declared(&self) -> Vec<String> {
        self.shared.declared.lock().unwrap().clone()
    }

    pub(crate) fn has_whim(&self, whim: Whim) {
        self.shared.whims.lock().unwrap().push(whim);
    }

    /// A bus of this broker alone, after a node that nobody answers at.
    pub(crate) fn settings(&self) -> BusSettings {
        let node = |port: u16| BusNode {
            host: "127.0.0.1".to_owned(),
            port,
            user: "openstack".to_owned(),
            password: Secret::new("s3cret".to_owned()),
        };
        BusSettings {
            nodes: vec![node(1), node(self.address.port())],
            virtual_host: "/".to_owned(),
            exchange: "heat".to_owned(),
            topics: vec!["notifications".to_owned()],
            format: MessageFormat::Envelope,
            queues: QueueKind::default(),
            tls: None,
            heartbeat: std::time::Duration::from_secs(60),
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        for connection in self.shared.open.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

struct Frame {
    kind: u8,
    channel: u16,
    payload: Vec<u8>,
}

struct Session {
    connection: TcpStream,
    seen: Arc<Shared>,
    /// How many messages came on the channel that is open.
    published: u64,
}

impl Session {
    fn serve(mut self) {
        // Whoever goes, goes; what he sent before counts.
        let _ = self.run();
        let _ = self.connection.shutdown(Shutdown::Both);
    }

    fn run(&mut self) -> io::Result<()> {
        let mut hello = [0; 8];
        self.connection.read_exact(&mut hello)?;
        assert_eq!(&hello, b"AMQP\0\0\x09\x01");
        let start = [&[0, 9][..], &0u32.to_be_bytes(), &long("PLAIN"), &long("en_US")].concat();
        self.say(0, (10, 10), &start)?;
        self.read()?;
        let tune = [&2047u16.to_be_bytes()[..], &131_072u32.to_be_bytes(), &[0, 60]].concat();
        self.say(0, (10, 30), &tune)?;
        loop {
            let frame = self.read()?;
            if frame.kind == METHOD {
                self.method(&frame)?;
            }
        }
    }

    fn method(&mut self, frame: &Frame) -> io::Result<()> {
        let (channel, payload) = (frame.channel, &frame.payload);
        let half = |at: usize| u16::from_be_bytes([payload[at], payload[at + 1]]);
        match (half(0), half(2)) {
            (10, 31) => Ok(()),
            (10, 40) => self.say(0, (10, 41), &[0]),
            (10, 50) => self.say(0, (10, 51), &[]),
            (20, 10) => {
                self.published = 0;
                self.say(channel, (20, 11), &0u32.to_be_bytes())
            }
            (20, 40) => self.say(channel, (20, 41), &[]),
            (20, 41) => Ok(()),
            (85, 10) => self.say(channel, (85, 11), &[]),
            (40, 10) => {
                let (name, rest) = short(&payload[6..]);
                let (_, rest) = short(rest);
                let is_passive = rest[0] & 1 == 1;
                if !is_passive && self.seen.has(Whim::Precondition) {
                    let reason = b"\x01\x96\x13PRECONDITION_FAILED\x00\x28\x00\x0a";
                    return self.say(channel, (20, 40), reason);
                }
                self.declare(&name, is_passive);
                self.say(channel, (40, 11), &[])
            }
            (50, 10) => {
                let (name, rest) = short(&payload[6..]);
                self.declare(&name, rest[0] & 1 == 1);
                let counts = [&[u8::try_from(name.len()).unwrap()][..], name.as_bytes(), &[0; 8]];
                self.say(channel, (50, 11), &counts.concat())
            }
            (50, 20) => self.say(channel, (50, 21), &[]),
            (60, 40) => self.publish(channel, &payload[6..]),
            other => panic!("the broker knows no method {other:?}"),
        }
    }

    fn declare(&self, name: &str, is_passive: bool) {
        if !is_passive {
            self.seen.declared.lock().unwrap().push(name.to_owned());
        }
    }

    fn publish(&mut self, channel: u16, arguments: &[u8]) -> io::Result<()> {
        let (exchange, rest) = short(arguments);
        let (queue, _) = short(rest);
        let header = self.read()?;
        assert_eq!(header.kind, HEADER);
        let size = u64::from_be_bytes(header.payload[4..12].try_into().unwrap());
        let has_content_type = header.payload[12] & 0x80 != 0;
        assert!(has_content_type);
        let (content_type, _) = short(&header.payload[14..]);
        let mut body = Vec::new();
        while (body.len() as u64) < size {
            let part = self.read()?;
            assert_eq!(part.kind, BODY);
            body.extend(part.payload);
        }
        self.published += 1;
        if self.seen.has(Whim::Nack) {
            let nack = [&self.published.to_be_bytes()[..], &[0]].concat();
            return self.say(channel, (60, 120), &nack);
        }
        let body = serde_json::from_slice(&body).unwrap();
        let taken = Taken { exchange, queue, content_type, body };
        self.seen.taken.send_modify(|all| all.push(taken));
        if self.seen.has(Whim::DiesBeforeAck) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.say(channel, (60, 80), &[&self.published.to_be_bytes()[..], &[0]].concat())
    }

    /// The next frame but heartbeats.
    fn read(&mut self) -> io::Result<Frame> {
        loop {
            let mut head = [0; 7];
            self.connection.read_exact(&mut head)?;
            let size = u32::from_be_bytes([head[3], head[4], head[5], head[6]]) as usize;
            let mut payload = vec![0; size + 1];
            self.connection.read_exact(&mut payload)?;
            assert_eq!(payload.pop(), Some(FRAME_END));
            if head[0] <= BODY {
                let channel = u16::from_be_bytes([head[1], head[2]]);
                return Ok(Frame { kind: head[0], channel, payload });
            }
        }
    }

    fn say(
        &mut self,
        channel: u16,
        (class, method): (u16, u16),
        arguments: &[u8],
    ) -> io::Result<()> {
        let payload = [&class.to_be_bytes()[..], &method.to_be_bytes(), arguments].concat();
        let size = u32::try_from(payload.len()).unwrap();
        let head = [&[METHOD][..], &channel.to_be_bytes(), &size.to_be_bytes()].concat();
        self.connection.write_all(&[&head[..], &payload, &[FRAME_END]].concat())
    }
}

/// A short string, and what follows.
fn short(bytes: &[u8]) -> (String, &[u8]) {
    let (text, rest) = bytes[1..].split_at(usize::from(bytes[0]));
    (String::from_utf8(text.to_vec()).unwrap(), rest)
}

fn long(text: &str) -> Vec<u8> {
    let size = u32::try_from(text.len()).unwrap();
    [&size.to_be_bytes()[..], text.as_bytes()].concat()
}
