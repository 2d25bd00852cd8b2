//! A place in the history as people say it: a position of the log, or a time.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};

use super::log::{EventLog, Filter, LogError};
use super::{Position, RecordedEvent};
use crate::model::StackRevision;

/// A position of the log, or a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Position(Position),
    Time(DateTime<Utc>),
}

/// A place in the history of one stack: one of the log, or the end of one of its revisions, which
/// is how it stood when that was last its newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    When(When),
    Revision(StackRevision),
}

impl Then {
    /// Reads one: `r2` is a revision.
    pub fn read(text: &str) -> Option<Then> {
        match text.strip_prefix('r') {
            Some(revision) => revision.parse().ok().map(|it| Then::Revision(StackRevision(it))),
            None => When::read(text).map(Then::When),
        }
    }
}

/// How a time without a zone is written.
const TIMES: [&str; 4] =
    ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];

impl When {
    /// Reads one: a number is a position, all else a time; without a zone it is UTC.
    pub fn read(text: &str) -> Option<When> {
        if let Ok(position) = text.parse() {
            return Some(When::Position(Position(position)));
        }
        if let Ok(time) = DateTime::parse_from_rfc3339(text) {
            return Some(When::Time(time.to_utc()));
        }
        // To the minute, too.
        if let Ok(time) = DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M%#z") {
            return Some(When::Time(time.to_utc()));
        }
        for form in TIMES {
            if let Ok(time) = NaiveDateTime::parse_from_str(text, form) {
                return Some(When::Time(time.and_utc()));
            }
        }
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        Some(When::Time(date.and_time(NaiveTime::MIN).and_utc()))
    }

    /// Whether an event had happened by then.
    pub fn takes(self, event: &RecordedEvent) -> bool {
        match self {
            When::Position(position) => event.position <= position,
            When::Time(time) => event.at <= time,
        }
    }

    /// The last position that had been written by then. Times stand in the log in their order but
    /// for what was decided at once, so a time is found by halving.
    pub async fn position(self, log: &dyn EventLog) -> Result<Position, LogError> {
        let end = log.durable_position();
        let time = match self {
            When::Position(position) => return Ok(position.min(end)),
            When::Time(time) => time,
        };
        let (mut low, mut high) = (0, end.0);
        while low < high {
            let middle = low + (high - low) / 2;
            let next = log.read_all(Position(middle), &Filter::default(), 1).await?;
            match next.first() {
                Some(event) if event.at <= time => low = event.position.0,
                Some(_) | None => high = middle,
            }
        }
        Ok(Position(low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_position_or_a_time() {
        assert_eq!(When::read("57"), Some(When::Position(Position(57))));
        let time = DateTime::from_timestamp(1_795_226_400, 0).unwrap();
        for text in [
            "2026-11-21T02:00:00Z",
            "2026-11-21T03:00:00+01:00",
            "2026-11-21T02:00:00",
            "2026-11-21 02:00:00.0",
            "2026-11-21T02:00Z",
            "2026-11-21T03:00+01:00",
            "2026-11-21T02:00",
            "2026-11-21 02:00",
        ] {
            assert_eq!(When::read(text), Some(When::Time(time)), "{text}");
        }
        assert!(matches!(When::read("2026-11-21"), Some(When::Time(_))));
        assert_eq!(When::read("yesterday"), None);
        assert_eq!(Then::read("57"), Some(Then::When(When::Position(Position(57)))));
        assert_eq!(Then::read("r2"), Some(Then::Revision(StackRevision(2))));
        assert_eq!(Then::read("rest"), None);
    }
}
