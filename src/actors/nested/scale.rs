//! Changes of a group's size: how a policy reaches its group, and how the group gets there.

use actix::prelude::*;
use futures::channel::oneshot;
use serde_json::Value;

use super::beats::Beating;
use super::used::used;
use super::{See, derived, end_of, make};
use crate::actors::resource::{Adjust, Adjusted, Resize, Resource, ResourceCommand};
use crate::actors::services::{SENDS_MAX, Services};
use crate::actors::shell::{Ask, Shell};
use crate::actors::stack::StackCommand;
use crate::actors::stack_actor::ResourceReferred;
use crate::events::Meta;
use crate::model::{CommandId, JsonMap, Refusal, Status};
use crate::resource_types::child::ChildAsk;
use crate::resource_types::{
    Adjustment, ChildSignaled, Driver, DriverError, Said, SignalOutcome, Subject, Work, cooldown,
};

/// Awaits the end of an adjustment.
#[derive(Message)]
#[rtype(result = "oneshot::Receiver<Adjusted>")]
struct AwaitAdjusted(CommandId);

impl Handler<AwaitAdjusted> for Shell<Resource> {
    type Result = MessageResult<AwaitAdjusted>;

    fn handle(&mut self, awaited: AwaitAdjusted, _ctx: &mut Context<Self>) -> Self::Result {
        let (sender, receiver) = oneshot::channel();
        self.links.awaiting.push((awaited.0, sender));
        answer_adjusted(self);
        MessageResult(receiver)
    }
}

/// Tells those who wait how their adjustments ended, where they did.
pub(in crate::actors) fn answer_adjusted(shell: &mut Shell<Resource>) {
    for (id, waiting) in std::mem::take(&mut shell.links.awaiting) {
        match shell.machine.adjusted(id) {
            // Who no longer waits was interrupted.
            Some(end) => drop(waiting.send(end)),
            None => shell.links.awaiting.push((id, waiting)),
        }
    }
}

/// Has the group of a policy adjusted, and awaits that. The group takes the same signal once.
pub(in crate::actors) async fn adjust(
    services: &Services,
    policy: &Subject,
    adjustment: Adjustment,
    signal: CommandId,
    asked: &Meta,
) -> Result<SignalOutcome, DriverError> {
    let id = CommandId(derived(&[signal.0.as_bytes(), b"adjust"]));
    let stack = policy.stack_id.unwrap_or_default();
    for _ in 0..SENDS_MAX {
        let asked_for = services.ask_of(stack, || ResourceReferred(adjustment.group.clone())).await;
        let Some(found) = asked_for else { break };
        let Some(group) = found else {
            let name = policy.name.clone().unwrap_or_default();
            let text =
                format!("Alarm {name} could not find scaling group named \"{}\"", adjustment.group);
            return Err(DriverError::fatal("NotFound", text));
        };
        let adjust = Box::new(Adjust { id, adjustment: adjustment.clone() });
        let meta = super::meta(asked, id);
        let told = group.send(Ask { command: ResourceCommand::Adjust(adjust), meta }).await;
        match told {
            Ok(Ok(_)) => {}
            Ok(Err(refusal)) if refusal.class == "NoActionRequired" => {
                return Ok(SignalOutcome::default());
            }
            Ok(Err(refusal)) => return Err(DriverError::fatal(refusal.class, refusal.message)),
            Err(_) => continue,
        }
        let Ok(end) = group.send(AwaitAdjusted(id)).await else { continue };
        match end.await {
            Ok(Adjusted::Made) => {
                return Ok(SignalOutcome { said: Said::Details, ..SignalOutcome::default() });
            }
            Ok(Adjusted::Declined) => return Ok(SignalOutcome::default()),
            Ok(Adjusted::Failed(text)) => return Err(DriverError::fatal("ResourceFailure", text)),
            // The group's actor broke off, and is woken anew.
            Err(_) => {}
        }
    }
    Err(DriverError::fatal("Error", "The group does not answer."))
}

/// The size that an adjustment leads to; `None` where the group has it already.
pub(in crate::actors) async fn size(
    services: &Services,
    driver: &dyn Driver,
    subject: &Subject,
    adjustment: &Adjustment,
) -> Option<Resize> {
    let scales = driver.nests()?.scales()?;
    let child = subject.physical_id.as_ref()?.parse().ok()?;
    let seen = services.ask_of(child, || See).await??;
    let properties = driver.properties(&subject.properties);
    let subject = Subject { properties, ..subject.clone() };
    let (from, to) = scales.adjusted(&subject, &seen.child, adjustment)?;
    Some(Resize {
        from,
        to,
        adjustment: adjustment.by,
        kind: adjustment.kind_name.clone(),
        cooldown_secs: adjustment.cooldown_secs.or_else(|| scales.cooldown_secs(&subject)),
    })
}

impl Beating<'_> {
    /// Brings the group to a size, and awaits that.
    pub(in crate::actors) async fn resize(
        &self,
        details: &Value,
    ) -> Result<SignalOutcome, DriverError> {
        let resize: Option<Resize> = serde_json::from_value(details.clone()).ok();
        let (Some(resize), Some(scales)) = (resize, self.nested.scales()) else {
            return Ok(SignalOutcome::default());
        };
        let (known, parent) = make::parent(self.services, self.subject, self.nesting).await?;
        let stopping = || DriverError::fatal("Error", "The group does not answer.");
        let seen = self.services.ask_of(self.child(), || See).await.flatten();
        let seen = seen.ok_or_else(stopping)?;
        let subject = self.filled();
        let used = used(self.services, self.nested, &subject).await?;
        let mut nesting = self.nesting.clone();
        nesting.secrets.extend(used.iter().flat_map(|used| used.secrets.iter().cloned()));
        let ask = ChildAsk {
            work: &Work::Update { before: Default::default(), changed: Default::default() },
            subject: &subject,
            definition: &known.definition,
            child: Some(&seen.child),
            used: used.as_ref().map(|used| &used.resource),
            timeout: parent.timeout(self.services),
            now: self.services.clock.now(),
            chance: &|bytes| self.services.clock.fill(bytes),
        };
        let wanted = scales.resized(&ask, resize.to);
        let refused = |refusal: Refusal| DriverError::fatal(refusal.class, refusal.message);
        let of = (self.subject, &nesting);
        let definition =
            make::define(self.services, &known.definition, of, false, &wanted, Some(&seen))
                .map_err(refused)?;
        let timeout = parent.revision.timeout_mins;
        let revise = self.revise(definition, timeout).await?;
        make::take_room(self.services, &parent, self.child(), &revise).map_err(refused)?;
        let command = || StackCommand::Update(Box::new(revise.clone()));
        self.tell("resize", command).await.ok_or_else(stopping)?.map_err(refused)?;
        let end = end_of(self.services, self.child()).await.ok_or_else(stopping)?;
        Ok(self.resized(&resize, end.status == Status::Failed, &end.reason).await)
    }

    /// What the group tells of itself once it has come to its end.
    async fn resized(&self, resize: &Resize, failed: bool, reason: &str) -> SignalOutcome {
        let reads = &self.subject.reads;
        let (attributes, secrets) = match reads.is_empty() {
            true => Default::default(),
            false => {
                super::attributes(self.services, self.session, self.driver, self.subject, reads)
                    .await
            }
        };
        let why = format!("{} : {}", resize.kind, resize.adjustment);
        let metadata = match failed {
            true => cooldown::unchanged(),
            false => self.rests(resize.cooldown_secs, &why),
        };
        let error = failed.then(|| reason.to_owned());
        let in_child = Some(Box::new(ChildSignaled { attributes, secrets, error }));
        SignalOutcome { metadata, in_child, ..SignalOutcome::default() }
    }

    /// What a create or an update adds to the metadata of a group that scales: it rests after it.
    pub(super) async fn rested(&self) -> JsonMap {
        let Some(scales) = self.nested.scales() else { return JsonMap::new() };
        let seen = self.services.ask_of(self.child(), || See).await.flatten();
        let well = |seen: &super::Seen| {
            seen.child.members.iter().filter(|member| member.status != Status::Failed).count()
        };
        let why = format!("ExactCapacity : {}", seen.as_ref().map_or(0, well));
        self.rests(scales.cooldown_secs(&self.filled()), &why)
    }

    /// The rest that begins now.
    fn rests(&self, cooldown_secs: Option<i64>, why: &str) -> JsonMap {
        let mut former = self.subject.metadata.clone();
        former.extend(self.subject.signals.clone());
        cooldown::changed(&former, cooldown_secs, why, self.services.clock.now())
    }
}
