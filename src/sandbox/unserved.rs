//! A sandbox without a server: whoever holds it asks it, and nothing but its clock's owner lets its
//! time pass.

use std::sync::Arc;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use serde_json::Value;

use super::admin;
use super::answer;
use super::ask::Ask;
use super::cloud::Cloud;
use super::config::SandboxConfig;
use super::rules;
use super::server::SandboxError;
use crate::clock::Clock;

/// The address that its catalog shows.
const BASE: &str = "http://sandbox.test";

/// A sandbox that nobody serves.
pub struct UnservedSandbox {
    cloud: Cloud,
}

/// A request to it.
pub struct PlainRequest<'a> {
    pub method: &'a str,
    /// With the address that the catalog shows, or without it.
    pub url: &'a str,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// What it answers.
#[derive(Clone, Debug)]
pub struct PlainAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

impl UnservedSandbox {
    /// A new cloud. Of the settings those count that are not about serving.
    pub fn new(config: SandboxConfig, clock: Arc<dyn Clock>) -> Result<Self, SandboxError> {
        let services = config.services.as_deref();
        let collections = rules::collections(services).map_err(SandboxError::Services)?;
        let path = config.data.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let cloud = Cloud::open(Arc::new(config), clock, collections)
            .map_err(|source| SandboxError::State { path, source })?;
        Ok(Self { cloud })
    }

    /// Another that holds the same and goes its own way, by another clock.
    pub fn copy(&self, clock: Arc<dyn Clock>) -> Self {
        Self { cloud: self.cloud.copy(clock) }
    }

    /// Carries a request out.
    pub fn answer(&mut self, request: PlainRequest<'_>) -> PlainAnswer {
        let PlainRequest { method, url, headers, body } = request;
        let target = url.strip_prefix(BASE).unwrap_or(url);
        let target = target.split_once('?').unwrap_or((target, ""));
        let parsed = headers.iter().filter_map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_str(value).ok()?))
        });
        let headers: HeaderMap = parsed.collect();
        let now = (self.cloud.clock.now(), BASE);
        let answer = match Ask::read(method, target, headers, body, now) {
            Some(ask) => self.cloud.answer(&ask),
            None => answer::unreadable(),
        };
        PlainAnswer { status: answer.status, headers: answer.headers, body: answer.body }
    }

    /// Everything that it holds, by kind: what `GET /admin/state` shows.
    pub fn state(&mut self) -> Value {
        let now = self.cloud.clock.now();
        admin::state(&mut self.cloud, now, None)
    }
}
