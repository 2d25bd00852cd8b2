//! Which resource requires which.

use std::collections::BTreeSet;

use crate::model::IndexMap;

use crate::model::{Refusal, ResourceName};

/// For each resource, in the template's order, the resources it requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    requires: IndexMap<ResourceName, BTreeSet<ResourceName>>,
}

impl Dependencies {
    /// Resources without any edge.
    pub fn of(names: impl IntoIterator<Item = ResourceName>) -> Self {
        Self { requires: names.into_iter().map(|name| (name, BTreeSet::new())).collect() }
    }

    /// Notes that `user` requires `required`; edges to or from unknown names are dropped, as Heat
    /// drops a `depends_on` on a resource whose condition is false.
    pub fn add(&mut self, user: &ResourceName, required: &ResourceName) {
        if self.requires.contains_key(required)
            && let Some(requires) = self.requires.get_mut(user)
        {
            requires.insert(required.clone());
        }
    }

    /// The resources and what each requires.
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceName, &BTreeSet<ResourceName>)> {
        self.requires.iter()
    }

    /// What a resource requires.
    pub fn requires(&self, name: &ResourceName) -> Option<&BTreeSet<ResourceName>> {
        self.requires.get(name)
    }

    /// The resources, each after those that it requires, else in the template's order. Those in a
    /// cycle, and those that require one of them, are left out.
    pub fn in_order(&self) -> Vec<&ResourceName> {
        let mut missing: Vec<usize> = self.requires.values().map(BTreeSet::len).collect();
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.requires.len()];
        for (index, requires) in self.requires.values().enumerate() {
            for required in requires {
                if let Some(target) = self.requires.get_index_of(required) {
                    users[target].push(index);
                }
            }
        }
        let mut ready: BTreeSet<usize> =
            (0..missing.len()).filter(|index| missing[*index] == 0).collect();
        let mut order = Vec::with_capacity(missing.len());
        while let Some(next) = ready.pop_first() {
            order.extend(self.requires.get_index(next).map(|(name, _)| name));
            for user in &users[next] {
                missing[*user] -= 1;
                if missing[*user] == 0 {
                    ready.insert(*user);
                }
            }
        }
        order
    }
}

/// One step of building the graph.
pub trait GraphStep {
    /// Adds edges, or refuses the graph.
    fn apply(&self, graph: &mut Dependencies) -> Result<(), Refusal>;
}

/// Builds a graph by steps; their list reads as its explanation.
pub fn build(
    names: impl IntoIterator<Item = ResourceName>,
    steps: &[&dyn GraphStep],
) -> Result<Dependencies, Refusal> {
    let mut graph = Dependencies::of(names);
    for step in steps {
        step.apply(&mut graph)?;
    }
    Ok(graph)
}

#[cfg(test)]
pub(super) fn graph(edges: &[(&str, &[&str])]) -> Dependencies {
    let mut graph = Dependencies::of(edges.iter().map(|(name, _)| ResourceName::from(*name)));
    for (user, requires) in edges {
        for required in *requires {
            graph.add(&(*user).into(), &(*required).into());
        }
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_comes_first() {
        let graph = graph(&[("a", &["c"]), ("b", &[]), ("c", &["d"]), ("d", &[])]);
        let order: Vec<_> = graph.in_order().into_iter().map(|name| name.as_str()).collect();
        assert_eq!(order, ["b", "d", "c", "a"]);
    }

    #[test]
    fn what_stands_in_a_circle_or_waits_for_one_has_no_place() {
        let graph = graph(&[("a", &["c"]), ("b", &["a"]), ("c", &["a"]), ("d", &[])]);
        assert_eq!(graph.in_order(), [&"d".into()]);
    }
}
