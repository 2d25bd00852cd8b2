//! A graph with a cycle cannot be traversed.

use std::collections::HashSet;

use indexmap::IndexSet;

use crate::graph::{Dependencies, GraphStep};
use crate::model::{Refusal, ResourceName};

/// Refuses a graph in which resources require one another in a circle. It is told what Heat calls a
/// resource: its class before its name.
pub struct RejectCycles<'a>(pub &'a dyn Fn(&ResourceName) -> String);

impl GraphStep for RejectCycles<'_> {
    fn apply(&self, graph: &mut Dependencies) -> Result<(), Refusal> {
        let traversed: HashSet<&ResourceName> = graph.in_order().into_iter().collect();
        // What waits for a circle is named with it; what is required comes first, as Heat has it.
        let mut left: IndexSet<&ResourceName> = IndexSet::new();
        for (name, requires) in graph.iter().filter(|(name, _)| !traversed.contains(name)) {
            left.extend(requires.iter().filter(|name| !traversed.contains(name)));
            left.insert(name);
        }
        if left.is_empty() {
            return Ok(());
        }
        let nodes: Vec<String> = left
            .iter()
            .map(|name| {
                let requires = graph.requires(name).into_iter().flatten();
                let requires = requires.filter(|name| left.contains(name)).map(|name| self.0(name));
                format!("{}: {{{}}}", self.0(name), requires.collect::<Vec<_>>().join(", "))
            })
            .collect();
        let message = format!("Circular Dependency Found: {{{}}}", nodes.join(", "));
        Err(Refusal::new("CircularDependencyException", message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependencies::graph;

    #[test]
    fn a_cycle_is_refused_in_heats_words() {
        let shown = |name: &ResourceName| format!("Value \"{name}\"");
        let mut graph = graph(&[("a", &["b"]), ("b", &["a"]), ("c", &["a", "d"]), ("d", &[])]);
        let refusal = RejectCycles(&shown).apply(&mut graph).unwrap_err();
        assert_eq!(refusal.class, "CircularDependencyException");
        assert_eq!(
            refusal.message,
            "Circular Dependency Found: {Value \"b\": {Value \"a\"}, Value \"a\": {Value \"b\"}, \
             Value \"c\": {Value \"a\"}}"
        );
    }

    #[test]
    fn a_chain_is_taken() {
        let shown = |name: &ResourceName| name.to_string();
        let mut graph = graph(&[("a", &[]), ("b", &["a"])]);
        assert_eq!(RejectCycles(&shown).apply(&mut graph), Ok(()));
    }
}
