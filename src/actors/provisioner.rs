//! Runs what resources do outside: beats of their drivers, pauses, reports to their stack.

use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use actix::{ActorFutureExt, WrapFuture};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use tracing::warn;

use super::claims::Claimant;
use super::executor;
use super::nest::{Busy, Nest};
use super::nested::{self, ChildBeat};
use super::resource::{
    Adjusted, Answered, BeatCall, Knowledge, Resource, ResourceCommand, ResourceEffect, Working,
};
use super::services::Services;
use super::shell::{Inhabit, Shell, Woken};
use super::stack::{Stack, StackCommand};
use crate::events::log::LogError;
use crate::events::resource::Step;
use crate::events::{Position, RecordedEvent};
use crate::model::{Action, CommandId, JsonMap, ProjectId, Refusal, ResourceId, Status, Trustor};
use crate::openstack::Behalf;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::nesting::is_look;
use crate::resource_types::{Beat, Declared, Failure, Reality, SignalOutcome, Subject, Work};
use crate::template::ALL_ATTRIBUTES;
use crate::traces::SpanId;

/// What a resource's actor holds of others.
#[derive(Default)]
pub struct ResourceLinks {
    /// Its stack; `None` only for an actor that was never linked.
    pub stack: Option<Addr<Shell<Stack>>>,
    /// Who waits for the end of an adjustment.
    pub(super) awaiting: Vec<(CommandId, oneshot::Sender<Adjusted>)>,
    /// The pause that runs.
    pub(super) later: Option<SpawnHandle>,
    /// Whether anything is on its way.
    pub(super) busy: Busy,
    /// Where it rests.
    pub(super) nest: Nest,
}

/// Ends an actor whose stack breaks off or rests.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Halt;

impl Handler<Halt> for Shell<Resource> {
    type Result = ();

    fn handle(&mut self, _: Halt, ctx: &mut Context<Self>) {
        ctx.stop();
    }
}

/// Answered once what the resource was told before is on its way.
#[derive(Message)]
#[rtype(result = "()")]
pub struct TakenUp;

impl Handler<TakenUp> for Shell<Resource> {
    type Result = ();

    fn handle(&mut self, _: TakenUp, _ctx: &mut Context<Self>) {}
}

/// Sent by a resource to itself: it goes to rest, if there is still nothing left to do.
#[derive(Message)]
#[rtype(result = "()")]
struct Rest;

impl Handler<Rest> for Shell<Resource> {
    type Result = ();

    fn handle(&mut self, _: Rest, ctx: &mut Context<Self>) {
        if !is_idle(self) {
            return;
        }
        if let Some((resource, head)) = self.take_machine() {
            self.links.nest.rest(resource.id, resource, head);
        }
        ctx.stop();
    }
}

/// Whether nothing is left to do and nothing on its way.
fn is_idle(shell: &Shell<Resource>) -> bool {
    shell.machine.may_rest(&shell.working)
        && shell.links.awaiting.is_empty()
        && Arc::strong_count(&shell.links.busy) == 1
}

/// A child could not go on: its stack must be woken anew.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ChildBroken(pub ResourceId);

impl Inhabit for Resource {
    const KIND: &'static str = "resource";

    type Links = ResourceLinks;
    type Services = Services;

    fn knowledge(services: &Arc<Services>) -> Knowledge {
        Knowledge {
            registry: services.registry.clone(),
            action_retry_limit: services.limits.action_retry_limit,
            lost_call_rest: services.limits.lost_call_rest,
            observe_on_update: services.limits.observe_on_update,
        }
    }

    fn load(
        _services: Arc<Services>,
        _events: Vec<Arc<RecordedEvent>>,
        machine: Self,
    ) -> BoxFuture<'static, Result<Woken<Self>, LogError>> {
        futures::future::ready(Ok(Woken {
            machine,
            working: Working::default(),
            link: Box::new(|_| ()),
        }))
        .boxed()
    }

    fn broken(shell: &mut Shell<Self>, _error: &LogError, ctx: &mut Context<Shell<Self>>) {
        if let Some(stack) = &shell.links.stack {
            stack.do_send(ChildBroken(shell.machine.id));
        }
        ctx.stop();
    }

    fn rest(shell: &mut Shell<Self>, ctx: &mut Context<Shell<Self>>) {
        nested::answer_adjusted(shell);
        if is_idle(shell) {
            ctx.address().do_send(Rest);
        }
    }

    fn perform(
        shell: &mut Shell<Self>,
        effect: ResourceEffect,
        at: Position,
        ctx: &mut Context<Shell<Self>>,
    ) {
        let services = shell.services.clone();
        let project = shell.machine.stack.as_ref().map(|stack| stack.project_id.clone());
        let project = project.unwrap_or_default();
        let behalf = behalf(shell);
        let busy = shell.links.busy.clone();
        match effect {
            ResourceEffect::Report => {
                let report = shell.machine.report(&shell.working, &Self::knowledge(&services));
                if (report.action, report.status) == (Action::Delete, Status::Complete) {
                    services.claims.forget(report.id);
                }
                if let Some(stack) = &shell.links.stack {
                    let command = StackCommand::Report(Box::new(report));
                    stack.do_send(shell.services.measures.ask(command, shell.meta().clone()));
                }
            }
            ResourceEffect::Later { epoch, after } => {
                let later = ctx.run_later(after, move |shell, ctx| {
                    come_back(shell, ResourceCommand::Due { epoch }, ctx);
                });
                // An older pause no longer counts, and one that is left costs with each message.
                if let Some(former) = shell.links.later.replace(later) {
                    ctx.cancel_future(former);
                }
            }
            ResourceEffect::Call(call) => {
                let BeatCall {
                    epoch,
                    driver_type,
                    work,
                    subject,
                    step,
                    attempt,
                    observe,
                    trustor,
                    nesting,
                } = *call;
                let meta = shell.meta().clone();
                let claimant = Claimant::of(&shell.machine);
                let call = async move {
                    let _busy = busy;
                    if step.mutates && services.log.durable(at).await.is_err() {
                        // The intent was lost with its group; this actor is about to be dropped.
                        return None;
                    }
                    let reached = reach(&services, &driver_type, &project, &trustor, behalf).await;
                    let (driver, session) = match reached {
                        Ok(reached) => reached,
                        Err(error) => {
                            return Some(Answered {
                                epoch,
                                result: Err(error),
                                kept: None,
                                attributes: JsonMap::new(),
                                reality: None,
                            });
                        }
                    };
                    let session = session.fresh();
                    let looks = is_look(&step);
                    let (result, kept) = match (driver.nests().filter(|_| !looks), &nesting) {
                        (Some(nested), Some(nesting)) => {
                            let knowledge = Stack::knowledge(&services);
                            let beating = nested::Beating {
                                services: &services,
                                session: &session,
                                beat: ChildBeat {
                                    knowledge: &knowledge,
                                    clock: services.clock.as_ref(),
                                    driver: driver.as_ref(),
                                    nested,
                                    work: &work,
                                    subject: &subject,
                                    step: &step,
                                    nesting,
                                },
                                asked: &meta,
                                attempt,
                            };
                            (nested::beat(&beating).await, None)
                        }
                        _ => {
                            let beat = |cloud: &Asks<'_>| {
                                driver.beat(cloud, &work, &subject, &step, attempt)
                            };
                            let at = (&step, attempt);
                            executor::run_beat(&services, &session, &meta, &claimant, at, beat)
                                .await
                        }
                    };
                    let is_shut = |error: &Failure| error.is_unauthorized() || error.is_forbidden();
                    if result.as_ref().is_err_and(is_shut) {
                        services.credentials.forget(&project, &trustor);
                    }
                    let result = result.map_err(|error| match session.has_changed() {
                        true => Failure::AfterChange(Box::new(error)),
                        false => error,
                    });
                    let result = services.claims.learned(&claimant, &driver, &subject, result);
                    let is_lost = matches!(&result, Err(error) if error.is_transient());
                    let kept = kept.filter(|_| !is_lost);
                    let is_checked = matches!(
                        (&result, &work),
                        (Ok(Beat::Done { .. }), Work::Act(Action::Check))
                    );
                    let reality = match is_checked && driver.nests().is_none() {
                        true => {
                            Some(compared(&services, driver.as_ref(), &session, &subject).await)
                        }
                        false => None,
                    };
                    let attributes = match &result {
                        Ok(Beat::Done { learned }) if !observe.is_empty() => {
                            let subject = with_learned(subject, learned);
                            let driver = driver.as_ref();
                            observed(&services, driver, &session, &subject, &observe).await
                        }
                        _ => Default::default(),
                    };
                    Some(Answered { epoch, result, kept, attributes, reality })
                };
                ctx.spawn(call.into_actor(shell).map(move |answer, shell, ctx| {
                    if let Some(answered) = answer {
                        come_back(shell, ResourceCommand::Answered(Box::new(answered)), ctx);
                    }
                }));
            }
            ResourceEffect::SeeFailed { epoch, driver_type, subject, trustor } => {
                let look = async move {
                    let _busy = busy;
                    match reach(&services, &driver_type, &project, &trustor, behalf).await {
                        Ok((driver, session)) => {
                            let replaces =
                                |cloud: &Asks<'_>| driver.replace_failed(cloud, &subject);
                            executor::run(&services, &session, replaces).await
                        }
                        Err(error) => Err(error),
                    }
                };
                ctx.spawn(look.into_actor(shell).map(move |replace, shell, ctx| {
                    come_back(shell, ResourceCommand::FailedSeen { epoch, replace }, ctx);
                }));
            }
            ResourceEffect::SeeReality { epoch, driver_type, subject, trustor } => {
                let look = async move {
                    let _busy = busy;
                    let reality =
                        reality(&services, &driver_type, &project, &trustor, behalf, &subject);
                    ResourceCommand::RealitySeen { epoch, reality: reality.await }
                };
                ctx.spawn(look.into_actor(shell).map(come_back_with));
            }
            ResourceEffect::Size { adjust, driver_type, subject } => {
                let id = adjust.id;
                let look = async move {
                    let _busy = busy;
                    let driver = services.registry.driver(&driver_type)?;
                    nested::size(&services, driver.as_ref(), &subject, &adjust.adjustment).await
                };
                ctx.spawn(look.into_actor(shell).map(move |resize, shell, ctx| {
                    come_back(shell, ResourceCommand::Sized { id, resize }, ctx);
                }));
            }
            ResourceEffect::CarryOutSignal {
                signal,
                nesting,
                driver_type,
                subject,
                attempt,
                trustor,
            } => {
                let id = signal.id;
                let meta = shell.meta().clone();
                let work = async move {
                    let _busy = busy;
                    // The signal was lost with its group; this actor is about to be dropped.
                    services.log.durable(at).await.ok()?;
                    let reached = reach(&services, &driver_type, &project, &trustor, behalf).await;
                    let (driver, session) = match reached {
                        Ok(reached) => reached,
                        Err(error) => return Some(Err(error)),
                    };
                    if let Some(adjustment) = driver.adjustment(&subject) {
                        return Some(
                            nested::adjust(&services, &subject, adjustment, id, &meta).await,
                        );
                    }
                    if let Some(reference) = driver.restarts(&subject) {
                        let restart = nested::restart(&services, &subject, &reference, id, &meta);
                        return Some(restart.await);
                    }
                    let details = &signal.details;
                    let Some(nested) = driver.nests() else {
                        let carry_out = |cloud: &Asks<'_>| {
                            driver.program().carry_out_signal(cloud, &subject, details)
                        };
                        return Some(
                            executor::run_for(&services, &session, &meta, carry_out).await,
                        );
                    };
                    let knowledge = Stack::knowledge(&services);
                    let beating = nested::Beating {
                        services: &services,
                        session: &session,
                        beat: ChildBeat {
                            knowledge: &knowledge,
                            clock: services.clock.as_ref(),
                            driver: driver.as_ref(),
                            nested,
                            work: &Work::Act(Action::Check),
                            subject: &subject,
                            step: &Step::default(),
                            nesting: &nesting,
                        },
                        asked: &meta,
                        attempt,
                    };
                    Some(beating.resize(details).await)
                };
                let work = async move {
                    let result = work.await;
                    // It is carried out again, though not at once.
                    if let Some(Err(error)) = &result
                        && error.is_transient()
                    {
                        tokio::time::sleep(SIGNAL_PAUSE).await;
                    }
                    result
                };
                ctx.spawn(work.into_actor(shell).map(move |result, shell, ctx| {
                    if let Some(result) = result {
                        if let Some(error) = failure(&result) {
                            let resource = &shell.machine;
                            let error = resource.without_secrets(&error);
                            warn!(resource.id = %resource.id, %error, "a signal could not be carried out");
                        }
                        let command = ResourceCommand::SignalCarriedOut { signal: id, result };
                        come_back(shell, command, ctx);
                    }
                }));
            }
            ResourceEffect::SeeChild { epoch, driver_type, subject, nesting } => {
                let look = async move {
                    let _busy = busy;
                    let driver = services.registry.driver(&driver_type);
                    let nests = driver.as_deref().and_then(|it| Some((it, it.nests()?)));
                    let differs = match nests {
                        Some((driver, nested)) => {
                            let beat = ChildBeat {
                                knowledge: &Stack::knowledge(&services),
                                clock: services.clock.as_ref(),
                                driver,
                                nested,
                                work: &Work::Act(Action::Check),
                                subject: &subject,
                                step: &Step::default(),
                                nesting: &nesting,
                            };
                            nested::differs(&services, &beat).await
                        }
                        None => false,
                    };
                    ResourceCommand::ChildSeen { epoch, differs }
                };
                ctx.spawn(look.into_actor(shell).map(come_back_with));
            }
            ResourceEffect::HaltChild { child } => {
                let meta = shell.meta().clone();
                let halt = async move {
                    let _busy = busy;
                    nested::halt(&services, child, &meta).await;
                };
                ctx.spawn(halt.into_actor(shell));
            }
            ResourceEffect::Observe { epoch, driver_type, subject, wanted, trustor } => {
                let look = async move {
                    let _busy = busy;
                    let mut attributes = JsonMap::new();
                    if let Ok((driver, session)) =
                        reach(&services, &driver_type, &project, &trustor, behalf).await
                    {
                        let driver = driver.as_ref();
                        attributes = observed(&services, driver, &session, &subject, &wanted).await;
                    }
                    for name in wanted {
                        attributes.entry(name).or_insert(serde_json::Value::Null);
                    }
                    ResourceCommand::Observed { epoch, attributes }
                };
                ctx.spawn(look.into_actor(shell).map(come_back_with));
            }
        }
    }
}

/// What happened outside comes back as a command.
fn come_back(
    shell: &Shell<Resource>,
    command: ResourceCommand,
    ctx: &mut Context<Shell<Resource>>,
) {
    let ask = shell.services.measures.ask(command, shell.meta().clone());
    ctx.address().do_send(ask.holding(shell.links.busy.clone()));
}

fn come_back_with(
    command: ResourceCommand,
    shell: &mut Shell<Resource>,
    ctx: &mut Context<Shell<Resource>>,
) {
    come_back(shell, command, ctx);
}

/// Whether a failed resource is replaced by the next update, as its type says.
pub(super) async fn is_lost(
    services: &Arc<Services>,
    resource: &Resource,
) -> Result<bool, Failure> {
    if !resource.may_be_lost() {
        return Ok(false);
    }
    let definition = resource.definition.as_ref().or(resource.target.as_deref());
    let (Some(definition), Some(stack)) = (definition, &resource.stack) else { return Ok(true) };
    let subject = resource.subject(definition, &Resource::knowledge(services));
    let (driver_type, user) = (&definition.driver_type, &resource.signals_for);
    let (driver, session) = reach(services, driver_type, &stack.project_id, user, None).await?;
    let replaces = |cloud: &Asks<'_>| driver.replace_failed(cloud, &subject);
    executor::run(services, &session, replaces).await
}

/// For which request the resource works, as a part of its action.
fn behalf(shell: &Shell<Resource>) -> Option<Behalf> {
    let request_id = shell.meta().request_id.clone()?;
    let (id, traversal) = (shell.machine.id, shell.machine.traversal);
    Some(match traversal {
        Some(traversal) => Behalf { request_id, span: SpanId::of_resource(id, traversal) },
        None => Behalf::of(request_id),
    })
}

async fn reach(
    services: &Arc<Services>,
    driver_type: &str,
    project: &ProjectId,
    trustor: &Trustor,
    behalf: Option<Behalf>,
) -> Result<(Arc<Declared>, crate::openstack::Session), Failure> {
    let driver = services
        .registry
        .driver(driver_type)
        .ok_or_else(|| Refusal::not_found("Resource Type", driver_type))?;
    let session = services.credentials.session(services, project, trustor).await?;
    Ok((driver, session.on_behalf(behalf)))
}

fn with_learned(mut subject: Subject, learned: &crate::resource_types::Learned) -> Subject {
    subject.physical_id = learned.physical_id.clone().or(subject.physical_id);
    subject.data.extend(learned.data.clone());
    subject.signals.extend(learned.metadata.clone());
    subject
}

/// What there is of a resource; what cannot be looked up is taken for what is on record, as in
/// Heat.
async fn reality(
    services: &Arc<Services>,
    driver_type: &str,
    project: &ProjectId,
    trustor: &Trustor,
    behalf: Option<Behalf>,
    subject: &Subject,
) -> Reality {
    match reach(services, driver_type, project, trustor, behalf).await {
        Ok((driver, session)) => compared(services, driver.as_ref(), &session, subject).await,
        Err(error) => as_recorded(subject, &error.told()),
    }
}

/// The same, where the cloud is reached.
async fn compared(
    services: &Arc<Services>,
    driver: &Declared,
    session: &crate::openstack::Session,
    subject: &Subject,
) -> Reality {
    let look = executor::run(services, session, |cloud| driver.reality(cloud, subject));
    match tokio::time::timeout(OBSERVE_MAX, look).await {
        Ok(Ok(reality)) => reality,
        Ok(Err(error)) => as_recorded(subject, &error.told()),
        Err(_) => as_recorded(subject, "it was not answered in time"),
    }
}

fn as_recorded(subject: &Subject, error: &str) -> Reality {
    warn!(resource.name = ?subject.name, error, "a resource cannot be compared with what there is");
    Reality::Differs(JsonMap::new())
}

/// Attributes as they are now; what a child stack has for secret is marked.
async fn observed(
    services: &Arc<Services>,
    driver: &Declared,
    session: &crate::openstack::Session,
    subject: &Subject,
    wanted: &[String],
) -> JsonMap {
    let wanted = if wanted.iter().any(|name| name == ALL_ATTRIBUTES) { &[] } else { wanted };
    if driver.nests().is_some() {
        return nested::attributes(services, session, driver, subject, wanted).await;
    }
    let look = executor::run(services, session, |it| driver.attributes(it, subject, wanted));
    match tokio::time::timeout(OBSERVE_MAX, look).await {
        Ok(Ok(attributes)) => attributes,
        Ok(Err(error)) => {
            let error = error.told();
            warn!(resource.name = ?subject.name, error, "attributes cannot be looked up");
            JsonMap::new()
        }
        Err(_) => {
            warn!(resource.name = ?subject.name, "attributes were not answered in time");
            JsonMap::new()
        }
    }
}

/// The pause before a signal is carried out again whose calls were not answered.
const SIGNAL_PAUSE: Duration = Duration::from_secs(5);

/// How long attributes may take to be looked up before they count as unknown.
const OBSERVE_MAX: Duration = Duration::from_secs(60);

/// Why a signal could not be carried out.
fn failure(result: &Result<SignalOutcome, Failure>) -> Option<String> {
    match result {
        Ok(outcome) => outcome.in_child.as_ref()?.error.clone(),
        Err(error) => Some(error.told()),
    }
}
