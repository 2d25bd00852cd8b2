//! The one thread that writes the log: takes all that waits as one transaction, and does not let
//! go of it before it is known to be written, whatever the cluster does meanwhile.
//!
//! ```text
//! group ─▶ transaction ─committed▶ written
//!            │  └─ deadlock, refused by the cluster ─▶ the same again
//!            │  └─ the server refuses the rows ─▶ failed: lost, and nothing of it is there
//!            └─ connection lost, no answer ─▶ another server: is the turn ours? ─▶ written, or again
//! ```
//!
//! A group that a server refuses after a COMMIT of it was not answered is lost only once the epoch
//! was moved: until then that COMMIT may come still.
//!
//! Each transaction moves the sequencer's row from the turn that its writer knows to the next. So
//! of two transactions with the same group one alone can be written, even where the first was
//! under way still when the second began; and what another process writes shows at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::ledger::{Ledger, Taken, Work};
use super::batch::Batch;
use super::claim::{self, Claim, RENEWED_AFTER};
use super::session::{Failure, GivenUp, Line, Session, TIMER_MAX};
use crate::events::log::checkpoint::Checkpoint;
use crate::events::signing::SigningKey;
use crate::private_files;

/// How long a group may be under way before nothing more is taken.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two tries, and between two looks at a server that refused something.
const PAUSE: Duration = Duration::from_millis(50);
/// The same where a server has only been in its own way.
const AGAIN_PAUSE: Duration = Duration::from_millis(1);
const RETRY_MAX: Duration = Duration::from_secs(2);
/// A group of so many works comes of many actors at work.
const CROWD: usize = 6;
/// How long the writer rests after such a group: a commit costs a cluster as much as many events,
/// so that a few large ones leave more of it than many small ones.
const CROWD_REST: Duration = Duration::from_millis(3);
/// What a trial writes.
const PROBE_BYTES: usize = 64 << 10;

/// What the writer works with.
pub(super) struct Writer {
    pub(super) runtime: tokio::runtime::Runtime,
    pub(super) line: Line,
    pub(super) claim: Claim,
    pub(super) end: Checkpoint,
    pub(super) signer: Option<SigningKey>,
    /// Where the newest checkpoint is kept outside the database.
    pub(super) beside: Option<PathBuf>,
}

/// What became of a group.
enum Outcome {
    Written(Checkpoint),
    /// Nothing of it is there.
    Refused(String),
    /// Another process has taken the log over, or has written what only this one may write.
    Fenced(String),
}

impl Outcome {
    fn taken_over() -> Self {
        Self::Fenced("another process has taken the log over".to_owned())
    }
}

impl Writer {
    /// Writes group after group until the log is closed.
    pub(super) fn run(mut self, ledger: &Arc<Ledger>) {
        loop {
            let group = match ledger.take_group_within(RENEWED_AFTER) {
                Taken::Group(group) => group,
                Taken::Nothing => Vec::new(),
                Taken::Closed => {
                    self.keep_beside();
                    return self.give_up_claim();
                }
            };
            match self.commit(&group, ledger) {
                Outcome::Written(end) => {
                    self.end = end;
                    if group.iter().any(tidies) {
                        self.keep_beside();
                    }
                    let is_crowd = group.len() >= CROWD;
                    ledger.written(group);
                    if is_crowd {
                        std::thread::sleep(CROWD_REST);
                    }
                }
                Outcome::Fenced(reason) => {
                    tracing::error!("{reason}");
                    return ledger.taken_over(group, &reason);
                }
                Outcome::Refused(reason) => {
                    tracing::error!(reason, "the log cannot be written");
                    ledger.failed(group, &reason);
                    if !self.wait_until_writable(ledger) {
                        return self.give_up_claim();
                    }
                    tracing::info!("the log can be written again");
                    ledger.healed();
                }
            }
        }
    }

    /// Writes a group, however long that takes. An empty one says that the process is there still.
    fn commit(&mut self, group: &[Work], ledger: &Arc<Ledger>) -> Outcome {
        let Self { runtime, line, claim, end, signer, .. } = self;
        let begun = Instant::now();
        let (mut given_up, mut sent) = (GivenUp::default(), None);
        let outcome = runtime.block_on(async {
            loop {
                let tried = match line.session().await {
                    Ok(session) => {
                        session.limit(given_up);
                        let signer = signer.as_ref();
                        let tried = attempt(session, claim, group, *end, signer, &mut sent).await;
                        given_up = session.given_up;
                        tried
                    }
                    Err(failure) => Err(failure),
                };
                let (reason, pause) = match tried {
                    Ok(outcome) => return outcome,
                    Err(Failure::Refused(reason)) if sent.is_none() => {
                        line.drop_session();
                        return Outcome::Refused(reason);
                    }
                    Err(Failure::Again) => (Failure::Again.reason(), AGAIN_PAUSE),
                    Err(failure) => {
                        let reason = failure.reason();
                        tracing::warn!(reason, "the log is written at another server");
                        line.drop_session();
                        (reason, PAUSE)
                    }
                };
                if begun.elapsed() > PATIENCE {
                    ledger.refuse(&reason);
                }
                if ledger.is_closed() && begun.elapsed() > TIMER_MAX {
                    return Outcome::Refused(reason);
                }
                tokio::time::sleep(pause).await;
            }
        });
        if begun.elapsed() > PATIENCE && matches!(outcome, Outcome::Written(_)) {
            ledger.healed();
        }
        outcome
    }

    /// Tries now and then whether rows are taken; false when the log was closed.
    fn wait_until_writable(&mut self, ledger: &Ledger) -> bool {
        let mut pause = PAUSE;
        loop {
            if ledger.pause(pause) {
                return false;
            }
            let Self { runtime, line, .. } = self;
            match runtime.block_on(async { probe(line.session().await?).await }) {
                Ok(()) => return true,
                Err(failure) => {
                    line.drop_session();
                    ledger.refuse(&failure.reason());
                }
            }
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    /// A log that was cut does not reach the checkpoint that lies outside of it.
    fn keep_beside(&self) {
        let Some(beside) = &self.beside else { return };
        let text = self.end.to_text(self.signer.as_ref());
        let is_kept =
            private_files::read(beside).is_ok_and(|kept| kept.is_some_and(|it| *it == text));
        if !is_kept && let Err(error) = private_files::write(beside, &text) {
            tracing::error!(%error, "the checkpoint beside the log is an old one");
        }
    }

    /// Lets the next process take the log at once.
    fn give_up_claim(&mut self) {
        let Self { runtime, line, claim, .. } = self;
        let given = runtime.block_on(async { claim::give_up(line.session().await?, claim).await });
        if let Err(failure) = given {
            let reason = failure.reason();
            tracing::warn!(reason, "the next process has to wait until the claim is old");
        }
    }
}

/// Whether a work writes nothing into the database, which keeps its own house.
fn tidies(work: &Work) -> bool {
    matches!(work, Work::Compact { .. } | Work::Settle(_))
}

/// One try. `sent` is what an earlier one may have written, whose COMMIT was not answered.
async fn attempt(
    session: &mut Session,
    claim: &mut Claim,
    group: &[Work],
    end: Checkpoint,
    signer: Option<&SigningKey>,
    sent: &mut Option<Batch>,
) -> Result<Outcome, Failure> {
    match attempt_in_doubt(session, claim, group, end, signer, sent).await {
        Err(Failure::Refused(reason)) if sent.is_some() => {
            match claim::move_epoch(session, claim).await? {
                true => Ok(Outcome::Refused(reason)),
                false => Err(Failure::Again),
            }
        }
        tried => tried,
    }
}

/// The same, where what was sent before may come still although the server refuses this one.
async fn attempt_in_doubt(
    session: &mut Session,
    claim: &mut Claim,
    group: &[Work],
    end: Checkpoint,
    signer: Option<&SigningKey>,
    sent: &mut Option<Batch>,
) -> Result<Outcome, Failure> {
    session.catch_up().await?;
    if group.iter().all(tidies) {
        return Ok(match claim::renew(session, claim).await? {
            true => Outcome::Written(end),
            false => Outcome::taken_over(),
        });
    }
    if sent.is_some()
        && let Some(outcome) = look(session, claim, sent.as_ref()).await?
    {
        return Ok(outcome);
    }
    let batch = Batch::of(group, end, signer, session).await?;
    if let Some(scope) = &batch.of_two_keys {
        return Ok(Outcome::Fenced(format!("the log has another key of {scope} already")));
    }
    let mut is_in_doubt = false;
    match write(session, claim, &batch, &mut is_in_doubt).await {
        Ok(true) => {
            claim.go_on();
            Ok(Outcome::Written(batch.end))
        }
        // An earlier try was written after it was looked for, or another process writes.
        Ok(false) => look(session, claim, sent.as_ref()).await?.ok_or(Failure::Again),
        Err(failure) => {
            if is_in_doubt {
                *sent = Some(batch);
            }
            Err(failure)
        }
    }
}

/// The transaction. False where the turn is not the one that is known.
pub(super) async fn write(
    session: &mut Session,
    claim: &Claim,
    batch: &Batch,
    is_in_doubt: &mut bool,
) -> Result<bool, Failure> {
    session.begin().await?;
    let written = async {
        if !claim::take_turn(session, claim, batch).await? {
            return Ok(false);
        }
        batch.write(session).await?;
        Ok(true)
    };
    match written.await {
        Ok(true) => {}
        Ok(false) => {
            session.run("ROLLBACK").await?;
            return Ok(false);
        }
        Err(Failure::Elsewhere(reason)) => return Err(Failure::Elsewhere(reason)),
        Err(failure) => {
            // A deadlock has rolled back already; asking twice does no harm.
            session.run("ROLLBACK").await?;
            return Err(failure);
        }
    }
    match session.run("COMMIT").await {
        Ok(()) => Ok(true),
        Err(Failure::Again) => Err(Failure::Again),
        Err(failure) => {
            *is_in_doubt = true;
            Err(Failure::Elsewhere(failure.reason()))
        }
    }
}

/// What became of a group that was sent; `None` where it is not there.
async fn look(
    session: &mut Session,
    claim: &mut Claim,
    sent: Option<&Batch>,
) -> Result<Option<Outcome>, Failure> {
    let sql = "SELECT turn, epoch, holder, checkpoint FROM sequencer WHERE id = 0";
    type Found = (u64, u64, Vec<u8>, Option<Vec<u8>>);
    let row: Option<Found> = session.ask_one(sql, ()).await?;
    let Some((turn, epoch, holder, end)) = row else { return Ok(Some(Outcome::taken_over())) };
    if claim.is_at(turn, epoch, &holder) {
        return Ok(None);
    }
    let there = sent.filter(|sent| end.as_deref() == Some(sent.checkpoint.as_bytes()));
    Ok(Some(match there {
        // Whoever has taken the log over since goes on after it; the next group is told.
        Some(sent) if turn == claim.turn + 1 => {
            claim.go_on();
            Outcome::Written(sent.end)
        }
        _ => Outcome::taken_over(),
    }))
}

async fn probe(session: &mut Session) -> Result<(), Failure> {
    let page = vec![0_u8; PROBE_BYTES];
    session.change("REPLACE INTO probe VALUES (0, ?)", (page,)).await?;
    session.change("DELETE FROM probe WHERE id = 0", ()).await?;
    Ok(())
}
