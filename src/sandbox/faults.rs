//! Faults to order: requests that are late, refused, or whose connection breaks before or after
//! they are carried out.

use std::time::Duration;

use fancy_regex::Regex;
use serde::{Deserialize, Serialize};

use crate::clock::Clock;

/// Which requests a fault meets. A request meets the first rule that fits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// `POST`; every method where it is absent.
    #[serde(default)]
    pub method: Option<String>,
    /// A regular expression found in the path, such as `/network/v2.0/ports`.
    #[serde(default)]
    pub path: Option<String>,
    /// How many fitting requests pass unharmed first.
    #[serde(default)]
    pub skip: u64,
    /// How many requests it meets; all where it is absent.
    #[serde(default)]
    pub count: Option<u64>,
    /// How likely it meets a fitting request, 0 to 1; always where it is absent.
    #[serde(default)]
    pub probability: Option<f64>,
    /// What happens.
    #[serde(default)]
    pub fault: Fault,
    /// How long the request waits first.
    #[serde(default)]
    pub latency_ms: u64,
}

/// What happens to a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Nothing: it is only late.
    #[default]
    None,
    /// It is not carried out; this status is the answer.
    Status {
        code: u16,
        /// The `Retry-After` header, in seconds.
        #[serde(default)]
        retry_after: Option<u64>,
    },
    /// It is carried out, and the connection is closed without an answer.
    DropReply,
    /// The connection is closed before it is carried out.
    DropRequest,
}

/// The rules in force.
#[derive(Debug, Default)]
pub(super) struct Faults {
    rules: Vec<Armed>,
}

#[derive(Debug)]
struct Armed {
    rule: FaultRule,
    path: Option<Regex>,
    seen: u64,
    met: u64,
}

impl Faults {
    /// Replaces the rules. The error names the pattern that is none.
    pub(super) fn set(&mut self, rules: Vec<FaultRule>) -> Result<(), String> {
        let mut armed = Vec::with_capacity(rules.len());
        for rule in rules {
            let path = match &rule.path {
                Some(pattern) => {
                    Some(Regex::new(pattern).map_err(|error| format!("{pattern}: {error}"))?)
                }
                None => None,
            };
            armed.push(Armed { rule, path, seen: 0, met: 0 });
        }
        self.rules = armed;
        Ok(())
    }

    /// The rules, and how many requests each has met.
    pub(super) fn list(&self) -> Vec<(FaultRule, u64)> {
        self.rules.iter().map(|armed| (armed.rule.clone(), armed.met)).collect()
    }

    /// What meets this request.
    pub(super) fn meet(
        &mut self,
        method: &str,
        path: &str,
        clock: &dyn Clock,
    ) -> Option<(Duration, Fault)> {
        for armed in &mut self.rules {
            let rule = &armed.rule;
            let method_fits = rule.method.as_ref().is_none_or(|m| m.eq_ignore_ascii_case(method));
            let path_fits =
                armed.path.as_ref().is_none_or(|pattern| pattern.is_match(path).unwrap_or(false));
            let spent = rule.count.is_some_and(|count| armed.met >= count);
            if !method_fits || !path_fits || spent {
                continue;
            }
            armed.seen += 1;
            let lucky = rule.probability.is_some_and(|probability| chance(clock) >= probability);
            if armed.seen <= rule.skip || lucky {
                continue;
            }
            armed.met += 1;
            return Some((Duration::from_millis(rule.latency_ms), rule.fault.clone()));
        }
        None
    }
}

/// From 0 up to 1.
fn chance(clock: &dyn Clock) -> f64 {
    let mut bytes = [0; 4];
    clock.fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SimulatedClock;

    #[test]
    fn a_rule_skips_then_meets_as_often_as_it_says() {
        let clock = SimulatedClock::new(1);
        let mut faults = Faults::default();
        let rule = serde_json::json!({
            "method": "POST", "path": "/ports$", "skip": 1, "count": 2, "fault": "drop_reply"
        });
        faults.set(vec![serde_json::from_value(rule).unwrap()]).unwrap();
        let mut post = |path: &str| faults.meet("POST", path, &clock).is_some();
        assert!(!post("/network/v2.0/networks"));
        assert!(!post("/network/v2.0/ports"));
        assert!(post("/network/v2.0/ports"));
        assert!(post("/network/v2.0/ports"));
        assert!(!post("/network/v2.0/ports"));
    }
}
