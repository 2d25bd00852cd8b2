//! Who writes. One process at a time holds the log: it says so in a stream of its own, again and
//! again. Whoever finds another there waits until that has been silent for long enough, and takes
//! over at the revision that it saw; from then on the former one is refused, and stops by itself.
//! No clock of another machine is asked.

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep, sleep_until};

use super::super::LogError;
use super::appends::{self, Settled};
use super::node::Nodes;
use super::reads::{self, Stream};
use super::wire::Proposed;
use super::{keys, lock};
use crate::clock::{Clock, SystemClock};

const WRITER: &str = "hearth-writer";
/// How often a holder says that it is there.
const RENEWED_EVERY: Duration = Duration::from_secs(4);
/// For how long its word counts: it writes nothing after that until it has said so again.
const HELD_FOR: Duration = Duration::from_secs(12);
/// After how long a silent holder is taken for dead.
const SILENT_FOR: Duration = Duration::from_secs(15);
/// How often a waiting process looks.
const LOOKED_EVERY: Duration = Duration::from_millis(500);
/// How much of the stream is kept.
const KEPT: &[u8] = br#"{"$maxCount":2}"#;

/// What a holder knows of its claim.
pub(super) struct Claim {
    holder: String,
    state: Mutex<State>,
}

struct State {
    /// How many events the stream has.
    next: u64,
    /// When it was last begun to say that the holder is there, of the times that were heard.
    said: Instant,
    /// Somebody else has taken over.
    is_lost: bool,
}

fn stream(nodes: &Nodes) -> String {
    format!("{}.writer", nodes.address.prefix)
}

/// Who said so last, and how many events the stream has. Nobody holds a log that was given up.
async fn newest(nodes: &Nodes) -> Result<(Option<String>, u64), LogError> {
    let last = match reads::last(nodes, &stream(nodes), 1).await? {
        Stream::Events(events) => events.into_iter().next(),
        Stream::None | Stream::Gone => None,
    };
    let Some(last) = last else { return Ok((None, 0)) };
    let holder = String::from_utf8_lossy(&last.data).into_owned();
    Ok((Some(holder).filter(|holder| !holder.is_empty()), last.revision + 1))
}

async fn say(nodes: &Nodes, next: u64, holder: &str) -> Result<Settled, LogError> {
    let data = Bytes::copy_from_slice(holder.as_bytes());
    let said = Proposed::new(SystemClock.fresh_id(), WRITER, Vec::new(), data);
    appends::append(nodes, &stream(nodes), next, vec![said]).await
}

/// Takes the log for a holder, who is known by a name that no other living process has: one that was
/// killed takes its log again at once. `Err` in the result: who holds it.
pub(super) async fn take(nodes: &Nodes, holder: &str) -> Result<Result<Claim, String>, LogError> {
    let mut seen: Option<(u64, Instant)> = None;
    loop {
        let (other, next) = newest(nodes).await?;
        if let Some(other) = other.filter(|other| other != holder) {
            match seen {
                Some((before, _)) if before != next => return Ok(Err(other)),
                Some((_, since)) if since.elapsed() >= SILENT_FOR => {}
                Some(_) => {
                    sleep(LOOKED_EVERY).await;
                    continue;
                }
                None => {
                    seen = Some((next, Instant::now()));
                    continue;
                }
            }
        }
        let said = Instant::now();
        if let Settled::Written(_) = say(nodes, next, holder).await? {
            if next == 0 {
                keys::describe(nodes, &stream(nodes), KEPT).await?;
            }
            let state = State { next: next + 1, said, is_lost: false };
            return Ok(Ok(Claim { holder: holder.to_owned(), state: Mutex::new(state) }));
        }
    }
}

impl Claim {
    /// Says again and again that the holder is there, until somebody else has taken over.
    pub(super) async fn keep(&self, nodes: &Nodes) {
        while !self.is_lost() {
            // At once after one that took so long that its word counts little longer.
            let due = lock(&self.state).said + RENEWED_EVERY;
            sleep_until(due).await;
            if let Err(error) = self.renew(nodes).await {
                tracing::warn!(%error, "the log could not be held on to");
                sleep(LOOKED_EVERY).await;
            }
        }
    }

    async fn renew(&self, nodes: &Nodes) -> Result<(), LogError> {
        let (said, next) = (Instant::now(), lock(&self.state).next);
        let settled = say(nodes, next, &self.holder).await?;
        let mut state = lock(&self.state);
        match settled {
            Settled::Written(_) => {
                state.next = next + 1;
                state.said = said;
            }
            Settled::Refused | Settled::Deleted => {
                state.is_lost = true;
                tracing::error!("another process has taken the log over: nothing is written");
            }
        }
        Ok(())
    }

    /// Whether somebody else has taken over, or nobody holds the log any more.
    pub(super) fn is_lost(&self) -> bool {
        lock(&self.state).is_lost
    }

    /// Returns once it is sure that nobody else has taken over. Errors: somebody has.
    pub(super) async fn held(&self) -> Result<(), LogError> {
        loop {
            {
                let state = lock(&self.state);
                if state.is_lost {
                    let reason = "another process has taken the log over".to_owned();
                    return Err(LogError::Unavailable(reason));
                }
                if state.said.elapsed() < HELD_FOR {
                    return Ok(());
                }
            }
            sleep(LOOKED_EVERY / 10).await;
        }
    }

    /// Gives the log up.
    pub(super) async fn give_up(&self, nodes: &Nodes) -> Result<(), LogError> {
        let next = {
            let mut state = lock(&self.state);
            if std::mem::replace(&mut state.is_lost, true) {
                return Ok(());
            }
            state.next
        };
        // Refused: it was taken, or said once more just now, and is silent from now on.
        say(nodes, next, "").await.map(drop)
    }
}
