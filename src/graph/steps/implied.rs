//! What the kinds of resources imply: a port needs the subnets of its network, and the like.

use crate::graph::{Dependencies, GraphStep};
use crate::model::{Refusal, ResourceName};

/// Adds `(user, required)` pairs that resource types imply, except one that would close a circle:
/// Heat's types leave out what already depends on the user.
pub struct Implied(pub Vec<(ResourceName, ResourceName)>);

impl GraphStep for Implied {
    fn apply(&self, graph: &mut Dependencies) -> Result<(), Refusal> {
        for (user, required) in &self.0 {
            if user != required && !reaches(graph, required, user) {
                graph.add(user, required);
            }
        }
        Ok(())
    }
}

fn reaches(graph: &Dependencies, from: &ResourceName, to: &ResourceName) -> bool {
    let mut seen = std::collections::HashSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            open.extend(graph.requires(name).into_iter().flatten());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::dependencies::graph;

    #[test]
    fn an_implied_edge_is_added() {
        let mut built = graph(&[("port", &[]), ("subnet", &[])]);
        Implied(vec![("port".into(), "subnet".into())]).apply(&mut built).unwrap();
        assert_eq!(built, graph(&[("port", &["subnet"]), ("subnet", &[])]));
    }

    #[test]
    fn an_implied_edge_against_a_declared_one_is_left_out() {
        let mut built = graph(&[("port", &[]), ("subnet", &["port"])]);
        let before = built.clone();
        Implied(vec![("port".into(), "subnet".into())]).apply(&mut built).unwrap();
        assert_eq!(built, before);
    }
}
