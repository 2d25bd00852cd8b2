//! What the server's workers and its handle share: the cloud, its faults, the requests seen.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::HttpRequest;
use chrono::{DateTime, Utc};
use serde::Serialize;
use tokio::sync::watch;

use super::cloud::Cloud;
use super::faults::Faults;
use crate::clock::Clock;
use crate::metrics::{Counter, Family, Measured, Page};

/// A request that the sandbox was sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RequestSeen {
    /// Counts from 1 on.
    pub number: u64,
    pub method: String,
    /// With its query.
    pub path: String,
    /// What was answered; 0 where the connection was closed instead.
    pub status: u16,
    /// Whether it was carried out, be it to a refusal.
    pub carried_out: bool,
}

/// What the server's workers and the handle share.
pub(super) struct Shared {
    pub(super) cloud: Mutex<Cloud>,
    pub(super) faults: Mutex<Faults>,
    pub(super) seen: Mutex<Seen>,
    /// Requests by service and by status.
    pub(super) requests: Family<Counter, 2>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) request_latency: Duration,
    /// Whether `/admin` is served, which needs no token: on loopback alone.
    pub(super) has_admin: bool,
    pub(super) base: String,
}

/// The newest requests.
#[derive(Default)]
pub(super) struct Seen {
    requests: VecDeque<RequestSeen>,
    remembered: usize,
    /// How many there were, be they remembered or not.
    count: watch::Sender<u64>,
}

impl Seen {
    /// None yet, of which so many will be remembered.
    pub(super) fn of(remembered: usize) -> Self {
        Self { remembered, ..Self::default() }
    }
}

impl Shared {
    pub(super) fn cloud(&self) -> MutexGuard<'_, Cloud> {
        self.cloud.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    pub(super) fn seen(&self) -> Vec<RequestSeen> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.requests.iter().cloned().collect()
    }

    pub(super) fn heard(&self) -> watch::Receiver<u64> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).count.subscribe()
    }

    pub(super) fn forget(&self) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).requests.clear();
    }

    pub(super) fn remember(&self, request: &HttpRequest, status: u16, carried_out: bool) {
        let first = request.path().trim_start_matches('/').split('/').next().unwrap_or_default();
        let service = self.cloud().service(first).unwrap_or_else(|| "other".to_owned());
        // Where the connection was closed there is no status.
        let status_label = if status == 0 { "none".into() } else { status.to_string().into() };
        self.requests.with([service.into(), status_label]).add(1);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *seen.count.borrow() + 1;
        if seen.remembered > 0 {
            if seen.requests.len() >= seen.remembered {
                seen.requests.pop_front();
            }
            let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
            let method = request.method().to_string();
            seen.requests.push_back(RequestSeen { number, method, path, status, carried_out });
        }
        seen.count.send_replace(number);
    }
}

impl Measured for Shared {
    fn measure(&self, page: &mut Page) {
        let help = "Requests to the sandbox, by what they were answered.";
        page.family("hearth_sandbox_requests_total", help, &self.requests);
    }
}
