//! Groups whose size signals change: a policy tells its group, and the group its members' stack.

use hearth::actors::nested;
use hearth::actors::resource::{Adjust, Due, Nesting, ResourceCommand};
use hearth::model::{CommandId, ResourceId, StackId};
use hearth::resource_types::{Failure, SignalOutcome, Subject};

use super::child::look;
use super::world::World;

impl World {
    /// The size that an adjustment leads to.
    pub(super) fn size(
        &mut self,
        adjust: &Adjust,
        driver_type: &str,
        subject: &Subject,
    ) -> ResourceCommand {
        let driver = self.stack_knowledge.registry.driver(driver_type).unwrap();
        let child = subject.physical_id.as_ref().and_then(|id| id.parse().ok());
        let seen = child.and_then(|child| self.seen(child));
        let resize = seen
            .and_then(|seen| nested::sized(driver.as_ref(), subject, &seen, &adjust.adjustment));
        ResourceCommand::Sized { id: adjust.id, resize }
    }

    /// A signal that asks for more than the resource itself: a policy's group is adjusted, a group
    /// is brought to its size.
    pub(super) fn carry_out_signal(
        &mut self,
        resource: ResourceId,
        due: Due,
        driver_type: String,
        subject: Box<Subject>,
        nesting: Nesting,
    ) {
        let driver = self.stack_knowledge.registry.driver(&driver_type).unwrap();
        if let Some(adjustment) = driver.adjustment(&subject) {
            let adjust = nested::adjustment_of(due.id(), &adjustment);
            return self.adjust(resource, due.id(), subject.stack_id.unwrap(), adjust);
        }
        let mut nest = self.nest(look(driver_type, subject, nesting));
        let Due::Resize(taken) = due else { panic!("{due:?} is none of a group") };
        let size = taken.resize.to;
        nest.resize = Some((taken.signal, taken.resize));
        let nest = Box::new(nest);
        let defined = self.sight(&nest).and_then(|sight| {
            let defined = nest.beat().resized(&sight, size, &nest.moment())?;
            Ok((sight, defined))
        });
        match defined {
            Ok((sight, Some(child))) if sight.seen.is_some() => {
                self.tell_definition(resource, nest, &sight, child);
            }
            Ok(_) => self.fail(resource, &nest, Failure::Failed("silence".to_owned())),
            Err(error) => self.fail(resource, &nest, error),
        }
    }

    /// A policy tells its group, and waits for it.
    fn adjust(&mut self, policy: ResourceId, signal: CommandId, stack: StackId, adjust: Adjust) {
        self.wake_stack(stack);
        let group = self.node.stacks.get(&stack);
        let found = group.and_then(|stack| stack.view().referred(&adjust.adjustment.group));
        let Some((name, group)) = found else {
            let result = Err(Failure::NotFound("there is no such group".to_owned()));
            return self.come_back(policy, ResourceCommand::SignalCarriedOut { signal, result });
        };
        self.node.parents.insert(group, stack);
        self.wake_resource(group, &name);
        let id = adjust.id;
        match self.try_resource(group, ResourceCommand::Adjust(Box::new(adjust))) {
            Ok(()) => {
                self.node.adjusting.push((group, id, policy, signal));
                self.answer_adjusted(group);
            }
            Err(refusal) => {
                let result = nested::adjusted(Err(refusal));
                self.come_back(policy, ResourceCommand::SignalCarriedOut { signal, result });
            }
        }
    }

    /// The policies that wait for a group are told, once it has ended their adjustment.
    pub(super) fn answer_adjusted(&mut self, group: ResourceId) {
        let adjusting = std::mem::take(&mut self.node.adjusting);
        for (of, id, policy, signal) in adjusting {
            let resource = self.node.resources.get(&of).filter(|_| of == group);
            match resource.and_then(|resource| resource.adjusted(id)) {
                Some(end) => {
                    let result: Result<SignalOutcome, _> = nested::adjusted(Ok(end));
                    let command = ResourceCommand::SignalCarriedOut { signal, result };
                    self.come_back(policy, command);
                }
                None => self.node.adjusting.push((of, id, policy, signal)),
            }
        }
    }
}
