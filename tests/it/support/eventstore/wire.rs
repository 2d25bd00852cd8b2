//! The protocol's messages as JSON, the way the recordings write them: a table of fields and a codec
//! that goes by it. Made by hand from the published .proto files, and on purpose apart from what
//! Hearth itself sends, so that a mistake there does not cancel itself out here.

use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// One message a line: fields as `name:tag:type`. `?` after a type says that the field is shown
/// whenever it is there, `*` that there are many.
const MESSAGES: &str = "
Empty
Uuid structured:1:Halves string:2:string?
Halves most_significant_bits:1:int least_significant_bits:2:int
Stream stream_name:3:bytes
ReadReq options:1:ReadOptions
ReadOptions stream:1:StreamOptions all:2:AllOptions read_direction:3:Direction resolve_links:4:bool count:5:uint? subscription:6:Empty filter:7:Filter no_filter:8:Empty uuid_option:9:UuidOption control_option:10:Control
StreamOptions stream_identifier:1:Stream revision:2:uint? start:3:Empty end:4:Empty
AllOptions position:1:Place start:2:Empty end:3:Empty
Place commit_position:1:uint prepare_position:2:uint
Filter stream_identifier:1:Expression event_type:2:Expression max:3:uint? count:4:Empty checkpointIntervalMultiplier:5:uint
Expression regex:1:string prefix:2:string*
UuidOption structured:1:Empty string:2:Empty
Control compatibility:1:uint
ReadResp event:1:ReadEvent confirmation:2:Confirmation checkpoint:3:Place stream_not_found:4:NotFound first_stream_position:5:uint? last_stream_position:6:uint? last_all_stream_position:7:Place caught_up:8:Empty fell_behind:9:Empty
ReadEvent event:1:Recorded link:2:Recorded commit_position:3:uint? no_position:4:Empty
Recorded id:1:Uuid stream_identifier:2:Stream stream_revision:3:uint prepare_position:4:uint commit_position:5:uint metadata:6:map custom_metadata:7:bytes data:8:bytes
Confirmation subscription_id:1:string
NotFound stream_identifier:1:Stream
AppendReq options:1:Options proposed_message:2:Proposed
Options stream_identifier:1:Stream revision:2:uint? no_stream:3:Empty any:4:Empty stream_exists:5:Empty
Proposed id:1:Uuid metadata:2:map custom_metadata:3:bytes data:4:bytes
AppendResp success:1:Success wrong_expected_version:2:Wrong
Success current_revision:1:uint? no_stream:2:Empty position:3:Place no_position:4:Empty
Wrong current_revision_20_6_0:1:uint? no_stream_20_6_0:2:Empty expected_revision_20_6_0:3:uint? any_20_6_0:4:Empty stream_exists_20_6_0:5:Empty current_revision:6:uint? current_no_stream:7:Empty expected_revision:8:uint? expected_any:9:Empty expected_stream_exists:10:Empty expected_no_stream:11:Empty
BatchAppendReq correlation_id:1:Uuid options:2:BatchOptions proposed_messages:3:Proposed* is_final:4:bool
BatchOptions stream_identifier:1:Stream stream_position:2:uint? no_stream:3:Empty any:4:Empty stream_exists:5:Empty deadline_21_10_0:6:Time deadline:7:Time
Time seconds:1:int nanos:2:int
BatchAppendResp correlation_id:1:Uuid error:2:Status success:3:Success stream_identifier:4:Stream stream_position:5:uint? no_stream:6:Empty any:7:Empty stream_exists:8:Empty
Status code:1:Code message:2:string details:3:Any
Any type_url:1:string value:2:bytes
WrongExpectedVersion current_stream_revision:1:uint? current_no_stream:2:Empty expected_stream_position:3:uint? expected_any:4:Empty expected_stream_exists:5:Empty expected_no_stream:6:Empty
StreamDeleted stream_identifier:1:Stream
Timeout
AccessDenied
MaximumAppendSizeExceeded maxAppendSize:1:uint
BadRequest message:1:string
DeleteReq options:1:Options
DeleteResp position:1:Place no_position:2:Empty
ClusterInfo members:1:Member*
Member instance_id:1:Uuid time_stamp:2:int state:3:State is_alive:4:bool http_end_point:5:EndPoint
EndPoint address:1:string port:2:uint
SupportedMethods methods:1:Method* event_store_server_version:2:string
Method method_name:1:string service_name:2:string features:3:string*
";

const ENUMS: [(&str, &[&str]); 3] = [
    ("Direction", &["Forwards", "Backwards"]),
    ("State", &["Initializing", "DiscoverLeader", "Unknown", "PreReplica", "CatchingUp", "Clone"]),
    (
        "Code",
        &[
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
        ],
    ),
];
/// States of a node, which have numbers further on.
const STATES: [(u64, &str); 2] = [(6, "Follower"), (8, "Leader")];

struct Field {
    name: &'static str,
    tag: u64,
    kind: &'static str,
    many: bool,
    shown: bool,
}

static SCHEMA: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    let message = |line: &'static str| {
        let mut words = line.split(' ');
        (words.next().unwrap(), words.map(field).collect())
    };
    MESSAGES.lines().filter(|line| !line.is_empty()).map(message).collect()
});

fn field(text: &'static str) -> Field {
    let [name, tag, kind] = text.split(':').collect::<Vec<_>>()[..] else { panic!("{text}") };
    let (many, shown) = (kind.ends_with('*'), kind.ends_with('?'));
    Field { name, tag: tag.parse().unwrap(), kind: kind.trim_end_matches(['*', '?']), many, shown }
}

/// A number of either form that JSON of the protocol has.
pub(crate) fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.as_i128(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// A number as the recordings write it: as text where a float could not hold it.
pub(crate) fn wide(value: i128) -> Value {
    match i64::try_from(value) {
        Ok(small) if small.unsigned_abs() < 1 << 53 => Value::from(small),
        _ => Value::from(value.to_string()),
    }
}

/// Bytes as the recordings write them, as text; and what is none in base64.
fn shown(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => Value::from(text),
        Err(_) => json!({ "base64": STANDARD.encode(bytes) }),
    }
}

fn raw(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.as_bytes().to_vec(),
        other => STANDARD.decode(other["base64"].as_str().unwrap_or_default()).unwrap(),
    }
}

/// How many bytes a value of the kind `bytes` has.
pub(crate) fn size(value: Option<&Value>) -> usize {
    match value {
        None => 0,
        Some(Value::String(text)) => text.len(),
        Some(other) => raw(other).len(),
    }
}

fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_bytes(tag: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(tag << 3 | 2, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_number(field: &Field, number: u64, out: &mut Vec<u8>) {
    if number != 0 || field.shown {
        put_varint(field.tag << 3, out);
        put_varint(number, out);
    }
}

/// A message as bytes.
pub(crate) fn encode(message: &str, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    for field in &SCHEMA[message] {
        let Some(value) = value.get(field.name) else { continue };
        match value {
            Value::Array(values) if field.many => {
                values.iter().for_each(|value| encode_field(field, value, &mut out));
            }
            value => encode_field(field, value, &mut out),
        }
    }
    out
}

fn encode_field(field: &Field, value: &Value, out: &mut Vec<u8>) {
    match field.kind {
        "bool" => put_number(field, value.as_bool().unwrap().into(), out),
        "uint" | "int" => put_number(field, number(value).unwrap() as u64, out),
        "string" | "bytes" => {
            let bytes = raw(value);
            if !bytes.is_empty() || field.shown || field.many {
                put_bytes(field.tag, &bytes, out);
            }
        }
        "map" => {
            for (key, value) in value.as_object().unwrap() {
                let mut entry = Vec::new();
                put_bytes(1, key.as_bytes(), &mut entry);
                put_bytes(2, value.as_str().unwrap().as_bytes(), &mut entry);
                put_bytes(field.tag, &entry, out);
            }
        }
        "Any" => {
            let mut any = Vec::new();
            let url = value["type_url"].as_str().unwrap();
            put_bytes(1, url.as_bytes(), &mut any);
            let decoded = encode(url.rsplit('.').next().unwrap(), &value["decoded"]);
            put_bytes(2, &decoded, &mut any);
            put_bytes(field.tag, &any, out);
        }
        "State" => {
            let state = STATES.iter().find(|(_, name)| value == name).unwrap();
            put_number(field, state.0, out);
        }
        kind => match ENUMS.iter().find(|(name, _)| *name == kind) {
            Some((_, names)) => {
                let at = names.iter().position(|name| value == name).unwrap();
                put_number(field, at as u64, out);
            }
            None => put_bytes(field.tag, &encode(kind, value), out),
        },
    }
}

/// The bytes as a message; `None` where they are none.
pub(crate) fn decode(message: &str, mut bytes: &[u8]) -> Option<Value> {
    let mut found = Map::new();
    while !bytes.is_empty() {
        let key = take_varint(&mut bytes)?;
        let field = SCHEMA[message].iter().find(|field| field.tag == key >> 3)?;
        let value = match key & 7 {
            0 => decode_number(field.kind, take_varint(&mut bytes)?)?,
            2 => {
                let length = usize::try_from(take_varint(&mut bytes)?).ok()?;
                let (taken, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                decode_bytes(field.kind, taken)?
            }
            _ => return None,
        };
        if field.many {
            let all = found.entry(field.name).or_insert_with(|| json!([]));
            all.as_array_mut()?.push(value);
        } else if let (Value::Object(entry), "map") = (&value, field.kind) {
            let all = found.entry(field.name).or_insert_with(|| json!({}));
            all.as_object_mut()?.extend(entry.clone());
        } else {
            found.insert(field.name.to_owned(), value);
        }
    }
    Some(Value::Object(found))
}

fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn decode_number(kind: &str, number: u64) -> Option<Value> {
    Some(match kind {
        "bool" => Value::from(number != 0),
        "uint" => wide(number.into()),
        "int" => wide((number as i64).into()),
        "State" => Value::from(STATES.iter().find(|(state, _)| *state == number)?.1),
        kind => {
            let (_, names) = ENUMS.iter().find(|(name, _)| *name == kind)?;
            Value::from(*names.get(usize::try_from(number).ok()?)?)
        }
    })
}

fn decode_bytes(kind: &str, bytes: &[u8]) -> Option<Value> {
    match kind {
        "string" | "bytes" => Some(shown(bytes)),
        "map" => {
            let (mut key, mut value, mut rest) = (String::new(), String::new(), bytes);
            while !rest.is_empty() {
                let tag = take_varint(&mut rest)?;
                let length = usize::try_from(take_varint(&mut rest)?).ok()?;
                let (taken, after) = rest.split_at_checked(length)?;
                rest = after;
                let text = String::from_utf8(taken.to_vec()).ok()?;
                if tag >> 3 == 1 { key = text } else { value = text }
            }
            Some(json!({ key: value }))
        }
        "Any" => {
            let mut rest = bytes;
            let mut any = Map::new();
            while !rest.is_empty() {
                let tag = take_varint(&mut rest)?;
                let length = usize::try_from(take_varint(&mut rest)?).ok()?;
                let (taken, after) = rest.split_at_checked(length)?;
                rest = after;
                if tag >> 3 == 1 {
                    any.insert("type_url".to_owned(), shown(taken));
                } else if !taken.is_empty() {
                    let url = any["type_url"].as_str()?.to_owned();
                    let name = url.rsplit('.').next()?;
                    any.insert("decoded".to_owned(), decode(name, taken)?);
                }
            }
            Some(Value::Object(any))
        }
        kind => decode(kind, bytes),
    }
}

/// Messages of two names as JSON; for a server or a client.
#[derive(Clone, Copy)]
pub(crate) struct Json {
    pub(crate) heard: &'static str,
    pub(crate) said: &'static str,
}

impl Codec for Json {
    type Encode = Value;
    type Decode = Value;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Json {
    type Item = Value;
    type Error = Status;

    fn encode(&mut self, item: Value, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put_slice(out, &encode(self.said, &item));
        Ok(())
    }
}

impl Decoder for Json {
    type Item = Value;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Value>, Status> {
        let bytes: Bytes = bytes::Buf::copy_to_bytes(from, bytes::Buf::remaining(from));
        match decode(self.heard, &bytes) {
            Some(value) => Ok(Some(value)),
            None => Err(Status::internal(format!("not a {}: {bytes:?}", self.heard))),
        }
    }
}
