//! Points of time as text: Python's format directives, and ISO 8601 where no format is given.

use super::time::{Clock, Moment, SECOND};
use crate::template::error::{Outcome, TemplateError};
use crate::template::python;

const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Prints a point of time; a directive that is none stays.
pub(super) fn format(moment: Moment, format: &str) -> String {
    let clock = moment.clock();
    let hour = (clock.hour + 11) % 12 + 1;
    let day = DAYS.get(moment.weekday() as usize).copied().unwrap_or_default();
    let month = usize::try_from(clock.month - 1).ok().and_then(|month| MONTHS.get(month).copied());
    let month = month.unwrap_or_default();
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('Y') => out.push_str(&clock.year.to_string()),
            Some('y') => out.push_str(&format!("{:02}", clock.year % 100)),
            Some('m') => out.push_str(&format!("{:02}", clock.month)),
            Some('d') => out.push_str(&format!("{:02}", clock.day)),
            Some('H') => out.push_str(&format!("{:02}", clock.hour)),
            Some('I') => out.push_str(&format!("{hour:02}")),
            Some('M') => out.push_str(&format!("{:02}", clock.minute)),
            Some('S') => out.push_str(&format!("{:02}", clock.second)),
            Some('f') => out.push_str(&format!("{:06}", clock.microsecond)),
            Some('p') => out.push_str(if clock.hour < 12 { "AM" } else { "PM" }),
            Some('a') => out.push_str(&day[..3]),
            Some('A') => out.push_str(day),
            Some('b' | 'h') => out.push_str(&month[..3.min(month.len())]),
            Some('B') => out.push_str(month),
            Some('j') => out.push_str(&format!("{:03}", moment.ordinal())),
            Some('w') => out.push_str(&((moment.weekday() + 1) % 7).to_string()),
            Some('u') => out.push_str(&(moment.weekday() + 1).to_string()),
            Some('z') => out.push_str(&moment.zone("")),
            Some('Z') if moment.offset == 0 => out.push_str("UTC"),
            Some('Z') => {}
            Some('s') => out.push_str(&moment.utc().div_euclid(SECOND).to_string()),
            Some('F') => out.push_str(&self::format(moment, "%Y-%m-%d")),
            Some('T' | 'X') => out.push_str(&self::format(moment, "%H:%M:%S")),
            Some('D' | 'x') => out.push_str(&self::format(moment, "%m/%d/%y")),
            Some('R') => out.push_str(&self::format(moment, "%H:%M")),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('%') | None => out.push('%'),
            Some(other) => out.extend(['%', other]),
        }
    }
    out
}

/// What was read so far.
struct Found {
    clock: Clock,
    offset: i128,
    /// Whether the hour is one of twelve, and after noon.
    afternoon: Option<bool>,
}

impl Found {
    fn new() -> Self {
        let clock =
            Clock { year: 1900, month: 1, day: 1, hour: 0, minute: 0, second: 0, microsecond: 0 };
        Self { clock, offset: 0, afternoon: None }
    }

    fn moment(mut self) -> Outcome<Moment> {
        if let Some(afternoon) = self.afternoon {
            self.clock.hour = self.clock.hour % 12 + if afternoon { 12 } else { 0 };
        }
        Moment::new(self.clock, self.offset)
    }
}

/// Reads a text by a format.
pub(super) fn parse(text: &str, format: &str) -> Outcome<Moment> {
    let mismatch = || {
        let (text, format) = (python::quoted(text), python::quoted(format));
        TemplateError::value(format!("time data {text} does not match format {format}"))
    };
    let mut rest = text;
    let mut found = Found::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            rest = rest.trim_start();
        } else if c != '%' {
            rest = rest.strip_prefix(c).ok_or_else(mismatch)?;
        } else {
            let Some(directive) = chars.next() else {
                return Err(TemplateError::value(format!("stray %% in format '{format}'")));
            };
            rest = match read_directive(directive, rest, &mut found) {
                Directive::Read(rest) => rest,
                Directive::Mismatch => return Err(mismatch()),
                Directive::Unknown => {
                    let message = format!("'{directive}' is a bad directive in format '{format}'");
                    return Err(TemplateError::value(message));
                }
            };
        }
    }
    if !rest.is_empty() {
        return Err(TemplateError::value(format!("unconverted data remains: {rest}")));
    }
    found.moment()
}

enum Directive<'a> {
    Read(&'a str),
    Mismatch,
    Unknown,
}

fn read_directive<'a>(directive: char, text: &'a str, found: &mut Found) -> Directive<'a> {
    let clock = &mut found.clock;
    let read = match directive {
        'Y' => number(text, 4, 4).map(|(value, rest)| {
            clock.year = value;
            rest
        }),
        'y' => number(text, 2, 2).map(|(value, rest)| {
            clock.year = if value < 69 { 2000 + value } else { 1900 + value };
            rest
        }),
        'm' => number(text, 1, 2).map(|(value, rest)| {
            clock.month = value;
            rest
        }),
        'd' => number(text, 1, 2).map(|(value, rest)| {
            clock.day = value;
            rest
        }),
        'H' | 'I' => number(text, 1, 2).map(|(value, rest)| {
            clock.hour = value;
            rest
        }),
        'M' => number(text, 1, 2).map(|(value, rest)| {
            clock.minute = value;
            rest
        }),
        'S' => number(text, 1, 2).map(|(value, rest)| {
            clock.second = value;
            rest
        }),
        'f' => fraction(text).map(|(value, rest)| {
            clock.microsecond = value;
            rest
        }),
        'p' => word(text, &["AM", "PM"], 2).map(|(index, rest)| {
            found.afternoon = Some(index == 1);
            rest
        }),
        'b' => word(text, &MONTHS, 3).map(|(index, rest)| {
            clock.month = index + 1;
            rest
        }),
        'B' => word(text, &MONTHS, usize::MAX).map(|(index, rest)| {
            clock.month = index + 1;
            rest
        }),
        'a' => word(text, &DAYS, 3).map(|(_, rest)| rest),
        'A' => word(text, &DAYS, usize::MAX).map(|(_, rest)| rest),
        'z' => zone(text).map(|(offset, rest)| {
            found.offset = offset;
            rest
        }),
        'Z' => word(text, &["UTC", "GMT"], 3).map(|(_, rest)| rest),
        '%' => text.strip_prefix('%'),
        _ => return Directive::Unknown,
    };
    read.map_or(Directive::Mismatch, Directive::Read)
}

/// A number of so many digits at the start of a text, and what follows it.
fn number(text: &str, least: usize, most: usize) -> Option<(i128, &str)> {
    let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if length < least {
        return None;
    }
    let (digits, rest) = text.split_at(length);
    Some((digits.parse().ok()?, rest))
}

/// The microseconds that up to six digits after a point are.
fn fraction(text: &str) -> Option<(i128, &str)> {
    let (value, rest) = number(text, 1, 6)?;
    let missing = 6 - (text.len() - rest.len());
    Some((value * 10_i128.pow(u32::try_from(missing).ok()?), rest))
}

/// Which of some words a text starts with, each cut to a length.
fn word<'a>(text: &'a str, words: &[&str], length: usize) -> Option<(i128, &'a str)> {
    for (index, word) in words.iter().enumerate() {
        let word = &word[..length.min(word.len())];
        let start = text.get(..word.len());
        if start.is_some_and(|start| start.eq_ignore_ascii_case(word)) {
            return Some((index as i128, &text[word.len()..]));
        }
    }
    None
}

/// An offset: `Z`, `+01`, `+0100`, `+01:00`.
fn zone(text: &str) -> Option<(i128, &str)> {
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        return Some((0, rest));
    }
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let (hours, rest) = number(&text[1..], 2, 2)?;
    let after = rest.strip_prefix(':').unwrap_or(rest);
    let (minutes, rest) = number(after, 2, 2).unwrap_or((0, rest));
    Some((sign * (hours * 3600 + minutes * 60) * SECOND, rest))
}

/// Reads ISO 8601: a date, and perhaps a time and an offset.
pub(super) fn read(text: &str) -> Outcome<Moment> {
    read_iso(text.trim()).unwrap_or_else(|| {
        let message = format!("Unknown string format: {text}");
        Err(TemplateError::new("ParserError", message))
    })
}

fn read_iso(text: &str) -> Option<Outcome<Moment>> {
    let mut found = Found::new();
    let clock = &mut found.clock;
    let (year, rest) = number(text, 4, 4)?;
    let separator = if rest.starts_with('-') { "-" } else { "" };
    let (month, rest) = number(rest.strip_prefix(separator)?, 2, 2)?;
    let (day, mut rest) = number(rest.strip_prefix(separator)?, 2, 2)?;
    (clock.year, clock.month, clock.day) = (year, month, day);
    if !rest.is_empty() {
        let time = rest.strip_prefix(['T', 't', ' '])?;
        let (hour, after) = number(time, 2, 2)?;
        let separator = if after.starts_with(':') { ":" } else { "" };
        let (minute, after) = number(after.strip_prefix(separator)?, 2, 2)?;
        (clock.hour, clock.minute, rest) = (hour, minute, after);
        if let Some((second, after)) = rest.strip_prefix(separator).and_then(|t| number(t, 2, 2)) {
            (clock.second, rest) = (second, after);
            if let Some(digits) = rest.strip_prefix(['.', ',']) {
                let (microsecond, after) = fraction(digits)?;
                clock.microsecond = microsecond;
                rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            }
        }
        rest = rest.trim_start();
    }
    if let Some(after) = rest.strip_prefix("UTC") {
        rest = after;
    } else if !rest.is_empty() {
        (found.offset, rest) = zone(rest)?;
    }
    rest.is_empty().then(|| found.moment())
}
