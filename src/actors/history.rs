//! Back to an earlier revision: its template, environment, files and parameters become a new one.

use actix::prelude::*;

use super::asks::{Accepted, RequestContext, SettingsGiven, StackSummary, UpdateStack};
use super::definition;
use super::engine::Engine;
use super::plan::Plan;
use super::shell::Shell;
use super::sourced::Sourced;
use super::stack::Stack;
use crate::events::stack::RevisionAccepted;
use crate::model::{Refusal, StackId, StackRevision};

/// Asks a stack for one of its revisions.
#[derive(Message)]
#[rtype(result = "Option<RevisionAccepted>")]
struct RevisionNumbered(StackRevision);

impl Handler<RevisionNumbered> for Shell<Stack> {
    type Result = Option<RevisionAccepted>;

    fn handle(&mut self, numbered: RevisionNumbered, _ctx: &mut Context<Self>) -> Self::Result {
        self.machine.revision_of(numbered.0).cloned()
    }
}

impl Engine {
    /// Accepts an earlier revision as the stack's new definition; carried out as an update.
    pub async fn roll_back_to(
        &self,
        who: &RequestContext,
        stack: StackId,
        to: StackRevision,
    ) -> Result<Accepted, Refusal> {
        let ask = self.return_to(who, stack, to).await?;
        self.update_stack(who, stack, ask).await
    }

    /// What going back would do; nothing is written.
    pub async fn preview_roll_back_to(
        &self,
        who: &RequestContext,
        stack: StackId,
        to: StackRevision,
    ) -> Result<Plan, Refusal> {
        let ask = self.return_to(who, stack, to).await?;
        self.plan_update(who, stack, &ask).await
    }

    async fn return_to(
        &self,
        who: &RequestContext,
        stack: StackId,
        to: StackRevision,
    ) -> Result<UpdateStack, Refusal> {
        let summary = self.summary(who, stack).await?;
        let revision = self.revision(&summary, to).await?;
        let sourced = Sourced { revision, emptied: false };
        let source = definition::open(&self.services, stack, Some(&sourced)).await?;
        Ok(UpdateStack {
            existing: false,
            template: Some(source.template),
            environment: source.environment,
            files: source.files,
            parameters: source.parameters,
            settings: SettingsGiven {
                tags: Some(summary.revision.settings.tags),
                ..SettingsGiven::default()
            },
            back_to: Some(to),
            ..UpdateStack::default()
        })
    }

    async fn revision(
        &self,
        summary: &StackSummary,
        number: StackRevision,
    ) -> Result<RevisionAccepted, Refusal> {
        let missing = || Refusal::not_found("Revision", number);
        let found = self.ask_of(summary.id, || RevisionNumbered(number)).await?;
        let revision = found.ok_or_else(missing)?;
        if revision.source.is_none() {
            let name = &summary.name;
            return Err(Refusal::validation(format!(
                "Revision {number} of stack {name} is the empty one to which its creation was \
                 rolled back."
            )));
        }
        Ok(revision)
    }
}
