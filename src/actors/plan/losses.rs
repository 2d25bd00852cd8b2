//! What goes with a change and does not come back: what objects hold that no definition says.

use crate::actors::previewed::{Preview, PreviewedResource};
use crate::resource_types::Registry;

/// Notes of each resource that goes or is replaced what it takes with it; where a stack goes back to
/// what it was (`comes_back`), also of each that is made anew what it comes without.
pub(super) fn tell_losses(registry: &Registry, plan: &mut Preview, comes_back: bool) {
    let anew = plan.added.iter_mut().filter(|_| comes_back);
    let gone = plan.deleted.iter_mut().filter(|entry| !entry.is_kept);
    let losing: Vec<&mut PreviewedResource> =
        plan.replaced.iter_mut().chain(gone).chain(anew).collect();
    for entry in losing {
        let driver = registry.driver(&entry.type_name);
        entry.loses = driver.and_then(|driver| driver.declaration().holds.clone());
    }
    for within in &mut plan.within {
        tell_losses(registry, &mut within.plan, comes_back);
    }
}
