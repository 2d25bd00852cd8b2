//! Change the size of a group, as a policy asks for it: one change at a time, and none before the
//! group has rested from the last.

use crate::actors::resource::command::{Adjust, Adjusted, Due, ResourceEffect};
use crate::actors::resource::state::{Decider, Resource, Working};
use crate::actors::shell::Decision;
use crate::events::resource::{Definition, Resize, ResizeTaken};
use crate::model::{CommandId, Refusal, Status};
use crate::resource_types::{Attempt, cooldown};

impl Decider<'_> {
    pub(in crate::actors::resource) fn adjust(
        &mut self,
        adjust: Adjust,
    ) -> Result<Decision<Resource>, Refusal> {
        if self.knows_signal(adjust.id) {
            return Ok(Decision::nothing());
        }
        let Some(definition) = self.definition.clone() else { return Err(declined()) };
        if !self.scales(&definition) {
            let text = format!("The resource {} is no group that can be scaled.", self.name);
            return Err(Refusal::new("ResourceFailure", text));
        }
        let is_free = self.status == Status::Complete
            && self.working.adjusting.is_none()
            && self.signal_under_way().is_none()
            && cooldown::is_over(&self.metadata(), self.moment.now);
        if !is_free {
            return Err(declined());
        }
        self.working.adjusting = Some(adjust.id);
        Ok(Decision::nothing().and_do(ResourceEffect::Size {
            subject: Box::new(self.subject(&definition)),
            driver_type: definition.driver_type,
            adjust: Box::new(adjust),
        }))
    }

    /// The size that an adjustment leads to is known; `None`: it is that already.
    pub(in crate::actors::resource) fn sized(
        &mut self,
        id: CommandId,
        resize: Option<Resize>,
    ) -> Decision<Resource> {
        if self.working.adjusting != Some(id) {
            return Decision::nothing();
        }
        self.working.adjusting = None;
        let definition = self.definition.clone().filter(|_| self.status == Status::Complete);
        let (Some(resize), Some(definition)) = (resize, definition) else {
            return Decision::nothing();
        };
        let taken = ResizeTaken { signal: id, resize };
        let carry_out = self.carry_out(Due::Resize(taken.clone()), Attempt::First, definition);
        Decision::record(taken).and_do(carry_out).and_do(ResourceEffect::Report)
    }

    /// Whether policies may change the size of the resource.
    pub(super) fn scales(&self, definition: &Definition) -> bool {
        self.driver(definition).is_ok_and(|it| it.nests().is_some_and(|it| it.scales()))
    }
}

impl Resource {
    /// How an adjustment ended; `None` while it is made.
    pub fn adjusted(&self, working: &Working, id: CommandId) -> Option<Adjusted> {
        if working.adjusting == Some(id) || self.signal_under_way() == Some(id) {
            return None;
        }
        Some(match &self.handled {
            Some((handled, Some(error))) if *handled == id => Adjusted::Failed(error.clone()),
            _ if self.knows_signal(id) => Adjusted::Made,
            _ => Adjusted::Declined,
        })
    }
}

/// Heat's `NoActionRequired`, of which nothing is told.
fn declined() -> Refusal {
    Refusal::new("NoActionRequired", "The group is not adjusted now.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors::resource::command::ResourceCommand;
    use crate::actors::resource::story::{
        Story, converge, done, given_nothing, learned, test_resource,
    };
    use crate::events::resource::SignalTaken;
    use crate::model::JsonMap;
    use crate::resource_types::{Adjustment, Beat, CapacityKind, Learned};

    fn adjust(number: u128) -> ResourceCommand {
        let adjustment = Adjustment {
            group: "a".to_owned(),
            by: 1.0,
            kind: CapacityKind::Change,
            kind_name: "change_in_capacity".to_owned(),
            step_min: None,
            cooldown_secs: None,
        };
        ResourceCommand::Adjust(Box::new(Adjust { id: id(number), adjustment }))
    }

    fn sized(number: u128, to: Option<usize>) -> ResourceCommand {
        let kind = "change_in_capacity".to_owned();
        let resize =
            to.map(|to| Resize { from: 1, to, adjustment: 1.0, kind, cooldown_secs: None });
        ResourceCommand::Sized { id: id(number), resize }
    }

    fn id(number: u128) -> CommandId {
        CommandId(uuid::Uuid::from_u128(number))
    }

    fn creating() -> Story {
        let resource = json!({ "type": "OS::Heat::TestResource" });
        let properties = json!({ "min_size": 1, "max_size": 3, "resource": resource });
        let group = converge(1, "OS::Heat::AutoScalingGroup", properties);
        given_nothing().when(group).when_answered(learned("g1", "settle", false))
    }

    fn end(story: &Story, number: u128) -> Option<Adjusted> {
        story.resource.adjusted(&story.working, id(number))
    }

    #[test]
    fn an_adjustment_is_on_record_when_its_size_is_known_and_made_once() {
        let story = creating().when_answered(done()).when(adjust(1));
        assert!(story.told().is_empty());
        assert!(matches!(story.effects[..], [ResourceEffect::Size { .. }]), "{:?}", story.effects);
        let story = story.when(sized(1, Some(2)));
        assert_eq!(story.told(), ["ResizeTaken"]);
        assert_eq!(end(&story, 1), None, "it is being made");
        let story = story.when(sized(1, Some(2))).when(adjust(1));
        assert!(story.told().is_empty() && story.effects.is_empty());
    }

    /// What is due of a signal that an earlier build took, with the details of a change of size.
    fn owed_of(mut story: Story) -> Due {
        let details = json!({ "capacity": 1, "size": 2, "adjustment": 1.0,
                              "adjustment_type": "change_in_capacity" });
        story.take(vec![SignalTaken { signal: id(1), details }.into()], Default::default());
        let effects = story.when_woken().effects;
        let due = effects.into_iter().find_map(|effect| {
            if let ResourceEffect::CarryOutSignal { due, .. } = effect { Some(due) } else { None }
        });
        due.unwrap()
    }

    #[test]
    fn a_change_of_size_is_gone_on_with_that_an_earlier_build_wrote_as_a_signal() {
        let Due::Resize(ResizeTaken { signal, resize }) = owed_of(creating().when_answered(done()))
        else {
            panic!("it is taken for a user's data")
        };
        assert_eq!((signal, resize.from, resize.to), (id(1), 1, 2));
    }

    #[test]
    fn data_of_a_users_are_no_change_of_size_however_they_look() {
        let deployment = converge(1, "OS::Heat::SoftwareDeployment", json!({}));
        let owed = owed_of(given_nothing().when(deployment));
        assert!(matches!(owed, Due::Sent(taken) if taken.details["size"] == 2));
    }

    #[test]
    fn a_group_that_has_the_size_already_is_left() {
        let story = creating().when_answered(done()).when(adjust(1)).when(sized(1, None));
        assert!(story.told().is_empty() && story.effects.is_empty());
        assert_eq!(end(&story, 1), Some(Adjusted::Declined));
    }

    #[test]
    fn a_group_that_is_at_work_being_adjusted_or_resting_is_not_adjusted() {
        let until = json!({ "2026-01-01T00:01:00": "ExactCapacity : 1" });
        let metadata = JsonMap::from_iter([("cooldown_end".to_owned(), until)]);
        let learned = Learned { metadata, ..Learned::default() };
        let rests = || creating().when_answered(Ok(Beat::Done { learned: learned.clone() }));
        let adjusted = creating().when_answered(done()).when(adjust(1));
        for mut story in [creating(), adjusted, rests().after(59)] {
            assert_eq!(story.refuses(adjust(2)).class, "NoActionRequired");
        }
        assert_eq!(rests().after(60).when(adjust(2)).effects.len(), 1);
    }

    #[test]
    fn what_is_no_group_is_refused() {
        let refusal = given_nothing().when(test_resource(1, "x")).refuses(adjust(1));
        assert_eq!(refusal.message, "The resource a is no group that can be scaled.");
    }
}
