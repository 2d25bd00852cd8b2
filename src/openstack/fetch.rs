//! Fetches texts by the URLs that users gave: from where calls may go, within a budget of the
//! request that asks. Why there is none is told to the log alone: whoever asked must not learn
//! from it what there is at an address.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::BytesMut;
use reqwest::header::LOCATION;
use reqwest::{Client, Response, Url};
use tokio::time::Instant;
use tracing::info;

use super::egress::{Egress, Guarded};
use super::limits::{FETCH_REDIRECTS_MAX, FETCHED_BYTES_MAX, FETCHES_MAX};
use crate::model::AllowedTarget;

/// Fetches, within limits.
#[derive(Debug)]
pub struct Fetcher {
    /// Of one text, in bytes.
    size_max: usize,
    /// For all that one request fetches.
    time_max: Duration,
    clients: Guarded,
}

/// What the fetches of one request have taken of it. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct FetchBudget {
    spent: Arc<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    /// When the time is up, from the first fetch on.
    until: OnceLock<Instant>,
    requests: AtomicUsize,
    bytes: AtomicUsize,
}

impl FetchBudget {
    /// How many fetches are left.
    pub fn left(&self) -> usize {
        FETCHES_MAX.saturating_sub(self.spent.requests.load(Ordering::Relaxed))
    }

    fn until(&self, time_max: Duration) -> Instant {
        *self.spent.until.get_or_init(|| Instant::now() + time_max)
    }

    fn take_request(&self) -> Result<(), Problem> {
        match self.spent.requests.fetch_add(1, Ordering::Relaxed) < FETCHES_MAX {
            true => Ok(()),
            false => Err(Problem::TooMuch),
        }
    }

    fn take_bytes(&self, count: usize) -> Result<(), Problem> {
        let before = self.spent.bytes.fetch_add(count, Ordering::Relaxed);
        match before.saturating_add(count) <= FETCHED_BYTES_MAX {
            true => Ok(()),
            false => Err(Problem::TooMuch),
        }
    }
}

/// Why a text could not be had: for the log.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("the URL cannot be read")]
    NoUrl,
    #[error("no call may go there")]
    NotAllowed,
    #[error("{}", without_url(.0))]
    Failed(#[from] reqwest::Error),
    #[error("it is redirected too often")]
    TooManyRedirects,
    #[error("it is redirected nowhere")]
    NoLocation,
    #[error("it has more than {0} bytes")]
    TooLong(usize),
    #[error("the request has fetched too much")]
    TooMuch,
    #[error("it is no text")]
    NoText,
    #[error("timed out")]
    TimedOut,
}

impl Fetcher {
    /// `size_max` is in bytes; `time_max` is for all that one request fetches.
    pub fn new(size_max: usize, time_max: Duration, allowed: &[AllowedTarget]) -> Self {
        Self::with_egress(size_max, time_max, Egress::new(allowed))
    }

    pub(super) fn with_egress(size_max: usize, time_max: Duration, egress: Egress) -> Self {
        let clients = Guarded::new(egress, || {
            Client::builder().user_agent(concat!("hearth/", env!("CARGO_PKG_VERSION")))
        });
        Self { size_max, time_max, clients }
    }

    /// The text at a URL, or why there is none, in Heat's words.
    pub async fn get(&self, budget: &FetchBudget, url: &str) -> Result<String, String> {
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme.trim());
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(format!("Invalid URL scheme {}", scheme.to_ascii_lowercase()));
        }
        let reading = tokio::time::timeout_at(budget.until(self.time_max), self.read(budget, url));
        reading.await.unwrap_or(Err(Problem::TimedOut)).map_err(|problem| {
            // What a URL says beyond its host may be a signature, and stays out of the log.
            let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
            info!(host = host.unwrap_or_default(), %problem, "a text could not be fetched");
            not_fetched(url)
        })
    }

    async fn read(&self, budget: &FetchBudget, url: &str) -> Result<String, Problem> {
        let mut answer = self.ask(budget, url).await?;
        let mut body = BytesMut::new();
        while let Some(chunk) = answer.chunk().await? {
            budget.take_bytes(chunk.len())?;
            if body.len() + chunk.len() > self.size_max {
                return Err(Problem::TooLong(self.size_max));
            }
            body.extend_from_slice(&chunk);
        }
        String::from_utf8(body.to_vec()).map_err(|_| Problem::NoText)
    }

    /// The answer that stands at the end of redirections. Each is a new request, so that nothing
    /// of one goes with the next.
    async fn ask(&self, budget: &FetchBudget, url: &str) -> Result<Response, Problem> {
        let mut url = Url::parse(url).map_err(|_| Problem::NoUrl)?;
        for _ in 0..=FETCH_REDIRECTS_MAX {
            budget.take_request()?;
            let client = self.clients.client(&url).map_err(|_| Problem::NotAllowed)?;
            let answer = client.get(url.clone()).send().await?;
            if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(answer.error_for_status()?);
            }
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            url = to.and_then(|to| url.join(to).ok()).ok_or(Problem::NoLocation)?;
        }
        Err(Problem::TooManyRedirects)
    }
}

/// Why there is no text, in Heat's words: the same whatever there is at the URL.
pub fn not_fetched(url: &str) -> String {
    format!("Failed to retrieve template from {url}")
}

/// The innermost reason: the outer ones only say that a request failed, and where.
pub(super) fn without_url(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        Some(outer) => outer.status().map_or_else(|| "it failed".to_owned(), |it| it.to_string()),
        None => cause.to_string(),
    }
}

#[cfg(test)]
mod tests;
