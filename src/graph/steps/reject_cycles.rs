//! A graph with a cycle cannot be walked.

use crate::graph::{Dependencies, GraphStep};
use crate::model::Refusal;

/// Refuses a graph in which resources require one another in a circle.
pub struct RejectCycles;

impl GraphStep for RejectCycles {
    fn apply(&self, graph: &mut Dependencies) -> Result<(), Refusal> {
        let cycle = graph.cycle();
        if cycle.is_empty() {
            return Ok(());
        }
        let nodes: Vec<String> = cycle
            .iter()
            .map(|name| {
                let requires = graph.requires(name).into_iter().flatten();
                let inside: Vec<_> = requires
                    .filter(|name| cycle.contains(name))
                    .map(|name| name.as_str())
                    .collect();
                format!("{name}: {{{}}}", inside.join(", "))
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
        let refusal =
            RejectCycles.apply(&mut graph(&[("a", &["b"]), ("b", &["a"]), ("c", &["a"])]));
        let refusal = refusal.unwrap_err();
        assert_eq!(refusal.class, "CircularDependencyException");
        assert_eq!(refusal.message, "Circular Dependency Found: {a: {b}, b: {a}}");
    }
}
