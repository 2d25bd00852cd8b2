//! How fast a log is read back: every event decoded and folded into the state of its stream.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Instant;

use futures::executor::block_on;

use super::BenchError;
use super::figure::{Figure, shortest};
use crate::cli::data::{DataDir, with_causes};
use crate::cli::states::States;
use crate::events::log::{EventLog, Filter, LogError, SqliteLog};
use crate::events::{Position, RecordedEvent};

const PAGE_EVENTS: usize = 4096;
const PAGES_AHEAD: usize = 4;
const REPEATS: usize = 3;

/// Replays the whole log of a stopped server; also how many events it has.
pub(super) async fn run(data: &Path) -> Result<(Vec<Figure>, usize), BenchError> {
    let log = SqliteLog::open_read_only(&DataDir(data.to_owned()).log())
        .map_err(|error| BenchError::Unexpected(with_causes(&error)))?;
    let log = Arc::new(log);
    let (mut times, mut counts) = (Vec::new(), (0, 0));
    for _ in 0..REPEATS {
        let began = Instant::now();
        counts = replay(&log)?;
        times.push(began.elapsed());
    }
    let (events, states) = counts;
    let rate = events as f64 / shortest(&times).as_secs_f64();
    let name = format!("replay {events} events into {states} states");
    Ok((vec![Figure::rate(name, rate, "events/s", 250_000.0)], events))
}

/// Replays it once: how many events there were, and states in the end.
fn replay(log: &Arc<SqliteLog>) -> Result<(usize, usize), BenchError> {
    let mut states = States::default();
    let mut events = 0_usize;
    let (sender, pages) = sync_channel(PAGES_AHEAD);
    // Pages are read while those before them are folded.
    let reader = {
        let log = Arc::clone(log);
        std::thread::spawn(move || read(&log, &sender))
    };
    while let Ok(page) = pages.recv() {
        let page = page.map_err(|error| BenchError::Unexpected(with_causes(&error)))?;
        events += page.len();
        for event in &page {
            states.fold(event).map_err(|error| BenchError::Unexpected(with_causes(&error)))?;
        }
    }
    let _ = reader.join();
    Ok((events, states.count()))
}

fn read(log: &SqliteLog, pages: &SyncSender<Result<Vec<Arc<RecordedEvent>>, LogError>>) {
    let mut after = Position(0);
    loop {
        let page = block_on(log.read_all(after, &Filter::default(), PAGE_EVENTS));
        match page.as_ref().map(|page| page.last().map(|last| last.position)) {
            Ok(None) => return,
            Ok(Some(last)) => after = last,
            Err(_) => {}
        }
        let failed = page.is_err();
        if pages.send(page).is_err() || failed {
            return;
        }
    }
}
