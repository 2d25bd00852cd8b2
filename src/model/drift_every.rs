//! How often a stack is compared with what there is in the cloud: a tag of the stack's, or an
//! operator's default.

use std::str::FromStr;

use chrono::TimeDelta;

/// What the tag begins with that says it: `hearth:drift_every=6h`.
pub const DRIFT_TAG: &str = "hearth:drift_every=";

/// The shortest and the longest time between two looks, in seconds.
const EVERY_SECS: std::ops::RangeInclusive<i64> = 300..=31_622_400;

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriftEvery {
    Never,
    After(TimeDelta),
}

impl DriftEvery {
    /// What the tags of a stack say; `None` where they say nothing.
    pub fn of_tags<T: AsRef<str>>(tags: &[T]) -> Result<Option<DriftEvery>, String> {
        let said = tags.iter().filter_map(|tag| tag.as_ref().strip_prefix(DRIFT_TAG)).next_back();
        said.map(str::parse).transpose()
    }

    /// The time between two looks.
    pub fn time(self) -> Option<TimeDelta> {
        match self {
            Self::Never => None,
            Self::After(time) => Some(time),
        }
    }
}

impl FromStr for DriftEvery {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" {
            return Ok(Self::Never);
        }
        let wrong = || {
            format!(
                "\"{text}\" is no time between two looks at what has drifted: it is never, or a \
                 number with s, m, h or d, from 5m to 366d."
            )
        };
        let unit = text.chars().last().unwrap_or_default();
        let number = text.strip_suffix(unit).unwrap_or_default();
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return Err(wrong()),
        };
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number: Option<i64> = number.parse().ok().filter(|_| is_number);
        let all = number.and_then(|number| number.checked_mul(seconds));
        let all = all.filter(|all| EVERY_SECS.contains(all)).ok_or_else(wrong)?;
        TimeDelta::try_seconds(all).map(Self::After).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_with_a_unit_within_bounds() {
        let secs =
            |text: &str| text.parse::<DriftEvery>().map(|it| it.time().unwrap().num_seconds());
        for (text, seconds) in
            [("300s", 300), ("5m", 300), ("6h", 21_600), ("1d", 86_400), ("366d", 31_622_400)]
        {
            assert_eq!(secs(text), Ok(seconds), "{text}");
        }
        assert_eq!("never".parse(), Ok(DriftEvery::Never));
        for wrong in
            ["", "h", "6", "299s", "4m", "367d", "-6h", "+6h", "6 h", "6ü", "9223372036854775807d"]
        {
            assert!(wrong.parse::<DriftEvery>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_last_tag_counts() {
        let of = |tags: &[&str]| DriftEvery::of_tags(tags);
        assert_eq!(of(&["a", "hearth:drift"]), Ok(None));
        let hour = DriftEvery::After(TimeDelta::hours(1));
        assert_eq!(of(&["hearth:drift_every=never", "hearth:drift_every=1h"]), Ok(Some(hour)));
        assert!(of(&["hearth:drift_every=soon"]).is_err());
    }
}
