//! Events that come one by one, put together again as they were appended: a server may show the
//! first event of an append before its last, and a follower that begins anew is sent once more what
//! it has taken already.

/// See the module.
#[derive(Debug)]
pub struct Groups<T> {
    taken: u64,
    waiting: Vec<T>,
}

impl<T> Groups<T> {
    /// For a follower that has taken all groups up to a position.
    pub fn after(taken: u64) -> Self {
        Self { taken, waiting: Vec::new() }
    }

    /// The position up to which all groups were taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether the event at a position was not taken yet.
    pub fn is_new(&self, position: u64) -> bool {
        position > self.taken
    }

    /// Whether no event waits for the end of its group.
    pub fn is_between(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes the event at the next position, `None` where it is left out; with the last one of a
    /// group, gives all of the group that are new.
    pub fn take(&mut self, position: u64, event: Option<T>, ends_group: bool) -> Option<Vec<T>> {
        if self.is_new(position) {
            self.waiting.extend(event);
        }
        if !ends_group {
            return None;
        }
        self.taken = self.taken.max(position);
        Some(std::mem::take(&mut self.waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_given_at_its_end_and_once() {
        let mut groups = Groups::after(2);
        let events = [(1, false), (2, true), (3, false), (4, true), (5, true), (6, false)];
        let given = events.map(|(position, ends)| groups.take(position, Some(position), ends));
        assert_eq!(given, [None, Some(vec![]), None, Some(vec![3, 4]), Some(vec![5]), None]);
        assert_eq!((groups.taken(), groups.is_between()), (5, false));
    }

    #[test]
    fn what_is_left_out_ends_its_group_all_the_same() {
        let mut groups = Groups::after(0);
        assert_eq!(groups.take(1, Some("a"), false), None);
        assert_eq!(groups.take(2, None, true), Some(vec!["a"]));
        assert_eq!(groups.taken(), 2);
    }
}
