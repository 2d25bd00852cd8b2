//! A traversal under way: which task may be done next.
//!
//! Tasks are Heat's convergence nodes: each resource of the revision is converged when what it
//! requires is; each incarnation that existed at the start is cleaned up after its own resource is
//! converged, after the incarnations that use it are cleaned up, and, where another replaces it,
//! after that one is. What waits for nothing, such as a replacement that failed, is cleaned up before
//! its name is converged: Heat starts it first.
//!
//! What a traversal that starts over has begun already may use incarnations without having done so
//! at its start: those wait for it, too.

use std::collections::{HashMap, HashSet};

use petgraph::algo::is_cyclic_directed;
use petgraph::graph::{DiGraph, NodeIndex};

use super::Dependencies;
use crate::model::{ResourceId, ResourceName, StackRevision};

/// One thing that a traversal does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Task {
    /// Bring a resource to the revision's definition.
    Converge(ResourceName),
    /// Delete an incarnation, unless the revision keeps it.
    CleanUp(ResourceId),
}

/// An incarnation that exists when the traversal starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Existing {
    pub id: ResourceId,
    pub name: ResourceName,
    /// Whether the revision goes on with this incarnation.
    pub goes_on: bool,
    pub requires: Vec<ResourceId>,
    pub replaces: Option<ResourceId>,
    pub revision: StackRevision,
}

/// The tasks of a traversal, and how many each still waits for.
#[derive(Debug, Default)]
pub struct TaskGraph {
    graph: DiGraph<Task, ()>,
    index: HashMap<Task, NodeIndex>,
    waiting: Vec<usize>,
    ready: Vec<NodeIndex>,
    done: Vec<bool>,
    open: usize,
}

impl TaskGraph {
    /// The traversal of a revision's resources over the incarnations that exist; `begun`: those that
    /// were told of it already.
    pub fn new(
        dependencies: &Dependencies,
        existing: &[Existing],
        begun: &HashSet<&ResourceName>,
    ) -> Self {
        let newest = existing.iter().map(|row| row.revision).max().unwrap_or_default();
        let graph = task_graph(dependencies, existing, begun, |_| true);
        // Revisions that failed half-way can leave incarnations that use one another in a circle;
        // the uses of the newest revision alone never do.
        let graph = if is_cyclic_directed(&graph) {
            task_graph(dependencies, existing, begun, |row| row.revision == newest)
        } else {
            graph
        };
        let index = graph.node_indices().map(|node| (graph[node].clone(), node)).collect();
        let waiting: Vec<usize> = graph
            .node_indices()
            .map(|node| graph.neighbors_directed(node, petgraph::Incoming).count())
            .collect();
        let ready = graph.node_indices().filter(|node| waiting[node.index()] == 0).collect();
        let open = graph.node_count();
        Self { done: vec![false; open], graph, index, waiting, ready, open }
    }

    /// The tasks that may be started now and were not handed out before, in the graph's order.
    pub fn take_ready(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.ready).into_iter().map(|node| self.graph[node].clone()).collect()
    }

    /// Takes back tasks that were not handed out after all.
    pub fn give_back(&mut self, tasks: impl IntoIterator<Item = Task>) {
        self.ready.extend(tasks.into_iter().filter_map(|task| self.index.get(&task).copied()));
        self.ready.sort_unstable();
    }

    /// A task is done; what waited for it alone becomes ready. One whose turn has not come was done
    /// before the traversal started over: it is handed out in its turn, and is done again.
    pub fn done(&mut self, task: &Task) {
        let Some(&node) = self.index.get(task) else { return };
        if self.waiting[node.index()] > 0 {
            return;
        }
        if std::mem::replace(&mut self.done[node.index()], true) {
            return;
        }
        self.open -= 1;
        let before = self.ready.len();
        for next in self.graph.neighbors_directed(node, petgraph::Outgoing) {
            let waiting = &mut self.waiting[next.index()];
            *waiting -= 1;
            if *waiting == 0 {
                self.ready.push(next);
            }
        }
        if self.ready.len() > before {
            self.ready.sort_unstable();
        }
    }

    /// Whether a task is done.
    pub fn is_done(&self, task: &Task) -> bool {
        self.index.get(task).is_some_and(|node| self.done[node.index()])
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.open == 0
    }
}

fn task_graph(
    dependencies: &Dependencies,
    existing: &[Existing],
    begun: &HashSet<&ResourceName>,
    counts: impl Fn(&Existing) -> bool,
) -> DiGraph<Task, ()> {
    let mut graph = DiGraph::new();
    let converge: HashMap<&ResourceName, NodeIndex> = dependencies
        .iter()
        .map(|(name, _)| (name, graph.add_node(Task::Converge(name.clone()))))
        .collect();
    let clean_up: HashMap<ResourceId, NodeIndex> =
        existing.iter().map(|row| (row.id, graph.add_node(Task::CleanUp(row.id)))).collect();
    for (name, requires) in dependencies.iter() {
        for required in requires {
            graph.update_edge(converge[required], converge[name], ());
        }
    }
    for row in existing {
        let own = clean_up[&row.id];
        if row.goes_on
            && let Some(node) = converge.get(&row.name)
        {
            graph.update_edge(*node, own, ());
        }
        let uses = row.requires.iter().filter(|_| counts(row));
        for used in uses.chain(&row.replaces).filter_map(|id| clean_up.get(id)) {
            if *used != own {
                graph.update_edge(own, *used, ());
            }
        }
    }
    // Whatever is reached from these waits for something, so no circle comes of it.
    let mut kept: HashMap<&ResourceName, Vec<NodeIndex>> = HashMap::new();
    for row in existing.iter().filter(|row| row.goes_on) {
        kept.entry(&row.name).or_default().push(clean_up[&row.id]);
    }
    for (user, requires) in dependencies.iter().filter(|(user, _)| begun.contains(user)) {
        for used in requires.iter().filter_map(|name| kept.get(name)).flatten() {
            graph.update_edge(converge[user], *used, ());
        }
    }
    for row in existing {
        let own = clean_up[&row.id];
        let waits = graph.neighbors_directed(own, petgraph::Incoming).next().is_some();
        if let Some(node) = converge.get(&row.name).filter(|_| !waits) {
            graph.update_edge(own, *node, ());
        }
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependencies::graph;

    fn id(n: u128) -> ResourceId {
        ResourceId(uuid::Uuid::from_u128(n))
    }

    fn row(n: u128, converged_as: Option<&str>, requires: &[u128]) -> Existing {
        Existing {
            id: id(n),
            name: converged_as.unwrap_or("removed").into(),
            goes_on: converged_as.is_some(),
            requires: requires.iter().copied().map(id).collect(),
            replaces: None,
            revision: StackRevision(1),
        }
    }

    fn converge(name: &str) -> Task {
        Task::Converge(name.into())
    }

    fn none() -> HashSet<&'static ResourceName> {
        HashSet::new()
    }

    #[test]
    fn a_chain_is_traversed_link_by_link() {
        let mut tasks = TaskGraph::new(&graph(&[("b", &["a"]), ("a", &[])]), &[], &none());
        assert_eq!(tasks.take_ready(), [converge("a")]);
        tasks.done(&converge("a"));
        assert_eq!(tasks.take_ready(), [converge("b")]);
        tasks.done(&converge("b"));
        assert!(tasks.is_over());
    }

    #[test]
    fn deletion_goes_against_the_uses() {
        let mut tasks =
            TaskGraph::new(&graph(&[]), &[row(1, None, &[]), row(2, None, &[1])], &none());
        assert_eq!(tasks.take_ready(), [Task::CleanUp(id(2))]);
        tasks.done(&Task::CleanUp(id(2)));
        assert_eq!(tasks.take_ready(), [Task::CleanUp(id(1))]);
    }

    #[test]
    fn a_removed_resource_goes_after_its_former_user_is_updated() {
        let user = row(2, Some("user"), &[1]);
        let mut tasks =
            TaskGraph::new(&graph(&[("user", &[])]), &[row(1, None, &[]), user], &none());
        assert_eq!(tasks.take_ready(), [converge("user")]);
        tasks.done(&converge("user"));
        tasks.done(&Task::CleanUp(id(2)));
        assert_eq!(tasks.take_ready(), [Task::CleanUp(id(1)), Task::CleanUp(id(2))]);
    }

    #[test]
    fn what_waits_for_nothing_goes_before_its_name_is_converged() {
        let failed = Existing { name: "a".into(), replaces: Some(id(1)), ..row(2, None, &[]) };
        let mut tasks =
            TaskGraph::new(&graph(&[("a", &[])]), &[row(1, Some("a"), &[]), failed], &none());
        assert_eq!(tasks.take_ready(), [Task::CleanUp(id(2))]);
        tasks.done(&Task::CleanUp(id(2)));
        assert_eq!(tasks.take_ready(), [converge("a")]);
    }

    #[test]
    fn incarnations_that_use_one_another_are_still_cleaned_up() {
        let mut newer = row(2, None, &[1]);
        newer.revision = StackRevision(2);
        let mut tasks = TaskGraph::new(&graph(&[]), &[row(1, None, &[2]), newer], &none());
        assert_eq!(tasks.take_ready(), [Task::CleanUp(id(2))]);
    }

    #[test]
    fn what_was_done_before_its_turn_is_handed_out_all_the_same() {
        let mut tasks = TaskGraph::new(&graph(&[("b", &["a"]), ("a", &[])]), &[], &none());
        assert_eq!(tasks.take_ready(), [converge("a")]);
        tasks.done(&converge("b"));
        assert!(!tasks.is_done(&converge("b")));
        tasks.done(&converge("a"));
        assert_eq!(tasks.take_ready(), [converge("b")]);
        tasks.done(&converge("b"));
        assert!(tasks.is_over());
    }

    #[test]
    fn what_was_begun_may_use_what_is_cleaned_up() {
        let (dependencies, user) = (graph(&[("b", &["a"]), ("a", &[])]), "b".into());
        for begun in [none(), HashSet::from([&user])] {
            let mut tasks = TaskGraph::new(&dependencies, &[row(1, Some("a"), &[])], &begun);
            assert_eq!(tasks.take_ready(), [converge("a")]);
            tasks.done(&converge("a"));
            let ready = tasks.take_ready();
            assert_eq!(ready.contains(&Task::CleanUp(id(1))), begun.is_empty());
            tasks.done(&converge("b"));
            tasks.done(&Task::CleanUp(id(1)));
            assert!(tasks.is_over());
        }
    }
}
