//! When a scaling group may be adjusted again. It is kept, as in Heat, in the metadata of the
//! group, where users can see it.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::model::JsonMap;

const IN_PROGRESS: &str = "scaling_in_progress";
const COOLDOWN_END: &str = "cooldown_end";

/// A thousand years: texts of times are compared, so a year has four digits.
const COOLDOWN_MAX_SECS: i64 = 1_000 * 365 * 24 * 3_600;

/// Whether the group has rested from its last change, by its metadata.
pub(crate) fn is_over(metadata: &JsonMap, now: DateTime<Utc>) -> bool {
    end(metadata).is_none_or(|end| text(now).as_str() >= end)
}

/// What a change of the size adds to the metadata; the later of two ends counts.
pub(crate) fn changed(
    metadata: &JsonMap,
    cooldown_secs: Option<i64>,
    reason: &str,
    now: DateTime<Utc>,
) -> JsonMap {
    let length = TimeDelta::seconds(cooldown_secs.unwrap_or(0).clamp(0, COOLDOWN_MAX_SECS));
    let ends = text(now + length);
    let ends = end(metadata).map_or(ends.clone(), |former| ends.max(former.to_owned()));
    let mut added = unchanged();
    added.insert(COOLDOWN_END.to_owned(), json!({ ends: reason }));
    added
}

/// What an adjustment that came to nothing adds to the metadata.
pub(crate) fn unchanged() -> JsonMap {
    JsonMap::from_iter([(IN_PROGRESS.to_owned(), false.into())])
}

fn end(metadata: &JsonMap) -> Option<&str> {
    let ends = metadata.get(COOLDOWN_END).and_then(Value::as_object)?;
    ends.keys().next().map(String::as_str)
}

/// A time as Python's `isoformat` writes it.
fn text(time: DateTime<Utc>) -> String {
    let format = match time.timestamp_subsec_micros() {
        0 => "%Y-%m-%dT%H:%M:%S",
        _ => "%Y-%m-%dT%H:%M:%S%.6f",
    };
    time.format(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap_or_default()
    }

    #[test]
    fn a_group_rests_after_a_change_and_is_free_after_that() {
        assert!(is_over(&JsonMap::new(), at(0)));
        let rested = changed(&JsonMap::new(), Some(60), "ExactCapacity : 2", at(0));
        let wanted = json!({
            "scaling_in_progress": false,
            "cooldown_end": { "1970-01-01T00:01:00": "ExactCapacity : 2" },
        });
        assert_eq!(Value::Object(rested.clone()), wanted);
        assert!(!is_over(&rested, at(59)));
        assert!(is_over(&rested, at(60)));
        let shorter = changed(&rested, None, "change_in_capacity : 1", at(30));
        assert!(!is_over(&shorter, at(59)));
    }

    #[test]
    fn no_length_of_rest_is_too_long() {
        let rested = changed(&JsonMap::new(), Some(i64::MAX), "", at(0));
        assert!(!is_over(&rested, at(1)));
    }

    #[test]
    fn what_is_no_end_of_a_rest_keeps_nobody_waiting() {
        let own = json!({ "cooldown_end": "mine", "other": 1 });
        let own = own.as_object().cloned().unwrap_or_default();
        assert!(is_over(&own, at(0)));
    }
}
