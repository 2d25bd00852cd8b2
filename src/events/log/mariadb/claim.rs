//! Who writes. One process at a time holds the log: it says so in the sequencer's row, again and
//! again, and whoever takes over moves the epoch, after which nothing that an earlier holder tries
//! is written.

use std::time::Duration;

use super::batch::Batch;
use super::session::{Failure, Session};

/// After how long without anything to write a holder says that it is there still.
pub(super) const RENEWED_AFTER: Duration = Duration::from_secs(3);
/// After how long a holder that said nothing is taken for dead.
const OLD_AFTER: Duration = Duration::from_secs(15);

/// How the name begins of whoever holds a log that is being copied: nobody opens it before it is whole.
pub(super) const COPY: &str = "a copy that is not whole; copying again goes over it";

/// What the holder knows of the sequencer's row.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) epoch: u64,
    /// How many groups were written.
    pub(super) turn: u64,
    pub(super) holder: String,
    /// The next epoch was asked for, by this holder, and it is not known whether it has come.
    is_moving: bool,
}

impl Claim {
    /// A group was written: whatever was asked for before it comes no more.
    pub(super) fn go_on(&mut self) {
        self.turn += 1;
        self.is_moving = false;
    }

    /// Whether the row is where it is known to be. A move of the epoch whose answer was lost is seen
    /// here.
    pub(super) fn is_at(&mut self, turn: u64, epoch: u64, holder: &[u8]) -> bool {
        let has_moved = self.is_moving
            && (turn, epoch) == (self.turn, self.epoch + 1)
            && holder == self.holder.as_bytes();
        if has_moved {
            (self.epoch, self.is_moving) = (epoch, false);
        }
        (turn, epoch) == (self.turn, self.epoch)
    }
}

/// Takes the log for a holder, who is known by a name that no other living process has: one that was
/// killed takes its log again at once. `Err` in the result: who holds it.
pub(super) async fn take(
    session: &mut Session,
    holder: &str,
) -> Result<Result<Claim, String>, Failure> {
    let sql = "SELECT turn, epoch, holder, \
               CAST(TIMESTAMPDIFF(MICROSECOND, seen, UTC_TIMESTAMP(6)) AS SIGNED) \
               FROM sequencer WHERE id = 0";
    let row: Option<(u64, u64, Vec<u8>, i64)> = session.ask_one(sql, ()).await?;
    let Some((turn, epoch, held_by, age)) = row else {
        return Err(Failure::Refused("its sequencer is gone".to_owned()));
    };
    let is_old = age > OLD_AFTER.as_micros() as i64;
    if !held_by.is_empty() && held_by != holder.as_bytes() && !is_old {
        return Ok(Err(String::from_utf8_lossy(&held_by).into_owned()));
    }
    let sql = "UPDATE sequencer SET epoch = epoch + 1, holder = ?, seen = UTC_TIMESTAMP(6) \
               WHERE id = 0 AND epoch = ? AND turn = ?";
    match session.change(sql, (holder, epoch, turn)).await? {
        1 => {
            let holder = holder.to_owned();
            Ok(Ok(Claim { epoch: epoch + 1, turn, holder, is_moving: false }))
        }
        // Somebody was faster, or writes: look again.
        _ => Err(Failure::Again),
    }
}

/// Moves the row to the next turn, within a transaction; false where the turn is another one.
pub(super) async fn take_turn(
    session: &mut Session,
    claim: &Claim,
    batch: &Batch,
) -> Result<bool, Failure> {
    let sql = "UPDATE sequencer SET next = ?, turn = turn + 1, seen = UTC_TIMESTAMP(6), \
               checkpoint = ? WHERE id = 0 AND turn = ? AND epoch = ?";
    let values = (batch.end.position + 1, &batch.checkpoint, claim.turn, claim.epoch);
    Ok(session.change(sql, values).await? == 1)
}

/// Moves the epoch: nothing that this holder has under way is written after that. False where the
/// turn is not the one that is known, or the log another's.
pub(super) async fn move_epoch(session: &mut Session, claim: &mut Claim) -> Result<bool, Failure> {
    let sql = "UPDATE sequencer SET epoch = epoch + 1, seen = UTC_TIMESTAMP(6) \
               WHERE id = 0 AND epoch = ? AND turn = ?";
    claim.is_moving = true;
    let is_moved = session.change(sql, (claim.epoch, claim.turn)).await? == 1;
    if is_moved {
        claim.epoch += 1;
        claim.is_moving = false;
    }
    Ok(is_moved)
}

/// Says that the holder is there still; false where it is the holder no more.
pub(super) async fn renew(session: &mut Session, claim: &Claim) -> Result<bool, Failure> {
    let sql = "UPDATE sequencer SET seen = UTC_TIMESTAMP(6) WHERE id = 0 AND epoch = ?";
    Ok(session.change(sql, (claim.epoch,)).await? == 1)
}

/// Gives the log up.
pub(super) async fn give_up(session: &mut Session, claim: &Claim) -> Result<(), Failure> {
    let sql = "UPDATE sequencer SET holder = '' WHERE id = 0 AND epoch = ?";
    session.change(sql, (claim.epoch,)).await?;
    Ok(())
}

/// Whether a holder is a copy.
pub(super) fn is_copy(holder: &[u8]) -> bool {
    holder.starts_with(COPY.as_bytes())
}

/// The copy that holds the log and is not whole.
pub(super) async fn copy(session: &mut Session) -> Result<Option<String>, Failure> {
    let sql = "SELECT holder FROM sequencer WHERE id = 0";
    let holder: Option<Vec<u8>> = session.ask_one(sql, ()).await?;
    let copy = holder.filter(|holder| is_copy(holder));
    Ok(copy.map(|holder| String::from_utf8_lossy(&holder).into_owned()))
}

/// The checkpoint at the end, as it is stored.
pub(super) async fn head(session: &mut Session) -> Result<Option<String>, Failure> {
    let sql = "SELECT checkpoint FROM sequencer WHERE id = 0";
    let head: Option<Option<Vec<u8>>> = session.ask_one(sql, ()).await?;
    Ok(head.flatten().map(|text| String::from_utf8_lossy(&text).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(is_moving: bool) -> Claim {
        Claim { epoch: 3, turn: 7, holder: "us".to_owned(), is_moving }
    }

    #[test]
    fn an_epoch_that_moved_although_the_answer_was_lost_is_the_holders_own() {
        let mut moving = claim(true);
        assert!(moving.is_at(7, 3, b"us"), "it has not come yet");
        assert!(moving.is_at(7, 4, b"us"));
        assert_eq!((moving.epoch, moving.is_moving), (4, false));
        assert!(!moving.is_at(7, 5, b"us"), "no other move was asked for");
    }

    #[test]
    fn an_epoch_that_another_process_has_moved_is_not() {
        assert!(!claim(false).is_at(7, 4, b"us"), "the same host's next process");
        assert!(!claim(true).is_at(7, 4, b"they"));
        assert!(!claim(true).is_at(8, 4, b"us"));
        assert!(!claim(true).is_at(7, 5, b"us"));
    }
}
