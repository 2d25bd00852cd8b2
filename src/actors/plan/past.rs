//! What an update would have done at a moment that is past: a new definition is compared with
//! the state that the log has of then, with the answers and attributes that were on record by then.
//! Nothing is asked of a cloud, and no actor is woken.

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::bound::Plan;
use super::losses::tell_losses;
use super::{Found, FoundChild, FoundResource, Planning, foresee};
use crate::actors::asks::{RequestContext, StackSummary, UpdateStack};
use crate::actors::definition;
use crate::actors::engine::Engine;
use crate::actors::nested::Seen;
use crate::actors::resource::Resource;
use crate::actors::services::Services;
use crate::actors::shell::{Inhabit, fold};
use crate::actors::source;
use crate::actors::stack::{Stack, StackView, Working};
use crate::events::log::LogError;
use crate::events::seal::Seals;
use crate::events::{Position, RecordedEvent, StreamId, StreamRevision};
use crate::model::{Action, IndexMap, Refusal, ResourceId, ResourceName, StackId};
use crate::template::StackSource;

/// How many events are folded at most, of a stack and of all within it.
const EVENTS_MAX: usize = 200_000;

/// A stack as the log has it by a position.
struct Then {
    stack: Stack,
    working: Working,
    resources: HashMap<ResourceId, Resource>,
}

/// What a new definition goes on with, and what is left over beside that.
type Incarnations = (IndexMap<ResourceName, ResourceId>, Vec<(ResourceName, ResourceId)>);

/// What is read of the log, up to a position.
struct Reading<'a> {
    services: &'a Arc<Services>,
    at: Position,
    /// How many events may still be folded.
    left: usize,
}

impl Engine {
    /// What an update to a whole definition would have done at a position. The plan binds nobody,
    /// and has no id.
    pub async fn plan_update_then(
        &self,
        who: &RequestContext,
        stack: StackId,
        ask: &UpdateStack,
        at: Position,
    ) -> Result<Plan, Refusal> {
        let missing = || Refusal::not_found("Stack", stack);
        let mut reading = Reading { services: &self.services, at, left: EVENTS_MAX };
        let mut then = reading.stack(stack).await?.ok_or_else(missing)?;
        let view = StackView::of(&then.stack, &then.working);
        let summary = StackSummary::of(view, at).ok_or_else(missing)?;
        self.may_see(who, &summary)?;
        let mut source = source::updated(ask, &StackSource::default());
        let prepared = self.prepare_here(who, &mut source, summary.place(), Default::default());
        let (known, _) = prepared.await?;
        if let Some(before) = &summary.known {
            known.definition.check_immutable(&before.definition)?;
        }
        let standing = (summary.going_on.clone(), summary.left_over.clone());
        let found = reading.found(standing, &mut then.resources).await?;
        let planning = Planning::of(&self.services);
        let plan = move || {
            let mut plan = foresee(&planning, &Arc::new(known), &found)?;
            tell_losses(&planning.stack.registry, &mut plan, false);
            Ok::<_, Refusal>(plan)
        };
        Ok(Plan {
            id: None,
            seen: (summary.revision.revision, at),
            action: Action::Update,
            stack: Some(stack),
            name: summary.head.name,
            back_to: None,
            changes: self.work(&who.caller.project_id, plan).await??,
        })
    }
}

impl Reading<'_> {
    /// A stack and its resources; `None` where there was none yet.
    async fn stack(&mut self, id: StackId) -> Result<Option<Then>, Refusal> {
        let stack: Stack = self.folded(Stack::named(id), StreamId::stack(id)).await?;
        if !stack.exists() {
            return Ok(None);
        }
        let mut then = Then { working: Working::default(), resources: HashMap::new(), stack };
        let (identity, owner) = (then.stack.identity(), then.stack.owner.as_ref());
        for origin in then.stack.origins_needed() {
            let Some(revision) = then.stack.revision_of(origin) else { continue };
            let read = definition::read_back(self.services, &identity, owner, revision).await;
            match read.map_err(|error| unreadable(&error))? {
                Ok(known) => then.working.know_definition(&then.stack, origin, Arc::new(known)),
                // The key of a stack that was deleted is gone.
                Err(problem) => tracing::info!(stack.id = %id, problem, "a former definition"),
            }
        }
        let knowledge = Resource::knowledge(self.services);
        for row in then.stack.rows.values() {
            let blank = Resource::named(row.id, row.name.clone());
            let resource = self.folded(blank, StreamId::resource(row.id)).await?;
            // What has not begun reports nothing.
            if resource.stack.is_some() {
                then.working.know_report(resource.report(&Default::default(), &knowledge));
            }
            then.resources.insert(row.id, resource);
        }
        Ok(Some(then))
    }

    async fn folded<A: Inhabit>(&mut self, machine: A, stream: StreamId) -> Result<A, Refusal> {
        let slice = self.services.log.read(&stream, StreamRevision(0)).await;
        let mut events: Vec<Arc<RecordedEvent>> = slice.map_err(|error| unreadable(&error))?.events;
        events.retain(|event| event.position <= self.at);
        let too_much = || {
            let text = format!("Request limit exceeded: more than {EVENTS_MAX} events.");
            Refusal::new("RequestLimitExceeded", text)
        };
        self.left = self.left.checked_sub(events.len()).ok_or_else(too_much)?;
        // A tree has many streams, and others wait for this thread.
        tokio::task::yield_now().await;
        let mut seals = Seals::of(Arc::clone(&self.services.vault), stream);
        fold(machine, &events, &mut seals).map_err(|error| unreadable(&error))
    }

    /// What a new definition would have gone on with, and the stacks within.
    fn found<'a>(
        &'a mut self,
        (going_on, left_over): Incarnations,
        resources: &'a mut HashMap<ResourceId, Resource>,
    ) -> BoxFuture<'a, Result<Found<Resource>, Refusal>> {
        async move {
            let mut found = Found { resources: IndexMap::default(), left_over: Vec::new() };
            for (name, id) in going_on {
                let Some(resource) = resources.remove(&id) else { continue };
                found.resources.insert(name, self.resource(resource).await?);
            }
            for (name, id) in left_over {
                let Some(resource) = resources.remove(&id) else { continue };
                found.left_over.push((name, self.resource(resource).await?));
            }
            Ok(found)
        }
        .boxed()
    }

    async fn resource(&mut self, resource: Resource) -> Result<FoundResource<Resource>, Refusal> {
        let child = match resource.child_stack() {
            Some(child) => self.child(child).await?,
            None => None,
        };
        // Whether what had failed could have been mended, only the cloud could say.
        let is_lost = resource.may_be_lost();
        Ok(FoundResource { resource, is_lost, child })
    }

    async fn child(&mut self, id: StackId) -> Result<Option<Box<FoundChild<Resource>>>, Refusal> {
        let Some(mut then) = self.stack(id).await? else { return Ok(None) };
        let view = StackView::of(&then.stack, &then.working);
        let Some(seen) = Seen::of(view, &Stack::knowledge(self.services)) else { return Ok(None) };
        let standing = (seen.going_on.clone(), seen.left_over.clone());
        let found = self.found(standing, &mut then.resources).await?;
        Ok(Some(Box::new(FoundChild { id, seen, found })))
    }
}

fn unreadable(error: &LogError) -> Refusal {
    tracing::error!(%error, "a stack's history cannot be read");
    Refusal::unavailable("The stack's history cannot be read.")
}
