//! Documents of CBOR, as Smithy's protocols have them: of JSON's types, and of times, which have a
//! tag. No length that is declared is trusted: what is read is what is there.

use ciborium_io::Write;
use ciborium_ll::{Decoder, Encoder, Header, simple};
use serde_json::{Number, Value};

use super::document::is_time;
use crate::api::error::Fault;
use crate::api::request::{BODY_DEPTH_MAX, count, deeper};
use crate::model::sizes::Room;
use crate::model::{JsonMap, Refusal};

/// The tag of a time in seconds of Unix.
const TIME: u64 = 1;

/// How much of a text is read at a time.
const CHUNK_BYTES: usize = 4096;

/// Reads an object with so many values.
pub(super) fn read_object(content: &[u8], values: usize) -> Result<JsonMap, Fault> {
    let decoder = Decoder::from(content);
    let mut reader = Reader { decoder, values, chunk: [0; CHUNK_BYTES] };
    let read = reader.value(BODY_DEPTH_MAX + 1)?;
    match read {
        Value::Object(map) if reader.decoder.offset() == content.len() => Ok(map),
        _ => Err(malformed()),
    }
}

fn malformed() -> Fault {
    Fault::bad_request("The body is no CBOR that could be read.")
}

struct Reader<'a> {
    decoder: Decoder<&'a [u8]>,
    /// How many more values there may be.
    values: usize,
    chunk: [u8; CHUNK_BYTES],
}

impl Reader<'_> {
    /// The next value, in which collections nest so deep.
    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        let header = self.header()?;
        self.value_of(header, depth)
    }

    fn value_of(&mut self, header: Header, depth: usize) -> Result<Value, Fault> {
        count(&mut self.values)?;
        match header {
            Header::Tag(TIME) => match self.header()? {
                time @ (Header::Positive(_) | Header::Negative(_) | Header::Float(_)) => {
                    scalar(time).ok_or_else(malformed)
                }
                _ => Err(malformed()),
            },
            Header::Text(length) => self.text(length).map(Value::String),
            Header::Array(mut left) => {
                let depth = deeper(depth)?;
                let mut items = Vec::new();
                while let Some(header) = self.next(&mut left)? {
                    items.push(self.value_of(header, depth)?);
                }
                Ok(Value::Array(items))
            }
            Header::Map(mut left) => {
                let depth = deeper(depth)?;
                let mut map = JsonMap::new();
                while let Some(header) = self.next(&mut left)? {
                    let Header::Text(length) = header else { return Err(malformed()) };
                    let name = self.text(length)?;
                    map.insert(name, self.value(depth)?);
                }
                Ok(Value::Object(map))
            }
            Header::Positive(_)
            | Header::Negative(_)
            | Header::Float(_)
            | Header::Simple(_)
            | Header::Tag(_)
            | Header::Break
            | Header::Bytes(_) => scalar(header).ok_or_else(malformed),
        }
    }

    /// The header of a collection's next item, of which so many are left; none at its end.
    fn next(&mut self, left: &mut Option<usize>) -> Result<Option<Header>, Fault> {
        match left {
            Some(0) => Ok(None),
            Some(left) => {
                *left -= 1;
                self.header().map(Some)
            }
            None => Ok(Some(self.header()?).filter(|header| *header != Header::Break)),
        }
    }

    fn header(&mut self) -> Result<Header, Fault> {
        self.decoder.pull().map_err(|_| malformed())
    }

    /// A text, which may be in segments.
    fn text(&mut self, length: Option<usize>) -> Result<String, Fault> {
        let mut text = String::new();
        let mut segments = self.decoder.text(length);
        while let Some(mut segment) = segments.pull().map_err(|_| malformed())? {
            while let Some(part) = segment.pull(&mut self.chunk).map_err(|_| malformed())? {
                text.push_str(part);
            }
        }
        Ok(text)
    }
}

/// What is no collection; `None` where JSON has nothing like it.
fn scalar(header: Header) -> Option<Value> {
    match header {
        Header::Positive(number) => Some(number.into()),
        // The bits of a negative number are turned round.
        Header::Negative(number) => i64::try_from(number).ok().map(|number| (!number).into()),
        // As in JSON, what is no finite number is its name.
        Header::Float(number) => Some(match Number::from_f64(number) {
            Some(number) => Value::Number(number),
            None => Value::String(number.to_string()),
        }),
        Header::Simple(simple::FALSE) => Some(Value::Bool(false)),
        Header::Simple(simple::TRUE) => Some(Value::Bool(true)),
        Header::Simple(simple::NULL | simple::UNDEFINED) => Some(Value::Null),
        Header::Simple(_)
        | Header::Tag(_)
        | Header::Break
        | Header::Bytes(_)
        | Header::Text(_)
        | Header::Array(_)
        | Header::Map(_) => None,
    }
}

/// A document, where it is no larger than an answer may be.
pub(super) fn written(value: &Value) -> Result<Vec<u8>, Refusal> {
    let mut answer = Answer { bytes: Vec::new(), room: Room::default() };
    write(&mut Encoder::from(&mut answer), value)?;
    Ok(answer.bytes)
}

struct Answer {
    bytes: Vec<u8>,
    room: Room,
}

impl Write for &mut Answer {
    type Error = Refusal;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.room.take(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Refusal> {
        Ok(())
    }
}

fn write(encoder: &mut Encoder<&mut Answer>, value: &Value) -> Result<(), Refusal> {
    match value {
        Value::Null => encoder.push(Header::Simple(simple::NULL)),
        Value::Bool(true) => encoder.push(Header::Simple(simple::TRUE)),
        Value::Bool(false) => encoder.push(Header::Simple(simple::FALSE)),
        Value::Number(number) => encoder.push(match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Header::Positive(number),
            (None, Some(number)) => Header::Negative((!number).unsigned_abs()),
            (None, None) => Header::Float(number.as_f64().unwrap_or_default()),
        }),
        Value::String(text) => encoder.text(text, None),
        Value::Array(items) => {
            encoder.push(Header::Array(Some(items.len())))?;
            items.iter().try_for_each(|item| write(encoder, item))
        }
        Value::Object(members) => {
            encoder.push(Header::Map(Some(members.len())))?;
            for (name, value) in members {
                encoder.text(name, None)?;
                if value.is_number() && is_time(name) {
                    encoder.push(Header::Tag(TIME))?;
                }
                write(encoder, value)?;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A map whose member `a` is the bytes.
    fn of(bytes: &[u8]) -> Result<Value, String> {
        let content = [&[0xa1, 0x61, b'a'], bytes].concat();
        let read = read_object(&content, 1_000).map_err(|fault| fault.to_string());
        read.map(|mut map| map["a"].take())
    }

    #[test]
    fn what_is_written_is_read() {
        let long = "é".repeat(CHUNK_BYTES);
        let value = json!({
            "Null": null, "True": true, "False": false, "Text": long, "Empty": "",
            "Numbers": [0, 23, 24, -1, -25, u64::MAX, i64::MIN, 0.5, -1e300],
            "Timestamp": 1_700_000_000, "Nested": { "Of": [[], {}] },
        });
        let bytes = written(&value).unwrap();
        assert_eq!(Value::Object(read_object(&bytes, 1_000).unwrap()), value);
        let time = [0xc1, 0x1a, 0x65, 0x53, 0xf1, 0x00];
        assert!(bytes.windows(time.len()).any(|part| part == time));
    }

    #[test]
    fn other_encoders_are_read() {
        for (bytes, value) in [
            // Lengths that are not told before.
            (&b"\x9f\x01\xff"[..], json!([1])),
            (b"\xbf\x61b\xf5\xff", json!({ "b": true })),
            (b"\x7f\x61b\x62cd\xff", json!("bcd")),
            // Numbers of two and four bytes, and those that are none.
            (b"\xf9\x3c\x00", json!(1.0)),
            (b"\xfa\x3f\x00\x00\x00", json!(0.5)),
            (b"\xf9\x7e\x00", json!("NaN")),
            (b"\xf9\xfc\x00", json!("-inf")),
            (b"\xf7", json!(null)),
            (b"\xc1\xfb\x41\xd9\x54\xfc\x40\x10\x00\x00", json!(1_700_000_000.25)),
        ] {
            assert_eq!(of(bytes), Ok(value));
        }
    }

    #[test]
    fn what_is_no_document_is_refused() {
        for bytes in [
            // Lengths that are not there, and none at all.
            &b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff"[..],
            b"\xbb\x7f\xff\xff\xff\xff\xff\xff\xff\x61b",
            b"\x7b\x00\x00\x00\xff\xff\xff\xff\xffb",
            b"\x9f\x01",
            b"",
            // Bytes, a key that is no text, another tag, a time that is none, half of a letter.
            b"\x41b",
            b"\xa1\x01\x01",
            b"\xc2\x41\x01",
            b"\xc1\x61b",
            b"\xc1\xc1\x01",
            b"\x61\xc3",
            b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\xff",
            b"\xf8\x20",
            // More than one.
            b"\x01\x01",
        ] {
            assert_eq!(of(bytes), Err(malformed().to_string()), "{bytes:x?}");
        }
        assert!(read_object(b"\x80", 1_000).is_err());
    }

    #[test]
    fn a_document_has_bounds() {
        let nested = |depth: usize| [vec![0x81; depth], vec![0x01]].concat();
        assert!(of(&nested(BODY_DEPTH_MAX)).is_ok());
        let refused = of(&nested(BODY_DEPTH_MAX + 1)).unwrap_err();
        assert!(refused.contains("Recursion depth exceeds"), "{refused}");
        let items =
            |count: u16| [&[0x99][..], &count.to_be_bytes(), &vec![1; count.into()]].concat();
        // The map and the list are values, too.
        assert!(of(&items(998)).is_ok());
        let refused = of(&items(999)).unwrap_err();
        assert!(refused.contains("too many values"), "{refused}");
        let large: Value = vec![Value::from("x".repeat(1 << 20)); 33].into();
        assert!(written(&large).is_err());
    }
}
