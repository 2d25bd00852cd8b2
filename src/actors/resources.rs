//! Single resources as the engine is asked about them: a mark, a signal, a hook cleared, metadata,
//! attributes.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

use super::asks::{Accepted, RequestContext, StackHead, StackSummary};
use super::engine::{Engine, matched};
use super::executor;
use super::look::PassOn;
use super::looks::{AskResource, LookAt, Seen, SeenResource};
use super::nested;
use super::resource::{Resource, ResourceCommand, Signal};
use super::services::SENDS_MAX;
use super::shell::{Inhabit, Receipt};
use super::stack_actor::SignalsObservedBy;
use super::turns::to_the_end;
use crate::model::sizes::{json_bytes, too_long};
use crate::model::taint::{self, mask_repeated};
use crate::model::{Action, JsonMap, Refusal, ResourceId, ResourceName, StackId};
use crate::openstack::Session;
use crate::resource_types::Failure;
use crate::resource_types::agent;
use crate::resource_types::asks::Asks;
use crate::template::FAILED_ATTRIBUTES;

/// The turn of who tells the agent of a server something.
pub struct AgentTurn {
    summary: StackSummary,
    server: ResourceId,
    name: ResourceName,
    turn: OwnedMutexGuard<()>,
}

impl Engine {
    /// Notes that a resource is healthy or is not, from somebody who knows.
    pub async fn mark_resource(
        &self,
        who: &RequestContext,
        stack: StackId,
        name: &ResourceName,
        healthy: bool,
        reason: &str,
    ) -> Result<Accepted, Refusal> {
        let summary = self.summary(who, stack).await?;
        if !summary.incarnations.contains_key(name) {
            // What is left of another definition is not the template's any more.
            let text =
                format!("The Resource ({name}) could not be found in Stack {}.", summary.name);
            return Err(Refusal::new("ResourceNotFound", text));
        }
        let command = || ResourceCommand::Mark { healthy, reason: reason.to_owned() };
        let receipt = self.ask_resource(stack, who, name, command).await?;
        Ok(Accepted { stack, name: summary.head.name, position: receipt.position })
    }

    /// Passes a signal on to a resource; `details` are an object or null. What the resource cannot
    /// read comes to nothing.
    pub async fn signal_resource(
        &self,
        who: &RequestContext,
        stack: StackId,
        name: &ResourceName,
        details: &Value,
    ) -> Result<Accepted, Refusal> {
        self.pass_on(who, stack, name, details, false).await
    }

    /// The same for a sender who waits for what becomes of it: what cannot be read is refused.
    pub async fn signal_resource_checked(
        &self,
        who: &RequestContext,
        stack: StackId,
        name: &ResourceName,
        details: &Value,
    ) -> Result<Accepted, Refusal> {
        self.pass_on(who, stack, name, details, true).await
    }

    async fn pass_on(
        &self,
        who: &RequestContext,
        stack: StackId,
        name: &ResourceName,
        details: &Value,
        is_checked: bool,
    ) -> Result<Accepted, Refusal> {
        let (bytes, limit) = (json_bytes(details), self.services.limits.max_signal_size);
        if bytes > limit {
            return Err(too_long("Signal", bytes, limit));
        }
        let head = self.guarded(who, stack, name).await?;
        if let Some(hook) = details.get("unset_hook").filter(|hook| !hook.is_null()) {
            return self.clear_hook(who, head, name, hook).await;
        }
        let signal = || Signal { id: who.command_id, details: details.clone(), is_checked };
        let command = || ResourceCommand::Signal(signal());
        let receipt = self.ask_resource(stack, who, name, command).await?;
        Ok(Accepted { stack, name: head.name, position: receipt.position })
    }

    /// Lets a resource go on that waits at a hook.
    async fn clear_hook(
        &self,
        who: &RequestContext,
        head: StackHead,
        name: &ResourceName,
        hook: &Value,
    ) -> Result<Accepted, Refusal> {
        let declared = head.known.as_ref().and_then(|it| it.definition.resources().get(name));
        let type_name = declared.map(|it| it.type_name.as_str()).unwrap_or_default();
        let class = type_name.rsplit("::").next().unwrap_or_default();
        let command = || ResourceCommand::ClearHook {
            hook: hook.as_str().map_or_else(|| hook.to_string(), str::to_owned),
            shown: format!("{class} {{}} Stack \"{}\" [{}]", head.name, head.id),
        };
        let receipt = self.ask_resource(head.id, who, name, command).await?;
        Ok(Accepted { stack: head.id, name: head.name, position: receipt.position })
    }

    /// A resource's metadata as it is now, with what signals have added; secrets open.
    pub async fn resource_metadata(
        &self,
        who: &RequestContext,
        stack: StackId,
        name: &ResourceName,
    ) -> Result<JsonMap, Refusal> {
        let (head, seen) = self.head_and_resource(stack, name, true).await?;
        self.guard(who, stack, name, head, seen.as_ref()).await?;
        seen.map(|seen| seen.metadata).ok_or_else(|| Refusal::not_found("Resource", name))
    }

    /// The head of a stack and what is seen of a resource; nothing of what is not there.
    pub(super) async fn head_and_resource(
        &self,
        stack: StackId,
        name: &ResourceName,
        with_metadata: bool,
    ) -> Result<(Option<StackHead>, Option<SeenResource>), Refusal> {
        let ask = || AskResource { name: name.clone(), with_metadata };
        for _ in 0..SENDS_MAX {
            match self.ask_of(stack, ask).await? {
                (head, Seen::As(seen)) => return Ok((head, Some(seen))),
                (head, Seen::Missing) => return Ok((head, None)),
                (_, Seen::Gone) => {}
            }
        }
        Err(Self::silent())
    }

    /// Waits until nobody else is at a server whose agent is to be told something; `None` where
    /// there is no such server.
    pub async fn turn_at_agent(
        &self,
        stack: StackId,
        name: &ResourceName,
    ) -> Result<Option<AgentTurn>, Refusal> {
        let Some(summary) = self.summary_of(stack).await?.filter(|summary| !summary.deleted) else {
            return Ok(None);
        };
        let Some(server) = summary.incarnations.get(name).copied() else { return Ok(None) };
        // A place that is taken away meanwhile would be there again, for nobody.
        let turn = self.services.placing.wait(&server).await;
        Ok(Some(AgentTurn { summary, server, name: name.clone(), turn }))
    }

    /// Tells the agent of a server what it is to know, where that looks for it at a place that is
    /// filled; false where it is worth another try.
    pub async fn tell_agent(
        &self,
        at: AgentTurn,
        deployments: Vec<Value>,
    ) -> Result<bool, Refusal> {
        let AgentTurn { summary, server, name, turn } = at;
        let (stack, name) = (summary.id, &name);
        let knowledge = Resource::knowledge(&self.services);
        let look = move |resource: &Resource| {
            let is_going = resource.action == Action::Delete;
            let seen = resource.inspected(&[], &knowledge).filter(|_| !is_going);
            let is_withdrawn = resource.step().is_some_and(|(step, _)| agent::withdraws(step));
            seen.map(|(_, subject)| (subject, is_withdrawn || resource.id != server))
        };
        let found = self.look_at(stack, name, look).await?;
        let Some((subject, is_another)) = found.filter(|it| agent::is_placed(&it.0)) else {
            return Ok(true);
        };
        if is_another {
            return Ok(false);
        }
        let (_, seen) = self.head_and_resource(stack, name, true).await?;
        let missing = || Refusal::not_found("Resource", name);
        let mut metadata = seen.ok_or_else(missing)?.metadata;
        metadata.insert("deployments".to_owned(), deployments.into());
        let session = self.session_of(&summary.project_id, &summary.trustor).await?;
        let services = Arc::clone(&self.services);
        let publishing = async move {
            let publish = |cloud: &Asks<'_>| agent::publish(cloud, &subject, &metadata);
            let published = executor::run(&services, &session, publish).await;
            if published.as_ref().is_err_and(Failure::is_unanswered) {
                // It may still be carried out.
                tokio::time::sleep(services.limits.lost_call_rest).await;
            }
            drop(turn);
            Ok(published)
        };
        match to_the_end(publishing).await? {
            Ok(()) => Ok(true),
            Err(error) if error.is_transient() => Ok(false),
            // The cloud's words may repeat what the agent was to be told.
            Err(error) => Err(Refusal::new(error.class().to_owned(), "The cloud refused it.")),
        }
    }

    /// What there is to be seen of the incarnation that counts for a name.
    pub(super) async fn look_at<T: Send + 'static>(
        &self,
        stack: StackId,
        name: &ResourceName,
        look: impl Fn(&Resource) -> T + Clone + Send + 'static,
    ) -> Result<T, Refusal> {
        let seen = self.look_for(stack, name, look).await?;
        seen.ok_or_else(|| Refusal::not_found("Resource", name))
    }

    /// The same; `None` where no resource has the name.
    pub(super) async fn look_for<T: Send + 'static>(
        &self,
        stack: StackId,
        name: &ResourceName,
        look: impl Fn(&Resource) -> T + Clone + Send + 'static,
    ) -> Result<Option<T>, Refusal> {
        let at = || LookAt { name: name.clone(), look: Box::new(look.clone()) };
        for _ in 0..SENDS_MAX {
            match self.ask_of(stack, at).await? {
                Seen::As(seen) => return Ok(Some(seen)),
                Seen::Missing => return Ok(None),
                // It is looked for again.
                Seen::Gone => {}
            }
        }
        Err(Self::silent())
    }

    /// A resource's attributes from the cloud's present state; an empty list asks for all.
    pub async fn inspect_resource(
        &self,
        who: &RequestContext,
        stack: StackId,
        name: &ResourceName,
        attributes: &[String],
    ) -> Result<JsonMap, Refusal> {
        self.head(who, stack).await?;
        let knowledge = Resource::knowledge(&self.services);
        let observed_signals = self.ask_of(stack, || SignalsObservedBy(name.clone())).await?;
        let inspect = move |resource: &Resource| {
            let seen = resource.inspected(&observed_signals, &knowledge);
            seen.map(|(driver, subject)| (driver, subject, resource.secrets())).ok_or_else(|| {
                let target = resource.target.as_deref();
                target.map(|target| target.driver_type.clone())
            })
        };
        let (driver, subject, secrets) = match self.look_at(stack, name, inspect).await? {
            Ok(seen) => seen,
            // What it is to be has its attributes already, without values.
            Err(driver_type) => {
                let schema = driver_type.and_then(|it| self.services.registry.schema(&it));
                let names = schema.iter().flat_map(|schema| schema.attributes.keys());
                return Ok(names.map(|name| (name.clone(), Value::Null)).collect());
            }
        };
        let session = match &self.services.cloud {
            Some(cloud) => who.session(cloud, &who.caller.project_id),
            None => Session::detached(&self.services.clock),
        };
        if driver.nests().is_some() {
            let (services, driver) = (&self.services, driver.as_ref());
            let mut found = nested::attributes(services, &session, driver, &subject, &[]).await;
            if !attributes.is_empty() {
                let more = nested::attributes(services, &session, driver, &subject, attributes);
                found.extend(more.await);
            }
            let mut found = taint::plain_map(found);
            found.shift_remove(FAILED_ATTRIBUTES);
            return Ok(found);
        }
        let look = |cloud: &Asks<'_>| driver.attributes(cloud, &subject, attributes);
        executor::look(&self.services, &session, look).await.map_err(|error| {
            let message = mask_repeated(&error.to_string(), &secrets);
            Refusal::new(error.class().to_owned(), message)
        })
    }

    /// Runs a type's program that may ask for what the engine alone keeps, too, as configurations
    /// and alarms. It speaks for no resource of a stack: it claims no object, and nothing stands
    /// beside it.
    pub async fn run_program<T>(&self, session: &Session, program: impl Fn(&Asks<'_>) -> T) -> T {
        executor::run(&self.services, session, program).await
    }

    /// Sends a command to the incarnation that counts for a name, by its stack.
    async fn ask_resource(
        &self,
        stack: StackId,
        who: &RequestContext,
        name: &ResourceName,
        command: impl Fn() -> ResourceCommand,
    ) -> Result<Receipt, Refusal> {
        for _ in 0..SENDS_MAX {
            let pass_on = || PassOn {
                name: name.clone(),
                ask: self.services.measures.ask(command(), who.meta()),
                expected: matched(who).into_iter().collect(),
            };
            if let Some(answer) = self.ask_of(stack, pass_on).await? {
                return answer;
            }
        }
        Err(Self::silent())
    }
}
