//! What the template itself says: `depends_on`, and references inside properties and metadata.

use crate::graph::{Dependencies, GraphStep};
use crate::model::Refusal;
use crate::template::StackDefinition;

/// Adds the edges that the template declares.
pub struct Declared<'a>(pub &'a StackDefinition);

impl GraphStep for Declared<'_> {
    fn apply(&self, graph: &mut Dependencies) -> Result<(), Refusal> {
        for (name, resource) in self.0.resources() {
            for required in &resource.requires {
                graph.add(name, required);
            }
        }
        Ok(())
    }
}
