//! How far an outlet has come, kept in the log.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::{Broken, OutletParts};
use crate::clock::Clock;
use crate::events::log::{EventLog, Head, LogError};
use crate::events::outlet::Delivered;
use crate::events::{Cause, Meta, NewEvent, OutletEvent, Position, StreamId, StreamRevision};

/// How much is sent at most before it goes on record: what a crash repeats.
const SENT_MAX: usize = 256;
/// How long what was sent waits for more before it goes on record.
const RECORD_AFTER: Duration = Duration::from_secs(1);

/// Where an outlet begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// With all that the log has.
    AtFirst,
    /// With what comes next.
    AtNext,
    /// With what comes after that.
    After(Position),
}

/// A place in the log, of an outlet.
pub(super) struct Place {
    log: Arc<dyn EventLog>,
    clock: Arc<dyn Clock>,
    stream: StreamId,
    head: Head,
    /// All that is to be sent of the log was sent up to here.
    pub(super) reached: Position,
    /// How much was sent since the last record.
    sent: usize,
}

impl Place {
    /// Where the outlet was; one that never was begins there.
    pub(super) async fn find(
        parts: &OutletParts,
        name: &str,
        begin: Begin,
    ) -> Result<Place, Broken> {
        let stream = StreamId::outlet(name);
        let end = parts.log.head(&stream).await?;
        // What was noted last counts, and there may be much.
        let last = StreamRevision(end.next.saturating_sub(1));
        let slice = parts.log.read(&stream, last).await?;
        let decoded = slice.events.last().map(|event| event.decode::<OutletEvent>());
        let known = decoded.transpose().map_err(crate::projections::ViewError::from)?;
        let reached = known.as_ref().map(|OutletEvent::Delivered(it)| it.position);
        let first = match begin {
            Begin::AtFirst => Position(0),
            Begin::After(position) => position,
            Begin::AtNext => parts.log.durable_position(),
        };
        let mut place = Place {
            log: Arc::clone(&parts.log),
            clock: Arc::clone(&parts.clock),
            stream,
            head: slice.head,
            reached: reached.unwrap_or(first),
            sent: 0,
        };
        if known.is_none() && begin == Begin::AtNext {
            // A process that dies now is followed by one that was there already.
            place.sent = 1;
            place.record().await?;
        }
        Ok(place)
    }

    /// Everything up to here was sent, or is not to be sent.
    pub(super) async fn move_to(&mut self, reached: Position, sent: usize) -> Result<(), LogError> {
        self.reached = self.reached.max(reached);
        self.sent += sent;
        if self.sent < SENT_MAX { Ok(()) } else { self.record().await }
    }

    /// Awaits what comes next; where that takes long, what was sent goes on record meanwhile.
    pub(super) async fn awaits<T>(&mut self, next: impl Future<Output = T>) -> Result<T, LogError> {
        tokio::pin!(next);
        if self.sent > 0 {
            tokio::select! {
                biased;
                found = &mut next => return Ok(found),
                () = tokio::time::sleep(RECORD_AFTER) => {}
            }
            self.record().await?;
        }
        Ok(next.await)
    }

    /// Puts on record what was sent.
    pub(super) async fn record(&mut self) -> Result<(), LogError> {
        if self.sent == 0 {
            return Ok(());
        }
        let delivered = OutletEvent::from(Delivered { position: self.reached });
        // What was sent may be of many requests.
        let cause = Some(Cause::Event(self.reached));
        let meta = Arc::new(Meta { cause, ..Meta::default() });
        let event = NewEvent::of(&delivered, self.clock.now(), meta)
            .map_err(|error| LogError::Unavailable(error.to_string()))?;
        let appended = self.log.append(&self.stream, self.head, vec![event]).await?;
        self.head = appended.head;
        self.sent = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SimulatedClock;
    use crate::events::log::MemoryLog;

    fn place() -> Place {
        Place {
            log: Arc::new(MemoryLog::new()),
            clock: Arc::new(SimulatedClock::new(7)),
            stream: StreamId::outlet("test"),
            head: Head::default(),
            reached: Position(0),
            sent: 0,
        }
    }

    /// The positions that are on record.
    async fn on_record(place: &Place) -> Vec<u64> {
        let slice = place.log.read(&place.stream, StreamRevision(0)).await.unwrap();
        let decoded = slice.events.iter().map(|event| event.decode::<OutletEvent>().unwrap());
        decoded.map(|OutletEvent::Delivered(it)| it.position.0).collect()
    }

    #[tokio::test]
    async fn a_crash_repeats_no_more_than_was_sent_since_the_last_record() {
        let mut place = place();
        for position in 1..=SENT_MAX as u64 + 1 {
            place.move_to(Position(position), 1).await.unwrap();
        }
        assert_eq!(on_record(&place).await, [SENT_MAX as u64]);
    }

    #[tokio::test]
    async fn what_is_passed_without_a_word_is_not_put_on_record() {
        let mut place = place();
        for position in 1..=2 * SENT_MAX as u64 {
            place.move_to(Position(position), 0).await.unwrap();
        }
        place.record().await.unwrap();
        assert!(on_record(&place).await.is_empty());
    }

    #[tokio::test]
    async fn a_place_never_goes_back() {
        let mut place = place();
        place.move_to(Position(7), 1).await.unwrap();
        place.move_to(Position(3), 1).await.unwrap();
        place.record().await.unwrap();
        assert_eq!(on_record(&place).await, [7]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_sent_goes_on_record_while_nothing_more_comes() {
        let mut place = place();
        place.move_to(Position(1), 1).await.unwrap();
        place.awaits(std::future::ready(())).await.unwrap();
        assert!(on_record(&place).await.is_empty());
        place.awaits(tokio::time::sleep(RECORD_AFTER * 2)).await.unwrap();
        assert_eq!(on_record(&place).await, [1]);
    }
}
