//! What the beats ask of actors: a look at the child and at the stack around it, a command to the
//! child, the end of what it is at.

use std::sync::Arc;

use actix::prelude::*;
use futures::channel::oneshot;

use super::sight::{Parent, Seen, Sight, Used};
use super::turn::ChildBeat;
use crate::actors::definition;
use crate::actors::look::ResourceReferred;
use crate::actors::resource::Resource;
use crate::actors::services::Services;
use crate::actors::shell::{Inhabit, Receipt, Shell};
use crate::actors::stack::{ChildEnd, Known, Stack, StackCommand};
use crate::events::{Cause, Meta};
use crate::model::{CommandId, Refusal, StackId, StackRevision};
use crate::resource_types::Failure;

/// Who asks a child, and because of what.
pub(super) fn meta(asked: &Meta, command: CommandId) -> Arc<Meta> {
    Arc::new(Meta { cause: Some(Cause::Command(command)), ..asked.clone() })
}

/// Tells a child; `None` where the engine does not answer.
pub(super) async fn tell(
    services: &Services,
    child: StackId,
    meta: &Arc<Meta>,
    command: &StackCommand,
) -> Option<Result<Receipt, Refusal>> {
    services.ask_of(child, || services.measures.ask(command.clone(), meta.clone())).await
}

/// Nothing further is to start in a child; what is at work in it ends.
pub(in crate::actors) async fn halt(services: &Services, child: StackId, asked: &Meta) {
    let command = CommandId(services.clock.fresh_id());
    let halt = StackCommand::CancelWithoutRollback;
    if let Some(Err(refusal)) = tell(services, child, &meta(asked, command), &halt).await {
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
pub(in crate::actors) fn answer_awaiting(shell: &mut Shell<Stack>) {
    if shell.links.awaiting.is_empty() {
        return;
    }
    let Some(end) = shell.view().end(&Stack::knowledge(&shell.services)) else { return };
    for waiting in shell.links.awaiting.drain(..) {
        // Who no longer waits was interrupted.
        let _ = waiting.send(end.clone());
    }
}

/// How a child's action ended. An actor that breaks off is asked anew; `None` once the engine stops.
pub(super) async fn end_of(services: &Services, child: StackId) -> Option<ChildEnd> {
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

impl Handler<AskParent> for Shell<Stack> {
    type Result = Option<Parent>;

    fn handle(&mut self, asked: AskParent, _ctx: &mut Context<Self>) -> Self::Result {
        Parent::of(self.view(), asked.0)
    }
}

/// The definition of the stack that the resource stands in, as of the revision of its own.
pub(super) async fn parent(
    services: &Arc<Services>,
    beat: &ChildBeat<'_>,
) -> Result<(Arc<Known>, Parent), Failure> {
    let stack = beat.subject.stack_id.unwrap_or_default();
    let asked = services.ask_of(stack, || AskParent(beat.nesting.revision)).await.flatten();
    let parent =
        asked.ok_or_else(|| Failure::Silent("The stack does not answer at present.".to_owned()))?;
    if let Some(known) = &parent.known {
        return Ok((known.clone(), parent));
    }
    let owner = parent.owner.as_ref();
    let read = definition::read_back(services, &parent.identity, owner, &parent.revision).await;
    match read {
        Ok(Ok(known)) => Ok((Arc::new(known), parent)),
        Ok(Err(problem)) => Err(Failure::Failed(problem)),
        Err(error) => Err(Failure::Silent(error.to_string())),
    }
}

/// Looks at a stack from its resource.
#[derive(Message)]
#[rtype(result = "Option<Seen>")]
pub(super) struct See;

impl Handler<See> for Shell<Stack> {
    type Result = Option<Seen>;

    fn handle(&mut self, _: See, _ctx: &mut Context<Self>) -> Self::Result {
        Seen::of(self.view(), &Stack::knowledge(&self.services))
    }
}

/// Asks a resource what it is made of; `None` before it is.
#[derive(Message)]
#[rtype(result = "Option<Used>")]
struct Describe;

impl Handler<Describe> for Shell<Resource> {
    type Result = Option<Used>;

    fn handle(&mut self, _: Describe, _ctx: &mut Context<Self>) -> Self::Result {
        Used::of(&self.machine)
    }
}

/// The resource that a type uses, by what `get_resource` gives for it, if it uses one.
async fn used(services: &Services, beat: &ChildBeat<'_>) -> Result<Option<Used>, Failure> {
    let Some(reference) = beat.uses() else { return Ok(None) };
    let missing =
        || Failure::Invalid(format!("Resource ({reference}) reference can not be found."));
    let silent = || Failure::Silent("The stack does not answer at present.".to_owned());
    let stack = beat.subject.stack_id.unwrap_or_default();
    let asked = services.ask_of(stack, || ResourceReferred(reference.clone())).await;
    let resource = asked.ok_or_else(silent)?.ok_or_else(missing)?;
    let described = resource.send(Describe).await.map_err(|_| silent())?;
    Ok(Some(described.ok_or_else(missing)?))
}

/// Looks around; `None` where the child does not answer.
pub(super) async fn sight(
    services: &Arc<Services>,
    beat: &ChildBeat<'_>,
) -> Result<Option<Sight>, Failure> {
    let (known, parent) = parent(services, beat).await?;
    let Some(seen) = services.ask_of(beat.child(), || See).await else { return Ok(None) };
    let used = used(services, beat).await?;
    Ok(Some(Sight { known, parent, seen, used }))
}
