//! A broker of AMQP 0-9-1 as far as a publisher sees one: it has whatever is declared, takes
//! messages and confirms them.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::Sender;

use super::receivers::Told;

const METHOD: u8 = 1;
const BODY: u8 = 3;
const FRAME_END: u8 = 0xCE;
/// `basic.publish`, whose message follows it.
const PUBLISH: (u16, u16) = (60, 40);
/// `basic.ack`.
const ACK: (u16, u16) = (60, 80);

/// A method that asks for an answer: its class and number, and those of the answer with what that
/// says. What is not here asks for none.
type Answer = ((u16, u16), (u16, u16), &'static [u8]);

const ANSWERS: [Answer; 9] = [
    // How large frames may be, how many channels, and no heartbeats.
    ((10, 11), (10, 30), &[0, 16, 0, 2, 0, 0, 0, 0]),
    ((10, 40), (10, 41), &[0]),
    ((10, 50), (10, 51), &[]),
    ((20, 10), (20, 11), &[0; 4]),
    ((20, 40), (20, 41), &[]),
    ((40, 10), (40, 11), &[]),
    // A queue without a name, messages and consumers.
    ((50, 10), (50, 11), &[0; 9]),
    ((50, 20), (50, 21), &[]),
    ((85, 10), (85, 11), &[]),
];

/// Takes what is published on a connection until that is closed.
pub(super) fn serve(connection: TcpStream, tell: &Sender<Told>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut broker = Broker { reader: BufReader::new(connection.try_clone()?), connection };
    let mut hello = [0; 8];
    broker.reader.read_exact(&mut hello)?;
    let start = [&[0, 9][..], &[0; 4], &long("PLAIN"), &long("en_US")].concat();
    broker.say(0, (10, 10), &start)?;
    let mut published = 0_u64;
    loop {
        let frame = broker.read()?;
        let method = frame.method();
        if method == (20, 10) {
            published = 0;
        }
        if method == PUBLISH {
            let told = Told::now(broker.message()?);
            published += 1;
            broker.say(frame.channel, ACK, &[&published.to_be_bytes()[..], &[0]].concat())?;
            // Nobody listens any more once all is measured.
            let _ = tell.send(told);
        } else if let Some((_, answer, says)) = ANSWERS.iter().find(|(asks, ..)| *asks == method) {
            broker.say(frame.channel, *answer, says)?;
        }
    }
}

struct Frame {
    kind: u8,
    channel: u16,
    payload: Vec<u8>,
}

impl Frame {
    /// The class and the number of a method; of another frame, none that there is.
    fn method(&self) -> (u16, u16) {
        match (self.kind, self.payload.first_chunk()) {
            (METHOD, Some([a, b, c, d])) => {
                (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]))
            }
            _ => (0, 0),
        }
    }
}

struct Broker {
    reader: BufReader<TcpStream>,
    connection: TcpStream,
}

impl Broker {
    fn read(&mut self) -> io::Result<Frame> {
        let mut head = [0; 7];
        self.reader.read_exact(&mut head)?;
        let [kind, channel @ .., _, _, _, _] = head;
        let [.., a, b, c, d] = head;
        let size = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or_default();
        let mut payload = vec![0; size + 1];
        self.reader.read_exact(&mut payload)?;
        match payload.pop() {
            Some(FRAME_END) => Ok(Frame { kind, channel: u16::from_be_bytes(channel), payload }),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The text of a message, whose head says how long it is.
    fn message(&mut self) -> io::Result<Vec<u8>> {
        let head = self.read()?.payload;
        let size = head.get(4..).and_then(|rest| rest.first_chunk());
        let size = u64::from_be_bytes(*size.ok_or(io::ErrorKind::InvalidData)?);
        let mut body = Vec::new();
        while u64::try_from(body.len()).is_ok_and(|length| length < size) {
            let frame = self.read()?;
            if frame.kind == BODY {
                body.extend(frame.payload);
            }
        }
        Ok(body)
    }

    fn say(&mut self, channel: u16, method: (u16, u16), says: &[u8]) -> io::Result<()> {
        let payload = [&method.0.to_be_bytes()[..], &method.1.to_be_bytes(), says].concat();
        let size = u32::try_from(payload.len()).unwrap_or_default();
        let head = [&[METHOD][..], &channel.to_be_bytes(), &size.to_be_bytes()].concat();
        self.connection.write_all(&[&head[..], &payload, &[FRAME_END]].concat())
    }
}

/// A text with its length before it.
fn long(text: &str) -> Vec<u8> {
    let size = u32::try_from(text.len()).unwrap_or_default();
    [&size.to_be_bytes()[..], text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::super::receivers::Listener;
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let size = u32::try_from(payload.len()).unwrap();
        [&[kind, 0, 1][..], &size.to_be_bytes(), payload, &[FRAME_END]].concat()
    }

    #[test]
    fn a_message_in_two_frames_is_taken_whole_and_confirmed() {
        let listener = Listener::start(serve).unwrap();
        let mut publisher = TcpStream::connect(("127.0.0.1", listener.port)).unwrap();
        let head = [&[0, 60, 0, 0][..], &5_u64.to_be_bytes(), &[0, 0]].concat();
        let publish = frame(METHOD, &[0, 60, 0, 40, 0, 0, 0, 0, 0]);
        let parts = [publish, frame(2, &head), frame(BODY, b"he"), frame(BODY, b"llo")];
        let said = [b"AMQP\0\0\x09\x01".to_vec(), parts.concat()].concat();
        publisher.write_all(&said).unwrap();
        let heard = listener.heard();
        assert_eq!(heard.iter().map(|told| &told.body[..]).collect::<Vec<_>>(), [b"hello"]);
        let ack = frame(METHOD, &[&[0, 60, 0, 80][..], &1_u64.to_be_bytes(), &[0]].concat());
        let mut answers = Vec::new();
        publisher.shutdown(std::net::Shutdown::Write).unwrap();
        publisher.read_to_end(&mut answers).unwrap();
        assert!(answers.ends_with(&ack), "{answers:?}");
    }
}
