//! A measured figure beside its budget.

use std::time::Duration;

use super::Scale;

/// What a figure has to keep to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Budget {
    AtMost(f64),
    AtLeast(f64),
}

/// What 99 of 100 of them keep to.
pub(super) fn most_of(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) * 99 / 100).copied().unwrap_or_default()
}

/// One line of the report.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    pub budget: Budget,
}

impl Figure {
    /// A time that must not be exceeded.
    pub(super) fn secs(name: impl Into<String>, took: Duration, at_most: f64) -> Figure {
        Figure {
            name: name.into(),
            value: took.as_secs_f64(),
            unit: "s",
            budget: Budget::AtMost(at_most),
        }
    }

    /// The same in milliseconds.
    pub(super) fn millis(name: impl Into<String>, took: Duration, at_most: f64) -> Figure {
        Figure {
            name: name.into(),
            value: took.as_secs_f64() * 1000.0,
            unit: "ms",
            budget: Budget::AtMost(at_most),
        }
    }

    /// A share of one core, in percent, that must not be exceeded.
    pub(super) fn share(name: impl Into<String>, percent: f64, at_most: f64) -> Figure {
        Figure {
            name: name.into(),
            value: percent,
            unit: "% of core",
            budget: Budget::AtMost(at_most),
        }
    }

    /// A rate that must be reached.
    pub(super) fn rate(
        name: impl Into<String>,
        rate: f64,
        unit: &'static str,
        least: f64,
    ) -> Figure {
        Figure { name: name.into(), value: rate, unit, budget: Budget::AtLeast(least) }
    }

    /// Whether the budget is kept.
    pub(super) fn is_kept(&self) -> bool {
        match self.budget {
            Budget::AtMost(most) => self.value <= most,
            Budget::AtLeast(least) => self.value >= least,
        }
    }

    /// `create a chain of 50      0.043 s   ≤ 0.1 s   kept`; what was played in small has neither
    /// budget nor verdict.
    pub(super) fn line(&self, scale: Scale) -> String {
        let (sign, bound) = match self.budget {
            Budget::AtMost(most) => ('≤', most),
            Budget::AtLeast(least) => ('≥', least),
        };
        let verdict = if self.is_kept() { "kept" } else { "MISSED" };
        let (name, unit) = (&self.name, self.unit);
        let value = if self.value >= 100.0 {
            format!("{:.0}", self.value)
        } else {
            format!("{:.3}", self.value)
        };
        match scale {
            Scale::Quick => format!("{name:<46} {value:>10} {unit}"),
            Scale::Full => {
                format!("{name:<46} {value:>10} {unit:<9} {sign} {bound} {unit:<9} {verdict}")
            }
        }
    }
}

/// The shortest of the times: for work that waits for nobody, to which whatever else the machine
/// does can only add.
pub(super) fn shortest(samples: &[Duration]) -> Duration {
    samples.iter().min().copied().unwrap_or_default()
}

/// The middle one of several measurements.
pub(super) fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_kept_on_its_side_of_the_budget() {
        assert!(Figure::secs("a", Duration::from_millis(90), 0.1).is_kept());
        assert!(!Figure::secs("a", Duration::from_millis(110), 0.1).is_kept());
        assert!(Figure::rate("b", 301.0, "stacks/s", 300.0).is_kept());
        assert!(!Figure::rate("b", 299.0, "stacks/s", 300.0).is_kept());
    }

    #[test]
    fn what_was_played_in_small_has_no_verdict() {
        let missed = Figure::secs("a", Duration::from_millis(110), 0.1);
        let (full, quick) = (missed.line(Scale::Full), missed.line(Scale::Quick));
        assert!(full.ends_with("0.110 s         ≤ 0.1 s         MISSED"), "{full}");
        assert!(quick.ends_with("0.110 s"), "{quick}");
    }

    #[test]
    fn the_middle_of_several_is_the_median() {
        let samples = [5, 1, 3].map(Duration::from_millis);
        assert_eq!(median(samples.into()), Duration::from_millis(3));
    }
}
