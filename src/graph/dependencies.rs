//! Which resource requires which.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;

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
    /// cycle are left out.
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

    /// The resources that stand in a cycle, in the template's order; empty where there is none.
    pub fn cycle(&self) -> Vec<ResourceName> {
        let mut graph = DiGraph::<usize, ()>::new();
        let nodes: Vec<_> = (0..self.requires.len()).map(|index| graph.add_node(index)).collect();
        for (index, requires) in self.requires.values().enumerate() {
            for required in requires {
                if let Some(target) = self.requires.get_index_of(required) {
                    graph.add_edge(nodes[index], nodes[target], ());
                }
            }
        }
        let looped = |component: &[petgraph::graph::NodeIndex]| match component {
            [only] => graph.contains_edge(*only, *only),
            several => several.len() > 1,
        };
        let mut members: Vec<usize> = tarjan_scc(&graph)
            .into_iter()
            .filter(|component| looped(component))
            .flatten()
            .map(|node| graph[node])
            .collect();
        members.sort_unstable();
        members
            .into_iter()
            .filter_map(|index| self.requires.get_index(index).map(|(name, _)| name.clone()))
            .collect()
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
    fn a_chain_has_no_cycle() {
        assert_eq!(graph(&[("a", &[]), ("b", &["a"]), ("c", &["b"])]).cycle(), []);
    }

    #[test]
    fn what_is_required_comes_first() {
        let graph = graph(&[("a", &["c"]), ("b", &[]), ("c", &["d"]), ("d", &[])]);
        let order: Vec<_> = graph.in_order().into_iter().map(|name| name.as_str()).collect();
        assert_eq!(order, ["b", "d", "c", "a"]);
    }

    #[test]
    fn a_cycle_names_its_members_alone() {
        let found = graph(&[("a", &["c"]), ("b", &["a"]), ("c", &["b"]), ("d", &["a"])]).cycle();
        assert_eq!(found, ["a".into(), "b".into(), "c".into()]);
    }

    #[test]
    fn a_resource_that_requires_itself_is_a_cycle() {
        assert_eq!(graph(&[("a", &["a"])]).cycle(), ["a".into()]);
    }

    #[test]
    fn an_edge_to_an_unknown_resource_is_dropped() {
        assert_eq!(graph(&[("a", &["gone"])]), graph(&[("a", &[])]));
    }
}
