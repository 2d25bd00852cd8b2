//! Stacks as the engine is asked for them: what is to become of one is checked, its name is taken,
//! and its actor is told.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tracing::warn;

use super::asks::{Accepted, CreateStack, RequestContext, StackPlace, UpdateStack};
use super::credentials::check_home;
use super::engine::Engine;
use super::executor;
use super::project::{LIMIT_EXCEEDED, ProjectCommand};
use super::stack::{Create, Known, Revise, StackCommand};
use super::turns::to_the_end;
use super::{definition, exposure, source};
use crate::events::stack::Claim;
use crate::events::{Meta, Position, StreamId};
use crate::model::sizes::STACK_NAME;
use crate::model::taint;
use crate::model::{
    Action, CommandId, DriftEvery, JsonMap, Refusal, StackId, StackName, StackSettings, Trustor,
};
use crate::resource_types::CloudCheck;
use crate::template::StackSource;

impl Engine {
    /// Accepts a new stack.
    pub async fn create_stack(
        &self,
        who: &RequestContext,
        ask: CreateStack,
    ) -> Result<Accepted, Refusal> {
        self.make_stack(who, ask, None).await
    }

    /// Accepts a new stack of what there is already: its resources as a document of `export` has
    /// them.
    pub async fn adopt_stack(
        &self,
        who: &RequestContext,
        ask: CreateStack,
        resources: JsonMap,
    ) -> Result<Accepted, Refusal> {
        if !self.services.limits.enable_stack_adopt {
            return Err(Refusal::new("NotSupported", "Stack Adopt is not supported."));
        }
        self.make_stack(who, ask, Some(resources)).await
    }

    /// Refuses what is new while the log is away: templates would wait in memory, and clients for
    /// nothing.
    fn expect_writable(&self) -> Result<(), Refusal> {
        match self.services.log.is_writable() {
            true => Ok(()),
            false => Err(Refusal::unavailable("The event log cannot be written at present.")),
        }
    }

    /// As in Heat, a name that is taken counts before all that is wrong with the template.
    pub(super) async fn refuse_taken(
        &self,
        who: &RequestContext,
        name: &StackName,
    ) -> Result<(), Refusal> {
        let holder = self.services.holder_of(&who.caller.project_id, name).await?;
        let Some(holder) = holder else { return Ok(()) };
        match self.summary_of(holder).await? {
            Some(summary) if !summary.deleted => Err(name_taken(name)),
            Some(_) | None => Ok(()),
        }
    }

    async fn make_stack(
        &self,
        who: &RequestContext,
        mut ask: CreateStack,
        adopts: Option<JsonMap>,
    ) -> Result<Accepted, Refusal> {
        check_name(&ask.name)?;
        check_tags(&ask.settings.tags)?;
        let claimed = self.claimed(who).await?;
        if let Some(done) = self.done(claimed.as_ref()).await? {
            return Ok(Accepted { name: ask.name, ..done });
        }
        self.expect_writable()?;
        self.refuse_taken(who, &ask.name).await?;
        let services = &self.services;
        let project = &who.caller.project_id;
        self.hold_to_plan(who, self.plan_create(who, &mut ask)).await?;
        let fresh = || StackId(services.clock.fresh_id());
        let id = claimed.as_ref().map_or_else(fresh, |claimed| claimed.stack_id);
        let place = StackPlace { id: Some(id), ..StackPlace::new(project, &ask.name) };
        let known = self.prepare(who, &mut ask.source, place).await?;
        // A document is handed on without its secrets.
        if let Some(name) = adopts.as_ref().and_then(|_| known.definition.masked_parameter()) {
            let message = format!(
                "Invalid adopt data: the hidden parameter {name} has no value but the mask of one: \
                 give it as a parameter."
            );
            return Err(Refusal::new("HTTPBadRequest", message));
        }
        let claim = self.claim(who, id, claimed.clone()).await?;
        let adopts = adopts.map(|adopts| taint::taint(Value::Object(adopts)));
        let CreateStack { name, source, settings, .. } = ask;
        let known = Arc::new(known);
        let new = NewStack { id, name, source, known, settings, claim, adopts };
        let alone = services.naming.wait(&(project.clone(), new.name.clone())).await;
        let (engine, who) = (self.clone(), who.clone());
        to_the_end(async move {
            let _alone = alone;
            // The same request may have waited for itself.
            match engine.done(claimed.as_ref()).await? {
                Some(done) => Ok(Accepted { name: new.name, ..done }),
                None => engine.make_named(&who, new).await,
            }
        })
        .await
    }

    /// Makes a stack while nobody else is at its name, which is free again where it is not made.
    async fn make_named(&self, who: &RequestContext, new: NewStack) -> Result<Accepted, Refusal> {
        let services = &self.services;
        let (id, name, project) = (new.id, new.name.clone(), &who.caller.project_id);
        // First the name: while a project has one, its trusts are not given back.
        self.take_name(who, &name, id).await?;
        let made = async {
            let trustor = services.credentials.ensure(services, who).await?;
            let revise = self.revise(trustor, id, new.source, new.known, new.settings).await?;
            let create = Create {
                id,
                name: new.name,
                project_id: project.clone(),
                owner_user_name: who.caller.user_name.clone(),
                owner: None,
                revise: Revise { claim: new.claim, ..revise },
                adopts: new.adopts,
            };
            self.ask_stack(id, who, || StackCommand::Create(Box::new(create.clone()))).await
        };
        match made.await {
            Ok(receipt) => Ok(Accepted { stack: id, name, position: receipt.position }),
            Err(refusal) => {
                let release = ProjectCommand::Release { name, stack_id: id };
                let _ = services.ask_project(project, release, who.meta()).await;
                Err(refusal)
            }
        }
    }

    /// Accepts a new definition for a stack.
    pub async fn update_stack(
        &self,
        who: &RequestContext,
        stack: StackId,
        mut ask: UpdateStack,
    ) -> Result<Accepted, Refusal> {
        let claimed = self.claimed(who).await?;
        if let Some(done) = self.done(claimed.as_ref()).await? {
            return Ok(done);
        }
        self.expect_writable()?;
        check_tags(ask.settings.tags.as_deref().unwrap_or_default())?;
        let prepared = self.prepared(who, stack, &ask).await?;
        ask.template = None;
        let planned = self.hold_to_plan(who, self.plan_of(who, &ask, &prepared)).await?;
        let (summary, source, known) = (prepared.summary, prepared.source, prepared.known);
        let trustor = self.ensure(who, &summary).await?;
        let mut kept = summary.revision.settings.clone();
        if !ask.existing {
            kept.tags.clear();
        }
        let settings = ask.settings.over(kept);
        let revise = self.revise(trustor, stack, source, known, settings).await?;
        let claim = self.claim(who, stack, claimed).await?;
        let revise = Revise { options: ask.options, back_to: ask.back_to, claim, ..revise };
        let command = || StackCommand::Update(Box::new(revise.clone()));
        let receipt = self.ask_planned(stack, who, planned, command).await?;
        Ok(Accepted { stack, name: summary.head.name, position: receipt.position })
    }

    /// Accepts the deletion of a stack.
    pub async fn delete_stack(
        &self,
        who: &RequestContext,
        stack: StackId,
    ) -> Result<Accepted, Refusal> {
        let summary = self.summary(who, stack).await?;
        self.allow(who, &summary).await?;
        let planned = self.hold_to_plan(who, self.plan_delete(who, stack)).await?;
        let trustor = match self.ensure(who, &summary).await {
            Ok(trustor) => trustor,
            // What keeps a new trust from being made must not keep a stack from being deleted
            // with the one that it has, where that delegates no more than the caller holds.
            Err(refusal) if summary.trustor.is_within(&who.caller) => {
                check_home(&self.services, &summary.project_id, &who.token).await?;
                warn!(stack.id = %stack, %refusal, "a stack is deleted without a new trust");
                summary.trustor.clone()
            }
            Err(refusal) => return Err(refusal),
        };
        let delete = || StackCommand::Delete { trustor: Some(trustor.clone()) };
        let receipt = self.ask_planned(stack, who, planned, delete).await?;
        Ok(Accepted { stack, name: summary.head.name, position: receipt.position })
    }

    /// Stops the update under way, with a rollback or without.
    pub async fn cancel_update(
        &self,
        who: &RequestContext,
        stack: StackId,
        rollback: bool,
    ) -> Result<Accepted, Refusal> {
        let summary = self.summary(who, stack).await?;
        let command = || match rollback {
            true => StackCommand::CancelUpdate,
            false => StackCommand::CancelWithoutRollback,
        };
        let receipt = self.ask_stack(stack, who, command).await?;
        Ok(Accepted { stack, name: summary.head.name, position: receipt.position })
    }

    /// Has whatever is under way in a stack given up, for an operator.
    pub async fn reset_stack(&self, stack: StackId) -> Result<Position, Refusal> {
        let missing = || Refusal::new("NotFound", format!("Stack with id {stack} not found"));
        self.summary_of(stack).await?.ok_or_else(missing)?;
        let command = CommandId(self.services.clock.fresh_id());
        let meta = Arc::new(Meta::of_command(command));
        let measures = &self.services.measures;
        let receipt =
            self.ask_of(stack, || measures.ask(StackCommand::Reset, Arc::clone(&meta))).await??;
        Ok(receipt.position)
    }

    /// Suspends, resumes or checks the stack; in the middle of another action, once that is over.
    pub async fn act_on_stack(
        &self,
        who: &RequestContext,
        stack: StackId,
        action: Action,
    ) -> Result<Accepted, Refusal> {
        let summary = self.summary(who, stack).await?;
        if action != Action::Check {
            self.allow(who, &summary).await?;
        }
        let planned = self.hold_to_plan(who, self.plan_act(who, stack, action)).await?;
        let trustor = Some(self.ensure(who, &summary).await?);
        let act = || StackCommand::Act { action, trustor: trustor.clone() };
        let receipt = self.ask_planned(stack, who, planned, act).await?;
        Ok(Accepted { stack, name: summary.head.name, position: receipt.position })
    }

    /// Reads and checks a source; templates that stand elsewhere become some of its files.
    pub(super) async fn prepare(
        &self,
        who: &RequestContext,
        source: &mut StackSource,
        place: StackPlace<'_>,
    ) -> Result<Known, Refusal> {
        let services = &self.services;
        let there = self.cloud_of(who);
        let lacking = exposure::lacking(&there).await;
        let (known, asked) = self.prepare_here(who, source, place, lacking).await?;
        if let Some(cloud) = &services.cloud {
            let session = match place.trustor.filter(|_| *place.project != who.caller.project_id) {
                Some(trustor) => self.session_of(place.project, trustor).await?,
                None => who.session(cloud, place.project),
            };
            let (registry, definition) = (&services.registry, &known.definition);
            exposure::check_extensions(services, &there, definition).await?;
            executor::check_in_cloud(registry, definition, &asked, &session).await?;
        }
        Ok(known)
    }

    /// The same without a cloud: also what that would have to be asked.
    pub(super) async fn prepare_here(
        &self,
        who: &RequestContext,
        source: &mut StackSource,
        place: StackPlace<'_>,
        lacking: BTreeSet<&'static str>,
    ) -> Result<(Known, Vec<CloudCheck>), Refusal> {
        let services = &self.services;
        let prepare = {
            let services = Arc::clone(services);
            let (project, id, name) = (place.project.clone(), place.id, place.name.clone());
            move |source: &StackSource| {
                definition::prepare(&services, source, id, &name, &project, &lacking)
            }
        };
        let (types, checked) = self.with_templates(who, source, prepare).await?;
        exposure::check_allowed(services, &who.caller, types).await?;
        checked
    }

    /// A definition that was read and checked, written down for its stack, with its source kept.
    pub(super) async fn revise(
        &self,
        trustor: Trustor,
        id: StackId,
        source: StackSource,
        known: Arc<Known>,
        settings: StackSettings,
    ) -> Result<Revise, Refusal> {
        let (revise, blob) = {
            let scope = StreamId::stack(id);
            let sealing = self.services.sealing(scope.as_str());
            source::revise(&sealing, (source, known), settings, trustor)?
        };
        self.services.log.put_blob(&blob).await.map_err(|error| {
            warn!(stack.id = %id, %error, "a template is not kept");
            Refusal::unavailable("The event log cannot be written at present.")
        })?;
        Ok(revise)
    }

    /// Takes a name; one held by a stack that was deleted, or never came to be, is free.
    async fn take_name(
        &self,
        who: &RequestContext,
        name: &StackName,
        id: StackId,
    ) -> Result<(), Refusal> {
        let services = &self.services;
        let project = &who.caller.project_id;
        let limit = services.limits.max_stacks_per_tenant.filter(|_| !who.caller.is_admin());
        let reserve = || ProjectCommand::Reserve { name: name.clone(), stack_id: id, limit };
        let refusal = match services.ask_project(project, reserve(), who.meta()).await {
            Ok(_) => return Ok(()),
            Err(refusal) => refusal,
        };
        if refusal.class == LIMIT_EXCEEDED {
            self.release_ghosts(project).await?;
        }
        // It may have given the name back since; if not, it does so when it wakes and finds itself
        // deleted.
        if let Some(holder) = services.holder_of(project, name).await? {
            if self.summary_of(holder).await?.is_some_and(|summary| !summary.deleted) {
                return Err(refusal);
            }
            let release = ProjectCommand::Release { name: name.clone(), stack_id: holder };
            services.ask_project(project, release, who.meta()).await?;
        }
        services.ask_project(project, reserve(), who.meta()).await.map(|_| ())
    }
}

/// A stack that may be made, but for its name.
struct NewStack {
    id: StackId,
    name: StackName,
    source: StackSource,
    known: Arc<Known>,
    settings: StackSettings,
    claim: Option<Claim>,
    /// What it consists of already, as a document of `export` has it, sealed in the log.
    adopts: Option<Value>,
}

/// Refuses what is no name of a stack.
pub(super) fn check_name(name: &StackName) -> Result<(), Refusal> {
    let text = name.as_str();
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let mut rest = text.chars();
    let good = rest.all(|letter| letter.is_ascii_alphanumeric() || "_.-".contains(letter));
    if starts_well && good && text.len() <= STACK_NAME.max {
        return Ok(());
    }
    Err(Refusal::validation(format!(
        "Invalid stack name {name} must contain only alphanumeric or \"_-.\" characters, must \
         start with alpha and must be {} characters or less.",
        STACK_NAME.max
    )))
}

/// Refuses a tag that says no schedule where it should.
fn check_tags(tags: &[String]) -> Result<(), Refusal> {
    DriftEvery::of_tags(tags).map(drop).map_err(Refusal::validation)
}

pub(super) fn name_taken(name: &StackName) -> Refusal {
    Refusal::new("StackExists", format!("The Stack ({name}) already exists."))
}
