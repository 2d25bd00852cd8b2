//! How fast a group changes, by its policy in either language.

use serde_json::Value;

use super::batches::Pace;
use super::member_stack::count;
use crate::model::JsonMap;

/// In HOT.
pub(super) fn heat_pace(policy: &JsonMap) -> Pace {
    Pace {
        min_in_service: count(policy, "min_in_service"),
        batch_max: count(policy, "max_batch_size"),
        pause_secs: policy.get("pause_time").and_then(Value::as_f64).unwrap_or(0.0),
    }
}

/// In CloudFormation's language.
pub(super) fn aws_pace(policy: &JsonMap) -> Pace {
    let pause = policy.get("PauseTime").and_then(Value::as_str);
    Pace {
        min_in_service: count(policy, "MinInstancesInService"),
        batch_max: count(policy, "MaxBatchSize"),
        pause_secs: pause.and_then(duration).unwrap_or(0) as f64,
    }
}

/// The seconds of `PT#H#M#S`.
pub(crate) fn duration(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix("PT")?;
    let mut seconds = 0_u64;
    for (unit, length) in [('H', 3600), ('M', 60), ('S', 1)] {
        if let Some((number, after)) = rest.split_once(unit) {
            let number: u64 = number.parse().ok()?;
            seconds = seconds.checked_add(number.checked_mul(length)?)?;
            rest = after;
        }
    }
    rest.is_empty().then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_in_its_parts() {
        let cases = [
            ("PT1H2M3S", Some(3723)),
            ("PT5M", Some(300)),
            ("PT0S", Some(0)),
            ("5M", None),
            ("PT5X", None),
        ];
        for (text, seconds) in cases {
            assert_eq!(duration(text), seconds, "{text}");
        }
    }
}
