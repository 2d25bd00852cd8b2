//! What has changed since: a count of changes, and which of them was a project's last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::id::ProjectId;

/// Of how many projects the last change is remembered, before all of them count as changed.
const PROJECTS_MAX: usize = 16_384;

/// Notes that something of a project reads otherwise than before, in the views or at an actor.
/// Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Changes(Arc<Mutex<Count>>);

/// A moment, by what had changed until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Since(u64);

#[derive(Debug, Default)]
struct Count {
    changes: u64,
    /// The last one of those that were everybody's.
    of_all: u64,
    of_projects: HashMap<ProjectId, u64>,
}

impl Changes {
    /// Now, for what is read next.
    pub fn now(&self) -> Since {
        Since(self.with(|count| count.changes))
    }

    /// Whether nothing of a project has changed since.
    pub fn has_none_of(&self, project: &ProjectId, since: Since) -> bool {
        let last = |count: &mut Count| {
            count.of_projects.get(project).map_or(count.of_all, |last| *last.max(&count.of_all))
        };
        self.with(last) <= since.0
    }

    /// Something of a project has changed.
    pub fn note(&self, project: &ProjectId) {
        self.with(|count| {
            count.changes += 1;
            if let Some(last) = count.of_projects.get_mut(project) {
                *last = count.changes;
                return;
            }
            if count.of_projects.len() >= PROJECTS_MAX {
                count.of_projects.clear();
                count.of_all = count.changes;
            }
            count.of_projects.insert(project.clone(), count.changes);
        });
    }

    /// Something has changed that may be anybody's.
    pub fn note_all(&self) {
        self.with(|count| {
            count.changes += 1;
            count.of_all = count.changes;
            count.of_projects.clear();
        });
    }

    fn with<T>(&self, then: impl FnOnce(&mut Count) -> T) -> T {
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_a_projects_own_or_everybodys() {
        let [one, other] = ["one", "other"].map(|id| ProjectId(id.to_owned()));
        let changes = Changes::default();
        let first = changes.now();
        changes.note(&one);
        assert!(!changes.has_none_of(&one, first) && changes.has_none_of(&other, first));
        let second = changes.now();
        assert!(changes.has_none_of(&one, second));
        changes.note_all();
        assert!(!changes.has_none_of(&one, second) && !changes.has_none_of(&other, second));
        assert!(changes.has_none_of(&one, changes.now()));
    }

    #[test]
    fn a_project_that_is_forgotten_counts_as_changed() {
        let (changes, first) = (Changes::default(), ProjectId("first".to_owned()));
        changes.note(&first);
        let since = changes.now();
        (0..PROJECTS_MAX).for_each(|number| changes.note(&ProjectId(number.to_string())));
        assert!(!changes.has_none_of(&first, since));
        assert!(changes.has_none_of(&first, changes.now()));
    }
}
