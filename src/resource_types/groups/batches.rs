//! The batches in which a group's members are made or changed.

use serde::{Deserialize, Serialize};

/// A step towards the whole: how many members there are after it, and how many of them may take
/// the new definition in it, new ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) capacity: usize,
    pub(crate) changes: usize,
}

/// How fast members may be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    pub(crate) min_in_service: usize,
    /// At least one.
    pub(crate) batch_max: usize,
    /// Between two batches.
    pub(crate) pause_secs: f64,
}

/// The batches of a group whose surplus members, made so that enough are in service, take no
/// part in the count of those that are done.
pub(crate) fn of_indexed(target: usize, current: usize, pace: Pace) -> Vec<Batch> {
    batches(target, current, pace, |before, batch| {
        let surplus = batch.capacity.saturating_sub(before.max(target));
        batch.changes.saturating_sub(surplus)
    })
}

/// The batches of a group that lets its oldest members go.
pub(crate) fn of_scaling(target: usize, current: usize, pace: Pace) -> Vec<Batch> {
    batches(target, current, pace, |_, batch| batch.changes)
}

fn batches(
    target: usize,
    mut current: usize,
    pace: Pace,
    done_by: impl Fn(usize, Batch) -> usize,
) -> Vec<Batch> {
    let mut batches = Vec::new();
    let mut done = 0;
    while done < current || current != target {
        let batch = next(target, current, done, pace);
        done += done_by(current, batch);
        current = batch.capacity;
        batches.push(batch);
    }
    batches
}

fn next(target: usize, current: usize, done: usize, pace: Pace) -> Batch {
    let in_service = pace.min_in_service.min(target).min(current);
    let changes = pace.batch_max.max(1).min(target.saturating_sub(done));
    let kept = current.min(target.saturating_sub(changes)).max(in_service);
    Batch { capacity: changes + kept, changes }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Batches = fn(usize, usize, Pace) -> Vec<Batch>;

    fn check(
        make: Batches,
        (target, current): (usize, usize),
        (batch_max, min_in_service): (usize, usize),
        wanted: &[(usize, usize)],
    ) {
        let pace = Pace { min_in_service, batch_max, pause_secs: 0.0 };
        let made = make(target, current, pace);
        let made: Vec<_> = made.iter().map(|batch| (batch.capacity, batch.changes)).collect();
        assert_eq!(made, wanted, "{target} {current} {batch_max} {min_in_service}");
    }

    #[test]
    fn members_are_changed_a_few_at_a_time() {
        check(of_indexed, (4, 4), (4, 0), &[(4, 4)]);
        check(of_indexed, (4, 4), (5, 0), &[(4, 4)]);
        check(of_indexed, (4, 4), (3, 0), &[(4, 3), (4, 1)]);
        check(of_scaling, (4, 4), (3, 0), &[(4, 3), (4, 1)]);
        check(of_indexed, (0, 3), (2, 0), &[(0, 0)]);
        check(of_indexed, (3, 0), (2, 0), &[(2, 2), (3, 1)]);
        check(of_indexed, (0, 0), (1, 0), &[]);
    }

    #[test]
    fn enough_members_stay_in_service() {
        check(of_indexed, (4, 4), (2, 4), &[(6, 2), (6, 2), (6, 2), (4, 0)]);
        check(of_scaling, (4, 4), (2, 4), &[(6, 2), (6, 2), (4, 0)]);
        check(of_scaling, (4, 4), (2, 3), &[(5, 2), (5, 2), (4, 0)]);
        check(of_scaling, (4, 4), (4, 4), &[(8, 4), (4, 0)]);
    }

    #[test]
    fn a_group_grows_and_shrinks_on_the_way() {
        check(of_indexed, (2, 4), (1, 0), &[(2, 1), (2, 1)]);
        check(of_indexed, (6, 4), (2, 0), &[(6, 2), (6, 2), (6, 2)]);
        check(of_indexed, (6, 4), (2, 4), &[(6, 2), (6, 2), (6, 2)]);
    }

    #[test]
    fn a_batch_of_nothing_counts_as_one() {
        check(of_scaling, (2, 2), (0, 0), &[(2, 1), (2, 1)]);
    }
}
