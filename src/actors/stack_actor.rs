//! The stack's actor: how it is read back with its resources, tells them what to do, keeps its
//! deadline, and goes to rest.

use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix::{ActorFutureExt, WrapFuture};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use tracing::error;

use super::asks::{StackHead, StackSummary};
use super::definition;
use super::drop_snapshot::drop_snapshot;
use super::executor;
use super::look::{AskSummary, PassOn, ResourceNamed, ResourceOfUser, ResourceReferred};
use super::nest::{Busy, Nest};
use super::nested;
use super::project::ProjectCommand;
use super::resource::{self, Resource, ResourceCommand};
use super::resource_actor::{ChildBroken, Halt, ResourceLinks, TakenUp};
use super::services::Services;
use super::shell::{Expected, Inhabit, Receipt, Shell, Woken, fold};
use super::stack::{
    ChildEnd, Knowledge, SeenNow, Stack, StackCommand, StackEffect, StackView, Working,
};
use crate::events::log::{Head, LogError};
use crate::events::seal::Seals;
use crate::events::stack::{OutputResolved, Row};
use crate::events::{Position, RecordedEvent, ResourceEvent, StreamId, StreamRevision};
use crate::model::{Refusal, ResourceId, ResourceName};
use crate::resource_types::asks::Asks;
use crate::resource_types::{Failure, ObservedSignals, stack_user};

/// How long a stack that has more to do leaves its thread to others.
const TURN_PAUSE: Duration = Duration::from_millis(10);
/// How long a stack with nothing to do stays awake.
const REST_AFTER: Duration = Duration::from_secs(2);
/// The same of one whose servers' agents ask: they do so every 10 to 30 seconds, and to wake it
/// each time costs many times the answer.
const POLLED_REST_AFTER: Duration = Duration::from_secs(45);
/// How many streams are read at once when a stack wakes.
const READS_AT_ONCE: usize = 16;

/// What a stack's actor holds of others.
#[derive(Default)]
pub struct StackLinks {
    pub(super) nest: Nest,
    /// The resource that was told something last.
    told_last: Option<Addr<Shell<Resource>>>,
    /// Who waits for the end of the action under way.
    pub(super) awaiting: Vec<oneshot::Sender<ChildEnd>>,
    deadline: Option<SpawnHandle>,
    rest: Option<SpawnHandle>,
    /// Somebody asked for what agents ask again and again.
    pub(super) is_polled: bool,
}

impl Inhabit for Stack {
    const KIND: &'static str = "stack";

    type Links = StackLinks;
    type Services = Services;

    fn knowledge(services: &Arc<Services>) -> Knowledge {
        Knowledge {
            registry: services.registry.clone(),
            stack_action_timeout: services.limits.stack_action_timeout,
            bounds: services.limits.tree(),
        }
    }

    fn load(
        services: Arc<Services>,
        _events: Vec<Arc<RecordedEvent>>,
        machine: Self,
    ) -> BoxFuture<'static, Result<Woken<Self>, LogError>> {
        async move {
            let mut working = Working::default();
            for origin in machine.origins_needed() {
                let Some(revision) = machine.revision_of(origin) else { continue };
                let (identity, owner) = (machine.identity(), machine.owner.as_ref());
                match definition::read_back(&services, &identity, owner, revision).await? {
                    Ok(known) => working.know_definition(&machine, origin, Arc::new(known)),
                    Err(problem) => {
                        error!(stack.id = %machine.id, %problem, "a revision cannot be read back");
                    }
                }
            }
            let rows: Vec<_> = machine.rows.values().cloned().collect();
            let knowledge = Resource::knowledge(&services);
            let mut resting = HashMap::new();
            for chunk in rows.chunks(READS_AT_ONCE) {
                let read = chunk.iter().map(|row| read_resource(&services, row));
                for found in futures::future::join_all(read).await {
                    let (resource, head) = found?;
                    if head.next == 0 {
                        continue;
                    }
                    let report = resource.report(&Default::default(), &knowledge);
                    working.know_report(report);
                    resting.insert(resource.id, Box::new((resource, head)));
                }
            }
            let link = move |links: &mut StackLinks| links.nest = Nest::of(resting);
            Ok(Woken { machine, working, link: Box::new(link) })
        }
        .boxed()
    }

    fn broken(shell: &mut Shell<Self>, error: &LogError, ctx: &mut Context<Shell<Self>>) {
        note_change(shell);
        leave(shell, ctx);
        if matches!(error, LogError::Damaged(_)) {
            // It would be read back in vain for ever; whoever asks for it wakes it.
            return;
        }
        shell.services.directory.rewake(shell.machine.id);
    }

    fn perform(
        shell: &mut Shell<Self>,
        effect: StackEffect,
        at: Position,
        ctx: &mut Context<Shell<Self>>,
    ) {
        match effect {
            StackEffect::Tell { id, name, command } => tell(shell, id, &name, command, ctx),
            StackEffect::Rouse { id } => {
                let name = ResourceName::default();
                child(shell, id, &name, ctx);
            }
            StackEffect::TakeTurns => {
                let last = shell.links.told_last.take();
                let turns = async move {
                    tokio::time::sleep(TURN_PAUSE).await;
                    if let Some(last) = last {
                        // One that broke off holds nobody up.
                        let _ = last.send(TakenUp).await;
                    }
                };
                ctx.spawn(turns.into_actor(shell).map(|(), shell, ctx| {
                    let command = StackCommand::Advance;
                    ctx.address()
                        .do_send(shell.services.measures.ask(command, shell.meta().clone()));
                }));
            }
            StackEffect::Deadline { traversal, at: end } => {
                note_size(shell);
                if let Some(former) = shell.links.deadline.take() {
                    ctx.cancel_future(former);
                }
                let left = (end - shell.services.clock.now()).to_std().unwrap_or_default();
                shell.links.deadline = Some(ctx.run_later(left, move |shell, ctx| {
                    let command = StackCommand::TimedOut { traversal };
                    ctx.address()
                        .do_send(shell.services.measures.ask(command, shell.meta().clone()));
                }));
            }
            StackEffect::DropSnapshot { snapshot, project_id, trustor, resources } => {
                let (services, stack) = (shell.services.clone(), shell.machine.id);
                let deletion = async move {
                    // Nothing is deleted before it is on record.
                    services.log.durable(at).await.ok()?;
                    let dropped = drop_snapshot(&services, stack, &project_id, &trustor, resources);
                    Some(dropped.await)
                };
                ctx.spawn(deletion.into_actor(shell).map(move |result, shell, ctx| {
                    if let Some(result) = result {
                        let command = StackCommand::SnapshotDropped { snapshot, result };
                        ctx.address()
                            .do_send(shell.services.measures.ask(command, shell.meta().clone()));
                    }
                }));
            }
            StackEffect::DropUserProject { project_id } => {
                let services = shell.services.clone();
                let machine = &shell.machine;
                let (owner, id) = (machine.project_id.clone(), machine.id);
                let traversal = machine.traversal.as_ref();
                let trustor = traversal.map_or(&machine.trustor, |it| &it.trustor).clone();
                let deletion = async move {
                    services.log.durable(at).await.ok()?;
                    let Some(cloud) = &services.cloud else { return Some(Ok(())) };
                    // In the cloud that the stack is in.
                    let theirs = services.credentials.session(&services, &owner, &trustor).await;
                    let session =
                        theirs.map_or_else(|_| cloud.service_session(), |it| it.of_service());
                    let delete = |cloud: &Asks<'_>| {
                        stack_user::delete_project(cloud, project_id.as_str(), &owner, id)
                    };
                    for pause in DELETION_PAUSES {
                        match executor::run_in_cloud(&session, delete).await {
                            Err(error) if error.is_transient() => tokio::time::sleep(pause).await,
                            outcome => return Some(outcome),
                        }
                    }
                    Some(executor::run_in_cloud(&session, delete).await)
                };
                ctx.spawn(deletion.into_actor(shell).map(move |result, shell, ctx| {
                    if let Some(result) = result {
                        let result = result.map_err(|error: Failure| error.to_string());
                        let command = StackCommand::UserProjectDropped { result };
                        ctx.address()
                            .do_send(shell.services.measures.ask(command, shell.meta().clone()));
                    }
                }));
            }
            StackEffect::Release { project_id, name, id } => {
                if let Some(project) = shell.services.directory.project(&project_id) {
                    let command = ProjectCommand::Release { name, stack_id: id };
                    project.do_send(shell.services.measures.ask(command, shell.meta().clone()));
                }
            }
        }
    }

    fn rest(shell: &mut Shell<Self>, ctx: &mut Context<Shell<Self>>) {
        note_change(shell);
        nested::answer_awaiting(shell);
        if let Some(former) = shell.links.rest.take() {
            ctx.cancel_future(former);
        }
        if is_idle(shell) {
            shell.working.forget_definitions(&shell.machine);
            shell.working.forget_traversal();
            rest_after(REST_AFTER, shell, ctx);
        }
    }
}

impl Shell<Stack> {
    /// The stack with what is known of it beside its log.
    pub fn view(&self) -> StackView<'_> {
        StackView::of(&self.machine, &self.working)
    }
}

/// What is read at the stack may be another from now on, also where nothing is on record: its
/// resources tell it what they have come to.
fn note_change(shell: &Shell<Stack>) {
    shell.services.changes.note(&shell.machine.project_id);
}

/// Lets the stack leave when it has been idle for so long.
fn rest_after(pause: Duration, shell: &mut Shell<Stack>, ctx: &mut Context<Shell<Stack>>) {
    // What is canceled may still be polled once by actix, and come due: work that was taken on
    // meanwhile must not be left behind.
    let leave_idle = |shell: &mut Shell<Stack>, ctx: &mut Context<Shell<Stack>>| {
        let is_polled = std::mem::take(&mut shell.links.is_polled);
        match is_idle(shell) {
            true if is_polled => rest_after(POLLED_REST_AFTER, shell, ctx),
            true => leave(shell, ctx),
            false => {}
        }
    };
    shell.links.rest = Some(ctx.run_later(pause, leave_idle));
}

/// Whether nothing is at work and nobody waits.
fn is_idle(shell: &Shell<Stack>) -> bool {
    shell.view().at_rest() && shell.links.awaiting.is_empty()
}

/// Counts the resources that the stack is led to.
fn note_size(shell: &Shell<Stack>) {
    let stack = &shell.machine;
    let Some(traversal) = stack.traversal.as_ref().filter(|it| !it.is_act()) else { return };
    let root = stack.owner.as_ref().map_or(stack.id, |owner| owner.root);
    shell.services.tallies.note(root, stack.id, traversal.nodes.len());
}

/// The pauses after transient failures to delete the project of a stack's users.
const DELETION_PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(15),
];

/// The actor ends; its stack is woken anew when somebody asks for it.
fn leave(shell: &mut Shell<Stack>, ctx: &mut Context<Shell<Stack>>) {
    shell.services.directory.forget_stack(shell.machine.id, &ctx.address());
    for (id, child) in shell.links.nest.all() {
        if let Some(child) = child {
            child.do_send(Halt);
        }
        shell.services.claims.rest(id);
    }
    shell.links = StackLinks::default();
    ctx.stop();
}

async fn read_resource(services: &Arc<Services>, row: &Row) -> Result<(Resource, Head), LogError> {
    let slice = services.log.read(&StreamId::resource(row.id), StreamRevision(0)).await?;
    // What has not begun knows its name from the stack alone.
    let mut seals = Seals::of(services.vault.clone(), StreamId::resource(row.id));
    seals.warm::<ResourceEvent>(&slice.events).await?;
    let blank = Resource::named(row.id, row.name.clone());
    Ok((fold(blank, &slice.events, &mut seals)?, slice.head))
}

fn tell(
    shell: &mut Shell<Stack>,
    id: ResourceId,
    name: &ResourceName,
    command: ResourceCommand,
    ctx: &mut Context<Shell<Stack>>,
) {
    let ask = shell.services.measures.ask(command, shell.meta().clone());
    let (child, busy) = child(shell, id, name, ctx);
    child.do_send(ask.holding(busy));
    shell.links.told_last = Some(child);
}

/// The actor of a resource, woken if it rests, and what keeps it from going to rest.
fn child(
    shell: &Shell<Stack>,
    id: ResourceId,
    name: &ResourceName,
    ctx: &Context<Shell<Stack>>,
) -> (Addr<Shell<Resource>>, Busy) {
    let (services, nest) = (&shell.services, &shell.links.nest);
    if let Some(awake) = nest.awake(id) {
        return awake;
    }
    let known = nest.take_resting(id).map(|known| {
        let (machine, head) = *known;
        // It goes on where it was as soon as it wakes, and must not take silence for an answer.
        let observed = shell.view().signals_observed_by(&machine.name, &Stack::knowledge(services));
        (machine, resource::Working::observing(observed), head)
    });
    let (machine, working, head) = known.unwrap_or_else(|| {
        let fresh = Resource::named(id, name.clone());
        (
            fresh,
            resource::Working::default(),
            // All that were written were read when the stack woke.
            Head::minted(*services.log.generation().borrow()),
        )
    });
    let busy = Busy::default();
    let own = ResourceLinks {
        stack: Some(ctx.address()),
        busy: busy.clone(),
        nest: nest.clone(),
        ..ResourceLinks::default()
    };
    let stream = StreamId::resource(id);
    let seals = Seals::of(services.vault.clone(), stream.clone());
    let seals = seals.scoped(StreamId::stack(shell.machine.id));
    let actor = Shell::awake(services.clone(), stream, (machine, working), own, (head, seals));
    let address = actor.start();
    nest.wake(id, address.clone(), &busy);
    (address, busy)
}

/// The same for others, who may send to it whenever they like.
pub(super) fn child_of_others(
    shell: &Shell<Stack>,
    id: ResourceId,
    name: &ResourceName,
    ctx: &Context<Shell<Stack>>,
) -> Addr<Shell<Resource>> {
    let (child, _busy) = child(shell, id, name, ctx);
    shell.links.nest.keep_awake(id);
    child
}

impl Handler<ResourceNamed> for Shell<Stack> {
    type Result = Option<Addr<Shell<Resource>>>;

    fn handle(&mut self, named: ResourceNamed, ctx: &mut Context<Self>) -> Self::Result {
        let id = self.view().incarnation(&named.0)?;
        Some(child_of_others(self, id, &named.0, ctx))
    }
}

impl Handler<PassOn> for Shell<Stack> {
    type Result = ResponseFuture<Option<Result<Receipt, Refusal>>>;

    fn handle(&mut self, passed: PassOn, ctx: &mut Context<Self>) -> Self::Result {
        let PassOn { name, ask, expected } = passed;
        let stands_at = self.stands_at();
        let unmet = expected.into_iter().find(|it| !it.last.contains(&stands_at));
        if let Some(Expected { otherwise, .. }) = unmet {
            return Box::pin(ready(Some(Err(otherwise))));
        }
        let Some(id) = self.view().incarnation(&name) else {
            return Box::pin(ready(Some(Err(Refusal::not_found("Resource", &name)))));
        };
        // It is in the resource's mailbox before the stack takes up anything else.
        let sent = child_of_others(self, id, &name, ctx).send(ask);
        Box::pin(async move { sent.await.ok() })
    }
}

/// Asks what a resource observes of the signals to others.
#[derive(Message)]
#[rtype(result = "Vec<ObservedSignals>")]
pub struct SignalsObservedBy(pub ResourceName);

impl Handler<SignalsObservedBy> for Shell<Stack> {
    type Result = MessageResult<SignalsObservedBy>;

    fn handle(&mut self, by: SignalsObservedBy, _ctx: &mut Context<Self>) -> Self::Result {
        MessageResult(self.view().signals_observed_by(&by.0, &Stack::knowledge(&self.services)))
    }
}

/// Asks what the outputs read that the cloud is to be asked for, by resource.
#[derive(Message)]
#[rtype(result = "HashMap<ResourceName, Vec<String>>")]
pub struct ReadLive;

impl Handler<ReadLive> for Shell<Stack> {
    type Result = MessageResult<ReadLive>;

    fn handle(&mut self, _: ReadLive, _ctx: &mut Context<Self>) -> Self::Result {
        MessageResult(self.view().read_live(&Stack::knowledge(&self.services)))
    }
}

/// Asks what the outputs are by now, with what the cloud has; sealed, empty once nothing can be
/// said of them.
#[derive(Message)]
#[rtype(result = "Vec<OutputResolved>")]
pub struct OutputsNow(pub Arc<SeenNow>);

impl Handler<OutputsNow> for Shell<Stack> {
    type Result = MessageResult<OutputsNow>;

    fn handle(&mut self, now: OutputsNow, _ctx: &mut Context<Self>) -> Self::Result {
        let knowledge = Stack::knowledge(&self.services);
        MessageResult(self.view().outputs_beside(&now.0, &knowledge))
    }
}

impl Handler<ResourceReferred> for Shell<Stack> {
    type Result = Option<Addr<Shell<Resource>>>;

    fn handle(&mut self, referred: ResourceReferred, ctx: &mut Context<Self>) -> Self::Result {
        let (name, id) = self.view().referred(&referred.0)?;
        Some(child_of_others(self, id, &name, ctx))
    }
}

impl Handler<ResourceOfUser> for Shell<Stack> {
    type Result = Option<ResourceName>;

    fn handle(&mut self, user: ResourceOfUser, _ctx: &mut Context<Self>) -> Self::Result {
        self.view().user(&user.0)
    }
}

impl Handler<ChildBroken> for Shell<Stack> {
    type Result = ();

    fn handle(&mut self, broken: ChildBroken, ctx: &mut Context<Self>) {
        tracing::debug!(stack.id = %self.machine.id, resource.id = %broken.0, "resource broke off");
        leave(self, ctx);
        self.services.directory.rewake(self.machine.id);
    }
}

/// Ends a stack's actor, so that it is read back from the log when it is needed.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Drop;

impl Handler<Drop> for Shell<Stack> {
    type Result = ();

    fn handle(&mut self, _: Drop, ctx: &mut Context<Self>) {
        note_change(self);
        leave(self, ctx);
    }
}

/// Asks for what has to be known of a stack whenever somebody asks for it.
#[derive(Message)]
#[rtype(result = "Option<StackHead>")]
pub struct AskHead;

impl Handler<AskHead> for Shell<Stack> {
    type Result = MessageResult<AskHead>;

    fn handle(&mut self, _: AskHead, _ctx: &mut Context<Self>) -> Self::Result {
        MessageResult(StackHead::of(self.view()))
    }
}

impl Handler<AskSummary> for Shell<Stack> {
    type Result = Option<StackSummary>;

    fn handle(&mut self, _: AskSummary, _ctx: &mut Context<Self>) -> Self::Result {
        StackSummary::of(self.view(), self.stands_at())
    }
}
