//! A request as the services see it.

use actix_web::http::header::HeaderMap;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde_json::Value;

use super::answer::Answer;
use crate::model::JsonMap;

/// One request, read.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// `GET`, `POST`, …
    pub(super) method: String,
    /// The path's parts, decoded; a closing slash leaves an empty last part, which is dropped.
    pub(super) path: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// When it is carried out.
    pub(super) at: DateTime<Utc>,
    /// `http://127.0.0.1:5000`, where the client finds this sandbox.
    pub(super) base: String,
}

impl Ask {
    /// Reads a request to an address of this sandbox, as it follows the base; `None` if the address
    /// cannot be read.
    pub(super) fn read(
        method: &str,
        (path, query): (&str, &str),
        headers: HeaderMap,
        body: Bytes,
        (at, base): (DateTime<Utc>, &str),
    ) -> Option<Self> {
        let mut parts = Vec::new();
        // Parts are decoded one by one: an encoded slash belongs to the name of an object.
        for part in path.split('/').skip(1) {
            parts.push(percent_decoded(part)?);
        }
        while parts.last().is_some_and(String::is_empty) {
            parts.pop();
        }
        let query = url::form_urlencoded::parse(query.as_bytes())
            .map(|(key, value)| (key.into_owned(), value.into_owned()))
            .collect();
        let (method, base) = (method.to_owned(), base.to_owned());
        Some(Self { method, path: parts, query, headers, body, at, base })
    }

    /// A request that nobody sent: the sandbox's own.
    pub(super) fn internal(at: DateTime<Utc>) -> Self {
        Self {
            method: "POST".to_owned(),
            path: Vec::new(),
            query: Vec::new(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            at,
            base: String::new(),
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The first value of a query key.
    pub(super) fn query(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The body as a JSON object; the answer says what is wrong with it, in the service's shape.
    pub(super) fn object(&self, fault: impl Fn(u16, String) -> Answer) -> Result<JsonMap, Answer> {
        match serde_json::from_slice::<Value>(&self.body) {
            Ok(Value::Object(object)) => Ok(object),
            _ => Err(fault(400, "Malformed request body".to_owned())),
        }
    }

    /// The object under the one key that the body has to have.
    pub(super) fn wrapped(
        &self,
        key: &str,
        fault: impl Fn(u16, String) -> Answer,
    ) -> Result<JsonMap, Answer> {
        match self.object(&fault)?.remove(key) {
            Some(Value::Object(object)) => Ok(object),
            _ => Err(fault(400, format!("Invalid input for field/attribute {key}."))),
        }
    }

    /// The moment in the form of most services: whole seconds, with a Z.
    pub(super) fn moment(&self) -> String {
        stamp(self.at)
    }
}

/// `2026-01-01T00:00:00Z`.
pub(super) fn stamp(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `2026-01-01T00:00:00.000000`, as Cinder and some of Nova write it.
pub(super) fn stamp_micros(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%S%.6f").to_string()
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' && after.len() >= 2 {
            let code = std::str::from_utf8(&after[..2]).ok()?;
            bytes.push(u8::from_str_radix(code, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}
