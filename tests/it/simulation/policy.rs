//! Policies: what changes the size of a group when it is signaled, and by how much.

use serde_json::json;

use super::declared::Declared;
use crate::support::chance::Chance;

/// A type of policies, and the names of its properties.
pub(super) struct Policy {
    pub(super) type_name: &'static str,
    pub(super) group: &'static str,
    kind: &'static str,
    by: &'static str,
    cooldown: &'static str,
    /// By a number, to a number, by a share.
    kinds: [&'static str; 3],
}

/// The types that there are.
pub(super) const POLICIES: [Policy; 2] = [
    Policy {
        type_name: "OS::Heat::ScalingPolicy",
        group: "auto_scaling_group_id",
        kind: "adjustment_type",
        by: "scaling_adjustment",
        cooldown: "cooldown",
        kinds: ["change_in_capacity", "exact_capacity", "percent_change_in_capacity"],
    },
    Policy {
        type_name: "AWS::AutoScaling::ScalingPolicy",
        group: "AutoScalingGroupName",
        kind: "AdjustmentType",
        by: "ScalingAdjustment",
        cooldown: "Cooldown",
        kinds: ["ChangeInCapacity", "ExactCapacity", "PercentChangeInCapacity"],
    },
];

impl Policy {
    /// The policy of a type's name.
    pub(super) fn of(type_name: &str) -> Option<&'static Policy> {
        POLICIES.iter().find(|policy| policy.type_name == type_name)
    }
}

/// What a policy asks of a group.
pub(super) fn any_policy(group: &str, chance: &mut Chance) -> Declared {
    let policy = &POLICIES[chance.below(2) as usize];
    let kind = chance.below(3) as usize;
    let by = match kind {
        2 => [-50, 50, 100][chance.below(3) as usize],
        _ => [-1, 1, 2][chance.below(3) as usize],
    };
    let mut properties = json!({});
    properties[policy.group] = json!({ "get_resource": group });
    properties[policy.kind] = policy.kinds[kind].into();
    properties[policy.by] = by.into();
    properties[policy.cooldown] = 0.into();
    Declared::of(policy.type_name, properties)
}

/// The size that an adjustment leads to, as Heat counts it.
pub(super) fn adjusted(from: i64, by: f64, kind: &str, (min, max): (i64, i64)) -> i64 {
    let place = POLICIES.iter().find_map(|policy| policy.kinds.iter().position(|it| *it == kind));
    let to = match place {
        Some(0) => from + by as i64,
        Some(1) => by as i64,
        _ => {
            let share = from as f64 * by / 100.0;
            let whole = if share.abs() < 1.0 { share.signum() * share.abs().ceil() } else { share };
            from + whole.trunc() as i64
        }
    };
    to.min(max).max(min)
}
