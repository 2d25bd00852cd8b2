//! Fetches templates by their URL: bounded in size and time, HTTP alone.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::BytesMut;
use tracing::info;

/// How many redirections are followed, as Python's `requests` does.
const REDIRECTIONS_MAX: usize = 30;

/// Fetches, within limits.
#[derive(Debug)]
pub struct Fetcher {
    /// In bytes.
    size_max: usize,
    time_max: Duration,
    client: OnceLock<Option<reqwest::Client>>,
}

impl Fetcher {
    /// Nothing is prepared before it is needed.
    pub fn new(size_max: usize, time_max: Duration) -> Self {
        Self { size_max, time_max, client: OnceLock::new() }
    }

    /// The text at a URL, or why there is none, in Heat's words.
    pub async fn get(&self, url: &str) -> Result<String, String> {
        let scheme = reqwest::Url::parse(url).map(|url| url.scheme().to_owned());
        let scheme = scheme.unwrap_or_default();
        if !matches!(scheme.as_str(), "http" | "https") {
            return Err(format!("Invalid URL scheme {scheme}"));
        }
        match tokio::time::timeout(self.time_max, self.read(url)).await {
            Ok(Ok(Some(text))) => Ok(text),
            Ok(Ok(None)) => {
                Err(format!("Template exceeds maximum allowed size ({} bytes)", self.size_max))
            }
            Ok(Err(problem)) => Err(refused(url, &problem)),
            Err(_) => Err(refused(url, "timed out")),
        }
    }

    /// `None`: it is too long.
    async fn read(&self, url: &str) -> Result<Option<String>, String> {
        let shown = |error: reqwest::Error| error.without_url().to_string();
        let client = self.client.get_or_init(client).as_ref().ok_or("there is no client")?;
        let mut answer = client.get(url).send().await.map_err(shown)?;
        answer.error_for_status_ref().map_err(shown)?;
        let mut body = BytesMut::new();
        while let Some(chunk) = answer.chunk().await.map_err(shown)? {
            body.extend_from_slice(&chunk);
            if body.len() > self.size_max {
                return Ok(None);
            }
        }
        String::from_utf8(body.to_vec()).map(Some).map_err(|_| "it is no text".to_owned())
    }
}

fn client() -> Option<reqwest::Client> {
    let redirections = reqwest::redirect::Policy::limited(REDIRECTIONS_MAX);
    let builder = reqwest::Client::builder()
        .redirect(redirections)
        .no_proxy()
        .user_agent(concat!("hearth/", env!("CARGO_PKG_VERSION")));
    builder.build().ok()
}

/// What a URL says beyond its host may be a signature, and stays out of the log.
fn refused(url: &str, problem: &str) -> String {
    let host = reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    info!(host = host.unwrap_or_default(), problem, "a template could not be fetched");
    format!("Failed to retrieve template from {url}")
}
