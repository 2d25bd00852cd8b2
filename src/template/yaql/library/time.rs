//! Points and spans of time, as Python's `datetime` has them.

use std::fmt;

use chrono::{Datelike as _, NaiveDate};

use crate::template::error::{Outcome, TemplateError};

/// The microseconds of a second, and of a day.
pub(super) const SECOND: i128 = 1_000_000;
pub(super) const DAY: i128 = 86_400 * SECOND;
/// The days between the first of January of the year 1, which is day 1, and of 1970.
const EPOCH_DAY: i128 = 719_163;

/// A span of time, in microseconds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::template::yaql) struct Span(pub(in crate::template::yaql) i128);

/// A point of time with the offset of its zone.
#[derive(Clone, Copy)]
pub(in crate::template::yaql) struct Moment {
    /// What its clock shows, in microseconds since 1970.
    local: i128,
    /// How far its clock is before that of UTC, in microseconds.
    pub(super) offset: i128,
}

/// What a clock shows.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) year: i128,
    pub(super) month: i128,
    pub(super) day: i128,
    pub(super) hour: i128,
    pub(super) minute: i128,
    pub(super) second: i128,
    pub(super) microsecond: i128,
}

impl Span {
    /// A span within Python's bounds.
    pub(super) fn new(microseconds: i128) -> Outcome<Self> {
        let days = microseconds.div_euclid(DAY);
        if days.abs() > 999_999_999 {
            let message = format!("days={days}; must have magnitude <= 999999999");
            return Err(TemplateError::new("OverflowError", message));
        }
        Ok(Self(microseconds))
    }

    /// Days, seconds and microseconds: only the days may be negative.
    fn parts(self) -> (i128, i128, i128) {
        let (days, rest) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        (days, rest / SECOND, rest % SECOND)
    }

    /// As Python's `repr` shows it.
    pub(in crate::template::yaql) fn repr(self) -> String {
        let (days, seconds, microseconds) = self.parts();
        let parts = [("days", days), ("seconds", seconds), ("microseconds", microseconds)];
        let set: Vec<String> = parts
            .iter()
            .filter(|(_, value)| *value != 0)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let inside = if set.is_empty() { "0".to_owned() } else { set.join(", ") };
        format!("datetime.timedelta({inside})")
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, seconds, microseconds) = self.parts();
        if days != 0 {
            let plural = if days.abs() == 1 { "" } else { "s" };
            write!(f, "{days} day{plural}, ")?;
        }
        write!(f, "{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        if microseconds != 0 {
            write!(f, ".{microseconds:06}")?;
        }
        Ok(())
    }
}

impl Clock {
    /// Refuses what no clock shows, as Python does.
    fn microseconds(self) -> Outcome<i128> {
        let within = |value: i128, from: i128, to: i128, message: String| {
            if (from..=to).contains(&value) { Ok(()) } else { Err(TemplateError::value(message)) }
        };
        let Clock { year, month, day, hour, minute, second, microsecond } = self;
        within(year, 1, 9999, format!("year {year} is out of range"))?;
        within(month, 1, 12, "month must be in 1..12".to_owned())?;
        let small = |value: i128| u32::try_from(value).unwrap_or_default();
        let date = i32::try_from(year)
            .ok()
            .and_then(|year| NaiveDate::from_ymd_opt(year, small(month), small(day)))
            .ok_or_else(|| TemplateError::value("day is out of range for month"))?;
        within(hour, 0, 23, "hour must be in 0..23".to_owned())?;
        within(minute, 0, 59, "minute must be in 0..59".to_owned())?;
        within(second, 0, 59, "second must be in 0..59".to_owned())?;
        within(microsecond, 0, 999_999, "microsecond must be in 0..999999".to_owned())?;
        let days = i128::from(date.num_days_from_ce()) - EPOCH_DAY;
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
        Ok(seconds * SECOND + microsecond)
    }
}

impl Moment {
    /// The start of 1970.
    pub(super) const EPOCH: Self = Self { local: 0, offset: 0 };

    /// What a clock shows in a zone with this offset.
    pub(super) fn new(clock: Clock, offset: i128) -> Outcome<Self> {
        if offset.abs() >= DAY {
            let message = "offset must be a timedelta strictly between -timedelta(hours=24) and \
                           timedelta(hours=24).";
            return Err(TemplateError::value(message));
        }
        Ok(Self { local: clock.microseconds()?, offset })
    }

    /// A point of time in microseconds since 1970, shown with this offset.
    pub(super) fn at(utc: i128, offset: i128) -> Outcome<Self> {
        Self { local: 0, offset }.moved(utc.saturating_add(offset))
    }

    /// So much later by its own clock.
    pub(super) fn moved(self, by: i128) -> Outcome<Self> {
        let local = self.local.saturating_add(by);
        let day = local.div_euclid(DAY).saturating_add(EPOCH_DAY);
        // The last day of the year 9999.
        if !(1..=3_652_059).contains(&day) {
            return Err(TemplateError::new("OverflowError", "date value out of range"));
        }
        Ok(Self { local, ..self })
    }

    /// The point of time in microseconds since 1970.
    pub(in crate::template::yaql) fn utc(self) -> i128 {
        self.local - self.offset
    }

    fn date(self) -> NaiveDate {
        let day = self.local.div_euclid(DAY) + EPOCH_DAY;
        let day = i32::try_from(day).ok().and_then(NaiveDate::from_num_days_from_ce_opt);
        day.unwrap_or_default()
    }

    /// What its clock shows.
    pub(super) fn clock(self) -> Clock {
        let date = self.date();
        let time = self.local.rem_euclid(DAY);
        let seconds = time / SECOND;
        Clock {
            year: date.year().into(),
            month: date.month().into(),
            day: date.day().into(),
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            microsecond: time % SECOND,
        }
    }

    /// The day of the week, Monday being 0.
    pub(super) fn weekday(self) -> u32 {
        self.date().weekday().num_days_from_monday()
    }

    /// The day of the year, from 1.
    pub(super) fn ordinal(self) -> u32 {
        self.date().ordinal()
    }

    /// Its offset as `+01:00`.
    pub(super) fn zone(self, colon: &str) -> String {
        let sign = if self.offset < 0 { '-' } else { '+' };
        let seconds = self.offset.abs() / SECOND;
        let mut out = format!("{sign}{:02}{colon}{:02}", seconds / 3600, seconds / 60 % 60);
        if seconds % 60 != 0 {
            out.push_str(&format!("{colon}{:02}", seconds % 60));
        }
        out
    }

    /// As Python's `repr` shows it.
    pub(in crate::template::yaql) fn repr(self) -> String {
        let Clock { year, month, day, hour, minute, second, microsecond } = self.clock();
        let mut parts = vec![year, month, day, hour, minute];
        if second != 0 || microsecond != 0 {
            parts.push(second);
        }
        if microsecond != 0 {
            parts.push(microsecond);
        }
        let parts: Vec<String> = parts.iter().map(i128::to_string).collect();
        let zone = match self.offset {
            0 => "tzutc()".to_owned(),
            offset => format!("tzoffset(None, {})", offset / SECOND),
        };
        format!("datetime.datetime({}, tzinfo={zone})", parts.join(", "))
    }
}

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.utc() == other.utc()
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clock { year, month, day, hour, minute, second, microsecond } = self.clock();
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")?;
        if microsecond != 0 {
            write!(f, ".{microsecond:06}")?;
        }
        f.write_str(&self.zone(":"))
    }
}
