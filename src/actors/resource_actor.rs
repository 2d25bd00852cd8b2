//! The actor of a resource: it pauses, asks the outside (`outside.rs`), reports to its stack and goes
//! to rest.

use std::sync::Arc;

use actix::prelude::*;
use actix::{ActorFutureExt, WrapFuture};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use tracing::warn;

use super::claims::Claimant;
use super::nest::{Busy, Nest};
use super::nested;
use super::outside::{Outside, SignalCall};
use super::resource::{Adjusted, Knowledge, Resource, ResourceCommand, ResourceEffect, Working};
use super::services::Services;
use super::shell::{Inhabit, Shell, Woken};
use super::stack::{Stack, StackCommand};
use crate::events::log::LogError;
use crate::events::{Position, RecordedEvent};
use crate::model::{Action, CommandId, ResourceId, Status};
use crate::openstack::Behalf;
use crate::resource_types::{Failure, SignalOutcome};
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
        let stack = shell.machine.stack.as_ref();
        let outside = Outside {
            services: shell.services.clone(),
            project: stack.map(|stack| stack.project_id.clone()).unwrap_or_default(),
            behalf: behalf(shell),
            asked: shell.meta().clone(),
            at,
            busy: shell.links.busy.clone(),
        };
        match effect {
            ResourceEffect::Report => {
                let knowledge = Self::knowledge(&shell.services);
                let report = shell.machine.report(&shell.working, &knowledge);
                if (report.action, report.status) == (Action::Delete, Status::Complete) {
                    shell.services.claims.forget(report.id);
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
                let beat = outside.beat(Claimant::of(&shell.machine), *call);
                ctx.spawn(beat.into_actor(shell).map(|answered, shell, ctx| {
                    if let Some(answered) = answered {
                        come_back(shell, ResourceCommand::Answered(Box::new(answered)), ctx);
                    }
                }));
            }
            ResourceEffect::SeeFailed { epoch, driver_type, subject, trustor } => {
                let look = async move {
                    let replace = outside.replaces_failed(&driver_type, &subject, &trustor).await;
                    ResourceCommand::FailedSeen { epoch, replace }
                };
                ctx.spawn(look.into_actor(shell).map(come_back_with));
            }
            ResourceEffect::SeeReality { epoch, driver_type, subject, trustor } => {
                let look = async move {
                    let reality = outside.reality(&driver_type, &subject, &trustor).await;
                    ResourceCommand::RealitySeen { epoch, reality }
                };
                ctx.spawn(look.into_actor(shell).map(come_back_with));
            }
            ResourceEffect::Size { adjust, driver_type, subject } => {
                let look = async move {
                    let (id, Outside { services, busy: _busy, .. }) = (adjust.id, outside);
                    let resize = match services.registry.driver(&driver_type) {
                        Some(driver) => {
                            nested::size(&services, &driver, &subject, &adjust.adjustment).await
                        }
                        None => None,
                    };
                    ResourceCommand::Sized { id, resize }
                };
                ctx.spawn(look.into_actor(shell).map(come_back_with));
            }
            ResourceEffect::CarryOutSignal {
                due,
                nesting,
                driver_type,
                subject,
                attempt,
                trustor,
            } => {
                let id = due.id();
                let call = SignalCall { due, driver_type, subject, nesting, attempt, trustor };
                let work = outside.carry_out(call);
                ctx.spawn(work.into_actor(shell).map(move |result, shell, ctx| {
                    let Some(result) = result else { return };
                    if let Some(error) = failure(&result) {
                        let resource = &shell.machine;
                        let error = resource.without_secrets(&error);
                        warn!(resource.id = %resource.id, %error, "a signal could not be carried out");
                    }
                    let command = ResourceCommand::SignalCarriedOut { signal: id, result };
                    come_back(shell, command, ctx);
                }));
            }
            ResourceEffect::SeeChild { epoch, driver_type, subject, nesting } => {
                let look = async move {
                    let differs = outside.child_differs(&driver_type, &subject, &nesting).await;
                    ResourceCommand::ChildSeen { epoch, differs }
                };
                ctx.spawn(look.into_actor(shell).map(come_back_with));
            }
            ResourceEffect::HaltChild { child } => {
                let halt = async move {
                    let Outside { services, asked, busy: _busy, .. } = outside;
                    nested::halt(&services, child, &asked).await;
                };
                ctx.spawn(halt.into_actor(shell));
            }
            ResourceEffect::Observe { epoch, driver_type, subject, wanted, trustor } => {
                let look = async move {
                    let look = outside.attributes(&driver_type, &subject, wanted, &trustor);
                    ResourceCommand::Observed { epoch, attributes: look.await }
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

/// For which request the resource works, as a part of its action.
fn behalf(shell: &Shell<Resource>) -> Option<Behalf> {
    let request_id = shell.meta().request_id.clone()?;
    let (id, traversal) = (shell.machine.id, shell.machine.traversal);
    Some(match traversal {
        Some(traversal) => Behalf { request_id, span: SpanId::of_resource(id, traversal) },
        None => Behalf::of(request_id),
    })
}

/// Why a signal could not be carried out.
fn failure(result: &Result<SignalOutcome, Failure>) -> Option<String> {
    match result {
        Ok(outcome) => outcome.in_child.as_ref()?.error.clone(),
        Err(error) => Some(error.told()),
    }
}
