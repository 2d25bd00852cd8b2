//! The event feed of a place, followed by a task: it comes back after every loss, and nothing is
//! missed or repeated.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::super::client::{Client, ClientError};
use super::super::data::with_causes;

/// News that wait for the screen.
const QUEUE_MAX_NEWS: usize = 1_024;
/// How long until a feed that was lost is opened again.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// Why there is no news where nobody listens.
pub(super) const UNANSWERED: &str = "it does not answer";

/// An event as the feed tells it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Told {
    pub(super) position: u64,
    pub(super) stream: String,
    #[serde(rename = "type")]
    pub(super) event_type: String,
    pub(super) version: u16,
    pub(super) at: DateTime<Utc>,
    pub(super) body: Value,
}

/// What comes from the feed.
#[derive(Debug)]
pub(super) enum News {
    Told(Box<Told>),
    /// It is open.
    Open,
    /// It was lost, and is asked for again.
    Lost(String),
    /// It will not be given.
    Refused(ClientError),
}

/// A feed that is followed until this is dropped.
pub(in crate::cli) struct Feed {
    news: mpsc::Receiver<News>,
    task: JoinHandle<()>,
}

impl Feed {
    /// Follows what the query selects, from where it says.
    pub(in crate::cli) fn follow(client: &Client, filter: &str, after: &str) -> Feed {
        let (sender, news) = mpsc::channel(QUEUE_MAX_NEWS);
        let (client, filter, after) = (client.clone(), filter.to_owned(), after.to_owned());
        let task = actix::spawn(async move { pump(&client, &filter, after, &sender).await });
        Feed { news, task }
    }

    /// Waits until it is open, so that nothing is missed of what is asked for next.
    pub(in crate::cli) async fn opened(&mut self) -> Result<(), ClientError> {
        while let Some(news) = self.news.recv().await {
            match news {
                News::Open => return Ok(()),
                News::Refused(error) => return Err(error),
                News::Told(_) | News::Lost(_) => {}
            }
        }
        Ok(())
    }

    /// What comes next; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<News> {
        self.news.recv().await
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pump(client: &Client, filter: &str, mut after: String, sender: &mpsc::Sender<News>) {
    loop {
        let why = match client.feed(&format!("?{filter}after={after}")).await {
            Ok(response) => match read(response, &mut after, sender).await {
                Ok(()) => return,
                Err(why) => why,
            },
            // A server that starts has not caught up yet, and one that is busy says so.
            Err(error @ ClientError::Refused { status: 400..=499, .. }) if !is_passing(&error) => {
                let _ = sender.send(News::Refused(error)).await;
                return;
            }
            Err(ClientError::Transport { .. }) => UNANSWERED.to_owned(),
            Err(error) => with_causes(&error),
        };
        if sender.send(News::Lost(why)).await.is_err() {
            return;
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

fn is_passing(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { status: 408 | 429, .. })
}

/// Reads frames until the connection ends; fine only where nobody listens any more.
async fn read(
    mut response: reqwest::Response,
    after: &mut String,
    sender: &mpsc::Sender<News>,
) -> Result<(), String> {
    if sender.send(News::Open).await.is_err() {
        return Ok(());
    }
    let mut frames = Frames::default();
    while let Some(chunk) = response.chunk().await.map_err(|_| "the connection was lost")? {
        frames.add(&chunk);
        while let Some(told) = frames.next() {
            *after = told.position.to_string();
            if sender.send(News::Told(Box::new(told))).await.is_err() {
                return Ok(());
            }
        }
    }
    Err("the server ended the feed".to_owned())
}

/// Bytes of the feed, taken apart.
#[derive(Default)]
struct Frames {
    bytes: Vec<u8>,
    /// Up to where there is no end of a frame.
    searched: usize,
}

impl Frames {
    fn add(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// The next event that is there in whole.
    fn next(&mut self) -> Option<Told> {
        loop {
            let from = self.searched.saturating_sub(1);
            let Some(end) = self.bytes[from..].windows(2).position(|pair| pair == b"\n\n") else {
                self.searched = self.bytes.len();
                return None;
            };
            let frame: Vec<u8> = self.bytes.drain(..from + end + 2).collect();
            self.searched = 0;
            let data = frame.split(|byte| *byte == b'\n').find_map(|it| it.strip_prefix(b"data: "));
            if let Some(told) = data.and_then(|data| serde_json::from_slice(data).ok()) {
                return Some(told);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_however_they_are_cut() {
        let text = "retry: 1000\n\n: still here\n\nid: 7\nevent: A\ndata: {\"position\":7,\
                    \"stream\":\"stack-1\",\"type\":\"A\",\"version\":1,\
                    \"at\":\"2026-01-01T00:00:00Z\",\"body\":{}}\n\n";
        for size in 1..text.len() {
            let mut frames = Frames::default();
            let mut seen = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                frames.add(chunk);
                seen.extend(std::iter::from_fn(|| frames.next()).map(|told| told.position));
            }
            assert_eq!(seen, [7], "in pieces of {size}");
        }
    }
}
