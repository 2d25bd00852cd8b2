//! Changes of a group's size: how a policy reaches its group, and how the group gets there.

use actix::prelude::*;
use futures::channel::oneshot;

use super::asks::{See, end_of, meta, sight, tell};
use super::beating::Beating;
use super::beats::SILENCE;
use super::sight::Seen;
use super::turn::ChildBeat;
use super::{derived, own_child};
use crate::actors::look::ResourceReferred;
use crate::actors::resource::{Adjust, Adjusted, Resource, ResourceCommand};
use crate::actors::services::{SENDS_MAX, Services};
use crate::actors::shell::Shell;
use crate::actors::stack::ChildEnd;
use crate::clock::Moment;
use crate::events::Meta;
use crate::events::resource::Resize;
use crate::model::{CommandId, JsonMap, Refusal, Status};
use crate::resource_types::{
    Adjustment, ChildSignaled, Declared, Failure, Said, SignalOutcome, Subject, cooldown,
};

/// The adjustment that a policy's signal asks its group for; the same signal asks once.
pub fn adjustment_of(signal: CommandId, adjustment: &Adjustment) -> Adjust {
    let id = CommandId(derived(&[signal.0.as_bytes(), b"adjust"]));
    Adjust { id, adjustment: adjustment.clone() }
}

/// What a policy's signal comes to once its group has ended the adjustment, or refused it.
pub fn adjusted(end: Result<Adjusted, Refusal>) -> Result<SignalOutcome, Failure> {
    match end {
        Ok(Adjusted::Made) => Ok(SignalOutcome { said: Said::Details, ..SignalOutcome::default() }),
        Ok(Adjusted::Declined) => Ok(SignalOutcome::default()),
        Ok(Adjusted::Failed(text)) => Err(Failure::Scaling(text)),
        Err(refusal) if refusal.class == "NoActionRequired" => Ok(SignalOutcome::default()),
        Err(refusal) => Err(refusal.into()),
    }
}

/// What becomes of a group's size by an adjustment; `None` where it has it already.
pub fn sized(
    driver: &Declared,
    subject: &Subject,
    seen: &Seen,
    adjustment: &Adjustment,
) -> Option<Resize> {
    let nested = driver.nests()?;
    let properties = driver.properties(&subject.properties);
    let subject = Subject { properties, ..subject.clone() };
    let (from, to) = nested.adjusted(&subject, &seen.child, adjustment)?;
    Some(Resize {
        from,
        to,
        adjustment: adjustment.by,
        kind: adjustment.kind_name.clone(),
        cooldown_secs: adjustment.cooldown_secs.or_else(|| nested.cooldown_secs(&subject)),
    })
}

impl ChildBeat<'_> {
    /// What a change of the size comes to by the end of the members' stack.
    pub fn scaled(
        &self,
        resize: &Resize,
        end: &ChildEnd,
        attributes: JsonMap,
        moment: &Moment<'_>,
    ) -> SignalOutcome {
        let failed = end.status == Status::Failed;
        let why = format!("{} : {}", resize.kind, resize.adjustment);
        let metadata = match failed {
            true => cooldown::unchanged(),
            false => self.rests(resize.cooldown_secs, &why, moment),
        };
        let error = failed.then(|| end.reason.clone());
        let in_child = Some(Box::new(ChildSignaled { attributes, error }));
        SignalOutcome { metadata, in_child, ..SignalOutcome::default() }
    }
}

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
        match shell.machine.adjusted(&shell.working, id) {
            // Who no longer waits was interrupted.
            Some(end) => drop(waiting.send(end)),
            None => shell.links.awaiting.push((id, waiting)),
        }
    }
}

/// Has the group of a policy adjusted, and awaits that.
pub(in crate::actors) async fn adjust(
    services: &Services,
    policy: &Subject,
    adjustment: Adjustment,
    signal: CommandId,
    asked: &Meta,
) -> Result<SignalOutcome, Failure> {
    let adjust = adjustment_of(signal, &adjustment);
    let stack = policy.stack_id.unwrap_or_default();
    for _ in 0..SENDS_MAX {
        let asked_for = services.ask_of(stack, || ResourceReferred(adjustment.group.clone())).await;
        let Some(found) = asked_for else { break };
        let Some(group) = found else {
            let name = policy.name.clone().unwrap_or_default();
            let text =
                format!("Alarm {name} could not find scaling group named \"{}\"", adjustment.group);
            return Err(Failure::NotFound(text));
        };
        let command = ResourceCommand::Adjust(Box::new(adjust.clone()));
        match group.send(services.measures.ask(command, meta(asked, adjust.id))).await {
            Ok(Ok(_)) => {}
            Ok(Err(refusal)) => return adjusted(Err(refusal)),
            Err(_) => continue,
        }
        let Ok(end) = group.send(AwaitAdjusted(adjust.id)).await else { continue };
        // A group whose actor broke off is woken anew.
        if let Ok(end) = end.await {
            return adjusted(Ok(end));
        }
    }
    Err(silent())
}

fn silent() -> Failure {
    Failure::Silent("The group does not answer at present.".to_owned())
}

/// The size that an adjustment leads to; `None` where the group has it already. An engine that stops
/// never says, and the group's actor ends meanwhile.
pub(in crate::actors) async fn size(
    services: &Services,
    driver: &Declared,
    subject: &Subject,
    adjustment: &Adjustment,
) -> Option<Resize> {
    let child = own_child(subject.resource_id?, subject.physical_id.as_deref())?;
    let seen = loop {
        match services.ask_of(child, || See).await {
            Some(seen) => break seen?,
            None => tokio::time::sleep(SILENCE).await,
        }
    };
    sized(driver, subject, &seen, adjustment)
}

impl Beating<'_> {
    /// Brings the group to a size, and awaits that.
    pub(in crate::actors) async fn resize(
        &self,
        resize: &Resize,
    ) -> Result<SignalOutcome, Failure> {
        let beat = &self.beat;
        let sight = sight(self.services, beat).await?.ok_or_else(silent)?;
        if sight.seen.is_none() {
            return Err(Failure::Failed("The group has no members' stack.".to_owned()));
        }
        let Some(defined) = beat.resized(&sight, resize.to, &self.moment())? else {
            return Ok(SignalOutcome::default());
        };
        let telling = self.telling(&sight, defined).await?;
        let child = beat.child();
        let meta = meta(self.asked, telling.id);
        let told = tell(self.services, child, &meta, &telling.command).await;
        told.ok_or_else(silent)?.map_err(Failure::from)?;
        let end = end_of(self.services, child).await.ok_or_else(silent)?;
        self.balance(CommandId(derived(&[telling.id.0.as_bytes(), b"balance"]))).await?;
        let reads = &beat.subject.reads;
        let observed = match reads.is_empty() {
            true => Default::default(),
            false => {
                super::attributes(self.services, self.session, beat.driver, beat.subject, reads)
                    .await
            }
        };
        Ok(beat.scaled(resize, &end, observed, &self.moment()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::story::{Story, given_made, scaling_group};
    use super::*;
    use crate::model::Action;
    use crate::resource_types::CapacityKind;

    fn by(by: f64) -> Adjustment {
        Adjustment {
            group: "a".to_owned(),
            by,
            kind: CapacityKind::Change,
            kind_name: "change_in_capacity".to_owned(),
            step_min: None,
            cooldown_secs: None,
        }
    }

    fn size_after(story: &Story, change: f64) -> Option<Resize> {
        let registry = &story.parent.knowledge.registry;
        let resource = &story.resource.resource;
        let driver = registry.driver("OS::Heat::AutoScalingGroup").unwrap();
        let subject = Subject {
            properties: resource.definition.clone().unwrap().properties,
            ..Subject::default()
        };
        sized(&driver, &subject, &story.seen().unwrap(), &by(change))
    }

    #[test]
    fn a_group_grows_no_further_than_it_may_and_is_left_where_it_is_there_already() {
        let story = given_made(&scaling_group(1));
        let resize = size_after(&story, 5.0).unwrap();
        assert_eq!((resize.from, resize.to, resize.cooldown_secs), (1, 3, Some(60)));
        assert_eq!(size_after(&story, -1.0), None);
    }

    #[test]
    fn a_signal_asks_its_group_for_one_adjustment_however_often_it_is_carried_out() {
        let signal = |number| CommandId(uuid::Uuid::from_u128(number));
        assert_eq!(adjustment_of(signal(1), &by(1.0)).id, adjustment_of(signal(1), &by(2.0)).id);
        assert_ne!(adjustment_of(signal(1), &by(1.0)).id, adjustment_of(signal(2), &by(1.0)).id);
    }

    #[test]
    fn a_group_that_declines_is_no_failure_of_its_policy_and_one_that_fails_is() {
        let declined = || Refusal::new("NoActionRequired", "not now");
        for end in [Ok(Adjusted::Declined), Err(declined())] {
            assert_eq!(adjusted(end).unwrap().said, SignalOutcome::default().said);
        }
        assert_eq!(adjusted(Ok(Adjusted::Made)).unwrap().said, Said::Details);
        let failed = adjusted(Ok(Adjusted::Failed("boom".to_owned())));
        assert_eq!(failed.unwrap_err().to_string(), "boom");
        assert!(adjusted(Err(Refusal::validation("no"))).is_err());
    }

    #[test]
    fn a_group_rests_after_a_change_of_its_size_and_not_after_a_failed_one() {
        let made = given_made(&scaling_group(1));
        let resize = size_after(&made, 1.0).unwrap();
        let story = made.when_changed(&serde_json::json!({ "desired_capacity": 2 }));
        let scaled = |status| {
            let end = ChildEnd {
                action: Action::Update,
                status,
                reason: "boom".to_owned(),
                deleted: false,
                reference: None,
            };
            story.beat().scaled(&resize, &end, JsonMap::new(), &story.moment())
        };
        let (done, failed) = (scaled(Status::Complete), scaled(Status::Failed));
        let ends = done.metadata["cooldown_end"].as_object().unwrap();
        assert_eq!(ends.values().next().unwrap(), "change_in_capacity : 1");
        assert!(!failed.metadata.contains_key("cooldown_end"));
        assert_eq!(failed.in_child.unwrap().error.as_deref(), Some("boom"));
    }
}
