//! How much there is of what is limited, counted where it is decided: two that ask at once are
//! counted one after the other. What the log had at the start comes from the views.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::{ProjectId, Refusal, StackId, Tally};
use crate::resource_types::too_many_resources;

/// Something of which a project may have so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Counted {
    Config,
    Deployment,
}

/// The counts.
#[derive(Default)]
pub(super) struct Tallies {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// By outermost stack: how many resources each stack of the tree has.
    trees: HashMap<StackId, HashMap<StackId, usize>>,
    of_projects: HashMap<(ProjectId, Counted), usize>,
}

impl Tallies {
    /// What there was at the start.
    pub(super) fn begin(&self, tally: Tally) {
        let mut counts = self.counts();
        for (root, stack, resources) in tally.stacks {
            counts.trees.entry(root).or_default().insert(stack, resources);
        }
        for (kind, of_kind) in
            [(Counted::Config, tally.configs), (Counted::Deployment, tally.deployments)]
        {
            for (project, count) in of_kind {
                counts.of_projects.insert((project, kind), count);
            }
        }
    }

    /// How many resources a stack has from here on.
    pub(super) fn note(&self, root: StackId, stack: StackId, resources: usize) {
        let mut counts = self.counts();
        let tree = counts.trees.entry(root).or_default();
        if resources > 0 {
            tree.insert(stack, resources);
            return;
        }
        tree.remove(&stack);
        if tree.is_empty() {
            counts.trees.remove(&root);
        }
    }

    /// Makes room in the tree for the resources that a stack within it is to have; refused where
    /// the whole tree would have more than the limit.
    pub(super) fn take_room(
        &self,
        root: StackId,
        stack: StackId,
        resources: usize,
        limit: Option<usize>,
    ) -> Result<(), Refusal> {
        let mut counts = self.counts();
        let tree = counts.trees.entry(root).or_default();
        let others: usize = tree.iter().filter(|(id, _)| **id != stack).map(|(_, it)| it).sum();
        if limit.is_some_and(|limit| others.saturating_add(resources) > limit) {
            return Err(too_many_resources().into());
        }
        tree.insert(stack, resources);
        Ok(())
    }

    /// Counts one more of a project's; refused where there are as many as the limit allows.
    pub(super) fn take(
        &self,
        project: &ProjectId,
        kind: Counted,
        limit: Option<usize>,
    ) -> Result<(), Refusal> {
        let mut counts = self.counts();
        let count = counts.of_projects.entry((project.clone(), kind)).or_default();
        if let Some(limit) = limit.filter(|limit| *count >= *limit) {
            let (whole, short) = match kind {
                Counted::Config => ("software configs", "configs"),
                Counted::Deployment => ("software deployments", "deployments"),
            };
            let text = format!(
                "Request limit exceeded: You have reached the maximum {whole} per tenant, {limit}. \
                 Please delete some {short}."
            );
            return Err(Refusal::new("RequestLimitExceeded", text));
        }
        *count += 1;
        Ok(())
    }

    /// Counts one less.
    pub(super) fn give_back(&self, project: &ProjectId, kind: Counted) {
        let mut counts = self.counts();
        let count = counts.of_projects.entry((project.clone(), kind)).or_default();
        *count = count.saturating_sub(1);
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(number: u128) -> StackId {
        StackId(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn a_tree_has_room_for_so_many() {
        let tallies = Tallies::default();
        tallies.note(stack(1), stack(1), 2);
        assert!(tallies.take_room(stack(1), stack(2), 3, Some(5)).is_ok());
        assert!(tallies.take_room(stack(1), stack(3), 1, Some(5)).is_err());
        // What a stack has already is not counted twice.
        assert!(tallies.take_room(stack(1), stack(2), 1, Some(5)).is_ok());
        assert!(tallies.take_room(stack(1), stack(3), 2, Some(5)).is_ok());
        assert!(tallies.take_room(stack(9), stack(8), 5, Some(5)).is_ok(), "another tree");
        tallies.note(stack(1), stack(3), 0);
        assert!(tallies.take_room(stack(1), stack(2), 3, Some(5)).is_ok());
        assert!(tallies.take_room(stack(1), stack(2), 99, None).is_ok());
    }

    #[test]
    fn a_project_has_so_many_configurations() {
        let (tallies, project) = (Tallies::default(), ProjectId::from("p"));
        tallies.begin(Tally { configs: vec![(project.clone(), 1)], ..Tally::default() });
        assert!(tallies.take(&project, Counted::Config, Some(2)).is_ok());
        let refused = tallies.take(&project, Counted::Config, Some(2)).unwrap_err();
        assert_eq!(
            refused.message,
            "Request limit exceeded: You have reached the maximum software configs per tenant, 2. \
             Please delete some configs."
        );
        assert!(tallies.take(&project, Counted::Deployment, Some(2)).is_ok());
        tallies.give_back(&project, Counted::Config);
        assert!(tallies.take(&project, Counted::Config, Some(2)).is_ok());
    }
}
