//! Plans that bind: what a change will do, with an id by which the change does just that or is
//! refused.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::{Value, json};

use super::id::id_of;
use super::losses::tell_losses;
use super::{Change, Found, FoundResource, Planning, deleted, foresee, goes_with};
use crate::actors::accept::check_name;
use crate::actors::asks::{CreateStack, RequestContext, StackPlace, StackSummary, UpdateStack};
use crate::actors::engine::Engine;
use crate::actors::nested;
use crate::actors::previewed::{Preview, PreviewedResource};
use crate::actors::resource::Resource;
use crate::actors::source;
use crate::actors::stack::{Known, refuse_going_back, refuse_resting};
use crate::events::{Position, RecordedEvent, StreamId, StreamRevision};
use crate::model::{Action, IndexMap, PlanId, Refusal, StackId, StackName, StackRevision, Status};
use crate::template::StackSource;

/// How many events a refusal names that have come since a plan was made.
const EVENTS_TOLD: usize = 5;

/// What a change will do.
#[derive(Debug)]
pub struct Plan {
    /// By which the change is held to it; of what is past, nothing can be.
    pub id: Option<PlanId>,
    /// Where it sees the stack.
    pub seen: (StackRevision, Position),
    /// CREATE, UPDATE, ROLLBACK, DELETE, SUSPEND or RESUME.
    pub action: Action,
    pub stack: Option<StackId>,
    pub name: StackName,
    /// Of a rollback: the revision that is gone back to.
    pub back_to: Option<StackRevision>,
    pub changes: Preview,
}

impl Deref for Plan {
    type Target = Preview;

    fn deref(&self) -> &Preview {
        &self.changes
    }
}

/// An update that is read and checked.
pub(in crate::actors) struct Prepared {
    pub(in crate::actors) summary: StackSummary,
    pub(in crate::actors) source: StackSource,
    pub(in crate::actors) known: Arc<Known>,
}

impl Engine {
    /// What a create will make; templates that stand elsewhere become some of the files.
    pub async fn plan_create(
        &self,
        who: &RequestContext,
        ask: &mut CreateStack,
    ) -> Result<Plan, Refusal> {
        check_name(&ask.name)?;
        self.refuse_taken(who, &ask.name).await?;
        let place = StackPlace::new(&who.caller.project_id, &ask.name);
        let known = Arc::new(self.prepare(who, &mut ask.source, place).await?);
        let asked = json!([
            Action::Create,
            who.caller.project_id,
            ask.name,
            of_source(&ask.source),
            ask.settings
        ]);
        let found = Found { resources: IndexMap::default(), left_over: Vec::new() };
        let seen = Default::default();
        let (changes, id) = self.foreseen(who, seen, (known, found), asked).await?;
        Ok(Plan {
            id: Some(id),
            seen,
            action: Action::Create,
            stack: None,
            name: ask.name.clone(),
            back_to: None,
            changes,
        })
    }

    /// What an update will do, as far as that is known beforehand; nothing is written.
    pub async fn plan_update(
        &self,
        who: &RequestContext,
        stack: StackId,
        ask: &UpdateStack,
    ) -> Result<Plan, Refusal> {
        let prepared = self.prepared(who, stack, ask).await?;
        self.plan_of(who, ask, &prepared).await
    }

    /// Reads and checks what an update leads to.
    pub(in crate::actors) async fn prepared(
        &self,
        who: &RequestContext,
        stack: StackId,
        ask: &UpdateStack,
    ) -> Result<Prepared, Refusal> {
        let summary = self.summary(who, stack).await?;
        match ask.back_to {
            Some(_) => refuse_going_back(summary.action, summary.status)?,
            None => refuse_resting(summary.action)?,
        }
        let mut source = match ask.existing || ask.template.is_none() {
            true => source::updated(ask, &self.source(&summary).await?),
            false => source::updated(ask, &StackSource::default()),
        };
        let known = self.prepare(who, &mut source, summary.place()).await?;
        if let Some(before) = &summary.known {
            known.definition.check_immutable(&before.definition)?;
        }
        Ok(Prepared { summary, source, known: Arc::new(known) })
    }

    /// The plan of an update that is read and checked.
    pub(in crate::actors) async fn plan_of(
        &self,
        who: &RequestContext,
        ask: &UpdateStack,
        prepared: &Prepared,
    ) -> Result<Plan, Refusal> {
        let Prepared { summary, source, known } = prepared;
        let action = if ask.back_to.is_some() { Action::Rollback } else { Action::Update };
        let asked = json!([
            action,
            summary.id,
            of_source(source),
            ask.existing,
            ask.options,
            ask.settings,
            ask.back_to
        ]);
        let found = self.found_within(summary).await?;
        let (seen, parts) = (seen_at(summary), (Arc::clone(known), found));
        let (changes, id) = self.foreseen(who, seen, parts, asked).await?;
        let (stack, name) = (Some(summary.id), summary.name.clone());
        Ok(Plan { id: Some(id), seen, action, stack, name, back_to: ask.back_to, changes })
    }

    /// What becomes of what was found, and the id that this has.
    async fn foreseen(
        &self,
        who: &RequestContext,
        stood: (StackRevision, Position),
        (known, found): (Arc<Known>, Found<Resource>),
        asked: Value,
    ) -> Result<(Preview, PlanId), Refusal> {
        let planning = Planning::of(&self.services);
        let project = &who.caller.project_id;
        let comes_back = asked[0] == json!(Action::Rollback);
        let plan = move || {
            let mut plan = foresee(&planning, &known, &found)?;
            tell_losses(&planning.stack.registry, &mut plan, comes_back);
            Ok::<_, Refusal>(plan)
        };
        let mut plan = self.work(project, plan).await??;
        if let Some(cloud) = &self.services.cloud {
            nested::ask_elsewhere(&self.services, &who.session(cloud, project), &mut plan).await;
        }
        let vault = Arc::clone(&self.services.vault);
        let name = move || {
            let id = id_of(&vault, stood, &asked, &plan);
            (plan, id)
        };
        self.work(project, name).await
    }

    /// What the deletion of a stack will do.
    pub async fn plan_delete(&self, who: &RequestContext, stack: StackId) -> Result<Plan, Refusal> {
        let summary = self.summary(who, stack).await?;
        let found = self.found_within(&summary).await?;
        let mut changes = Preview::default();
        for (name, it) in found.all_there() {
            let entry = deleted(name, &it.resource, "the stack is deleted".to_owned());
            changes.within.extend(goes_with(it, &entry));
            changes.deleted.push(entry);
        }
        tell_losses(&self.services.registry, &mut changes, false);
        Ok(self.plan_without_source(summary, Action::Delete, changes))
    }

    /// What there is of a stack, and of those within it.
    async fn found_within(&self, summary: &StackSummary) -> Result<Found<Resource>, Refusal> {
        let (going_on, left_over) = (summary.going_on.clone(), summary.left_over.clone());
        nested::found(&self.services, going_on, left_over, true).await
    }

    /// What suspending or resuming a stack will do.
    pub async fn plan_act(
        &self,
        who: &RequestContext,
        stack: StackId,
        action: Action,
    ) -> Result<Plan, Refusal> {
        let summary = self.summary(who, stack).await?;
        let incarnations = summary.incarnations.clone();
        let found = nested::found(&self.services, incarnations, Vec::new(), false).await?;
        let is_so = (summary.action, summary.status) == (action, Status::Complete);
        let mut changes = Preview::default();
        for (name, FoundResource { resource, .. }) in found.resources {
            let is_awake =
                summary.rests_in_part && action == Action::Resume && !resource.may(action);
            let acts = !is_so && !is_awake && self.acts(&resource, action);
            let entry = PreviewedResource {
                name: name.to_string(),
                type_name: resource.type_name.clone(),
                physical_id: resource.physical_id.clone(),
                child: resource.child_stack(),
                ..PreviewedResource::default()
            };
            match acts {
                true => {
                    let why = format!("the stack is asked to {}", action.as_str().to_lowercase());
                    changes.acted.push((action, PreviewedResource { why, ..entry }));
                }
                false => changes.of_change(Change::Unchanged).push(entry),
            }
        }
        Ok(self.plan_without_source(summary, action, changes))
    }

    /// Whether an action is more to a resource than a word in its stream.
    fn acts(&self, resource: &Resource, action: Action) -> bool {
        let definition = resource.definition.as_ref();
        let driver = definition.and_then(|it| self.services.registry.driver(&it.driver_type));
        resource.action != Action::Delete && driver.is_some_and(|driver| driver.acts(action))
    }

    fn plan_without_source(&self, summary: StackSummary, action: Action, changes: Preview) -> Plan {
        let (asked, seen) = (json!([action, summary.id]), seen_at(&summary));
        let id = Some(id_of(&self.services.vault, seen, &asked, &changes));
        let (stack, name) = (Some(summary.id), summary.head.name);
        Plan { id, seen, action, stack, name, back_to: None, changes }
    }

    /// Refuses a change whose plan does not hold any more; the position at which it was made, where
    /// the change names one.
    pub(in crate::actors) async fn hold_to_plan(
        &self,
        who: &RequestContext,
        plan: impl Future<Output = Result<Plan, Refusal>>,
    ) -> Result<Option<Position>, Refusal> {
        let Some(before) = who.conditions.plan else { return Ok(None) };
        let plan = plan.await?;
        let since = match plan.stack {
            Some(stack) if plan.id != Some(before) => {
                self.since(who, stack, Position(before.position)).await?
            }
            Some(_) | None => String::new(),
        };
        if let Some(id) = plan.id {
            id.hold(before, || since)?;
        }
        Ok(plan.stack.is_some().then_some(Position(before.position)))
    }

    /// What has happened to a stack, its resources and all that is within them since a position, in a
    /// sentence.
    async fn since(
        &self,
        who: &RequestContext,
        stack: StackId,
        after: Position,
    ) -> Result<String, Refusal> {
        let mut streams = Vec::new();
        let mut within = vec![(String::new(), stack)];
        while let Some((place, id)) = within.pop() {
            let summary = match self.summary(who, id).await {
                Ok(summary) => summary,
                Err(refusal) if id == stack => return Err(refusal),
                // A nested stack that is gone.
                Err(_) => continue,
            };
            let (named, below) = match place.is_empty() {
                true => (summary.name.to_string(), String::new()),
                false => (place.clone(), format!("{place}/")),
            };
            streams.push((named, StreamId::stack(id)));
            for (name, resource) in &summary.going_on {
                let path = format!("{below}{name}");
                streams.push((path.clone(), StreamId::resource(*resource)));
                let child = |it: &Resource| nested::own_child(it.id, it.physical_id.as_deref());
                let child = self.look_for(id, name, child).await?.flatten();
                within.extend(child.map(|child| (path, child)));
            }
        }
        let mut told: Vec<(Position, String)> = Vec::new();
        for (name, stream) in streams {
            let read = self.services.log.read(&stream, StreamRevision(0)).await;
            let read = read.map_err(|error| Refusal::unavailable(error.to_string()))?;
            let events = read.events.iter().filter(|event| event.position > after);
            told.extend(events.map(|event| (event.position, sentence(&name, event))));
        }
        told.sort();
        let more = told.len().saturating_sub(EVENTS_TOLD);
        let told: Vec<String> = told.into_iter().take(EVENTS_TOLD).map(|(_, text)| text).collect();
        Ok(match (told.is_empty(), more) {
            (true, _) => String::new(),
            (false, 0) => format!(" Since then: {}.", told.join("; ")),
            (false, more) => format!(" Since then: {}; and {more} events more.", told.join("; ")),
        })
    }
}

/// `web: RevisionAccepted at 12 by demo`.
fn sentence(name: &str, event: &RecordedEvent) -> String {
    let by = event.meta.caller.as_ref().map(|caller| format!(" by {}", caller.user_name));
    let (kind, at) = (&event.event_type, event.position);
    format!("{name}: {kind} at {at}{}", by.unwrap_or_default())
}

/// Where a plan sees a stack.
fn seen_at(summary: &StackSummary) -> (StackRevision, Position) {
    (summary.revision.revision, summary.position)
}

/// What a digest has of a source.
fn of_source(source: &StackSource) -> Value {
    json!([source.template, source.environment, source.files, source.parameters])
}
