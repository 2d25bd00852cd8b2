//! Beats carried out: what they decide (`turn`) is asked of actors, and checked with the cloud.

use std::sync::Arc;
use std::time::Duration;

use super::asks::{See, end_of, meta, sight, tell};
use super::beating::Beating;
use super::make;
use super::sight::{Parent, Seen, Sight};
use super::turn::{ChildDefined, Defined, Telling, Turn, refused};
use crate::actors::executor;
use crate::actors::project::ProjectCommand;
use crate::actors::stack::{Known, Revise};
use crate::actors::{definition, exposure};
use crate::events::StreamId;
use crate::model::Refusal;
use crate::resource_types::{Beat, Failure};
use crate::template::{StackDefinition, within_request};

/// The pause before an engine that is about to stop is asked again.
pub(super) const SILENCE: Duration = Duration::from_millis(500);

/// Makes one beat.
pub(in crate::actors) async fn beat(beating: &Beating<'_>) -> Result<Beat, Failure> {
    match beating.beat.turn(&beating.moment()) {
        Turn::Define => beating.define().await,
        Turn::Tell(telling) => beating.tell(telling).await,
        Turn::Await => beating.settle().await,
        Turn::Answer(answer) => answer,
    }
}

impl Beating<'_> {
    async fn define(&self) -> Result<Beat, Failure> {
        let Some(sight) = sight(self.services, &self.beat).await? else { return Ok(silent()) };
        let defined = match self.beat.defined(&sight, &self.moment())? {
            Defined::Beat(beat) => return Ok(*beat),
            Defined::Child(defined) => *defined,
        };
        if self.beat.nested.stands_beside() {
            self.take_name(&sight.parent).await.map_err(refused)?;
        }
        let telling = self.telling(&sight, defined).await?;
        self.tell(telling).await
    }

    pub(super) async fn tell(&self, telling: Telling) -> Result<Beat, Failure> {
        let Telling { id, command, then } = telling;
        let told = tell(self.services, self.beat.child(), &meta(self.asked, id), &command).await;
        let Some(answer) = told else { return Ok(silent()) };
        if self.beat.gives_name_back(&answer) {
            self.give_name_back().await;
        }
        self.beat.told(then, answer.map(|_| ()))
    }

    /// A definition is checked, with the cloud where there is one, and written down for the child.
    pub(super) async fn telling(
        &self,
        sight: &Sight,
        defined: ChildDefined,
    ) -> Result<Telling, Failure> {
        let (services, beat) = (self.services, &self.beat);
        let caller = self.asked.caller.as_deref();
        let ChildDefined { definition, timeout_mins, step, options, then } = defined;
        let known = self.check(definition).await.map_err(refused)?;
        let scope = StreamId::stack(beat.child());
        let sealing = services.sealing(scope.as_str());
        let revise = make::revise(&sealing, known, timeout_mins, &beat.nesting.trustor);
        let (revise, source) = revise.map_err(refused)?;
        let revise = Revise { options, ..revise };
        services.log.put_blob(&source).await.map_err(|error| Failure::Silent(error.to_string()))?;
        if !beat.nested.stands_beside() {
            let resources = revise.known.definition.resources().len();
            let (tallies, limit) = (&services.tallies, services.limits.max_resources_per_stack);
            let root = sight.parent.root();
            tallies.take_room(root, beat.child(), resources, limit).map_err(refused)?;
        }
        let user_name = caller.map(|caller| caller.user_name.as_str()).unwrap_or_default();
        beat.telling(sight, (&step, then), revise, user_name)
    }

    async fn check(&self, definition: StackDefinition) -> Result<Known, Refusal> {
        let services = self.services;
        let there = self.session.of_service();
        let lacking = exposure::lacking(&there).await;
        if let Some(caller) = &self.asked.caller {
            exposure::check_allowed(services, caller, exposure::types(&definition)).await?;
        }
        exposure::check_services(services, &definition, &lacking)?;
        exposure::check_extensions(services, &there, &definition).await?;
        // As many steps as a request may take, wherever the child's values come from.
        let registry = &services.registry;
        let check = || -> Result<_, Refusal> {
            let known = definition::check(registry, services.limits.tree(), definition)?;
            let asked = registry.cloud_checks(&known.definition)?;
            Ok((known, asked))
        };
        let (known, asked) = within_request(Arc::new(|| true), check)??;
        if services.cloud.is_some() {
            executor::check_in_cloud(registry, &known.definition, &asked, self.session).await?;
        }
        Ok(known)
    }

    /// A stack that stands by itself has a name in its project.
    async fn take_name(&self, parent: &Parent) -> Result<(), Refusal> {
        let reserve = ProjectCommand::Reserve {
            name: self.beat.subject.physical_name.clone().into(),
            stack_id: self.beat.child(),
            limit: self.services.limits.max_stacks_per_tenant,
        };
        let meta = meta(self.asked, self.beat.command_id("name"));
        let project = &parent.identity.project_id;
        self.services.ask_project(project, reserve, meta).await.map(|_| ())
    }

    /// Gives back the name of a stack that never came to be.
    async fn give_name_back(&self) {
        let (subject, child) = (self.beat.subject, self.beat.child());
        let release =
            ProjectCommand::Release { name: subject.physical_name.clone().into(), stack_id: child };
        let project = subject.project_id.clone().unwrap_or_default();
        let meta = meta(self.asked, self.beat.command_id("name"));
        if let Err(refusal) = self.services.ask_project(&project, release, meta).await {
            tracing::warn!(stack.id = %child, %refusal, "a name could not be given back");
        }
    }

    /// Awaits the end of what the child is at.
    async fn settle(&self) -> Result<Beat, Failure> {
        let child = self.beat.child();
        let Some(end) = end_of(self.services, child).await else { return Ok(silent()) };
        let seen: Option<Seen> = match self.beat.nested.scales() {
            true => self.services.ask_of(child, || See).await.flatten(),
            false => None,
        };
        let ended = self.beat.ended(&end, seen.as_ref(), &self.moment())?;
        if self.beat.balances(&ended) {
            self.balance(self.beat.command_id(&format!("balance {child}"))).await?;
        }
        Ok(ended)
    }
}

fn silent() -> Beat {
    Beat::Wait { after: Some(SILENCE) }
}
