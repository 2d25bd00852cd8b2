//! What an adjustment makes of the size of a scaling group.

/// A change of a group's size, as a policy asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjustment {
    /// What `get_resource` gives for the group.
    pub group: String,
    pub by: f64,
    pub kind: Kind,
    /// As the policy says it.
    pub kind_name: String,
    pub step_min: Option<i64>,
    /// The policy's own; else that of the group counts.
    pub cooldown_secs: Option<i64>,
}

/// How an adjustment is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The size itself.
    Exact,
    /// Members more, or fewer.
    Change,
    /// Percent of the present size more, or fewer.
    Percent,
}

impl Kind {
    /// By its name in either language.
    pub(crate) fn named(name: &str) -> Kind {
        match name {
            "exact_capacity" | "ExactCapacity" => Kind::Exact,
            "change_in_capacity" | "ChangeInCapacity" => Kind::Change,
            _ => Kind::Percent,
        }
    }
}

/// The sizes that a group may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) min: i64,
    pub(crate) max: i64,
}

/// The new size. A percentage changes at least one member, and at least `step_min` where that is
/// given; what is over the bounds is cut off, above all at the upper one.
pub(crate) fn adjusted(
    current: i64,
    adjustment: f64,
    kind: Kind,
    step_min: Option<i64>,
    bounds: Bounds,
) -> usize {
    let new = match kind {
        Kind::Exact => adjustment as i64,
        Kind::Change => current.saturating_add(adjustment as i64),
        Kind::Percent => current.saturating_add(part(current, adjustment, step_min)),
    };
    let new = if new > bounds.max { bounds.max } else { new.max(bounds.min) };
    usize::try_from(new).unwrap_or(0)
}

/// The members that a percentage stands for: toward zero, but never none.
fn part(current: i64, percent: f64, step_min: Option<i64>) -> i64 {
    let delta = current as f64 * percent / 100.0;
    let whole = if delta.abs() < 1.0 { delta.abs().ceil().copysign(delta) } else { delta.trunc() };
    let whole = whole as i64;
    match step_min {
        Some(least) if least > whole.saturating_abs() => {
            if whole > 0 {
                least
            } else {
                -least
            }
        }
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(current: i64, adjustment: f64, kind: &str, step_min: Option<i64>) -> usize {
        adjusted(current, adjustment, Kind::named(kind), step_min, Bounds { min: 1, max: 10 })
    }

    #[test]
    fn the_size_is_set_or_changed_within_the_bounds() {
        assert_eq!(new(3, 7.0, "exact_capacity", None), 7);
        assert_eq!(new(3, 0.0, "ExactCapacity", None), 1);
        assert_eq!(new(3, -1.0, "change_in_capacity", None), 2);
        assert_eq!(new(3, 20.0, "ChangeInCapacity", None), 10);
        assert_eq!(new(3, 1e30, "change_in_capacity", None), 10);
        assert_eq!(new(3, f64::NAN, "exact_capacity", None), 1);
    }

    #[test]
    fn a_percentage_changes_at_least_one_member() {
        let percent = |current, percent| new(current, percent, "percent_change_in_capacity", None);
        assert_eq!(percent(4, 10.0), 5);
        assert_eq!(percent(4, -10.0), 3);
        assert_eq!(percent(4, 70.0), 6);
        assert_eq!(percent(4, -70.0), 2);
        assert_eq!(percent(4, 0.0), 4);
        assert_eq!(percent(10, 10.0), 10);
    }

    #[test]
    fn a_percentage_changes_as_many_as_its_step_says() {
        let percent = |percent, step| new(4, percent, "PercentChangeInCapacity", Some(step));
        assert_eq!(percent(25.0, 3), 7);
        assert_eq!(percent(-25.0, 2), 2);
        assert_eq!(percent(75.0, 2), 7);
        assert_eq!(percent(50.0, 0), 6);
    }
}
