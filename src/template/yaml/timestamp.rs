//! Dates and times of YAML. Heat keeps them as text, but where libyaml refuses a text, PyYAML's
//! own reader makes dates of them, and JSON text of those.

use std::fmt::Write;

use chrono::{NaiveDate, NaiveTime};

/// The parts of a timestamp, as written. A zone is of no account in JSON.
struct Parts<'text> {
    year: &'text str,
    month: &'text str,
    day: &'text str,
    time: Option<Time<'text>>,
}

struct Time<'text> {
    hour: &'text str,
    minute: &'text str,
    second: &'text str,
    fraction: &'text str,
}

/// Whether a plain scalar is taken for a timestamp: a date alone has two digits for all.
pub(super) fn looks_like_one(text: &str) -> bool {
    let is_full = |parts: &Parts<'_>| parts.month.len() == 2 && parts.day.len() == 2;
    parts(text).is_some_and(|parts| parts.time.is_some() || is_full(&parts))
}

/// What JSON makes of a timestamp; the error is Python's.
pub(super) fn in_json(text: &str) -> Result<String, String> {
    let Some(Parts { year, month, day, time }) = parts(text) else {
        return Err(format!("{text:?} is no timestamp"));
    };
    let (year, month, day) = (number(year), number(month), number(day));
    if year == 0 {
        return Err("year 0 is out of range".to_owned());
    }
    if !(1..=12).contains(&month) {
        return Err("month must be in 1..12".to_owned());
    }
    let date = NaiveDate::from_ymd_opt(year as i32, month, day)
        .ok_or_else(|| "day is out of range for month".to_owned())?;
    let mut json = date.format("%-Y-%m-%d").to_string();
    if let Some(Time { hour, minute, second, fraction }) = time {
        let (hour, minute, second) = (number(hour), number(minute), number(second));
        for (part, value, last) in
            [("hour", hour, 23), ("minute", minute, 59), ("second", second, 59)]
        {
            if value > last {
                return Err(format!("{part} must be in 0..{last}"));
            }
        }
        let time = NaiveTime::from_hms_opt(hour, minute, second).unwrap_or_default();
        let micros = format!("{:0<6.6}", fraction);
        let _ = write!(json, "T{}.{micros}", time.format("%H:%M:%S"));
    }
    Ok(json)
}

fn number(digits: &str) -> u32 {
    digits.parse().unwrap_or(u32::MAX)
}

fn parts(text: &str) -> Option<Parts<'_>> {
    let mut rest = text;
    let year = digits(&mut rest, 4, 4)?;
    let month = after(&mut rest, "-").and_then(|()| digits(&mut rest, 1, 2))?;
    let day = after(&mut rest, "-").and_then(|()| digits(&mut rest, 1, 2))?;
    if rest.is_empty() {
        return Some(Parts { year, month, day, time: None });
    }
    let spaced = rest.trim_start_matches([' ', '\t']);
    rest = match rest.strip_prefix(['T', 't']) {
        Some(rest) => rest,
        None if spaced.len() < rest.len() => spaced,
        None => return None,
    };
    let hour = digits(&mut rest, 1, 2)?;
    let minute = after(&mut rest, ":").and_then(|()| digits(&mut rest, 2, 2))?;
    let second = after(&mut rest, ":").and_then(|()| digits(&mut rest, 2, 2))?;
    let mut fraction = "";
    if after(&mut rest, ".").is_some() {
        fraction = digits(&mut rest, 0, usize::MAX)?;
    }
    let time = Time { hour, minute, second, fraction };
    is_zone(rest.trim_start_matches([' ', '\t']), rest.is_empty()).then_some(Parts {
        year,
        month,
        day,
        time: Some(time),
    })
}

/// Whether what follows the time is a zone, or nothing at all.
fn is_zone(zone: &str, is_absent: bool) -> bool {
    if is_absent || zone == "Z" {
        return true;
    }
    let Some(mut rest) = zone.strip_prefix(['-', '+']) else { return false };
    if digits(&mut rest, 1, 2).is_none() {
        return false;
    }
    rest.is_empty()
        || (after(&mut rest, ":").and_then(|()| digits(&mut rest, 2, 2)).is_some()
            && rest.is_empty())
}

fn after(rest: &mut &str, token: &str) -> Option<()> {
    *rest = rest.strip_prefix(token)?;
    Some(())
}

fn digits<'text>(rest: &mut &'text str, least: usize, most: usize) -> Option<&'text str> {
    let count = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (digits, after) = rest.split_at(count);
    *rest = after;
    (count >= least).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_told_from_text() {
        for text in ["2013-05-23", "2001-12-14t21:59:43.10-05:00", "2001-1-4 1:59:43 Z"] {
            assert!(looks_like_one(text), "{text}");
        }
        for text in ["2013-5-23", "2013-05-23x", "2001-12-14 21:59", "2001-12-14T1:02:03 "] {
            assert!(!looks_like_one(text), "{text}");
        }
    }

    #[test]
    fn json_has_dates_without_zones() {
        assert_eq!(in_json("2013-05-23").unwrap(), "2013-05-23");
        assert_eq!(in_json("2001-12-14 21:59:43").unwrap(), "2001-12-14T21:59:43.000000");
        assert_eq!(
            in_json("2001-12-14t21:59:43.1234567-05:00").unwrap(),
            "2001-12-14T21:59:43.123456"
        );
        assert_eq!(in_json("2013-15-23").unwrap_err(), "month must be in 1..12");
    }
}
