//! How fast a log is read back: every event decoded and folded into the state of its stream.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Instant;

use futures::executor::block_on;

use super::BenchError;
use super::figure::{Figure, shortest};
use crate::actors::resource::Resource;
use crate::actors::shell::Aggregate;
use crate::actors::stack::Stack;
use crate::cli::data::{DataDir, with_causes};
use crate::events::log::{EventLog, Filter, LogError, SqliteLog};
use crate::events::{Position, RecordedEvent, StreamId};

const PAGE_EVENTS: usize = 4096;
const PAGES_AHEAD: usize = 4;
const REPEATS: usize = 3;

/// Replays the whole log of a stopped server.
pub(super) async fn run(data: &Path) -> Result<Vec<Figure>, BenchError> {
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
    Ok(vec![Figure::rate(name, rate, "events/s", 200_000.0)])
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
            states.fold(event)?;
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

#[derive(Default)]
struct States {
    stacks: HashMap<StreamId, Stack>,
    resources: HashMap<StreamId, Resource>,
}

impl States {
    fn fold(&mut self, event: &RecordedEvent) -> Result<(), BenchError> {
        let stream = event.stream.as_str();
        if stream.starts_with("stack-") {
            apply(self.stacks.entry(event.stream.clone()).or_default(), event)
        } else if stream.starts_with("resource-") {
            apply(self.resources.entry(event.stream.clone()).or_default(), event)
        } else {
            Ok(())
        }
    }

    fn count(&self) -> usize {
        self.stacks.len() + self.resources.len()
    }
}

fn apply<A: Aggregate>(state: &mut A, event: &RecordedEvent) -> Result<(), BenchError> {
    let body: A::Event =
        event.decode().map_err(|error| BenchError::Unexpected(with_causes(&error)))?;
    state.apply(&body, event.at);
    Ok(())
}
