//! A request as a value, built in one place and sent in another, and what comes back.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::catalog::join;
use super::error::CloudError;
use super::microversion::Microversion;
use super::service::Service;

/// What is done to the object that the path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }

    /// The method of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Method::Get, Method::Head, Method::Post, Method::Put, Method::Patch, Method::Delete]
            .into_iter()
            .find(|method| method.as_str().eq_ignore_ascii_case(name))
    }

    /// Whether it changes nothing, so that it may be repeated at will.
    pub fn is_read(self) -> bool {
        matches!(self, Method::Get | Method::Head)
    }
}

/// What a request carries.
#[derive(Clone, PartialEq, Default)]
pub enum Body {
    #[default]
    None,
    Json(Value),
    Bytes {
        content_type: String,
        bytes: Bytes,
    },
}

/// A call to a service: `Request::post(Service::Network, "/v2.0/networks").json(body)`.
///
/// The path follows the service's endpoint in the catalog; where both name the API's version
/// (`/v2.0`, `/v3`), it is taken once.
#[derive(Clone, PartialEq)]
pub struct Request {
    pub method: Method,
    pub service: Service,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    pub body: Body,
    /// The newest microversion whose bodies the sender knows; a cloud that has less gets less.
    pub microversion: Option<Microversion>,
    /// How long the call may take, where that is not what the settings say.
    pub time_limit: Option<Duration>,
    /// That it changes nothing, whatever its method.
    pub only_asks: bool,
}

impl Request {
    /// A call without a body.
    pub fn new(method: Method, service: Service, path: impl Into<String>) -> Self {
        Self {
            method,
            service,
            path: path.into(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Body::None,
            microversion: None,
            time_limit: None,
            only_asks: false,
        }
    }

    /// Whether it may change something.
    pub fn changes(&self) -> bool {
        !self.method.is_read() && !self.only_asks
    }

    /// The same request, which changes nothing.
    #[must_use]
    pub fn only_asking(self) -> Self {
        Self { only_asks: true, ..self }
    }

    /// Reads an object or a list.
    pub fn get(service: Service, path: impl Into<String>) -> Self {
        Self::new(Method::Get, service, path)
    }

    /// Reads an object's headers.
    pub fn head(service: Service, path: impl Into<String>) -> Self {
        Self::new(Method::Head, service, path)
    }

    /// Makes an object, or asks it to do something.
    pub fn post(service: Service, path: impl Into<String>) -> Self {
        Self::new(Method::Post, service, path)
    }

    /// Replaces an object, or makes one under a name of ours.
    pub fn put(service: Service, path: impl Into<String>) -> Self {
        Self::new(Method::Put, service, path)
    }

    /// Changes part of an object.
    pub fn patch(service: Service, path: impl Into<String>) -> Self {
        Self::new(Method::Patch, service, path)
    }

    /// Removes an object.
    pub fn delete(service: Service, path: impl Into<String>) -> Self {
        Self::new(Method::Delete, service, path)
    }

    /// Carries JSON.
    #[must_use]
    pub fn json(mut self, body: Value) -> Self {
        self.body = Body::Json(body);
        self
    }

    /// Carries bytes of a content type.
    #[must_use]
    pub fn bytes(mut self, content_type: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        self.body = Body::Bytes { content_type: content_type.into(), bytes: bytes.into() };
        self
    }

    /// Adds a query parameter; escaping is done when it is sent.
    #[must_use]
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Speaks this microversion, or the cloud's newest where that is less.
    #[must_use]
    pub fn microversion(mut self, microversion: Microversion) -> Self {
        self.microversion = Some(microversion);
        self
    }

    /// Where it goes at an endpoint, and with which headers besides those of whoever sends it.
    pub fn addressed(
        &self,
        endpoint: &str,
        project: &str,
        version: Option<Microversion>,
    ) -> (String, Vec<(String, String)>) {
        let url = join(endpoint, &self.service, &self.path, project);
        let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
        let usual = self.service.headers();
        headers.extend(usual.map(|(name, value)| (name.to_owned(), value.to_owned())));
        headers.extend(version.into_iter().flat_map(|it| self.service.version_headers(it)));
        headers.extend(self.headers.iter().cloned());
        (url, headers)
    }

    /// May take this long.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }
}

/// Bodies may hold passwords, so a request shows where it goes and no more.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}:{}", self.method.as_str(), self.service, self.path)?;
        for (index, (name, value)) in self.query.iter().enumerate() {
            write!(f, "{}{name}={value}", if index == 0 { '?' } else { '&' })?;
        }
        match &self.body {
            Body::None => Ok(()),
            Body::Json(_) => f.write_str(" (json)"),
            Body::Bytes { bytes, .. } => write!(f, " ({} bytes)", bytes.len()),
        }
    }
}

/// A text as one segment of a path: what would end the segment is escaped.
pub fn path_segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b'@' => {
                segment.push(char::from(byte));
            }
            other => segment.push_str(&format!("%{other:02X}")),
        }
    }
    // A segment of dots alone would be taken for a step in the path.
    match segment.as_str() {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        _ => segment,
    }
}

/// A service's answer, of a status below 400.
#[derive(Clone)]
pub struct Response {
    pub status: u16,
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
    pub(super) service: Service,
}

impl Response {
    /// The body as JSON; an empty one is null.
    pub fn json(&self) -> Result<Value, CloudError> {
        if self.bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&self.bytes).map_err(|error| CloudError::Unreadable {
            service: self.service.clone(),
            reason: error.to_string(),
        })
    }

    /// The body as it came.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// A header's value, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Every header whose value is text, names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers
            .iter()
            .filter_map(|(name, value)| value.to_str().ok().map(|value| (name.as_str(), value)))
    }

    /// The id that the service gave the request.
    pub fn request_id(&self) -> Option<&str> {
        self.header("x-openstack-request-id").or_else(|| self.header("x-compute-request-id"))
    }
}

/// Bodies may hold passwords, keys and tokens.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} ({} bytes)", self.status, self.service, self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_does_not_show_its_body() {
        let request = Request::post(Service::Compute, "/servers")
            .query("a", "b")
            .json(json!({"server": {"adminPass": "hunter2"}}));
        assert_eq!(format!("{request:?}"), "POST compute:/servers?a=b (json)");
    }

    #[test]
    fn a_name_stays_one_segment() {
        assert_eq!(path_segment("a b/c?d#é"), "a%20b%2Fc%3Fd%23%C3%A9");
        assert_eq!(path_segment(".."), "%2E%2E");
        assert_eq!(path_segment("web-1_2.x~"), "web-1_2.x~");
    }
}
