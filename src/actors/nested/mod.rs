//! Child stacks: the beats of resources whose work is one. They speak to the engine as beats of
//! other types speak to a cloud, and need no polling: a child's end is awaited. A stack that stands
//! elsewhere is not the engine's: its beats are a program as others are.
//!
//! What a beat does is decided by `turn`, of what `sight` shows; both are pure, and the simulator
//! drives them as the actors do here. A child's id follows from its resource, and the id of each
//! command from the resource, the traversal and the step. A beat that is made again after a crash
//! is therefore answered with the first receipt, and there are never two children.

mod asks;
mod balance;
mod beating;
mod beats;
mod found;
mod make;
mod remote;
mod restart;
mod scale;
mod see;
mod sight;
#[cfg(test)]
mod story;
#[cfg(test)]
mod transcripts;
mod turn;

use sha2::{Digest, Sha256};

pub(super) use asks::{answer_awaiting, halt};
pub(super) use beating::Beating;
pub(super) use beats::beat;
pub(super) use found::found;
pub use make::revise;
pub(super) use remote::{ask_elsewhere, definition, elsewhere, question};
pub(super) use restart::restart;
pub(super) use scale::{adjust, answer_adjusted, size};
pub use scale::{adjusted, adjustment_of, sized};
pub use see::own_attributes;
pub(super) use see::{attributes, differs};
pub use sight::{Around, Parent, Seen, Sight, Used};
pub use turn::{ChildBeat, ChildDefined, Defined, Telling, Turn};

use super::resource::Nesting;
use crate::model::{CommandId, ResourceId, StackId};
use crate::resource_types::Subject;

/// The child stack of a resource: it has one, for as long as it lives; another with each
/// repetition of its create.
pub fn child_of(resource: ResourceId, repetition: u32) -> StackId {
    StackId(derived(&[b"child", resource.0.as_bytes(), &repetition.to_be_bytes()]))
}

/// How many repetitions of a create are looked through for a child.
const REPETITIONS_MAX: u32 = 256;

/// The child that a physical id names. A resource that was adopted, or is external, may name any
/// stack at all: only one that follows from the resource itself is its child.
pub(in crate::actors) fn own_child(
    resource: ResourceId,
    physical_id: Option<&str>,
) -> Option<StackId> {
    let named = physical_id?.parse().ok()?;
    (0..REPETITIONS_MAX).map(|repetition| child_of(resource, repetition)).find(|it| *it == named)
}

/// The child that a resource has, or is about to have.
fn child_id(subject: &Subject, nesting: &Nesting) -> StackId {
    let resource = subject.resource_id.unwrap_or_default();
    let known = own_child(resource, subject.physical_id.as_deref());
    known.unwrap_or_else(|| child_of(resource, nesting.repetition))
}

/// The id of a command to a child, in a step of a resource's action: another one for each action. That
/// of the first is what earlier versions gave, which may have told it already.
fn command_of(resource: ResourceId, nesting: &Nesting, step: &str) -> CommandId {
    let traversal = nesting.traversal.0;
    let earlier = nesting.earlier.to_be_bytes();
    let earlier: &[u8] = if nesting.earlier == 0 { &[] } else { &earlier };
    CommandId(derived(&[resource.0.as_bytes(), traversal.as_bytes(), earlier, step.as_bytes()]))
}

fn derived(parts: &[&[u8]]) -> uuid::Uuid {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_physical_id_names_a_child_only_where_it_follows_from_the_resource_itself() {
        let [resource, other] = [1, 2].map(|number| ResourceId(uuid::Uuid::from_u128(number)));
        let named = |child: StackId| own_child(resource, Some(&child.to_string()));
        assert_eq!(named(child_of(resource, 0)), Some(child_of(resource, 0)));
        assert_eq!(named(child_of(resource, 7)), Some(child_of(resource, 7)));
        assert_ne!(child_of(resource, 0), child_of(resource, 7));
        assert_eq!(named(child_of(other, 0)), None);
        assert_eq!(own_child(resource, Some("a name")), None);
        assert_eq!(own_child(resource, None), None);
    }
}
