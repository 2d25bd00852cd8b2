//! The one actor: a mailbox around a machine and its stream.
//!
//! A command is decided on the state that its predecessor left: the mailbox is held until the
//! append has its place in the log. Effects run after that; calls to the cloud never hold the
//! mailbox, they come back as commands of their own, by the address: what `ctx.notify` brings is
//! no mail to actix 0.13, and may be handled while an append still holds the mailbox.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use actix::prelude::*;
use actix::{ActorFutureExt, AtomicResponse, WrapFuture};
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use tracing::{debug, error};

use super::measures::Measures;
use crate::clock::{Clock, Moment};
use crate::events::log::{EventLog, Head, LogError};
use crate::events::seal::{SealError, Seals};
use crate::events::vault::{Vault, VaultError};
use crate::events::{Cause, Event, Meta, Position, RecordedEvent, StreamId, StreamRevision};
use crate::metrics::Counted;
use crate::model::{CommandId, Refusal};

/// How many receipts are kept for commands that are sent again.
const RECEIPTS_KEPT_MAX: usize = 64;

/// A machine: state as the fold of its events, and what it decides on it.
pub trait Aggregate: Default + Sized + Unpin + 'static {
    type Command: Send + 'static;
    type Event: Event;
    type Effect;
    /// What the machine is handed to decide with: other rooms' pure knowledge.
    type Knowledge: Unpin + 'static;
    /// What the log does not hold, because `recover` finds it again.
    type Working: Default + Unpin + 'static;

    /// Whether the same command sent again gets the first receipt. What actors tell one another
    /// under the id of a user's command is no repetition of it.
    fn answers_once(_command: &Self::Command) -> bool {
        false
    }

    /// Takes an event in. Never fails: all checking happened before the event was written.
    fn apply(&mut self, event: &Self::Event, at: DateTime<Utc>);

    /// Answers a command with events and effects, or refuses it. What events carry is changed by
    /// them alone; of all else a decision changes the working memory and nothing more.
    fn decide(
        &self,
        working: &mut Self::Working,
        command: Self::Command,
        moment: &Moment<'_>,
        knowledge: &Self::Knowledge,
    ) -> Result<Decision<Self>, Refusal>;

    /// What is still owed after the state was read back from the log.
    fn recover(
        &self,
        _working: &mut Self::Working,
        _moment: &Moment<'_>,
        _knowledge: &Self::Knowledge,
    ) -> Decision<Self> {
        Decision::nothing()
    }
}

/// A decision under way: the state, which it reads, and the working memory, which it may change.
pub struct Deciding<'a, A: Aggregate> {
    pub state: &'a A,
    pub working: &'a mut A::Working,
    pub moment: &'a Moment<'a>,
    pub knowledge: &'a A::Knowledge,
}

impl<A: Aggregate> Deref for Deciding<'_, A> {
    type Target = A;

    fn deref(&self) -> &A {
        self.state
    }
}

/// What a machine answers to a command.
pub struct Decision<A: Aggregate> {
    pub events: Vec<A::Event>,
    /// Done once the events have their place.
    pub effects: Vec<A::Effect>,
    /// Decided next, on the state after the events, before any other command.
    pub then: Option<A::Command>,
    /// What the command is answered with all the same: it was refused, and that is on record.
    pub refusal: Option<Refusal>,
}

impl<A: Aggregate> Decision<A> {
    /// Nothing to record, nothing to do.
    pub fn nothing() -> Self {
        Self { events: Vec::new(), effects: Vec::new(), then: None, refusal: None }
    }

    /// Records one event.
    pub fn record(event: impl Into<A::Event>) -> Self {
        Self::nothing().and_record(event)
    }

    /// Records a further event.
    pub fn and_record(mut self, event: impl Into<A::Event>) -> Self {
        self.events.push(event.into());
        self
    }

    /// Does something once the events have their place.
    pub fn and_do(mut self, effect: A::Effect) -> Self {
        self.effects.push(effect);
        self
    }

    /// Decides a further command on the state after the events.
    pub fn and_then(mut self, command: A::Command) -> Self {
        self.then = Some(command);
        self
    }

    /// Refuses the command, after the events have their place.
    pub fn and_refuse(mut self, refusal: Refusal) -> Self {
        self.refusal = Some(refusal);
        self
    }
}

/// Where a command's events came to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Receipt {
    pub position: Position,
}

/// Where a stream must end for a command to be decided.
#[derive(Clone, Debug)]
pub struct Expected {
    /// One of these is the position of its last event.
    pub last: Vec<Position>,
    /// What the command is answered with where it ends elsewhere.
    pub otherwise: Refusal,
}

/// A command with who sent it and why.
#[derive(Message)]
#[rtype(result = "Result<Receipt, Refusal>")]
pub struct Ask<C: 'static> {
    pub command: C,
    pub meta: Arc<Meta>,
    pub expected: Vec<Expected>,
    /// Counts it until it is taken up.
    pub(super) waiting: Counted,
    /// What is held until then.
    holding: Option<Arc<()>>,
}

impl Measures {
    /// A command that goes to an actor, counted until that takes it up.
    pub(super) fn ask<C>(&self, command: C, meta: Arc<Meta>) -> Ask<C> {
        Ask { command, meta, expected: Vec::new(), waiting: self.waiting(), holding: None }
    }
}

impl<C> Ask<C> {
    /// The command, to be decided only where the stream ends as expected.
    pub(super) fn expecting(self, expected: Vec<Expected>) -> Self {
        Self { expected, ..self }
    }

    /// The command, holding this until it is taken up.
    pub(super) fn holding(self, held: Arc<()>) -> Self {
        Self { holding: Some(held), ..self }
    }
}

/// What a shell itself works with, of all that its actor does.
pub trait Ground: Send + Sync + 'static {
    fn log(&self) -> &Arc<dyn EventLog>;

    /// What seals the parts of events that must not be seen.
    fn vault(&self) -> &Arc<Vault>;

    fn clock(&self) -> &Arc<dyn Clock>;

    fn measures(&self) -> &Measures;

    /// Whether it is for this process to go on with work that a former one left.
    fn goes_on(&self) -> bool;
}

/// What a kind of actor does beyond deciding: how it is loaded, runs effects, and ends.
pub trait Inhabit: Aggregate {
    /// What its streams are called.
    const KIND: &'static str;

    /// What the actor holds of other actors.
    type Links: Unpin + 'static;

    /// What the actor works with.
    type Services: Ground;

    /// Does one effect.
    fn perform(
        shell: &mut Shell<Self>,
        effect: Self::Effect,
        at: Position,
        ctx: &mut Context<Shell<Self>>,
    );

    /// What is read besides the stream when the actor wakes.
    fn load(
        services: Arc<Self::Services>,
        events: Vec<Arc<RecordedEvent>>,
        machine: Self,
    ) -> BoxFuture<'static, Result<Woken<Self>, LogError>>;

    /// The knowledge its machine decides with.
    fn knowledge(services: &Arc<Self::Services>) -> Self::Knowledge;

    /// Called when the actor cannot go on, because its state is older than the log or the log
    /// cannot be written. Whoever holds it wakes it anew.
    fn broken(shell: &mut Shell<Self>, error: &LogError, ctx: &mut Context<Shell<Self>>);

    /// Called after each command; an idle actor may put itself to rest here.
    fn rest(_shell: &mut Shell<Self>, _ctx: &mut Context<Shell<Self>>) {}
}

/// Changes an actor's links once it is read back.
pub type Link<A> = Box<dyn FnOnce(&mut <A as Inhabit>::Links) + Send>;

/// A machine read back from the log, with what it needs beside it.
pub struct Woken<A: Inhabit> {
    pub machine: A,
    pub working: A::Working,
    /// Changes the links: children that were read along.
    pub link: Link<A>,
}

/// The actor.
pub struct Shell<A: Inhabit> {
    pub machine: A,
    pub working: A::Working,
    pub links: A::Links,
    pub services: Arc<A::Services>,
    stream: StreamId,
    seals: Seals,
    head: Option<Head>,
    position: Position,
    /// Where the last event stands that changed something.
    stands_at: Position,
    knowledge: A::Knowledge,
    /// Who asked last, for effects that come back as commands.
    meta: Arc<Meta>,
    receipts: VecDeque<(CommandId, Receipt)>,
    _awake: Counted,
}

impl<A: Inhabit> Shell<A> {
    /// An actor that reads its stream when it starts.
    pub fn asleep(
        services: Arc<A::Services>,
        stream: StreamId,
        machine: A,
        links: A::Links,
    ) -> Self {
        let knowledge = A::knowledge(&services);
        let seals = Seals::of(services.vault().clone(), stream.clone());
        let awake = services.measures().actor(A::KIND);
        Self {
            machine,
            working: A::Working::default(),
            links,
            services,
            stream,
            seals,
            head: None,
            position: Position(0),
            stands_at: Position(0),
            knowledge,
            meta: Arc::default(),
            receipts: VecDeque::new(),
            _awake: awake,
        }
    }

    /// An actor whose stream was read already, or is known to be empty.
    pub fn awake(
        services: Arc<A::Services>,
        stream: StreamId,
        (machine, working): (A, A::Working),
        links: A::Links,
        (head, seals): (Head, Seals),
    ) -> Self {
        Self { head: Some(head), working, seals, ..Self::asleep(services, stream, machine, links) }
    }

    /// The stream that the actor writes.
    pub fn stream(&self) -> &StreamId {
        &self.stream
    }

    /// Where the stream's last event stands in the log that changed something.
    pub fn stands_at(&self) -> Position {
        self.stands_at
    }

    /// Who asked last.
    pub fn meta(&self) -> &Arc<Meta> {
        &self.meta
    }

    /// Takes out what the log says, and where that ends, of an actor that ends.
    pub(super) fn take_machine(&mut self) -> Option<(A, Head)> {
        Some((std::mem::take(&mut self.machine), self.head?))
    }

    fn receipt_of(&self, meta: &Meta) -> Option<Receipt> {
        let Some(Cause::Command(id)) = meta.cause else { return None };
        self.receipts.iter().find(|(known, _)| *known == id).map(|(_, receipt)| *receipt)
    }

    fn keep_receipt(&mut self, meta: &Meta, position: Position) {
        let Some(Cause::Command(id)) = meta.cause else { return };
        if self.receipts.iter().any(|(known, _)| *known == id) {
            return;
        }
        if self.receipts.len() == RECEIPTS_KEPT_MAX {
            self.receipts.pop_front();
        }
        self.receipts.push_back((id, Receipt { position }));
    }

    fn decide(
        &mut self,
        command: A::Command,
        meta: Arc<Meta>,
        ctx: &mut Context<Self>,
    ) -> ResponseActFuture<Self, Result<Receipt, Refusal>> {
        let clock = self.services.clock().clone();
        let moment = Moment::of(clock.as_ref());
        let decided = self.machine.decide(&mut self.working, command, &moment, &self.knowledge);
        self.services.measures().decided(A::KIND, decided.is_err());
        let decision = match decided {
            Ok(decision) => decision,
            Err(refusal) => return Box::pin(actix::fut::ready(Err(refusal))),
        };
        self.carry_out(decision, moment.now, meta, ctx)
    }

    fn carry_out(
        &mut self,
        decision: Decision<A>,
        now: DateTime<Utc>,
        meta: Arc<Meta>,
        ctx: &mut Context<Self>,
    ) -> ResponseActFuture<Self, Result<Receipt, Refusal>> {
        let Decision { events, effects, then, refusal } = decision;
        if events.is_empty() {
            return self.go_on(effects, then, refusal, meta, ctx);
        }
        if let Some(scope) = self.seals.waits_for(&events) {
            let decision = Decision { events, effects, then, refusal };
            return self.carry_out_with_key(scope, decision, now, meta);
        }
        let head = self.head.unwrap_or_default();
        let encoded = match self.seals.seal_all(&events, head, now, &meta) {
            Ok(encoded) => encoded,
            Err(error) => return Box::pin(actix::fut::ready(Err(self.not_sealed(error, ctx)))),
        };
        let (log, stream) = (self.services.log().clone(), self.stream.clone());
        let append = async move { log.append(&stream, head, encoded).await };
        Box::pin(append.into_actor(self).then(move |appended, shell, ctx| match appended {
            Ok(appended) => {
                shell.head = Some(appended.head);
                shell.position = appended.position;
                if !events.iter().all(|event| A::Event::only_notes(event.event_type())) {
                    shell.stands_at = appended.position;
                }
                shell.keep_receipt(&meta, appended.position);
                for event in &events {
                    shell.machine.apply(event, now);
                }
                shell.go_on(effects, then, refusal, meta, ctx)
            }
            Err(error) => Box::pin(actix::fut::ready(Err(shell.lost(&error, ctx)))),
        }))
    }

    /// Carries a decision out once the key is at hand that seals its events; meanwhile the thread
    /// has others to serve.
    fn carry_out_with_key(
        &mut self,
        scope: StreamId,
        decision: Decision<A>,
        now: DateTime<Utc>,
        meta: Arc<Meta>,
    ) -> ResponseActFuture<Self, Result<Receipt, Refusal>> {
        let (vault, head) = (self.services.vault().clone(), self.head);
        let ready = async move { vault.make_ready(scope.as_str()).await };
        Box::pin(ready.into_actor(self).then(move |ready, shell, ctx| {
            let refusal = match ready {
                Ok(()) if shell.head == head => return shell.carry_out(decision, now, meta, ctx),
                // What was decided is of a state that is none any more, as in a conflict.
                Ok(()) => {
                    let moved = LogError::Unavailable("the stream has gone on".to_owned());
                    shell.lost(&moved, ctx)
                }
                Err(error) => shell.not_sealed(error.into(), ctx),
            };
            Box::pin(actix::fut::ready(Err(refusal)))
        }))
    }

    /// What was decided cannot be sealed, and is not on record.
    fn not_sealed(&mut self, error: SealError, ctx: &mut Context<Self>) -> Refusal {
        match error {
            // Others' keys are gone for good: this one was out of reach.
            SealError::Vault(VaultError::Log(error))
                if !matches!(error, LogError::KeyDestroyed(_)) =>
            {
                error!(stream = %self.stream, %error, "a key cannot be had");
                // Of this stream nothing is damaged.
                let away = LogError::Unavailable(error.to_string());
                self.lost(&away, ctx)
            }
            error @ (SealError::Json(_) | SealError::NoScope { .. } | SealError::Vault(_)) => {
                error!(stream = %self.stream, %error, "an event cannot be kept");
                Refusal::unavailable("internal error")
            }
        }
    }

    /// What was decided is not on record: the actor is read back.
    fn lost(&mut self, error: &LogError, ctx: &mut Context<Self>) -> Refusal {
        debug!(stream = %self.stream, %error, "append refused");
        A::broken(self, error, ctx);
        Refusal::unavailable("The event log cannot be written at present.")
    }

    fn go_on(
        &mut self,
        effects: Vec<A::Effect>,
        then: Option<A::Command>,
        refusal: Option<Refusal>,
        meta: Arc<Meta>,
        ctx: &mut Context<Self>,
    ) -> ResponseActFuture<Self, Result<Receipt, Refusal>> {
        self.meta = meta.clone();
        for effect in effects {
            A::perform(self, effect, self.position, ctx);
        }
        if let Some(command) = then {
            return self.decide(command, meta, ctx);
        }
        A::rest(self, ctx);
        let receipt = Receipt { position: self.position };
        Box::pin(actix::fut::ready(refusal.map_or(Ok(receipt), Err)))
    }

    fn recover(&mut self, ctx: &mut Context<Self>) {
        if !self.services.goes_on() {
            return;
        }
        let clock = self.services.clock().clone();
        let moment = Moment::of(clock.as_ref());
        let decision = self.machine.recover(&mut self.working, &moment, &self.knowledge);
        let meta = Arc::new(Meta {
            cause: (self.position.0 > 0).then_some(Cause::Event(self.position)),
            caller: self.meta.caller.clone(),
            request_id: self.meta.request_id.clone(),
            correlation: self.meta.correlation,
        });
        let carried = self.carry_out(decision, moment.now, meta, ctx);
        ctx.wait(carried.map(|_, _, _| ()));
    }
}

impl<A: Inhabit> Actor for Shell<A> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.set_mailbox_capacity(1024);
        if self.head.is_some() {
            self.recover(ctx);
            return;
        }
        let (services, stream) = (self.services.clone(), self.stream.clone());
        let blank = std::mem::take(&mut self.machine);
        let load = async move {
            let slice = services.log().read(&stream, StreamRevision(0)).await?;
            let mut seals = Seals::of(services.vault().clone(), stream);
            seals.warm::<A::Event>(&slice.events).await?;
            let (machine, head) = (fold(blank, &slice.events, &mut seals)?, slice.head);
            let last = slice.events.last().cloned();
            let changed =
                slice.events.iter().rfind(|event| !A::Event::only_notes(&event.event_type));
            let stands_at = changed.map(|event| event.position).unwrap_or_default();
            let receipts = receipts(&slice.events);
            let woken = A::load(services, slice.events, machine).await?;
            Ok::<_, LogError>((woken, head, (last, stands_at), receipts, seals))
        };
        ctx.wait(load.into_actor(self).map(|loaded, shell, ctx| match loaded {
            Ok((woken, head, (last, stands_at), receipts, seals)) => {
                shell.seals = seals;
                shell.machine = woken.machine;
                shell.working = woken.working;
                shell.head = Some(head);
                shell.stands_at = stands_at;
                shell.receipts = receipts;
                if let Some(last) = last {
                    shell.position = last.position;
                    shell.meta = last.meta.clone();
                }
                (woken.link)(&mut shell.links);
                shell.recover(ctx);
            }
            Err(error) => {
                error!(stream = %shell.stream, %error, "a stream cannot be read back");
                A::broken(shell, &error, ctx);
            }
        }));
    }
}

/// Reads a machine back from its events.
pub fn fold<A: Aggregate>(
    mut machine: A,
    events: &[Arc<RecordedEvent>],
    seals: &mut Seals,
) -> Result<A, LogError> {
    for event in events {
        machine.apply(&seals.open(event)?, event.at);
    }
    Ok(machine)
}

fn receipts(events: &[Arc<RecordedEvent>]) -> VecDeque<(CommandId, Receipt)> {
    let mut receipts: VecDeque<(CommandId, Receipt)> = VecDeque::new();
    for event in events {
        let Some(Cause::Command(id)) = event.meta.cause else { continue };
        if receipts.iter().all(|(known, _)| *known != id) {
            receipts.push_back((id, Receipt { position: event.position }));
        }
    }
    let surplus = receipts.len().saturating_sub(RECEIPTS_KEPT_MAX);
    receipts.drain(..surplus);
    receipts
}

impl<A: Inhabit> Handler<Ask<A::Command>> for Shell<A> {
    type Result = AtomicResponse<Self, Result<Receipt, Refusal>>;

    fn handle(&mut self, ask: Ask<A::Command>, ctx: &mut Context<Self>) -> Self::Result {
        drop((ask.waiting, ask.holding));
        if let Some(receipt) = self.receipt_of(&ask.meta)
            && A::answers_once(&ask.command)
        {
            return AtomicResponse::new(Box::pin(actix::fut::ready(Ok(receipt))));
        }
        // Asked here, and not before the command is sent, so that nothing comes in between.
        let unmet = ask.expected.into_iter().find(|it| !it.last.contains(&self.stands_at));
        if let Some(Expected { otherwise, .. }) = unmet {
            return AtomicResponse::new(Box::pin(actix::fut::ready(Err(otherwise))));
        }
        AtomicResponse::new(self.decide(ask.command, ask.meta, ctx))
    }
}
