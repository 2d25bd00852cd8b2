//! A request with a key is carried out once, and answered the same whenever it comes again: also
//! after a restart, and where the process was killed before it answered.
//!
//! The project's stream has the claim of the key: for which request, and for which stack. The
//! stack's stream has the revision that came of it, with the same claim. A claim without such a
//! revision is a request that was not carried out yet; it is as soon as it comes again.

use actix::prelude::*;

use super::asks::{Accepted, RequestContext};
use super::engine::Engine;
use super::project::{Project, ProjectCommand};
use super::shell::Shell;
use super::stack::Stack;
use crate::events::log::{LogError, looked_aside};
use crate::events::project::KeyClaimed;
use crate::events::stack::Claim;
use crate::events::{Position, StreamId};
use crate::model::{CommandId, Refusal, StackId, StackName};

/// Asks a project for the claim of a key, as long as it counts.
#[derive(Message)]
#[rtype(result = "Option<KeyClaimed>")]
struct ClaimOf(String);

impl Handler<ClaimOf> for Shell<Project> {
    type Result = Option<KeyClaimed>;

    fn handle(&mut self, of: ClaimOf, _ctx: &mut Context<Self>) -> Self::Result {
        self.machine.claim(&of.0, self.services.clock.now()).cloned()
    }
}

/// Asks a stack whether it has a revision of a claim.
#[derive(Message)]
#[rtype(result = "Option<(StackName, Position)>")]
struct AcceptedBy(CommandId);

impl Handler<AcceptedBy> for Shell<Stack> {
    type Result = Option<(StackName, Position)>;

    fn handle(&mut self, by: AcceptedBy, _ctx: &mut Context<Self>) -> Self::Result {
        let stack = &self.machine;
        stack.has_accepted(by.0).then(|| (stack.name.clone(), self.stands_at()))
    }
}

impl Engine {
    /// The claim of the request's key, where it has one that was claimed before; a key that was
    /// claimed for another request is refused.
    pub(super) async fn claimed(
        &self,
        who: &RequestContext,
    ) -> Result<Option<KeyClaimed>, Refusal> {
        let Some(asked) = &who.conditions.once else { return Ok(None) };
        let project = self.services.directory.project(&who.caller.project_id);
        let address = project.ok_or_else(Self::silent)?;
        let found = address.send(ClaimOf(asked.key.clone())).await;
        let found = found.map_err(|_| Self::silent())?;
        match found {
            Some(claim) if claim.request != asked.request => Err(Refusal::new(
                "HTTPUnprocessableEntity",
                "The Idempotency-Key was used for another request before.",
            )),
            found => Ok(found),
        }
    }

    /// The first answer to a request whose key was claimed before, where it is carried out.
    pub async fn answered(&self, who: &RequestContext) -> Result<Option<Accepted>, Refusal> {
        let claimed = self.claimed(who).await?;
        self.done(claimed.as_ref()).await
    }

    /// The first answer, where what was claimed is done. Of a stack that was purged nothing is known
    /// any more, its name neither.
    pub(super) async fn done(
        &self,
        claimed: Option<&KeyClaimed>,
    ) -> Result<Option<Accepted>, Refusal> {
        let Some(claimed) = claimed else { return Ok(None) };
        let (stack, command) = (claimed.stack_id, claimed.command);
        let scope = StreamId::stack(stack);
        let key = looked_aside(&self.services.log, move |log| log.find_key(scope.as_str())).await;
        if matches!(key, Err(LogError::KeyDestroyed(_))) && self.summary_of(stack).await?.is_none()
        {
            return Ok(Some(Accepted { stack, name: StackName::from(""), position: Position(0) }));
        }
        let accepted = self.ask_of(stack, || AcceptedBy(command)).await?;
        Ok(accepted.map(|(name, position)| Accepted { stack, name, position }))
    }

    /// Claims the request's key for a stack, unless that is done; nothing without a key.
    pub(super) async fn claim(
        &self,
        who: &RequestContext,
        stack: StackId,
        claimed: Option<KeyClaimed>,
    ) -> Result<Option<Claim>, Refusal> {
        let Some(asked) = who.conditions.once.clone() else { return Ok(None) };
        let claimed = match claimed {
            Some(claimed) => claimed,
            None => {
                let (key, request) = (asked.key, asked.request);
                let claim = KeyClaimed { key, request, stack_id: stack, command: who.command_id };
                let command = ProjectCommand::Claim(claim.clone());
                let project = &who.caller.project_id;
                self.services.ask_project(project, command, who.meta()).await?;
                claim
            }
        };
        Ok(Some(Claim { key: claimed.key, command: claimed.command }))
    }
}
