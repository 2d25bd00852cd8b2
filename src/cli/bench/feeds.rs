//! The feed before many readers: how late they hear of what happens, and what one costs that stops
//! reading.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use futures::future::try_join_all;
use tokio::sync::watch;

use super::figure::{Budget, Figure, most_of};
use super::server::Server;
use super::{BenchError, Scale, many_stacks};
use crate::cli::client::Client;
use crate::clock::{Clock, SystemClock};

/// As many readers as one user and one project may have, and more.
pub(super) const SETTINGS: [(&str, &str); 4] = [
    ("HEARTH_HEARTH__MAX_FEEDS_PER_USER", "1000"),
    ("HEARTH_HEARTH__MAX_FEEDS_PER_PROJECT", "1000"),
    ("HEARTH_HEARTH__MAX_CONNECTIONS_PER_USER", "1000"),
    ("HEARTH_HEARTH__MAX_CONNECTIONS_PER_ADDRESS", "2000"),
];

const READERS: usize = 200;
/// One reader of so many looks at the times of what it hears; the others only take it.
const TIMED_EVERY: usize = 25;
const EVENTS_PER_SEC: f64 = 1_000.0;
const LATE_MOST_MILLIS: f64 = 50.0;
const STOPPED: usize = 50;
const STOPPED_MOST_MIB: f64 = 1.0;
/// How long the server has to fill what waits for those who do not read.
const FILLS: Duration = Duration::from_secs(3);
/// When an event happened, as a frame says it.
const AT: &[u8] = b"\"at\":\"";

/// Makes stacks before readers who read, and then opens feeds of all that happened which nobody
/// reads.
pub(super) async fn run(scale: Scale, server: &Server) -> Result<Vec<Figure>, BenchError> {
    let (readers, stacks) = if scale == Scale::Quick { (10, 50) } else { (READERS, 1_000) };
    let client = server.client().await?;
    let (stop, stopped) = watch::channel(false);
    let mut tasks = Vec::new();
    for number in 0..readers {
        let feed = client.feed("?after=latest").await?;
        let times = number % TIMED_EVERY == 0;
        tasks.push(tokio::spawn(listen(feed, times, stopped.clone())));
    }
    let began = Instant::now();
    many_stacks::create_stacks(server, 0..stacks).await?;
    let took = began.elapsed();
    // What was said last is on its way.
    tokio::time::sleep(Duration::from_millis(500)).await;
    stop.send_replace(true);
    let heard = try_join_all(tasks).await.map_err(|error| unexpected(&error.to_string()))?;
    let mut late: Vec<Duration> = heard.into_iter().flatten().collect();
    let timed = readers.div_ceil(TIMED_EVERY);
    let rate = late.len() as f64 / timed as f64 / took.as_secs_f64();
    let most = most_of(&mut late);
    let mib = stopped_cost(server, &client).await?;
    Ok(vec![
        Figure::rate(
            format!("{readers} readers of a feed, each"),
            rate,
            "events/s",
            EVENTS_PER_SEC,
        ),
        Figure::millis("how late they hear of it, 99 of 100", most, LATE_MOST_MILLIS),
        Figure {
            name: "a reader that stops reading".to_owned(),
            value: mib,
            unit: "MiB",
            budget: Budget::AtMost(STOPPED_MOST_MIB),
        },
    ])
}

/// Takes what comes; how late it was, where that is wanted.
async fn listen(
    mut feed: reqwest::Response,
    times: bool,
    mut stopped: watch::Receiver<bool>,
) -> Vec<Duration> {
    let mut late = Vec::new();
    loop {
        let chunk = tokio::select! {
            chunk = feed.chunk() => chunk,
            _ = stopped.wait_for(|stopped| *stopped) => return late,
        };
        let Ok(Some(chunk)) = chunk else { return late };
        if times {
            let now = SystemClock.now();
            late.extend(moments(&chunk).map(|at| (now - at).to_std().unwrap_or_default()));
        }
    }
}

/// When the events happened that a piece of the feed tells of; one that is cut in two is left out.
fn moments(chunk: &[u8]) -> impl Iterator<Item = DateTime<Utc>> {
    let places = chunk.windows(AT.len()).enumerate().filter(|(_, window)| *window == AT);
    places.filter_map(|(place, _)| {
        let rest = &chunk[place + AT.len()..];
        let end = rest.iter().position(|byte| *byte == b'"')?;
        std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
    })
}

/// What the server holds for each of those who ask for all that happened and do not read it.
async fn stopped_cost(server: &Server, client: &Client) -> Result<f64, BenchError> {
    let before = server.resident_mib()?;
    let mut feeds = Vec::with_capacity(STOPPED);
    for _ in 0..STOPPED {
        feeds.push(client.feed("?after=0").await?);
    }
    tokio::time::sleep(FILLS).await;
    let after = server.resident_mib()?;
    Ok((after - before).max(0.0) / feeds.len() as f64)
}

fn unexpected(text: &str) -> BenchError {
    BenchError::Unexpected(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_piece_are_found() {
        let chunk = b"data: {\"at\":\"2026-01-01T00:00:01Z\",\"x\":1}\n\ndata: {\"at\":\"2026-01-01T00:00:02.5Z\"}\n\ndata: {\"at\":\"2026-";
        let found: Vec<String> = moments(chunk).map(|at| at.to_rfc3339()).collect();
        assert_eq!(found, ["2026-01-01T00:00:01+00:00", "2026-01-01T00:00:02.500+00:00"]);
    }
}
