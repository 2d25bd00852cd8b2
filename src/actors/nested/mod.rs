//! Child stacks: the beats of resources whose work is one. They speak to the engine as beats of
//! other types speak to a cloud, and need no polling: a child's end is awaited.
//!
//! A child's id follows from its resource, and the id of each command from the resource, the
//! traversal and the step. A beat that is made again after a crash is therefore answered with the
//! first receipt, and there are never two children.

mod beats;
mod make;
mod preview;
mod remote;
mod scale;
mod see;
mod used;

use std::sync::Arc;
use std::time::Duration;

use crate::model::IndexMap;
use actix::prelude::*;
use futures::channel::oneshot;
use sha2::{Digest, Sha256};

pub(super) use beats::{Beating, beat};
pub(super) use preview::preview;
pub(super) use scale::{adjust, answer_adjusted, size};
pub(super) use see::{attributes, differs};

use super::resource::Nesting;
use super::services::Services;
use super::shell::{Ask, Inhabit, Receipt, Shell};
use super::stack::{ChildEnd, Known, Stack, StackCommand};
use crate::events::stack::{Owner, RevisionAccepted};
use crate::events::{Cause, Meta};
use crate::model::{
    CommandId, Refusal, ResourceId, ResourceName, Secret, StackId, StackRevision, TraversalId,
};
use crate::resource_types::Subject;
use crate::resource_types::child::{ChildSeen, REFERENCE};

/// The child stack of a resource: it has one, for as long as it lives; another with each
/// repetition of its create.
pub(in crate::actors) fn child_of(resource: ResourceId, repetition: u32) -> StackId {
    StackId(derived(&[b"child", resource.0.as_bytes(), &repetition.to_be_bytes()]))
}

/// The child that a resource has, or is about to have.
fn child_id(subject: &Subject, nesting: &Nesting) -> StackId {
    let known = subject.physical_id.as_ref().and_then(|id| id.parse().ok());
    let resource = subject.resource_id.unwrap_or_default();
    known.unwrap_or_else(|| child_of(resource, nesting.repetition))
}

/// The id of a command to a child.
fn command_of(resource: ResourceId, traversal: TraversalId, step: &str) -> CommandId {
    CommandId(derived(&[resource.0.as_bytes(), traversal.0.as_bytes(), step.as_bytes()]))
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

/// Who asks a child, and because of what.
fn meta(asked: &Meta, command: CommandId) -> Arc<Meta> {
    Arc::new(Meta { cause: Some(Cause::Command(command)), ..asked.clone() })
}

/// Tells a child; `None` where the engine does not answer.
async fn tell(
    services: &Services,
    child: StackId,
    meta: &Arc<Meta>,
    command: impl Fn() -> StackCommand,
) -> Option<Result<Receipt, Refusal>> {
    services.ask_of(child, || Ask { command: command(), meta: meta.clone() }).await
}

/// Nothing further is to start in a child; what is at work in it ends.
pub(super) async fn halt(services: &Services, child: StackId, asked: &Meta) {
    let command = CommandId(services.clock.fresh_id());
    let halted =
        tell(services, child, &meta(asked, command), || StackCommand::CancelWithoutRollback).await;
    if let Some(Err(refusal)) = halted {
        tracing::debug!(stack.id = %child, %refusal, "a child stack has nothing to halt");
    }
}

/// Awaits the end of what a stack is at.
#[derive(Message)]
#[rtype(result = "oneshot::Receiver<ChildEnd>")]
struct AwaitEnd;

impl Handler<AwaitEnd> for Shell<Stack> {
    type Result = MessageResult<AwaitEnd>;

    fn handle(&mut self, _: AwaitEnd, ctx: &mut Context<Self>) -> Self::Result {
        let (sender, receiver) = oneshot::channel();
        self.links.awaiting.push(sender);
        answer_awaiting(self);
        Stack::rest(self, ctx);
        MessageResult(receiver)
    }
}

/// Tells those who wait that the stack's action has ended, if it has.
pub(super) fn answer_awaiting(shell: &mut Shell<Stack>) {
    if shell.links.awaiting.is_empty() {
        return;
    }
    let Some(mut end) = shell.machine.end() else { return };
    let known = shell.machine.known();
    if known.is_some_and(|known| known.definition.has_output(REFERENCE)) {
        let (mut seen, _) = shell.machine.seen(&Stack::knowledge(&shell.services));
        end.reference = seen.outputs.shift_remove(REFERENCE).filter(|it| !it.is_null());
    }
    for waiting in shell.links.awaiting.drain(..) {
        // Who no longer waits was interrupted.
        let _ = waiting.send(end.clone());
    }
}

/// How a child's action ended. An actor that breaks off is asked anew; `None` once the engine stops.
async fn end_of(services: &Services, child: StackId) -> Option<ChildEnd> {
    loop {
        if let Ok(end) = services.ask_of(child, || AwaitEnd).await?.await {
            return Some(end);
        }
    }
}

/// Asks a stack for one of its definitions, to make a child's of it.
#[derive(Message)]
#[rtype(result = "Option<Parent>")]
struct AskParent(StackRevision);

/// The stack that a resource stands in.
pub(super) struct Parent {
    known: Option<Arc<Known>>,
    revision: RevisionAccepted,
    identity: super::resource::StackIdentity,
    owner: Option<Owner>,
}

impl Parent {
    /// How long an action of the stack may take.
    fn timeout(&self, services: &Services) -> Duration {
        match self.revision.timeout_mins {
            Some(minutes) => Duration::from_secs(u64::from(minutes) * 60),
            None => services.limits.stack_action_timeout,
        }
    }
}

impl Handler<AskParent> for Shell<Stack> {
    type Result = Option<Parent>;

    fn handle(&mut self, asked: AskParent, _ctx: &mut Context<Self>) -> Self::Result {
        let stack = &self.machine;
        Some(Parent {
            known: stack.known_of(asked.0).cloned(),
            revision: stack.revision_of(asked.0)?.clone(),
            identity: stack.identity(),
            owner: stack.owner.clone(),
        })
    }
}

/// Looks at a stack from its resource.
#[derive(Message)]
#[rtype(result = "Option<Seen>")]
struct See;

/// A child as its resource sees it.
struct Seen {
    child: ChildSeen,
    secrets: Vec<Secret<String>>,
    known: Option<Arc<Known>>,
    is_well: bool,
    /// The incarnations that count.
    ids: IndexMap<ResourceName, ResourceId>,
    /// The children within it.
    within: Vec<StackId>,
}

impl Handler<See> for Shell<Stack> {
    type Result = Option<Seen>;

    fn handle(&mut self, _: See, _ctx: &mut Context<Self>) -> Self::Result {
        let stack = &self.machine;
        if !stack.exists() || stack.is_deleted() {
            return None;
        }
        let knowledge = Stack::knowledge(&self.services);
        let (child, secrets) = stack.seen(&knowledge);
        let nests = |name: &ResourceName| {
            let registry = &self.services.registry;
            let known = stack.known();
            let driver_type = known.and_then(|it| registry.driver_type(&it.definition, name));
            let driver = driver_type.and_then(|it| registry.driver(it));
            driver.is_some_and(|driver| driver.nests().is_some())
        };
        let nesting = child.members.iter().filter(|member| nests(&member.name));
        let within = nesting.filter_map(|member| member.physical_id.as_ref()?.parse().ok());
        let within = within.collect();
        Some(Seen {
            ids: stack.incarnations(),
            within,
            child,
            secrets,
            known: stack.known().cloned(),
            is_well: stack.is_well(),
        })
    }
}
